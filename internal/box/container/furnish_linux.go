package container

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// These are the places of the caches, and of the socket to which the init connects, in a container.
const (
	cacheDir   = "/var/cache/cco"
	controlDir = "/run/cco/control"
)

// furnish decides which parts of the host the container sees.
func (r *container) furnish(room rooms.Room) error {
	if err := os.MkdirAll(r.control(), 0o700); err != nil {
		return err
	}
	// The box's user must be able to reach the socket; the directories above are closed to everyone else.
	for _, dir := range []string{r.dir(), r.control()} {
		if err := r.id.Own(dir); err != nil {
			return err
		}
	}
	// The engine makes the mount by which programs are told that the kernel holds them.
	held := filepath.Join(r.dir(), "held")
	if err := os.Mkdir(held, 0o555); err != nil {
		return err
	}
	r.mounts = append([]jail.Mount{room.Home, {Source: r.control(), Target: controlDir},
		{Source: held, Target: paths.Held}}, room.Mounts...)
	if err := r.caches(room.Home); err != nil {
		return err
	}
	if err := r.shown(); err != nil {
		return err
	}
	return r.etc()
}

// caches shows the directories that last as long as the box, and puts links to them into the home. With mounts in the
// home itself the engine would follow any links that the agent has put there.
func (r *container) caches(home jail.Mount) error {
	if r.exec.Own {
		return nil
	}
	caches, err := r.id.Caches(r.box)
	if err != nil {
		return err
	}
	at := rooms.Layout{Dir: r.box.Dir}.Caches()
	if err := r.id.Own(at); err != nil {
		return err
	}
	for _, c := range caches {
		r.link(home.Source, c.Name, path.Join(cacheDir, filepath.Base(c.Dir)))
	}
	m := jail.Mount{Source: at, Target: cacheDir, Write: true}
	if r.exec.Aside && r.Name == podman && !strings.Contains(at, ":") {
		m.Layer = r.room.Over // the engine has a place of its own for it
	} else if r.exec.Aside {
		m.Source = r.room.Over
		if err := errors.Join(r.id.Own(m.Source), r.id.CopyTree(at, m.Source)); err != nil {
			return fmt.Errorf("copy caches: %w", err)
		}
	}
	r.mounts = append(r.mounts, m)
	return nil
}

// link makes a link below a home that an agent may have written to. If something else is in the place, it stays.
func (r *container) link(home, name, target string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(name); err == nil {
		_ = root.Remove(name) // this removes only an empty directory or a link
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

// shown adds the user's mounts and cco's installed agent, each at the same path as on the host.
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

// show mounts a path by the name that the user knows, and by the one that links in it may lead to.
func (r *container) show(real, target string, write bool) {
	r.mounts = append(r.mounts, jail.Mount{Source: real, Target: target, Write: write})
	if real != target {
		r.mounts = append(r.mounts, jail.Mount{Source: real, Target: real, Write: write})
	}
}

// etc writes the container's own files below /etc, and shows each.
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
			return fmt.Errorf("file %q for /etc is outside of it", f.Path)
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

// environment adds the image's variables.
func (r *container) environment() []string {
	image := slices.DeleteFunc(slices.Clone(r.Env), func(kv string) bool { return strings.HasPrefix(kv, "container=") })
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, kv := range image {
		if own, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = own
		}
	}
	return r.room.Environment(r.box, r.exec, image, []string{"PATH=" + jail.Home + "/.local/bin:" + path})
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

// ownPlaces refuses a mount that would cover, or be in, a place of the container's own.
func ownPlaces(name string) error {
	for _, own := range []string{jail.Home, "/run/cco", jail.Store, cacheDir, "/etc", "/workspace", "/exchange"} {
		if paths.Within(name, own) || paths.Within(own, name) {
			return errors.New("the box has its own")
		}
	}
	return nil
}
