// Package worktree keeps boxes that share a repository with the user: each session is a git worktree of it, on a branch
// of its own, and its agent runs as the user. On Linux the kernel isolates it: the agent can read the whole machine,
// but write only to the session's own files. Elsewhere, or if the user accepts that, there is no isolation.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/tree"
)

// Options configure a Driver.
type Options struct {
	Tool   string   // cco-box on this machine
	Guard  string   // cco-guard on this machine; "" if there is none
	Home   string   // the user's; "" is what the environment says
	Path   string   // the user's PATH: its directories stay visible wherever they are
	Caches []string // directories of tools below the home that an agent may write to
	Keys   []string // variables of the user that hold keys: the broker gets them, agents don't

	KeyFiles []string // files that hold them
}

// AcceptNoKernel is the weaker mode in which an agent runs without isolation.
const AcceptNoKernel = "no-kernel"

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

// layout says where things are below a box's directory.
type layout struct{ dir string }

func (l layout) worktrees() string           { return filepath.Join(l.dir, "worktrees") }
func (l layout) workspace(id string) string  { return filepath.Join(l.dir, "worktrees", id) }
func (l layout) home() string                { return filepath.Join(l.dir, "home") }
func (l layout) run() string                 { return filepath.Join(l.dir, "run") }
func (l layout) bin() string                 { return filepath.Join(l.dir, "bin") }
func (l layout) shells() string              { return filepath.Join(l.dir, "shells") }
func (l layout) sessions() string            { return filepath.Join(l.dir, "sessions") }
func (l layout) session(id string) string    { return filepath.Join(l.dir, "sessions", id) }
func (l layout) admin(id string) string      { return filepath.Join(l.session(id), "admin") }
func runs(b *box.Box) cage.Registry          { return cage.Registry{Dir: layout{b.Dir}.run()} }
func workspace(b *box.Box, id string) string { return layout{b.Dir}.workspace(id) }
func branch(session string) string           { return "cco/" + session }

// plain says whether a box has no kernel isolation. This is decided at creation, and never changes silently.
func plain(b *box.Box) bool { return slices.Contains(b.Spec.Accept, AcceptNoKernel) }

// Check never refuses: only git is needed, and cco does not run without it.
func (d *Driver) Check(context.Context) error { return nil }

// Create makes the box's directories. If the kernel's isolation is not available and the user requires it, Create
// refuses; otherwise it marks the box as one without isolation, and says so.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if err := checkAccepted(b); err != nil {
		return err
	}
	if _, err := git.Open(ctx, b.Spec.Repo); err != nil {
		return err
	}
	l := layout{b.Dir}
	for _, dir := range []string{l.worktrees(), l.run(), l.home(), l.sessions(), l.shells()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if !plain(b) {
		_, err := d.rehearse(ctx, b)
		missing, ok := errors.AsType[*box.Unavailable](err)
		if ok && !b.Spec.RequireKernel {
			b.Spec.Accept = append(b.Spec.Accept, AcceptNoKernel)
			report("isolation: none, because %s", missing)
		} else if err != nil {
			return err
		}
	}
	return d.open(ctx, b)
}

func checkAccepted(b *box.Box) error {
	known := append([]string{AcceptNoKernel, box.AcceptNoGuard}, weaker()...)
	for _, name := range b.Spec.Accept {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown weaker mode %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	if plain(b) && b.Spec.RequireKernel {
		return &box.Unavailable{What: "the kernel's isolation", Why: AcceptNoKernel + " was accepted",
			Mend: "ask for one of the two"}
	}
	return nil
}

// Start lets sessions run. A box with the kernel's isolation must still find it available.
func (d *Driver) Start(ctx context.Context, b *box.Box, _ box.Report) error {
	if err := checkAccepted(b); err != nil {
		return err
	}
	if !plain(b) {
		if _, err := d.rehearse(ctx, b); err != nil {
			return err
		}
	}
	return d.open(ctx, b)
}

func (d *Driver) open(ctx context.Context, b *box.Box) error {
	if err := errors.Join(runs(b).Open(), runs(b).Sweep(ctx), d.linkGit(b)); err != nil {
		return err
	}
	b.Boot = up
	return nil
}

// linkGit puts cco-box, named git, into a directory that is first on the agents' PATH.
func (d *Driver) linkGit(b *box.Box) error {
	dir := layout{b.Dir}.bin()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	link := filepath.Join(dir, "git")
	if now, err := os.Readlink(link); err == nil && now == d.opts.Tool {
		return nil
	}
	tmp := link + ".new"
	_ = os.Remove(tmp)
	if err := os.Symlink(d.opts.Tool, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, link)
}

// Stop ends everything that the box's sessions have running and prevents further starts.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	b.Boot = ""
	return errors.Join(runs(b).Close(ctx), tree.Remove(layout{b.Dir}.shells()))
}

// Destroy removes the box's worktrees. Their branches stay: they are in the user's repository.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if err := d.Stop(ctx, b); err != nil {
		return err
	}
	l := layout{b.Dir}
	for _, dir := range []string{l.worktrees(), l.sessions()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if cage.CheckKey("session", e.Name()) != nil {
				continue // half-made, and removed with the rest
			}
			if err := d.Discard(ctx, b, e.Name()); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{l.worktrees(), l.sessions(), l.shells(), l.home(), l.bin(), l.run()} {
		if err := tree.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// Running says whether the box was started and not stopped.
func (d *Driver) Running(_ context.Context, b *box.Box) (bool, error) {
	if b.Boot != up {
		return false, nil
	}
	return runs(b).IsOpen()
}

// Provision keeps the skill and the instructions beside the worktrees: cco does not write to the user's own home.
func (d *Driver) Provision(_ context.Context, b *box.Box, files []box.File, report box.Report) error {
	root, err := os.OpenRoot(layout{b.Dir}.home())
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
