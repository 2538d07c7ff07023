package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/settings"
)

// watched finds the linked worktree that the guard is around, and where its repository's picture is kept.
func (a *App) watched(dir string) (p guard.Policy, kept string, err error) {
	i, err := a.Guard(dir)
	if err != nil {
		return p, "", err
	}
	if p, err = a.Policy(i.Dir, ""); err != nil {
		return p, "", err
	}
	if !p.Linked {
		return p, "", fmt.Errorf("%s is no linked worktree: it shares no repository with you", i.Dir)
	}
	return p, pictureOf(i), nil
}

func pictureOf(i settings.Installation) string { return i.State + pictureSuffix }

const pictureSuffix = "-canary"

// Unwatch forgets the picture.
func (a *App) Unwatch(i settings.Installation) error { return canary.Drop(pictureOf(i)) }

// WatchWorktree takes a picture of the repository that a guarded worktree shares with the user.
func (a *App) WatchWorktree(ctx context.Context, dir string) error {
	p, kept, err := a.watched(dir)
	if err != nil {
		return err
	}
	if err := git.Passable(ctx, p.Workspace); err != nil {
		return err
	}
	repo, err := git.Open(ctx, p.Workspace)
	if err != nil {
		return err
	}
	own := canary.Own{Branch: p.Branch, Admin: filepath.Base(p.GitDir)}
	return canary.Take(ctx, repo, kept, own, time.Now())
}

// CompareWorktree says what has changed there since.
func (a *App) CompareWorktree(ctx context.Context, dir string) (canary.Report, error) {
	p, kept, err := a.watched(dir)
	if err != nil {
		return canary.Report{}, err
	}
	r, err := canary.Compare(ctx, kept, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the guard is not around %s: put it there with `cco guard install`", p.Workspace)
	}
	return r, err
}

// CompareWorktrees does so for every worktree that the guard is around.
func (a *App) CompareWorktrees(ctx context.Context) (list []canary.Report, err error) {
	dir := filepath.Join(a.Dirs.Data, "guard")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), pictureSuffix) {
			continue
		}
		r, err := canary.Compare(ctx, filepath.Join(dir, e.Name()), time.Now())
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(r.Worktree); err == nil { // one that you have removed is no longer guarded
			list = append(list, r)
		}
	}
	return list, nil
}
