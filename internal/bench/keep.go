package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// keptSessions is how many sessions prune, destroy and the listings are measured with.
const keptSessions = 200

// aMillionFiles is a plan whose session has them, where git overlooks them.
const aMillionFiles = "# Many\n\n## Task 1: Make them\n\n```sh\nmkdir many && cd many && echo '*' > .gitignore\n" +
	"seq 1000000 | xargs touch\ndate > ../note.txt\n```\n"

// keep measures what looks at every session: listings, a refusal to destroy, and removing what has arrived. One session
// in ten was not pulled.
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
	const refused = "`cco box destroy`, refused"
	for _, c := range []struct {
		what, bar string
		times     int
		argv      []string
	}{
		{"`cco box sessions`", "60 ms", 20, []string{"box", "sessions"}},
		{"`cco box list`", "60 ms", 20, []string{"box", "list"}},
		{"completion of `cco box pull`", "60 ms", 20, []string{"__complete", "box", "pull", ""}},
		{refused, "1 s", 3, []string{"box", "destroy", "keep"}},
		{"`cco box prune --yes`, a million files in one of them,", "2 s", 1, []string{"box", "prune", "--yes"}},
		{"`cco box destroy --force` of the rest", "2 s", 1, []string{"box", "destroy", "keep", "--force"}},
	} {
		var all []time.Duration
		for range c.times {
			start := time.Now()
			err := b.quiet(ctx, repo, append([]string{b.cco}, c.argv...)...)
			if (err != nil) != (c.what == refused) {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			all = append(all, time.Since(start))
		}
		b.rows = append(b.rows, row{fmt.Sprintf("%s with %d sessions", c.what, keptSessions), ms(median(all)), "", "", c.bar})
	}
	return nil
}
