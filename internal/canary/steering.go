package canary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// head explains a HEAD that is where its own reflog says that a checkout moved it.
func (c *comparison) head(f *Finding, path string) {
	dir := filepath.Dir(path)
	was, is := "nothing", clean(firstLine(path))
	for _, p := range c.shot.Places {
		if p.Dir == dir {
			was = clean(p.Head)
		}
	}
	f.Before, f.After = was, is
	f.Words = fmt.Sprintf("HEAD of %s was %s and is %s now", c.worktreeOf(dir), was, is)
	if c.peer(filepath.Base(dir)) {
		f.ordinary("session " + filepath.Base(dir) + " works there")
		return
	}
	if f.Found == nil || f.Found.Type != typeFile {
		return
	}
	t := c.stories[dir]
	if t.known && len(t.visited) > 0 && (t.head == firstLine(path) || t.last == firstLine(path)) {
		f.ordinary("its reflog shows the checkout")
	}
}

// index compares what two indexes hold. One that git has only refreshed is unchanged. People stage files all day, so
// other content is ordinary; telling git to ignore a file's changes is not.
func (c *comparison) index(ctx context.Context, f *Finding, was, is *Entry) (unchanged bool, err error) {
	dir := filepath.Dir(string(f.Path))
	if was != nil && is != nil && was.Type == is.Type {
		f.Words = "the index of " + c.worktreeOf(dir) + " was changed"
	}
	if c.peer(filepath.Base(dir)) {
		f.ordinary("session " + filepath.Base(dir) + " works there")
		return false, nil
	}
	old, ok := map[string]string{}, was == nil
	if !ok {
		old, ok = c.readIndex(ctx, f, func() ([]byte, bool) { return c.before(was) })
	}
	if !ok {
		return false, ctx.Err()
	}
	now, ok := c.readIndex(ctx, f, func() ([]byte, bool) { return c.current(string(f.Path), is) })
	if !ok {
		return false, ctx.Err()
	}
	var lines []string
	hidden := false
	all := maps.Clone(now)
	maps.Copy(all, old)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		a, b := old[path], now[path]
		if a == b {
			continue
		}
		hidden = hidden || b != "" && !strings.HasPrefix(b, "H ") && !strings.HasPrefix(b, "M ")
		switch {
		case a == "":
			lines = append(lines, "+ "+clean(path))
		case b == "":
			lines = append(lines, "- "+clean(path))
		default:
			lines = append(lines, "~ "+clean(path))
		}
	}
	if len(lines) == 0 && was != nil && was.Mode == is.Mode {
		return true, nil
	}
	f.Detail = cut(lines)
	switch {
	case hidden:
		f.Why = "git was told to look away from files"
	case was == nil || was.Mode == is.Mode:
		f.ordinary("files were staged, committed or checked out there")
	}
	return false, nil
}

// readIndex reads an index from a copy of our own.
func (c *comparison) readIndex(ctx context.Context, f *Finding, read func() ([]byte, bool)) (map[string]string, bool) {
	b, ok := read()
	if !ok || c.repo == nil {
		f.Why = "it can't be read"
		return nil, false
	}
	var entries map[string]string
	err := c.copied(b, func(file string) (err error) {
		entries, err = c.repo.IndexFile(ctx, file)
		return err
	})
	if err != nil {
		f.Why = "it can't be read: " + clean(err.Error())
		return nil, false
	}
	return entries, true
}

// copied gives git a copy that nobody else can change.
func (c *comparison) copied(content []byte, use func(file string) error) error {
	dir, err := os.MkdirTemp(c.shot.dir, "copy-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "copy")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	return use(file)
}

// config shows a changed configuration key by key. Only tracking of a known remote by a branch is ordinary.
func (c *comparison) config(ctx context.Context, f *Finding, was, is *Entry) {
	path := string(f.Path)
	new, ok := c.current(path, is)
	if !ok {
		return
	}
	old, ok := c.before(was)
	if was != nil && !ok {
		return
	}
	before, errOld := c.settings(ctx, old)
	after, errNew := c.settings(ctx, new)
	if errOld != nil || errNew != nil {
		f.Detail = lineDiff(old, new)
		f.Why = "git can't read it"
		return
	}
	ordinary := was != nil && was.Mode == is.Mode
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		a, b := before[key], after[key]
		if slices.Equal(a, b) {
			continue
		}
		ordinary = ordinary && tracking(key, b, before)
		name := clean(key)
		switch {
		case len(b) == 0:
			f.Detail = append(f.Detail, fmt.Sprintf("%s is gone; it was %s", name, values(a)))
		case len(a) == 0:
			f.Detail = append(f.Detail, fmt.Sprintf("%s is now %s; it was not set", name, values(b)))
		default:
			f.Detail = append(f.Detail, fmt.Sprintf("%s is now %s; it was %s", name, values(b), values(a)))
		}
	}
	f.Detail = cut(f.Detail)
	switch {
	case len(f.Detail) == 0:
		f.Detail = lineDiff(old, new)
		f.Words = f.What + ": its text was changed, no setting"
	case len(f.Detail) == 1:
		f.Words = f.What + ": " + f.Detail[0]
	default:
		f.Words = fmt.Sprintf("%s: %d settings were changed", f.What, len(f.Detail))
	}
	if ordinary && len(f.Detail) > 0 {
		f.ordinary("branches follow a remote that was there before, or no longer do")
	}
}

func (c *comparison) settings(ctx context.Context, content []byte) (map[string][]string, error) {
	all := map[string][]string{}
	if c.repo == nil {
		return nil, errors.New("git can't open the repository")
	}
	err := c.copied(content, func(file string) error {
		list, err := c.repo.ConfigFile(ctx, file)
		for _, s := range list {
			all[s.Key] = append(all[s.Key], s.Value)
		}
		return err
	})
	return all, err
}

func union(a, b map[string][]string) map[string][]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func values(list []string) string {
	var out []string
	for _, v := range list {
		if v == "" {
			v = `""`
		}
		out = append(out, clean(v))
	}
	return strings.Join(out, ", ")
}

// tracking says whether a setting is what `push -u` and `switch` write by themselves: a remote of a name that was
// there.
func tracking(key string, now []string, before map[string][]string) bool {
	rest, ok := strings.CutPrefix(key, "branch.")
	if !ok {
		return false
	}
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	if name != "remote" && name != "merge" {
		return false
	}
	for _, v := range now {
		if name == "merge" && !strings.HasPrefix(v, "refs/") || name == "remote" && v != "." &&
			before["remote."+v+".url"] == nil {
			return false
		}
	}
	return true
}
