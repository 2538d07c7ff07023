package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// caged measures how much later a program begins in a cage on a repository of moderate size than by itself, and how
// long a whole run takes that changes nothing.
func (b *bench) caged(ctx context.Context) error {
	repo := filepath.Join(b.dir, "caged")
	if err := gittest.Generate(ctx, repo, b.commits/50, b.files/4); err != nil {
		return err
	}
	const now = "+%s%N"
	begins := func(argv ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			start := time.Now()
			out, err := b.output(ctx, repo, append(argv, "date", now)...)
			if err != nil {
				return 0, err
			}
			at, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
			return time.Duration(at - start.UnixNano()), err
		}
	}
	ends := func(argv ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) { return b.took(ctx, repo, append(argv, "true")...) }
	}
	cage := []string{b.cco, "guard", "run", "--"}
	if _, err := ends(cage...)(); err != nil { // the first makes the private repository
		return err
	}
	const runs = 25
	inside, alone, err := alternate(runs, begins(cage...), begins())
	if err != nil {
		return err
	}
	whole, plain, err := alternate(runs, ends(cage...), ends())
	if err != nil {
		return err
	}
	of := fmt.Sprintf(" on %d commits and %d files (p50)", b.commits/50, b.files/4)
	b.rows = append(b.rows,
		row{"a program begins in a cage" + of, ms(inside), ms(alone), "+" + ms(inside-alone), "+30 ms"},
		row{"`true` in a cage" + of, ms(whole), ms(plain), "+" + ms(whole-plain), ""})
	return nil
}
