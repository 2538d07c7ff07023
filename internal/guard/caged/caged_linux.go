package caged

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

// Run runs a program in the cage, and returns when it and all its descendants are gone.
func (c *Cage) Run(ctx context.Context, e box.Exec) error {
	runs := cage.Registry{Dir: filepath.Join(c.Dir, "runs")}
	if err := runs.Open(); err != nil {
		return err
	}
	if c.Way == Nothing {
		return cage.Plain(ctx, runs, e, proc.Cmd{Argv: e.Argv, Dir: e.Dir, Env: c.User.Env})
	}
	me, limits := cage.Me(), cage.LimitsFor(&box.Box{}, e)
	held := &cage.Cage{Tool: c.Tool, Name: "guard", User: me, Limits: limits, Registry: runs,
		Plan: &jail.Plan{Bare: c.bare(), Shared: true, Network: !c.Alone, UID: me.UID, GID: me.GID}}
	if !c.Alone {
		held.Plan.Mounts = []jail.Mount{{Layer: c.Dir}}
	}
	if !c.bare() {
		held.Scratch = []string{"/tmp", "/var/tmp", "/dev/shm"}
	}
	held.Late = sync.OnceValues(func() (*jail.Plan, error) {
		p, err := c.plan(e, limits)
		if err == nil {
			err = c.Await()
		}
		return p, err
	})
	go func() { _, _ = held.Late() }() // while the init starts
	err := held.Run(ctx, e)
	_, failed := held.Late()
	if cage.Refused(err) {
		err = fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	return cmp.Or(failed, err) // and not that the init has been ended
}

// plan decides everything that the init will do.
//
// The program is the user also on the host, even if that is root: it works on the user's own files. What root could
// write by its id alone is out of sight or read-only.
func (c *Cage) plan(e box.Exec, limits box.Limits) (*jail.Plan, error) {
	me := cage.Me()
	p := &jail.Plan{Shared: true, Network: !c.Alone, UID: me.UID, GID: me.GID, Tmp: limits.Memory / 2,
		Landlock: jail.IfPossible}
	v := &host.View{Home: c.User.Home}
	if err := v.System(p, e.Etc); err != nil {
		return nil, err
	}
	v.Furnish(p, host.User{Path: c.User.Path, Mounts: c.User.Shown, Hidden: c.User.Hidden, Shown: c.toolchains()})
	v.Hide(c.Data)
	for _, name := range []string{"cco", "cco-box", "cco-guard"} { // settings of agents name the hook
		v.Show(filepath.Join(filepath.Dir(c.Tool), name), false)
	}
	if program, ok := host.Real(c.Program); ok && !paths.Within(program, c.Worktree) {
		v.ShowAnew(program) // it may lie in scratch, of which the cage has its own
	}
	if c.bare() {
		return c.barePlan(p, v, e)
	}
	p.Dirs = append(p.Dirs, ours)
	extra := e.Env
	var keys []Mount
	if !c.Alone {
		env, err := c.home(v, e.Dir)
		if err != nil {
			return nil, err
		}
		no := filepath.Join(ours, "no-login")
		p.Files = append(p.Files, jail.File{Path: no, Data: []byte(noLogin), Mode: 0o555})
		var reached []string
		keys, reached = c.shownSockets()
		extra = slices.Concat(env, c.withoutLogin(no), reached, extra)
	}
	v.Add(jail.Mount{Source: c.Worktree, Target: c.Worktree, Write: !c.Alone, Host: true})
	if !c.Alone { // where the worktree is read-only, and what a cage that runs beside it has made is in it
		if err := c.hold(v); err != nil {
			return nil, err
		}
	}
	v.Add(slices.Concat(c.Repo, keys)...)
	v.Finish(p)
	for _, m := range keys {
		p.Reach = append(p.Reach, m.Target)
	}
	for _, m := range p.Mounts {
		if m.Write && !m.Device {
			p.Write = append(p.Write, m.Target)
			if !m.Host {
				p.Reach = append(p.Reach, m.Target)
			}
		}
	}
	p.Sockets = slices.DeleteFunc(host.BoundSockets(), func(socket string) bool {
		return !paths.Within(socket, c.Worktree)
	})
	return c.program(p, e, extra), nil
}

// program adds what is started to a plan.
func (c *Cage) program(p *jail.Plan, e box.Exec, extra []string) *jail.Plan {
	p.Argv, p.TTY, p.Dir = e.Argv, e.TTY != nil, e.Dir
	p.Env = c.environment(extra)
	if c.Alone {
		p.Env = e.OwnEnv()
	}
	return p
}

// home puts caches of the cage's own into the home, layers over the user's in them, and the agent's part of the home.
func (c *Cage) home(v *host.View, start string) (env []string, err error) {
	home, ok := host.Real(c.User.Home)
	if !ok {
		return nil, nil
	}
	for _, name := range guard.CacheRoots(home) {
		err = errors.Join(err, c.cache(v, home, name, false))
	}
	for _, name := range host.Caches(home) {
		err = errors.Join(err, c.cache(v, home, name, true))
	}
	if err != nil {
		return nil, err
	}
	return c.agentHome(start, v.Add)
}

// usual are the caches that a cage has even where the user has none.
func usual() []string { return []string{".cache", "go", ".npm", ".cargo", ".gradle", ".m2"} }

// cache shows a cache of the cage's own, or a layer of its own over the user's. Nothing is laid over what the cage
// itself is in.
func (c *Cage) cache(v *host.View, home, name string, layered bool) error {
	rel := strings.TrimPrefix(name, home+"/")
	real, there := host.Real(name)
	// A tool that the user never ran has none: its directory would only be something that other tools stumble over.
	if paths.Within(name, c.Worktree) || !there && !slices.Contains(usual(), rel) ||
		layered && (paths.Within(c.Worktree, real) || paths.Within(real, c.Worktree) || paths.Within(c.Data, real)) {
		return nil
	}
	own, err := c.layer("caches", rel)
	m := jail.Mount{Source: filepath.Join(own, "upper"), Target: name, Write: true}
	if layered {
		m = jail.Mount{Source: real, Target: name, Write: true, Layer: own}
	}
	v.Add(m)
	return err
}

// keep holds what git outside believes.
func (c *Cage) keep(v *host.View) error {
	for _, name := range c.Kept {
		m, err := kept(name)
		if err != nil {
			return err
		}
		m.Host = !m.File
		v.Add(m)
	}
	for _, name := range c.Empty {
		if err := os.MkdirAll(name, 0o755); err != nil { // as git itself does where a submodule is not checked out
			return err
		}
		v.Add(jail.Mount{Target: name, Empty: true})
	}
	return nil
}

// above holds the directories above something that is held: they could be moved away otherwise. Those of agents are
// read-only or layers, and nothing in them is shown as it is.
func (c *Cage) above(v *host.View, name string) {
	for dir := filepath.Dir(name); dir != c.Worktree && paths.Within(dir, c.Worktree); dir = filepath.Dir(dir) {
		agents := slices.ContainsFunc(settings(), func(of string) bool {
			return paths.Within(dir, filepath.Join(c.Worktree, of))
		})
		if st, err := os.Lstat(dir); err == nil && st.IsDir() && !agents {
			v.Add(jail.Mount{Source: dir, Target: dir, Write: true, Host: true})
		}
	}
}

// kept shows something of the worktree as it is.
func kept(name string) (jail.Mount, error) {
	st, err := os.Lstat(name)
	if err != nil {
		return jail.Mount{}, err
	}
	if st.Mode()&os.ModeSymlink != 0 {
		err = fmt.Errorf("%s is a link, which an agent could replace; put there what it leads to", name)
	}
	return jail.Mount{Source: name, Target: name, File: !st.IsDir()}, err
}

// hold keeps what starts something later in the worktree as it is. What is missing becomes an empty directory, which
// nobody can write to and which Release removes. The agent's own directories are layers of the cage's own, because
// agents write there and end if they can't; its own files that are missing are files without settings.
func (c *Cage) hold(v *host.View) error {
	missing := c.Missing()
	if err := os.WriteFile(c.made(), []byte(strings.Join(missing, "\n")), 0o600); err != nil {
		return err
	}
	var held []jail.Mount
	for _, name := range settings() {
		show := c.asItIs
		if slices.Contains(missing, name) {
			show = c.fill
		}
		if _, err := kept(filepath.Dir(filepath.Join(c.Worktree, name))); ignoreMissing(err) != nil {
			return err
		}
		m, err := show(name)
		if err != nil {
			return err
		}
		held = append(held, m)
		c.above(v, m.Target)
	}
	for _, name := range slices.Concat(c.Kept, c.Empty) {
		c.above(v, name)
	}
	v.Add(held...) // of two at one place the later one counts
	return c.keep(v)
}

// asItIs shows what is at a name in the worktree.
func (c *Cage) asItIs(name string) (jail.Mount, error) {
	m, err := kept(filepath.Join(c.Worktree, name))
	if err == nil && !m.File && c.owns(name) {
		m.Write = true
		m.Layer, err = c.layer("own", name)
	}
	return m, err
}

// fill makes something at a name in the worktree, so that something else can be mounted there.
func (c *Cage) fill(name string) (m jail.Mount, err error) {
	at := filepath.Join(c.Worktree, name)
	if row, _ := c.agent(); slices.Contains(row.Settings, name) && filepath.Dir(at) == c.Worktree {
		none := filepath.Join(c.Dir, "none.json")
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			err = errors.Join(f.Close(), os.WriteFile(none, []byte("{}\n"), 0o644))
		}
		return jail.Mount{Source: none, Target: at, File: true}, err
	}
	m = jail.Mount{Target: at, Empty: true}
	if c.owns(name) {
		layer, err := c.layer("own", name)
		if err != nil {
			return m, err
		}
		m = jail.Mount{Source: filepath.Join(layer, "upper"), Target: at, Write: true}
	}
	return m, os.MkdirAll(at, 0o755)
}

