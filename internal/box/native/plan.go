//go:build linux

package native

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// plan decides everything that the init will do.
func (d *starter) plan(b *box.Box, r rooms.Room, e box.Exec, limits box.Limits) (*jail.Plan, error) {
	p := d.basePlan(b, limits)
	p.Mounts = append(p.Mounts, r.Home)
	caches, err := r.CacheMounts(b, e, d.opts.Apart) // what is Handed takes no layer
	if err != nil {
		return nil, err
	}
	p.Mounts = append(p.Mounts, caches...)
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
	p.Mounts = append(p.Mounts, r.Mounts...)
	for _, f := range e.Etc {
		if !filepath.IsLocal(f.Path) {
			return nil, fmt.Errorf("file %q for /etc is outside of it", f.Path)
		}
		p.Files = append(p.Files, jail.File{Path: path.Join("/etc", f.Path), Data: f.Data,
			Mode: uint32(f.Mode.Perm() &^ 0o222)})
	}
	d.hand(b, p.Mounts)
	p.Sockets = slices.DeleteFunc(host.BoundSockets(), func(socket string) bool {
		return !slices.ContainsFunc(p.Mounts, func(m jail.Mount) bool { return m.Host && paths.Within(socket, m.Source) })
	})
	for _, m := range p.Mounts {
		// Caches below the home are writable with it. By name they could lead astray: the program may have put links there.
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
	p.Env = d.environment(p, b, r, e)
	p.Dir = r.WorkDir(e)
	return p, nil
}

// basePlan is the plan of a box without a program.
func (d *starter) basePlan(b *box.Box, limits box.Limits) *jail.Plan {
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
	if home, err := filepath.EvalSymlinks(d.opts.Home); err == nil && host.OfSystem(home) {
		p.Mounts = append(p.Mounts, jail.Mount{Target: home, Empty: true}) // as a home below /opt is
	}
	if b.Spec.VM.Containers && d.opts.Nested {
		nest(p)
	}
	return p
}

// environment adds the variables that the visible toolchains need.
func (d *starter) environment(p *jail.Plan, b *box.Box, r rooms.Room, e box.Exec) []string {
	more := []string{"PATH=" + d.path(p)}
	if _, err := os.Stat("/bin/bash"); err == nil {
		more = append(more, "SHELL=/bin/bash")
	}
	return r.Environment(b, e, nil, append(more, d.shown().Env...))
}

// path is the visible part of the host's PATH, after the home's own directories and before the system's.
func (d *starter) path(p *jail.Plan) string {
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
