package rooms

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/tree"
)

// Room is what a program finds of the box's own files.
type Room struct {
	Place  box.Place
	ID     Identity  // who owns the box's directories
	User   cage.User // who the program is on the host
	Home   jail.Mount
	Over   string       // where what is written to caches goes, if it is thrown away
	Mounts []jail.Mount // the workspaces, the exchange and the store that it sees, and cco's own programs
}

// Run runs a program in the box and returns when it and all its descendants are gone.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	e = e.Led(d.place(b, e.Session).Tool)
	up, err := d.Running(ctx, b)
	if err != nil {
		return err
	}
	if !up {
		return box.ErrNotRunning
	}
	home, done, err := d.home(b, e)
	if err != nil {
		return err
	}
	defer done()
	return d.enter(ctx, b, home, e)
}

// home is the session's home. A shell without a session gets a temporary copy, in memory if possible.
func (d *Driver) home(b *box.Box, e box.Exec) (jail.Mount, func(), error) {
	home, l := jail.Mount{Target: d.place(b, e.Session).Home, Write: true}, Layout{b.Dir}
	if e.Session != "" {
		if err := cage.CheckKey("session", e.Session); err != nil {
			return home, nil, err
		}
		home.Source = l.SessionHome(e.Session)
		if _, err := os.Lstat(home.Source); err != nil {
			return home, nil, fmt.Errorf("session %s is not in this box: %w", e.Session, err)
		}
		if e.Own && !e.Furnish {
			home.Source, home.Write = l.Home(), false
		}
		return home, func() {}, nil
	}
	if _, err := os.Lstat(l.Bulky()); d.Memory && !b.Spec.NoKernel() && errors.Is(err, fs.ErrNotExist) {
		home.Source, home.Copy = l.Home(), true
		return home, func() {}, nil
	}
	id, err := d.owner(b)
	if err == nil {
		err = os.MkdirAll(l.Shells(), 0o700)
	}
	if err != nil {
		return home, nil, err
	}
	if home.Source, err = os.MkdirTemp(l.Shells(), ""); err != nil {
		return home, nil, err
	}
	done := func() { _ = tree.Remove(home.Source) }
	if err := errors.Join(id.Own(home.Source), id.CopyTree(l.Home(), home.Source)); err != nil {
		done()
		return home, nil, fmt.Errorf("copy home: %w", err)
	}
	return home, done, nil
}

// enter runs a program with the given home.
func (d *Driver) enter(ctx context.Context, b *box.Box, home jail.Mount, e box.Exec) error {
	r := Room{Home: home, Place: d.place(b, e.Session)}
	var err error
	if r.ID, err = d.owner(b); err != nil {
		return err
	}
	if r.User, err = d.User(b, e.Session); err != nil {
		return err
	}
	if r.Mounts, err = d.mounts(b, r, e); err != nil {
		return err
	}
	if e.Aside {
		if r.Over, err = os.MkdirTemp(Layout{b.Dir}.Shells(), ""); err != nil {
			return err
		}
		defer func() { _ = tree.Remove(r.Over) }()
	}
	return d.Enter(ctx, b, r, e)
}

func (d *Driver) mounts(b *box.Box, r Room, e box.Exec) ([]jail.Mount, error) {
	l := Layout{b.Dir}
	var mounts []jail.Mount
	if e.Session != "" {
		mounts = append(mounts,
			jail.Mount{Source: l.Workspace(e.Session), Target: r.Place.Workspace, Write: !e.ReadOnly},
			jail.Mount{Source: filepath.Join(b.Exchange, e.Session), Target: r.Place.Exchange, Write: true})
	}
	if e.View != "" {
		if err := cage.CheckKey("session", e.View); err != nil {
			return nil, err
		}
		mounts = append(mounts, jail.Mount{Source: l.Workspace(e.View), Target: d.place(b, e.View).Workspace})
	}
	if e.Repo != "" {
		dir, err := r.ID.RepoDir(l, e.Repo)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, jail.Mount{Source: dir, Target: r.Place.Store, Write: e.Fill})
		if at := d.place(b, e.View).Store; e.View != "" && at != r.Place.Store {
			mounts = append(mounts, jail.Mount{Source: dir, Target: at})
		}
	}
	for target, source := range map[string]string{r.Place.Tool: d.Tool, r.Place.Guard: d.Guard} {
		if target == "" {
			continue
		}
		visible, err := VisibleTool(source, l.Tool(path.Base(target)))
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, jail.Mount{Source: visible, Target: target, File: true})
	}
	return mounts, nil
}

// Cache is a directory that lasts as long as the box.
type Cache struct {
	Name string // its place below the home
	Dir  string // on the host
}

func cacheDir(b *box.Box, name string) string {
	return filepath.Join(Layout{b.Dir}.Caches(), strings.ReplaceAll(filepath.Clean(name), "/", "%"))
}

// Caches makes the box's caches.
func (id Identity) Caches(b *box.Box) (list []Cache, err error) {
	for _, name := range cacheNames(b) {
		name = filepath.Clean(name)
		if !filepath.IsLocal(name) || name == "." {
			return nil, fmt.Errorf("cache %q: not below home", name)
		}
		dir := cacheDir(b, name)
		if err := id.mkdir(dir); err != nil {
			return nil, fmt.Errorf("make cache: %w", err)
		}
		list = append(list, Cache{name, dir})
	}
	return list, nil
}

// CacheMounts shows the box's caches in the home of a program. What goes aside is in layers over them, or in copies.
func (r Room) CacheMounts(b *box.Box, e box.Exec, copies bool) (mounts []jail.Mount, err error) {
	if e.Own {
		return nil, nil
	}
	caches, err := r.ID.Caches(b)
	if err != nil {
		return nil, err
	}
	for _, c := range caches {
		m := jail.Mount{Source: c.Dir, Target: filepath.Join(r.Place.Home, c.Name), Write: true, Soft: true}
		over := filepath.Join(r.Over, filepath.Base(c.Dir))
		switch {
		case r.Over == "":
		case copies:
			m.Source = over
			err = errors.Join(os.Mkdir(over, 0o700), r.ID.Own(over), r.ID.CopyTree(c.Dir, over))
		default:
			m.Layer = over
			for _, dir := range []string{over, filepath.Join(over, "upper"), filepath.Join(over, "work")} {
				err = errors.Join(err, os.Mkdir(dir, 0o700), r.User.Own(dir))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("lay the cache %s aside: %w", c.Name, err)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// Environment starts from nothing: it has the starter's variables for the place, before and after those that every box
// has. The host's own environment stays out.
func (r Room) Environment(b *box.Box, e box.Exec, before, after []string) []string {
	if e.Own {
		return e.OwnEnv()
	}
	own := []string{"HOME=" + r.Place.Home, "USER=" + jail.User, "LOGNAME=" + jail.User, "SHELL=/bin/sh", "LANG=C.UTF-8",
		"TMPDIR=/tmp", "IS_SANDBOX=1", "TERM=dumb"}
	if e.TTY != nil {
		own = append(own, "TERM=xterm-256color")
	}
	if e.Session != "" {
		own = append(own, "CCO_SESSION="+e.Session)
	}
	return box.Environment(before, own, after, b.Spec.Env, e.Env)
}

// WorkDir is where a program starts.
func (r Room) WorkDir(e box.Exec) string {
	switch {
	case e.Dir != "":
		return e.Dir
	case e.Session != "":
		return r.Place.Workspace
	default:
		return r.Place.Home
	}
}
