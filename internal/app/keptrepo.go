package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/guard/caged"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/proc"
)

// keptRepo brings over what a cage commits. Without a repository it does nothing.
type keptRepo struct {
	app  *App
	cage *caged.Cage
	repo *aside.Repo
	mark string // of the private repository when the program began

	moved []aside.Moved // branches, while the program ran
	told  bool          // that no login is in sight

	nested []string // repositories in the worktree that were named

	reports string // the file to which the guard's hook writes in the cage, "" for none
}

// begin brings over what a cage before this one left, and begins to let the private repository see what the user has
// now, for which the cage waits. What can't be brought over is kept where the user is told, and a new private
// repository takes its place. It gives the user's own settings of git.
func (k *keptRepo) begin(ctx context.Context) ([]git.Setting, error) {
	if RepoTop(k.cage.Worktree) != k.cage.Worktree {
		return git.UserSettings(ctx)
	}
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	pending, err := k.repo.Pending()
	if err == nil && pending {
		err = k.end(ctx)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, aside.ErrUser) && !isFull(err) {
		kept := k.dir() + time.Now().Format("-20060102-150405")
		k.app.IO.Warn("what the last cage left here can't be brought over, and is kept in %s: %v", kept, err)
		if err := os.Rename(k.dir(), kept); err != nil {
			return nil, err
		}
		err = k.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	k.cage.Ready = alongside(func() error {
		err := k.repo.Refresh(ctx)
		k.mark = k.repo.Mark()
		return err
	})
	holds, err := k.repo.Holds(ctx)
	k.cage.Kept, k.cage.Empty = holds.Kept, holds.Empty
	return k.repo.Settings(), err
}

// isFull says of an error, also of a program's, that the disk has no room. What is new waits until it has.
func isFull(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), syscall.ENOSPC.Error()) ||
		strings.Contains(strings.ToLower(err.Error()), syscall.EDQUOT.Error())
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
	k.cage.Repo = nil
	for _, m := range k.repo.Mounts() {
		st, err := os.Lstat(m.Source)
		k.cage.Repo = append(k.cage.Repo, caged.Mount{Source: m.Source, Target: m.Target, Write: !m.ReadOnly,
			File: err == nil && !st.IsDir(), Empty: m.Source == ""})
	}
	return k.showHook()
}

// showHook shows the hook of `cco guard install` its policy, and gives it a log of the cage's own, which cco reads.
// What can't be mounted has none.
func (k *keptRepo) showHook() error {
	state := settings.Installation{State: filepath.Dir(k.cage.Dir)}
	if _, err := os.Lstat(state.Policy()); err != nil {
		return nil //nolint:nilerr // it is not installed
	}
	k.cage.Repo = append(k.cage.Repo, caged.Mount{Source: state.Policy(), Target: state.Policy(), File: true})
	if k.cage.Way != caged.Namespaces {
		return nil
	}
	k.reports = filepath.Join(k.cage.Dir, "reports")
	k.cage.Repo = append(k.cage.Repo, caged.Mount{Source: k.reports, Target: filepath.Join(k.cage.Data, audit.FileName),
		File: true, Write: true})
	return os.WriteFile(k.reports, nil, 0o600)
}

// end brings over what is new when the program is gone, and says what it did.
func (k *keptRepo) end(ctx context.Context) error {
	if k.repo == nil {
		return nil
	}
	report, err := k.repo.End(ctx, k.inside)
	report.Moved, k.moved = k.come(report.Moved), nil
	for _, line := range report.Words() {
		k.app.IO.Say("%s", line)
	}
	return errors.Join(err, k.tellDangers(ctx, report))
}

// come adds to what moved before, and gives all of it, a line for each branch.
func (k *keptRepo) come(moved []aside.Moved) []aside.Moved {
	for _, m := range moved {
		if i := slices.IndexFunc(k.moved, func(was aside.Moved) bool { return was.Branch == m.Branch }); i >= 0 {
			k.moved[i].To = m.To
		} else {
			k.moved = append(k.moved, m)
		}
	}
	return k.moved
}

// tellDangers names what came that runs, or takes hold, when the user goes on with it. What the cage holds in the
// worktree may be in a commit.
func (k *keptRepo) tellDangers(ctx context.Context, report aside.Report) error {
	if len(report.Moved) == 0 && report.Staged == "" {
		return nil
	}
	repo, err := git.Open(ctx, k.cage.Worktree)
	if err != nil {
		return err
	}
	head, err := repo.Host().Line(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	all := []gate.Range{{Base: head, Tip: cmp.Or(report.Staged, head)}}
	for _, m := range report.Moved {
		all = append(all, gate.Range{Base: cmp.Or(m.From, head), Tip: m.To})
	}
	told := map[string]bool{}
	for _, in := range all {
		found, err := gate.Examine(ctx, repo, in)
		if err != nil {
			return err
		}
		for _, g := range found.Groups {
			for _, name := range g.Files() {
				if g.Response == gate.Ask && !told[name] && len(told) < maxTold {
					told[name] = true
					k.app.IO.Warn("%s came with it (%s): look at it first", git.Quote(name), g.Says)
				}
			}
		}
	}
	return nil
}

// maxTold is how many files are named at the end.
const maxTold = 20

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
		if k.reports != "" {
			logged := alongside(func() error {
				return audit.Collect(ctx, k.reports, time.Second, audit.Open(k.cage.Data, time.Now))
			})
			defer func() { _ = logged() }()
		}
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
				report, _ := k.repo.Take(ctx, k.inside) // what goes wrong is told at the end, when it is tried again
				k.come(report.Moved)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// tellNested names repositories in the worktree that nothing holds, each once.
func (k *keptRepo) tellNested(why string) {
	for _, dir := range git.Nested(k.cage.Worktree, slices.Concat(k.cage.Kept, k.cage.Empty)) {
		if !slices.Contains(k.nested, dir) {
			k.nested = append(k.nested, dir)
			k.app.IO.Warn("%s is a repository in the worktree, and no submodule: %s would run at your next git there",
				git.Quote(dir), why)
		}
	}
}
