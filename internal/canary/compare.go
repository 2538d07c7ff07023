package canary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// comparison holds what two looks saw.
type comparison struct {
	was, is *picture
	content map[string][]byte // of files that are different now
	partial bool              // the second look came to no end: what it did not see may be there
	found   []Finding
}

// compare looks again. What can't be looked at is told, and the rest compared as far as it was seen.
func (p *picture) compare(ctx context.Context) []Finding {
	c := &comparison{was: p, content: map[string][]byte{}}
	c.is = &picture{Own: p.Own, Common: p.Common, Outside: p.Outside}
	kept := 0
	err := c.is.look(ctx, func(path string, e Entry, content []byte) error {
		if old := p.Files[path]; old == nil || old.Sum != e.Sum {
			if kept += len(content); kept <= maxCopies || isIndex(path) {
				c.content[path] = content
			}
		}
		return nil
	})
	if c.partial = err != nil; c.is.Ino != 0 && (c.is.Dev != p.Dev || c.is.Ino != p.Ino) {
		err = errors.Join(err, errors.New("another directory is in its place"))
	}
	if err != nil {
		c.add(Finding{Kind: KindUnreadable, What: clean(p.Common),
			Words: "not everything could be compared: " + clean(err.Error())})
	}
	c.files(ctx)
	c.refs()
	c.stashes()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return slices.Index(order(), a.Kind) - slices.Index(order(), b.Kind)
	})
	return c.found
}

// keys are those of both, in order.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func (c *comparison) add(f Finding) { c.found = append(c.found, f) }

func (c *comparison) files(ctx context.Context) {
	added := map[string]bool{} // worktrees
	for _, name := range keys(c.was.Files, c.is.Files) {
		was, is := c.was.Files[name], c.is.Files[name]
		if was != nil && is != nil && same(*was, *is) || is == nil && (c.partial || isLock(name)) {
			continue
		}
		if dir := c.was.newWorktree(name); dir != "" && was == nil && !is.odd() && !isLock(name) {
			if !added[dir] {
				c.add(Finding{Kind: KindWorktree, What: clean(dir), New: true,
					Words: clean(dir) + " is a new worktree: see `git worktree list`"})
			}
			added[dir] = true
			continue
		}
		if f := c.file(ctx, name, was, is); f != nil {
			c.add(*f)
		}
	}
}

// newWorktree gives the part of a path that names a linked worktree, "" where there is none or it was there before.
func (p *picture) newWorktree(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 || parts[0] != "worktrees" || p.Files["worktrees/"+parts[1]+"/gitdir"] != nil {
		return ""
	}
	return "worktrees/" + parts[1]
}

// file tells how one path changed; nil if it only looks different.
func (c *comparison) file(ctx context.Context, name string, was, is *Entry) *Finding {
	f := &Finding{Kind: kindOf(name), What: clean(name), Words: entryWords(name, was, is)}
	switch {
	case is.odd():
		f.Kind, f.Undo = KindOdd, c.putBack(name, was) // such as a configuration that got a second name
		if was == nil || f.Undo == nil {
			f.Undo = []string{command("rm", "--", c.path(name))}
		}
		return f
	case was.odd():
		f.Kind = KindOdd
		return f
	}
	old, now := c.before(was), c.content[name]
	if was != nil && is != nil && was.Sum == is.Sum {
		now = old
	}
	switch f.Kind {
	case KindLock:
		if _, err := os.Lstat(c.path(name)); errors.Is(err, fs.ErrNotExist) && !strings.Contains(name, `"`) {
			return nil // a git has finished meanwhile
		}
		f.Words, f.Undo = f.What+" is a lock that was not there before: remove it if no git is running", c.putBack(name, was)
	case KindIndex:
		return c.index(ctx, f, name, was, is, old, now)
	case KindHead:
		c.head(f, name, old, now)
	case KindConfig:
		return c.config(ctx, f, name, was, is, old, now)
	default:
		f.Detail = lineDiff(old, now)
		f.Undo = c.putBack(name, was)
		if hidden := c.was.hides(name); was == nil && hidden != "" {
			f.Words += " and git takes it for " + clean(hidden)
		}
	}
	return f
}

