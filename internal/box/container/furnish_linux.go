package container

import (
	"errors"
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

// Where in a container the caches are, and the socket by which its init calls.
const (
	cacheDir   = "/var/cache/cco"
	controlDir = "/run/cco/control"
)

// furnish decides what of the host the container sees.
func (r *container) furnish(o Options, home jail.Mount) error {
	if err := os.MkdirAll(r.control(), 0o700); err != nil {
		return err
	}
	// The box's user has to get through to the socket; the directories above are closed to everyone else.
	for _, dir := range []string{r.dir(), r.control()} {
		if err := r.id.Own(dir); err != nil {
			return err
		}
	}
	r.mounts = []jail.Mount{home, {Source: r.control(), Target: controlDir}}
	for _, step := range []func() error{
		func() error { return r.tools(o) }, func() error { return r.caches(home) }, r.session, r.store, r.shown, r.etc,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// tools shows the programs of cco's own that run inside.
func (r *container) tools(o Options) error {
	for target, source := range map[string]string{jail.Tool: o.Tool, jail.Guard: o.Guard} {
		if source == "" && target == jail.Guard {
			continue
		}
		visible, err := rooms.VisibleTool(source, rooms.Layout{Dir: r.box.Dir}.Tool(path.Base(target)))
		if err != nil {
			return err
		}
		r.mounts = append(r.mounts, jail.Mount{Source: visible, Target: target, File: true})
	}
	return nil
}

// caches shows the directories that last as long as the box, and puts links to them into the home. Mounts in the home
// itself would have the engine follow whatever links the agent has put there.
func (r *container) caches(home jail.Mount) error {
	if r.exec.Own {
		return nil
	}
	names := r.box.Spec.Caches
	if names == nil {
		names = rooms.DefaultCaches()
	}
	at := rooms.Layout{Dir: r.box.Dir}.Caches()
	for _, name := range names {
		name = filepath.Clean(name)
		if !filepath.IsLocal(name) || name == "." {
			return fmt.Errorf("cache %q: not below home", name)
		}
		flat := strings.ReplaceAll(name, "/", "%")
		if err := os.Mkdir(filepath.Join(at, flat), 0o700); err == nil {
			if err := r.id.Own(filepath.Join(at, flat)); err != nil {
				return err
			}
		} else if !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make cache: %w", err)
		}
		r.link(home.Source, name, path.Join(cacheDir, flat))
	}
	r.mounts = append(r.mounts, jail.Mount{Source: at, Target: cacheDir, Write: true})
	return nil
}

// link makes a link below a home that an agent may have written to. Where something else is in the place, it stays.
func (r *container) link(home, name, target string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(name); err == nil {
		_ = root.Remove(name) // only an empty directory goes, or a link
	}
	for dir, rest := "", strings.Split(path.Dir(name), "/"); len(rest) > 0 && path.Dir(name) != "."; rest = rest[1:] {
		dir = path.Join(dir, rest[0])
		if root.Mkdir(dir, 0o755) == nil && os.Getuid() == 0 {
			_ = root.Lchown(dir, r.id.UID, r.id.GID)
		}
	}
	if root.Symlink(target, name) == nil && os.Getuid() == 0 {
		_ = root.Lchown(name, r.id.UID, r.id.GID)
	}
}

func (r *container) session() error {
	if id := r.exec.Session; id != "" {
		r.mounts = append(r.mounts,
			jail.Mount{Source: rooms.Layout{Dir: r.box.Dir}.Workspace(id), Target: "/workspace/" + id, Write: !r.exec.ReadOnly},
			jail.Mount{Source: filepath.Join(r.box.Exchange, id), Target: "/exchange/" + id, Write: true})
	}
	if id := r.exec.View; id != "" {
		if err := cage.CheckKey("session", id); err != nil {
			return err
		}
		r.mounts = append(r.mounts, jail.Mount{Source: rooms.Layout{Dir: r.box.Dir}.Workspace(id),
			Target: "/workspace/" + id})
	}
	return nil
}

func (r *container) store() error {
	if r.exec.Repo == "" {
		return nil
	}
	dir, err := r.id.RepoDir(rooms.Layout{Dir: r.box.Dir}, r.exec.Repo)
	r.mounts = append(r.mounts, jail.Mount{Source: dir, Target: jail.Store, Write: r.exec.Fill})
	return err
}

// shown are what the user mounts and what cco shows of an installed agent, each at the path that it has on the host.
func (r *container) shown() error {
	for _, m := range r.box.Spec.Mounts {
		if err := checkMount(r.box, m.Path); err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(m.Path)
		if err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
		r.show(real, filepath.Clean(m.Path), m.Write)
	}
	for _, m := range r.exec.Binds {
		real, err := m.Check(r.box)
		if err != nil {
			return err
		}
		if err := ownPlaces(m.Path); err != nil {
			return fmt.Errorf("show %s: %w", m.Path, err)
		}
		r.show(real, m.Path, false)
	}
	return nil
}

// show mounts something by the path that the user knows it by, and by the one to which links in it may lead.
func (r *container) show(real, target string, write bool) {
	r.mounts = append(r.mounts, jail.Mount{Source: real, Target: target, Write: write})
	if real != target {
		r.mounts = append(r.mounts, jail.Mount{Source: real, Target: real, Write: write})
	}
}

// etc writes the files that are the container's own below /etc, and shows each.
func (r *container) etc() error {
	uid, gid := r.user()
	files := []box.File{
		{Path: "passwd", Data: fmt.Appendf(nil,
			"%sroot:x:0:0:root:/root:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
			fmt.Sprintf("%s:x:%d:%d:agent:%s:/bin/sh\n", jail.User, uid, gid, jail.Home))},
		{Path: "group", Data: fmt.Appendf(nil, "%s:x:%d:\nroot:x:0:\nnogroup:x:65534:\n", jail.User, gid)},
	}
	for _, f := range slices.Concat(files, r.exec.Etc) {
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("file %q for /etc leaves it", f.Path)
		}
		file := filepath.Join(r.dir(), "etc", filepath.Clean(f.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		mode := f.Mode.Perm() &^ 0o222
		if err := os.WriteFile(file, f.Data, mode|0o444); err != nil {
			return err
		}
		r.mounts = append(r.mounts, jail.Mount{Source: file, Target: path.Join("/etc", filepath.Clean(f.Path)), File: true})
	}
	return nil
}

// environment is built from nothing but the image's own: what the host has stays there.
func (r *container) environment() []string {
	e := r.exec
	if e.Own {
		return e.OwnEnv()
	}
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	add := func(list []string) {
		for _, kv := range list {
			if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
				env[k] = v
			}
		}
	}
	add(r.Env)
	env["PATH"] = jail.Home + "/.local/bin:" + env["PATH"]
	maps.Copy(env, map[string]string{
		"HOME": jail.Home, "USER": jail.User, "LOGNAME": jail.User, "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TMPDIR": "/tmp",
		"IS_SANDBOX": "1", "TERM": "dumb",
	})
	delete(env, "container")
	if e.TTY != nil {
		env["TERM"] = "xterm-256color"
	}
	if e.Session != "" {
		env["CCO_SESSION"] = e.Session
	}
	add(r.box.Spec.Env)
	add(e.Env)
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}

func checkSpec(b *box.Box) error {
	for _, m := range b.Spec.Mounts {
		if err := checkMount(b, m.Path); err != nil {
			return err
		}
	}
	for _, name := range b.Spec.Accept {
		if name != cage.AcceptNoSeccomp && name != box.AcceptNoGuard {
			return fmt.Errorf("unknown weaker mode %q: there are %s and %s", name, cage.AcceptNoSeccomp, box.AcceptNoGuard)
		}
	}
	return nil
}

func checkMount(b *box.Box, name string) error {
	if err := rooms.CheckMount(b, name); err != nil {
		return err
	}
	if err := ownPlaces(filepath.Clean(name)); err != nil {
		return fmt.Errorf("mount %s: %w", name, err)
	}
	return nil
}

// ownPlaces refuses what would cover, or be in, a place of the container's own.
func ownPlaces(name string) error {
	for _, own := range []string{jail.Home, "/run/cco", jail.Store, cacheDir, "/etc", "/workspace", "/exchange"} {
		if paths.Within(name, own) || paths.Within(own, name) {
			return errors.New("the box has its own")
		}
	}
	return nil
}
