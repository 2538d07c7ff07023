package worktree

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/proc"
)

// runPlain runs a program without isolation. Its process group ends with it.
func (d *starter) runPlain(ctx context.Context, b *box.Box, r rooms.Room, e box.Exec) error {
	if e.Aside {
		return errors.New("without the kernel's isolation what a program writes to caches can't be thrown away")
	}
	r.Place.Home = r.Home.Source
	if err := errors.Join(d.linkGit(b), linkCaches(b, r, e)); err != nil {
		return err
	}
	if limit := cmp.Or(e.Limits.Time, b.Spec.Limits.Time); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &box.LimitError{What: "time", Limit: limit.String()})
		defer cancel()
	}
	return cage.Plain(ctx, rooms.Runs(b), e, proc.Cmd{Argv: e.Argv, Dir: r.WorkDir(e), Env: d.environment(b, r, e)})
}

// linkGit puts cco-box, named git, into a directory that is first on the programs' PATH.
func (d *starter) linkGit(b *box.Box) error {
	dir := rooms.Layout{Dir: b.Dir}.ToolDir()
	link := filepath.Join(dir, "git")
	if now, err := os.Readlink(link); err == nil && now == d.opts.Tool {
		return nil
	}
	tmp := filepath.Join(dir, "git-"+rand.Text()) // others may do the same
	return errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(d.opts.Tool, tmp), os.Rename(tmp, link))
}

// linkCaches leads from the home to the box's caches, where the program has put nothing else.
func linkCaches(b *box.Box, r rooms.Room, e box.Exec) error {
	if e.Own {
		return nil
	}
	caches, err := r.ID.Caches(b)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Place.Home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, c := range caches {
		// A program that has made something else of these names has no cache.
		if root.MkdirAll(filepath.Dir(c.Name), 0o755) == nil {
			_ = root.Symlink(c.Dir, c.Name)
		}
	}
	return nil
}