// before reads what a file held, if that was kept.
func (c *comparison) before(was *Entry) []byte {
	if was == nil || was.Sum == "" {
		return nil
	}
	content, _ := os.ReadFile(c.was.copyOf(*was)) // it may have been too large to keep
	return content
}

// putBack are the commands that bring a file back as it was. A copy is never written over what is there: that may be a
// link by then.
func (c *comparison) putBack(name string, was *Entry) []string {
	remove := command("rm", "-f", "--", c.path(name))
	if was == nil {
		return []string{remove}
	}
	if _, err := os.Lstat(c.was.copyOf(*was)); was.Sum == "" || err != nil {
		return nil
	}
	return []string{remove,
		command("install", "-m", fmt.Sprintf("%04o", was.Mode), "--", c.was.copyOf(*was), c.path(name))}
}

func (c *comparison) head(f *Finding, name string, old, now []byte) {
	was, is := strings.TrimSpace(string(old)), strings.TrimSpace(string(now))
	f.Words = fmt.Sprintf("%s was %s and is %s now", f.What, clean(was), clean(is))
	dir := c.path(path.Dir(name))
	if ref, ok := strings.CutPrefix(was, symbolic); ok {
		f.Undo = []string{gitIn(dir, "symbolic-ref", "HEAD", ref)}
	} else if isOID(was) {
		f.Undo = []string{gitIn(dir, "update-ref", "--no-deref", "HEAD", was)}
	}
}

func (c *comparison) refs() {
	for _, name := range keys(c.was.Refs, c.is.Refs) {
		was, is := c.was.Refs[name], c.is.Refs[name]
		if was == is || c.was.Own.mine(name, is) || name == "refs/stash" && len(c.was.Stashes)+len(c.is.Stashes) > 0 ||
			is == "" && c.partial {
			continue
		}
		f := Finding{Kind: KindRef, What: clean(name), Words: refWords(name, was, is)}
		if was == "" {
			if hidden := c.was.hides(name); hidden != "" {
				f.Words += "; git takes it for " + clean(hidden)
			}
			f.New = c.was.harmless(name, is)
		}
		if !f.New && !strings.HasPrefix(name, "worktrees/") {
			f.Undo = c.moveBack(name, was, is)
		}
		if isOID(was) && isOID(is) {
			f.Detail = []string{"look with: " + c.git("log", "--oneline", "--left-right", was+"..."+is)}
		}
		c.add(f)
	}
}

// moveBack are the commands that bring a ref back, unless it has moved again since.
func (c *comparison) moveBack(name, was, is string) (undo []string) {
	if target, ok := strings.CutPrefix(was, symbolic); ok {
		return []string{c.git("symbolic-ref", name, target)}
	}
	if strings.HasPrefix(is, symbolic) {
		undo, is = []string{c.git("symbolic-ref", "--delete", name)}, ""
	}
	switch {
	case was != "" && !isOID(was), is != "" && !isOID(is):
		return nil
	case was != "":
		is = cmp.Or(is, strings.Repeat("0", len(was)))
		return append(undo, c.git("update-ref", "--no-deref", name, was, is))
	case is != "":
		return append(undo, c.git("update-ref", "--no-deref", "-d", name, is))
	}
	return undo
}

// stashes tells which are gone and which are new: all worktrees share the list.
func (c *comparison) stashes() {
	in := func(list []stash, s stash) bool {
		return slices.ContainsFunc(list, func(o stash) bool { return o.OID == s.OID })
	}
	tell := func(s stash, what string, isNew bool, undo ...string) {
		c.add(Finding{Kind: KindStash, What: "refs/stash", New: isNew, Undo: undo,
			Words: fmt.Sprintf("a stash is %s: %s (%s)", what, clean(s.Words), git.Short(s.OID))})
	}
	for _, s := range c.was.Stashes {
		if !c.partial && !in(c.is.Stashes, s) {
			tell(s, "gone", false, c.git("stash", "store", "-m", s.Words, s.OID))
		}
	}
	for _, s := range c.is.Stashes {
		if !in(c.was.Stashes, s) {
			tell(s, "new", true)
		}
	}
}
