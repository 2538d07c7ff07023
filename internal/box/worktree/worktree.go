// Package worktree is the box without walls: each session is a git worktree of one repository of the user's, on a branch
// of its own, and its agent runs as the user. It is for machines with nothing else and for users who want exactly that.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
)

// Options are what a Driver is made with.
type Options struct {
	Tool  string // cco-box on this machine
	Guard string // cco-guard on this machine; "" if there is none
}

// Driver makes worktree boxes.
type Driver struct{ opts Options }

// New makes a driver.
func New(o Options) *Driver { return &Driver{opts: o} }

var (
	_ box.Driver = (*Driver)(nil)
	_ box.Sharer = (*Driver)(nil)
)

// up marks a box as started: it has no process of its own, so it is running until it is stopped.
const up = "up"

func workspace(b *box.Box, session string) string { return filepath.Join(b.Dir, "worktrees", session) }

func branch(session string) string { return "cco/" + session }

// Check never refuses: all that is needed is git, without which cco does not run.
func (d *Driver) Check(context.Context) error { return nil }

// Create marks the box as running.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if _, err := git.Open(ctx, b.Spec.Repo); err != nil {
		return err
	}
	for _, dir := range []string{"worktrees", "run", "home"} {
		if err := os.MkdirAll(filepath.Join(b.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	return d.Start(ctx, b, report)
}

// Start marks the box as running.
func (d *Driver) Start(_ context.Context, b *box.Box, _ box.Report) error {
	b.Boot = up
	return nil
}

// Stop ends what the box's sessions have running.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	b.Boot = ""
	return d.end(ctx, b, "")
}

// Destroy removes the box's worktrees. Their branches stay: they are in the user's repository.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if err := d.Stop(ctx, b); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(b.Dir, "worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if err := d.Discard(ctx, b, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// Running says whether the box was started.
func (d *Driver) Running(_ context.Context, b *box.Box) (bool, error) { return b.Boot == up, nil }

// Provision keeps the skill and the instructions beside the worktrees: the user's own home is not cco's to write.
func (d *Driver) Provision(_ context.Context, b *box.Box, files []box.File, report box.Report) error {
	root, err := os.OpenRoot(filepath.Join(b.Dir, "home"))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	report("writing instructions")
	for _, f := range files {
		if err := root.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(f.Path, f.Data, f.Mode); err != nil {
			return err
		}
	}
	if len(b.Spec.Setup) > 0 {
		report("setup commands are not run in a worktree box: it has no home of its own")
	}
	return nil
}

// Prepare says where a session is. Its worktree is made by Checkout.
func (d *Driver) Prepare(_ context.Context, b *box.Box, session string) (box.Place, error) {
	exchange := filepath.Join(b.Exchange, session)
	if err := os.MkdirAll(exchange, 0o700); err != nil {
		return box.Place{}, err
	}
	home, err := os.UserHomeDir()
	return box.Place{Workspace: workspace(b, session), Exchange: exchange, Home: home, Tool: d.opts.Tool, Guard: d.opts.Guard}, err
}

// Checkout makes the session's worktree.
func (d *Driver) Checkout(ctx context.Context, b *box.Box, session, base string) (string, error) {
	repo, err := git.Open(ctx, b.Spec.Repo)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(workspace(b, session), ".git")); err == nil {
		return branch(session), nil
	}
	if err := repo.AddWorktree(ctx, workspace(b, session), branch(session), base); err != nil {
		return "", fmt.Errorf("make a worktree: %w", err)
	}
	return branch(session), nil
}

// Halt ends what a session has running.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	if strings.ContainsAny(session, "/.") || session == "" {
		return fmt.Errorf("session %q: not an id", session)
	}
	return d.end(ctx, b, session)
}

// Discard removes a session's worktree. Its branch stays in the user's repository.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	if err := d.Halt(ctx, b, session); err != nil {
		return err
	}
	if _, err := os.Lstat(workspace(b, session)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	repo, err := git.Open(ctx, b.Spec.Repo)
	if err != nil {
		// The repository is gone, and its worktrees are of no use without it.
		return os.RemoveAll(workspace(b, session))
	}
	return repo.RemoveWorktree(ctx, workspace(b, session), true)
}

// Layers says plainly that there are none.
func (d *Driver) Layers(context.Context, *box.Box) ([]box.Layer, error) {
	return []box.Layer{{Name: "isolation", Detail: "none: agents share the repository's .git and run as you"}}, nil
}

// Promises is empty: nothing is kept from an agent here.
func (d *Driver) Promises() []string { return nil }
