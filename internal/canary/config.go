package canary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// byGit lets git read a copy of ours, in an empty repository of ours.
func byGit[T any](ctx context.Context, c *comparison, content []byte,
	read func(git.Host, context.Context, string) (T, error)) (got T, err error) {
	if content == nil {
		return got, errLarge
	}
	dir, err := os.MkdirTemp(c.was.dir, "read-")
	if err != nil {
		return got, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	host, file := git.Bare(dir), filepath.Join(dir, "copy")
	if err := errors.Join(os.WriteFile(file, content, 0o600), host.Run(ctx, nil, "init", "-q", "--bare", "--template=",
		"--object-format="+c.was.Format, dir)); err != nil {
		return got, err
	}
	return read(host, ctx, file)
}

// config tells a changed configuration key by key; nil if it says the same.
func (c *comparison) config(ctx context.Context, f *Finding, name string, was, is *Entry, old, now []byte) *Finding {
	before, errOld := byGit(ctx, c, old, settings)
	after, errNow := byGit(ctx, c, now, settings)
	if was == nil || is == nil || errOld != nil || errNow != nil {
		f.Detail, f.Undo = lineDiff(old, now), c.putBack(name, was)
		return f
	}
	set := func(args ...string) {
		f.Undo = append(f.Undo, command(append([]string{"git", "config", "--file", c.path(name)}, args...)...))
	}
	for _, key := range keys(before, after) {
		a, b := before[key], after[key]
		if slices.Equal(a, b) {
			continue
		}
		if len(b) > 0 {
			set("--unset-all", key)
		}
		for _, v := range a {
			set("--add", key, v)
		}
		f.Detail = append(f.Detail, fmt.Sprintf("%s is %s; it was %s", clean(key), values(b), values(a)))
	}
	switch len(f.Detail) {
	case 0:
		if f.Detail = lineDiff(old, now); len(f.Detail) == 0 && was.Mode == is.Mode {
			return nil
		}
		f.Undo = c.putBack(name, was)
	case 1:
		f.Words, f.Detail = f.What+": "+f.Detail[0], nil
	default:
		f.Words = fmt.Sprintf("%s: %d settings were changed", f.What, len(f.Detail))
	}
	f.Detail = cut(f.Detail)
	return f
}

func settings(host git.Host, ctx context.Context, file string) (map[string][]string, error) {
	list, err := host.ConfigFile(ctx, file)
	all := map[string][]string{}
	for _, s := range list {
		all[s.Key] = append(all[s.Key], s.Value)
	}
	return all, err
}

func values(list []string) string {
	if len(list) == 0 {
		return "not set"
	}
	return clean(fmt.Sprintf("%q", list))
}

// index tells what is staged differently, and from which files git was told to look away. An index that git has only
// refreshed says the same.
func (c *comparison) index(ctx context.Context, f *Finding, name string, was, is *Entry, before,
	after []byte) *Finding {
	if was == nil || is == nil {
		return f
	}
	old, errOld := byGit(ctx, c, before, git.Host.IndexFile)
	now, errNow := byGit(ctx, c, after, git.Host.IndexFile)
	if errOld != nil || errNow != nil {
		f.Words += " and can't be read"
		return f
	}
	for _, file := range keys(old, now) {
		a, b := old[file], now[file]
		if a == b {
			continue
		}
		more := ""
		for _, option := range lookedAway(b) {
			if more = ": git was told to look away from it"; name == "index" && len(f.Undo) < maxDetail {
				f.Undo = append(f.Undo, command("git", "-C", path.Dir(c.was.Common), "update-index", option, "--", file))
			}
		}
		f.Detail = append(f.Detail, clean(file)+more)
	}
	if len(f.Detail) == 0 && was.Mode == is.Mode {
		return nil
	}
	f.Detail = cut(f.Detail)
	return f
}

// lookedAway gives the options of git update-index that make git look at a file again. The letter that git ls-files -v
// puts in front says why it does not.
func lookedAway(entry string) (options []string) {
	tag, _, _ := strings.Cut(entry, " ")
	if strings.ToUpper(tag) == "S" {
		options = append(options, "--no-skip-worktree")
	}
	if strings.ToUpper(tag) != tag {
		options = append(options, "--no-assume-unchanged")
	}
	return options
}
