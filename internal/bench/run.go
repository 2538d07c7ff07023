package main

import (
	"context"
	"path/filepath"
	"time"
)

// loop compares `cco run` with a push and a pull of the same plan.
func (b *bench) loop(ctx context.Context) error {
	repo := filepath.Join(b.dir, "loop")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	if err := b.commit(ctx, repo, "plan.md", trivial); err != nil {
		return err
	}
	ours, theirs, err := alternate(9,
		func() (time.Duration, error) {
			return b.took(ctx, repo, b.cco, "run", "plan.md", "--agent", "script", "--yes", "--quiet")
		},
		func() (time.Duration, error) {
			pushed, err := b.took(ctx, repo, b.cco, "box", "push", "plan.md", "--agent", "script", "--quiet")
			if err != nil {
				return 0, err
			}
			pulled, err := b.took(ctx, repo, b.cco, "box", "pull", "--last", "--quiet")
			return pushed + pulled, err
		})
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"`cco run --yes` beside `cco box push` and `cco box pull`", ms(ours), ms(theirs),
		signed(ours - theirs), "+50 ms"})
	return nil
}

func signed(d time.Duration) string {
	if d < 0 {
		return "-" + ms(-d)
	}
	return "+" + ms(d)
}