// owns says whether a directory in a worktree holds settings of the agent itself.
func (c *Cage) owns(dir string) bool {
	row, _ := c.agent()
	return slices.ContainsFunc(row.Settings, func(name string) bool { return strings.HasPrefix(name, dir+"/") })
}

// layer makes the directories of a layer of the cage's own.
func (c *Cage) layer(kind, name string) (string, error) {
	dir := filepath.Join(c.Dir, kind, strings.ReplaceAll(name, "/", "-"))
	err := os.MkdirAll(filepath.Join(dir, "upper"), 0o755)
	return dir, errors.Join(err, os.MkdirAll(filepath.Join(dir, "work"), 0o755))
}

// made names what hold has made.
func (c *Cage) made() string { return filepath.Join(c.Dir, "made") }

// Release removes what hold has made, if it is still empty, and names what is not: somebody outside has taken away what
// held its place. It must not be called while a cage runs: that takes it away as well.
func (c *Cage) Release() (filled []string) {
	names, _ := os.ReadFile(c.made())
	for name := range strings.Lines(string(names)) {
		at := filepath.Join(c.Worktree, strings.TrimSpace(name))
		st, err := os.Lstat(at)
		_, elsewhere := kept(filepath.Dir(at))
		switch {
		case err != nil || elsewhere != nil:
		case st.IsDir():
			if unix.Rmdir(at) != nil { // something is there
				filled = append(filled, at)
			} else if dir := filepath.Dir(at); dir != c.Worktree {
				_ = unix.Rmdir(dir) // made on the way
			}
		case st.Mode().IsRegular() && st.Size() == 0:
			_ = os.Remove(at)
		default:
			filled = append(filled, at)
		}
	}
	_, _ = os.Remove(c.made()), tree.Remove(filepath.Join(c.Dir, "scratch"))
	return filled
}
