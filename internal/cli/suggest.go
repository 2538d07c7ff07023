package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// suggestions are the names that a wrong one most likely means: one or two letters away, or begun like it.
func suggestions(wrong string, names []string) (near []string) {
	best := 2
	if len(wrong) < 4 {
		best = 1
	}
	for _, n := range names {
		away := distance(wrong, n)
		if len(wrong) > 2 && strings.HasPrefix(n, wrong) {
			away = 1
		}
		if away < best {
			best, near = away, nil
		}
		if away == best {
			near = append(near, n)
		}
	}
	return near
}

// advice is the end of an error about a wrong word: what it may mean, and where help is.
func advice(meant []string, path string) string {
	if len(meant) == 0 {
		return ", see `" + path + " --help`"
	}
	return ": did you mean `" + strings.Join(meant, "` or `") + "`? See `" + path + " --help`"
}

// nearCommands are the commands that an unknown word may mean, there or with this name elsewhere.
func nearCommands(c *cobra.Command, word string) (paths []string) {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, append(sub.Aliases, sub.Name())...)
		}
	}
	for _, n := range suggestions(word, names) {
		paths = append(paths, c.CommandPath()+" "+n)
	}
	if len(paths) > 0 {
		return paths
	}
	for _, group := range c.Root().Commands() {
		for _, sub := range group.Commands() {
			if sub.Name() == word && group != c {
				paths = append(paths, sub.CommandPath())
			}
		}
	}
	return paths
}

// withUnits are the durations that a number without a unit may mean.
func withUnits(err error) []string {
	_, number, missing := strings.Cut(err.Error(), "missing unit in duration ")
	if !missing {
		return nil
	}
	number = strings.Trim(number, `"`)
	return []string{number + "s", number + "m"}
}

// withMeant adds to an error about a name what that may mean.
func (a *commands) withMeant(ctx context.Context, err error) error {
	if meant := a.meant(ctx, err); len(meant) > 0 {
		return fmt.Errorf("%w: did you mean `%s`?", err, strings.Join(meant, "` or `"))
	}
	return err
}

func (a *commands) meant(ctx context.Context, err error) []string {
	near := func(wrong string, list func(context.Context) ([]completion, error)) []string {
		all, _ := list(ctx)
		var names []string
		for _, c := range all {
			names = append(names, c.word)
		}
		return suggestions(wrong, names)
	}
	if e, ok := errors.AsType[*agent.NotFoundError](err); ok {
		return suggestions(e.Name, e.There)
	}
	if e, ok := errors.AsType[*broker.UnknownProviderError](err); ok {
		return suggestions(e.Name, app.Providers())
	}
	if e, ok := errors.AsType[*config.UnknownError](err); ok {
		return near(e.Name, a.settingNames)
	}
	if e, ok := errors.AsType[*config.WordError](err); ok {
		return suggestions(e.Word, e.There)
	}
	if e, ok := errors.AsType[*box.NotFoundError](err); ok {
		return near(e.Name, a.boxNames)
	}
	if e, ok := errors.AsType[*session.PlanError](err); ok && e.Err == nil {
		if strings.Contains(e.Path, " ") {
			return []string{"-m " + strconv.Quote(e.Path)}
		}
		return a.nearFiles(e.Path)
	}
	return nil
}

// nearFiles are the files beside a path that it may mean.
func (a *commands) nearFiles(path string) (near []string) {
	dir := filepath.Dir(path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && safetext.Line(e.Name()) == e.Name() {
			names = append(names, e.Name())
		}
	}
	for _, n := range suggestions(filepath.Base(path), names) {
		near = append(near, filepath.Join(filepath.Dir(path), n))
	}
	return near
}

// nearFlags are the flags that an error about an unknown one may mean.
func nearFlags(c *cobra.Command, err error) (flags []string) {
	_, wrong, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return nil
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	for _, n := range suggestions(wrong, names) {
		flags = append(flags, "--"+n)
	}
	return flags
}

// distance is how many letters two words differ by; two that have changed places count as one.
func distance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now := make([]int, len(b)+1)
		now[0] = i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}
