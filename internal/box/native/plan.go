//go:build linux

package native

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// plan decides everything that the init will do.
func (d *Driver) plan(b *box.Box, id rooms.Identity, home jail.Mount, e box.Exec,
	limits box.Limits) (*jail.Plan, error) {
	p := d.basePlan(b, limits)
	l := rooms.Layout{Dir: b.Dir}
	p.Mounts = append(p.Mounts, home)
	if !e.Own {
		if err := d.caches(p, b, id); err != nil {
			return nil, err
		}
	}
	extra, err := d.extraMounts(b)
	if err != nil {
		return nil, err
	}
	shown, err := binds(b, e)
	if err != nil {
		return nil, err
	}
	p.Mounts = append(append(p.Mounts, extra...), shown...)
	d.programLinks(p)
	if e.Session != "" {
		p.Mounts = append(p.Mounts,
			jail.Mount{Source: l.Workspace(e.Session), Target: "/workspace/" + e.Session, Write: !e.ReadOnly},
			jail.Mount{Source: filepath.Join(b.Exchange, e.Session), Target: "/exchange/" + e.Session, Write: true})
	}
	if e.View != "" {
		if err := cage.CheckKey("session", e.View); err != nil {
			return nil, err
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: l.Workspace(e.View), Target: "/workspace/" + e.View})
	}
	if e.Repo != "" {
		dir, err := id.RepoDir(l, e.Repo)
		if err != nil {
			return nil, err
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: dir, Target: jail.Store, Write: e.Fill})
	}
	for _, f := range e.Etc {
		if !filepath.IsLocal(f.Path) {
			return nil, fmt.Errorf("file %q for /etc leaves it", f.Path)
		}
		p.Files = append(p.Files, jail.File{Path: path.Join("/etc", f.Path), Data: f.Data,
			Mode: uint32(f.Mode.Perm() &^ 0o222)})
	}
	if err := d.tools(p, l); err != nil {
		return nil, err
	}
	d.hand(b, p.Mounts)
	p.Sockets = slices.DeleteFunc(boundSockets(), func(socket string) bool {
		return !slices.ContainsFunc(p.Mounts, func(m jail.Mount) bool { return m.Host && paths.Within(socket, m.Source) })
	})
	for _, m := range p.Mounts {
		// What is below the home is writable with it. By name it could be led astray: the program may have put links there.
		own := m.Target == jail.Home || !paths.Within(m.Target, jail.Home)
		if own && m.Write && !m.Device {
			p.Write = append(p.Write, m.Target)
		}
		if own && !m.Host && !m.Device && (m.Write ||
			slices.ContainsFunc(e.Binds, func(b box.Bind) bool { return b.Path == m.Target })) {
			p.Reach = append(p.Reach, m.Target)
		}
	}
	p.Argv, p.TTY = e.Argv, e.TTY != nil
	p.Env = d.environment(p, b, e)
	p.Dir = workDir(e)
	return p, nil
}

// basePlan is the box without anybody in it.
func (d *Driver) basePlan(b *box.Box, limits box.Limits) *jail.Plan {
	p := &jail.Plan{
		Hostname: b.Name,
		UID:      jail.UID,
		GID:      jail.GID,
		Become:   os.Getuid() == 0,
		Tmp:      limits.Memory / 2,
		Landlock: cage.Demand(b, cage.AcceptNoLandlock),
		Seccomp:  cage.Demand(b, cage.AcceptNoSeccomp),
		Dirs:     []string{"/home", "/run", "/var/empty", "/var/lib", "/mnt", "/srv", "/root", "/etc"},
	}
	system(p)
	if b.Spec.VM.Containers && d.opts.Nested {
		nest(p)
	}
	return p
}

func workDir(e box.Exec) string {
	switch {
	case e.Dir != "":
		return e.Dir
	case e.Session != "":
		return "/workspace/" + e.Session
	default:
		return jail.Home
	}
}

// tools shows the programs of cco's own that run inside.
func (d *Driver) tools(p *jail.Plan, l rooms.Layout) error {
	for target, source := range map[string]string{jail.Tool: d.opts.Tool, jail.Guard: d.opts.Guard} {
		if source == "" && target == jail.Guard {
			continue
		}
		visible, err := rooms.VisibleTool(source, l.Tool(path.Base(target)))
		if err != nil {
			return err
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: visible, Target: target, File: true})
	}
	return nil
}

func (d *Driver) guardInside() string {
	if d.opts.Guard == "" {
		return ""
	}
	return jail.Guard
}

// caches puts directories that last as long as the box into the home.
func (d *Driver) caches(p *jail.Plan, b *box.Box, id rooms.Identity) error {
	names := b.Spec.Caches
	if names == nil {
		names = rooms.DefaultCaches()
	}
	for _, name := range names {
		name = filepath.Clean(name)
		if !filepath.IsLocal(name) || name == "." {
			return fmt.Errorf("cache %q: not below home", name)
		}
		dir := filepath.Join(rooms.Layout{Dir: b.Dir}.Caches(), strings.ReplaceAll(name, "/", "%"))
		if err := os.Mkdir(dir, 0o700); err == nil {
			if err := id.Own(dir); err != nil {
				return err
			}
		} else if !os.IsExist(err) {
			return fmt.Errorf("make cache: %w", err)
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: dir, Target: path.Join(jail.Home, name), Write: true, Soft: true})
	}
	return nil
}

// environment is built from nothing: what the host has in its own stays there.
func (d *Driver) environment(p *jail.Plan, b *box.Box, e box.Exec) []string {
	if e.Own {
		return e.OwnEnv()
	}
	env := map[string]string{
		"HOME": jail.Home, "USER": jail.User, "LOGNAME": jail.User, "SHELL": "/bin/sh", "LANG": "C.UTF-8",
		"TMPDIR": "/tmp", "IS_SANDBOX": "1", "TERM": "dumb", "PATH": d.path(p),
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		env["SHELL"] = "/bin/bash"
	}
	if e.TTY != nil {
		env["TERM"] = "xterm-256color"
	}
	if e.Session != "" {
		env["CCO_SESSION"] = e.Session
	}
	for _, kv := range slices.Concat(d.shown().env, b.Spec.Env, e.Env) {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}

// path is what of the host's PATH can be seen in the box, after the home's own and before what every system has.
func (d *Driver) path(p *jail.Plan) string {
	dirs := []string{jail.Home + "/.local/bin", jail.Home + "/go/bin", jail.Home + "/.cargo/bin"}
	for _, dir := range filepath.SplitList(d.opts.Path) {
		if filepath.IsAbs(dir) && visible(p, filepath.Clean(dir)) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	dirs = append(dirs, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
	seen := map[string]bool{}
	return strings.Join(slices.DeleteFunc(dirs, func(dir string) bool {
		was := seen[dir]
		seen[dir] = true
		return was
	}), ":")
}

func visible(p *jail.Plan, dir string) bool {
	for _, m := range p.Mounts {
		seen := paths.Within(dir, m.Target) || m.File && filepath.Dir(m.Target) == dir
		if seen && !m.Device && !paths.Within(m.Target, jail.Home) {
			return true
		}
	}
	for _, l := range p.Links {
		if paths.Within(dir, l.Path) || filepath.Dir(l.Path) == dir {
			return true
		}
	}
	return false
}
