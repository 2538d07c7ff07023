package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// keptSessions is how many sessions prune and destroy are measured with.
const keptSessions = 200

// aMillionFiles is a plan whose session has them, where git overlooks them.
const aMillionFiles = "# Many\n\n## Task 1: Make them\n\n```sh\nmkdir many && cd many && echo '*' > .gitignore\n" +
	"seq 1000000 | xargs touch\ndate > ../note.txt\n```\n"

// keep measures removing what has arrived, and all the rest. One session in ten was not pulled.
func (b *bench) keep(ctx context.Context) error {
	repo := filepath.Join(b.dir, "keep")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	if err := b.quiet(ctx, repo, b.cco, "box", "create", "keep"); err != nil {
		return err
	}
	for i := range keptSessions {
		plan := trivial
		if i == 1 {
			plan = aMillionFiles
		}
		if i < 3 {
			if err := b.commit(ctx, repo, "plan.md", plan); err != nil {
				return err
			}
		}
		id, err := b.pushed(ctx, repo, "--box", "keep")
		if err != nil {
			return err
		}
		if i%10 == 0 {
			continue
		}
		if err := b.quiet(ctx, repo, b.cco, "box", "pull", id, "--quiet", "--branch", "from-"+id); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		what string
		argv []string
	}{
		{"`cco box prune --yes`, a million files in one of them,", []string{"box", "prune", "--yes"}},
		{"`cco box destroy --force` of the rest", []string{"box", "destroy", "keep", "--force"}},
	} {
		d, err := b.took(ctx, repo, append([]string{b.cco}, c.argv...)...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		b.rows = append(b.rows, row{fmt.Sprintf("%s with %d sessions", c.what, keptSessions), ms(d), "", "", "2 s"})
	}
	return nil
}
