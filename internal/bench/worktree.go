package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// worktree compares pushes to a worktree box with a native box's and with git worktree add.
func (b *bench) worktree(ctx context.Context) error {
	repo := filepath.Join(b.dir, "large-wt")
	fmt.Fprintf(os.Stderr, "  generating %d commits, %d files\n", b.commits, b.files)
	if err := gittest.Generate(ctx, repo, b.commits, b.files); err != nil {
		return err
	}
	if err := b.commit(ctx, repo, "plan.md", trivial); err != nil {
		return err
	}
	if err := b.quiet(ctx, b.dir, b.cco, "box", "create", "wt", "--backend", "worktree", "--require-kernel"); err != nil {
		return err
	}
	defer func() {
		_ = b.quiet(context.WithoutCancel(ctx), b.dir, b.cco, "box", "destroy", "wt", "--force")
	}()
	native, err := b.handOver(ctx, repo)
	if err != nil {
		return err
	}
	first, err := b.handOver(ctx, repo, "--box", "wt")
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"first push to a worktree box beside a native one", ms(first), ms(native),
		ratio(first, native), "1.1×"})
	n := 0
	ours, theirs, err := alternate(5,
		func() (time.Duration, error) {
			if err := b.commit(ctx, repo, "more.txt", fmt.Sprint(n)); err != nil {
				return 0, err
			}
			return b.handOver(ctx, repo, "--box", "wt")
		},
		func() (time.Duration, error) {
			n++
			return b.took(ctx, repo, "git", "worktree", "add", "-q", "-b", fmt.Sprint("w", n),
				filepath.Join(b.dir, fmt.Sprint("w", n)))
		})
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"later push to a worktree box after one commit beside `git worktree add`", ms(ours),
		ms(theirs), "+" + ms(ours-theirs), "+150 ms"})
	return nil
}
