package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/guard/caged"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
)

// BusyCageError says that another cage is at work on a worktree.
type BusyCageError struct{ Worktree string }

func (e *BusyCageError) Error() string {
	return "another cage is at work on " + e.Worktree + ": wait until it has ended, or give each agent its own worktree"
}

// AcceptNoKernel lets a program run that nothing holds.
const AcceptNoKernel = "no-kernel"

// Caged runs a command in a cage on a worktree, "" for the one that the user is in, and brings over what it commits. In
// gives the program its streams. Accept are weaker modes that the user takes.
func (a *App) Caged(ctx context.Context, worktree string, accept, argv []string,
	in func(e box.Exec, run func(box.Exec) error) error) error {
	c, dir, err := a.cage(worktree, argv)
	if err != nil {
		return err
	}
	release, err := holdCage(c)
	if err != nil {
		return err
	}
	defer release()
	if err := a.putBack(c); err != nil { // before any git
		return err
	}
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	c.Wrap = cfg.Guard.GitEnv != config.GitEnvPlain
	k := &keptRepo{app: a, cage: c}
	program := box.Exec{Argv: argv, Dir: dir}
	// Trying a way takes as long as going it.
	if c.Way = caged.Likely(cfg.Guard.Cage); c.Way != "" {
		if err := a.runCaged(ctx, k, program, in); !errors.Is(err, caged.ErrNotBuilt) {
			return err
		}
	}
	if err := a.chooseWay(ctx, c, accept); err != nil {
		return err
	}
	return a.runCaged(ctx, k, program, in)
}

// runCaged runs a program in a cage of the way that is chosen.
func (a *App) runCaged(ctx context.Context, k *keptRepo, program box.Exec,
	in func(e box.Exec, run func(box.Exec) error) error) error {
	c := k.cage
	run := func() error {
		return in(program, func(e box.Exec) error { return c.Run(ctx, e) })
	}
	if c.Way == caged.Nothing {
		return run()
	}
	if err := a.describe(ctx, k); err != nil {
		_ = c.Await() // nothing goes on there when the next cage may begin
		return apart(err)
	}
	defer func() {
		for _, name := range c.Release() {
			a.IO.Warn("%s was not there before, and nothing held its place: look at it before you start an agent here", name)
		}
	}()
	ended, began := k.watch(ctx), time.Now()
	err := run()
	ended()
	if failed := c.Await(); failed != nil {
		return apart(failed)
	}
	if errors.Is(err, caged.ErrNotBuilt) {
		return err
	}
	renewed, tokens := c.BringTokens(program.Dir, began)
	for _, name := range renewed {
		a.IO.Say("the agent's login was renewed: %s", name)
	}
	left := a.putBack(c)
	k.tellNested("it was made in the cage, and what its .git names")
	if left == nil { // no git before that: it would believe what it finds in the worktree
		left = k.end(context.WithoutCancel(ctx))
	}
	left = errors.Join(left, tokens)
	switch {
	case left == nil:
		return err
	case err == nil:
		return apart(left)
	}
	a.IO.Warn("%v", left)
	return err
}

// describe finds what a cage is to show and to hold.
func (a *App) describe(ctx context.Context, k *keptRepo) error {
	c := k.cage
	c.Look()
	settings, err := k.begin(ctx)
	if err != nil {
		return err
	}
	if c.User.Git, c.User.Named, err = aside.Personal(settings, a.Home, c.User.Shows()); err != nil {
		return err
	}
	k.tellNested("an agent can change its .git, and what that names")
	if !k.told && !c.User.Shows() {
		a.IO.Say("%s", caged.NoLogin)
		k.told = true
	}
	return c.Record()
}

// chooseWay finds what can hold the program, and tells if that is not the best.
func (a *App) chooseWay(ctx context.Context, c *caged.Cage, accept []string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	lacking := ""
	c.Way, lacking, err = caged.Choose(ctx, c.Tool, cfg.Guard.Cage)
	missing, ok := errors.AsType[*box.Unavailable](err)
	switch {
	case ok && slices.Contains(accept, AcceptNoKernel):
		a.IO.Warn("NOTHING HOLDS THE PROGRAM, as you accept: it can change all that you can change; %s", lacking)
		return nil
	case ok:
		missing.Mend = strings.TrimPrefix(missing.Mend+"; or go without a cage: --accept "+AcceptNoKernel, "; ")
	case err == nil && lacking != "":
		a.IO.Warn("%s holds the cage alone, which holds less (see docs/guard.md): %s", c.Way, lacking)
	}
	return err
}

// putBack puts back what a program has changed in the worktree that could start something later.
func (a *App) putBack(c *caged.Cage) error {
	changed, err := c.PutBack()
	for _, name := range changed {
		a.IO.Warn("%s was changed in the cage, and is again as it was; the changed one is beside it, as %s.changed-…",
			filepath.Join(c.Worktree, name), filepath.Base(name))
	}
	return err
}

// apart is an error of cco's own steps, whose status must not pass for the program's.
func apart(err error) error {
	if _, ok := errors.AsType[*proc.ExitError](err); ok {
		return errors.New(err.Error())
	}
	return err
}

// cage describes the cage of a worktree, and gives the directory in which the program starts.
func (a *App) cage(worktree string, argv []string) (*caged.Cage, string, error) {
	dir, err := a.workspace(worktree)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, "", err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, "", errors.Join(err, Usagef("%s is not a directory", dir))
	}
	if dir == "/" || paths.Within(a.Home, dir) {
		return nil, "", Usagef("%s holds your home: a cage is for a worktree", dir)
	}
	tool, err := Tool()
	if err != nil {
		return nil, "", err
	}
	cfg, err := a.Config()
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256([]byte(dir))
	c := &caged.Cage{Tool: tool, Data: a.Dirs.Data, Worktree: dir, Program: argv[0],
		Dir:  filepath.Join(a.Dirs.Data, "guard", hex.EncodeToString(sum[:8]), "cage"),
		User: caged.User{Home: a.Home, Path: a.Env("PATH"), Env: os.Environ(), Hidden: keyFiles(cfg)}}
	for _, name := range cfg.Guard.Show {
		if strings.ContainsAny(name, "/~") {
			c.User.Shown = append(c.User.Shown, box.Mount{Path: homed(name, a.Home)})
		} else {
			c.User.Pass = append(c.User.Pass, name)
		}
	}
	c.User.Sockets = cfg.Guard.Sockets
	start := dir
	if here, err := filepath.EvalSymlinks(a.Dir); err == nil && paths.Within(here, dir) {
		start = here
	}
	return c, start, os.MkdirAll(c.Dir, 0o700)
}

// homed is a path that may begin with the home.
func homed(name, home string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return filepath.Clean(name)
}

// excluded are what the cage itself puts into the worktree.
func excluded(c *caged.Cage) (patterns []string) {
	for _, name := range c.Missing() {
		patterns = append(patterns, "/"+name)
	}
	return patterns
}

// holdCage makes sure that one cage alone is at work on a worktree: its layers are nobody else's.
func holdCage(c *caged.Cage) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, &BusyCageError{c.Worktree}
	}
	return func() { _ = f.Close() }, nil
}
