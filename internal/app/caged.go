package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
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
		return apart(err)
	}
	defer func() {
		for _, name := range c.Release() {
			a.IO.Warn("%s was not there before, and nothing held its place: look at it before you start an agent here", name)
		}
	}()
	ended := k.watch(ctx)
	err := run()
	ended()
	if failed := c.Await(); failed != nil {
		return apart(failed)
	}
	if errors.Is(err, caged.ErrNotBuilt) {
		return err
	}
	renewed, tokens := c.BringTokens()
	for _, name := range renewed {
		a.IO.Say("the agent's login was renewed: %s", name)
	}
	left := a.putBack(c)
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
	var config []byte
	var named []string
	read := alongside(func() (err error) {
		config, named, err = aside.Personal(ctx, a.Home, c.User.Shows())
		return err
	})
	c.User.Git = func() ([]byte, []string, error) { err := read(); return config, named, err }
	if RepoTop(c.Worktree) == c.Worktree {
		if err := k.begin(ctx); err != nil {
			return err
		}
	}
	for _, dir := range git.Nested(c.Worktree, slices.Concat(c.Kept, c.Empty)) {
		a.IO.Warn("%s is a repository in the worktree, and no submodule: an agent can change its .git, and what that "+
			"names would run at your next git there", git.Quote(dir))
	}
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

// keptRepo brings over what a cage commits. Without a repository it does nothing.
type keptRepo struct {
	app  *App
	cage *caged.Cage
	repo *aside.Repo
	mark string // of the private repository when the program began
	told bool   // that no login is in sight
}

// begin brings over what a cage before this one left, and begins to let the private repository see what the user has
// now, for which the cage waits. What can't be brought over is kept where the user is told, and a new private
// repository takes its place.
func (k *keptRepo) begin(ctx context.Context) (err error) {
	if err := k.open(ctx); err != nil {
		return err
	}
	pending, err := k.repo.Pending()
	if err == nil && pending {
		err = k.end(ctx)
	}
	if err != nil && ctx.Err() == nil {
		kept := k.dir() + time.Now().Format("-20060102-150405")
		k.app.IO.Warn("what the last cage left here can't be brought over, and is kept in %s: %v", kept, err)
		if err := os.Rename(k.dir(), kept); err != nil {
			return err
		}
		err = k.open(ctx)
	}
	if err != nil {
		return err
	}
	k.cage.Ready = alongside(func() error {
		err := k.repo.Refresh(ctx)
		k.mark = k.repo.Mark()
		return err
	})
	return nil
}

// alongside begins something whose end, and what came of it, is waited for by a call.
func alongside(do func() error) (await func() error) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return sync.OnceValue(func() error { return <-done })
}

// dir is where the private repository is.
func (k *keptRepo) dir() string { return filepath.Join(k.cage.Dir, "repo") }

// open finds the private repository, and has the cage show it.
func (k *keptRepo) open(ctx context.Context) (err error) {
	way := k.cage.Way
	options := aside.Options{Mounts: way == caged.Namespaces}
	if options.Mounts {
		options.Exclude = excluded(k.cage)
	}
	if k.repo, err = aside.Open(ctx, k.dir(), k.cage.Worktree, options); err != nil {
		return err
	}
	if !options.Mounts {
		k.cage.GitDir = k.repo.GitDir()
		if k.repo.InWorktree() {
			return &box.Unavailable{What: "a cage around a main worktree", Why: string(way) +
				" can't keep .git from a program that may write around it", Mend: "give the agent a worktree of its own: " +
				"git worktree add ../NAME"}
		}
	}
	holds, err := k.repo.Holds(ctx)
	if err != nil {
		return err
	}
	k.cage.Kept, k.cage.Empty, k.cage.Repo = holds.Kept, holds.Empty, nil
	for _, m := range k.repo.Mounts() {
		st, err := os.Lstat(m.Source)
		k.cage.Repo = append(k.cage.Repo, caged.Mount{Source: m.Source, Target: m.Target, Write: !m.ReadOnly,
			File: err == nil && !st.IsDir(), Empty: m.Source == ""})
	}
	return nil
}

// end brings over what is new when the program is gone, and says what it did.
func (k *keptRepo) end(ctx context.Context) error {
	if k.repo == nil {
		return nil
	}
	report, err := k.repo.End(ctx, k.inside)
	for _, line := range report.Words() {
		k.app.IO.Say("%s", line)
	}
	return err
}

// inside runs one of cco's own steps on the private repository, in a cage without network.
func (k *keptRepo) inside(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	alone := *k.cage
	alone.Alone = true
	var words strings.Builder
	err := alone.Run(ctx, box.Exec{Argv: append([]string{k.cage.Tool}, argv...), Dir: k.cage.Worktree, Stdin: in,
		Stdout: out, Stderr: &words})
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		exit.Stderr = words.String()
	}
	return err
}

// watch brings over what is committed while the program runs, until ended is called.
func (k *keptRepo) watch(ctx context.Context) (ended func()) {
	if k.repo == nil || k.cage.Way != caged.Namespaces { // nothing keeps .git as it is while the program runs
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if k.cage.Await() != nil {
			return
		}
		for last, tick := k.mark, time.Tick(time.Second); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if now := k.repo.Mark(); now != last {
				last = now
				_, _ = k.repo.Take(ctx, k.inside) // what goes wrong is told at the end, when it is tried again
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
