package canary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/paths"
)

func refsOf(ctx context.Context, repo *git.Repo) (map[Raw]git.Ref, error) {
	refs, err := repo.Refs(ctx)
	out := make(map[Raw]git.Ref, len(refs))
	for name, r := range refs {
		out[Raw(name)] = r
	}
	return out, err
}

// Compare says what changed since the shot, except what is the agent's own: its branch, its worktree's directory, its
// refs/cco/, and new objects. The repository must have been opened after the agent's end.
//
// A user works on while an agent does, and nothing in a repository says who did what. So a change is Ordinary if people
// make such changes all day and it discards nothing: branches that went forward by commits, merges and pulls which the
// reflog of a worktree of the user's shows one by one; the index and HEAD of such a worktree; fetches. It is not if the
// record of the agent's git commands shows the agent at work there. Nothing else is ordinary.
func Compare(ctx context.Context, repo *git.Repo, shot *Shot, own Own) ([]Finding, error) {
	if repo.CommonDir != shot.Common {
		return nil, fmt.Errorf("the repository is at %s now, not at %s", clean(repo.CommonDir), clean(shot.Common))
	}
	return compare(ctx, repo, shot, own)
}

// compare goes as far as it can: if git can't open the repository, it compares only files.
func compare(ctx context.Context, repo *git.Repo, shot *Shot, own Own) ([]Finding, error) {
	c := &comparison{lore: learn(ctx, repo, shot, own)}
	parts := []func(context.Context) error{c.worktrees, c.files}
	if repo != nil {
		parts = append(parts, c.refs, c.objects)
	}
	var errs []error
	for _, part := range parts {
		errs = append(errs, part(ctx))
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.What, b.What))
	})
	return c.found, errors.Join(errs...)
}

func rank(f Finding) int {
	if f.Ordinary {
		return 1
	}
	return 0
}

// maxShown is how many findings are shown with their content: more are too many to read.
const maxShown = 200

type comparison struct {
	*lore
	found []Finding
}

func (c *comparison) add(f Finding) {
	c.witness.accuse(&f)
	c.found = append(c.found, f)
}

// mine says whether the agent may move a ref. It may not turn it into a symbolic ref.
func (c *comparison) mine(name string) bool {
	id := c.own.ID
	return name == "refs/heads/"+c.own.Branch || name == "refs/cco/"+id || strings.HasPrefix(name, "refs/cco/"+id+"-") ||
		strings.HasPrefix(name, "refs/cco/"+id+"/")
}

func (c *comparison) refs(ctx context.Context) error {
	now, err := refsOf(ctx, c.repo)
	if err != nil {
		return err
	}
	names := maps.Clone(now)
	maps.Copy(names, c.shot.Refs)
	for _, raw := range slices.Sorted(maps.Keys(names)) {
		name, was, is := string(raw), c.shot.Refs[raw], now[raw]
		if was.Symref != "" && was.Symref == is.Symref && is.OID != "" || was == is || c.mine(name) && is.Symref == "" {
			continue // a symbolic ref moves with its target
		}
		f := refFinding(name, was, is)
		if !c.mine(name) {
			if err := c.ref(ctx, &f, name, was, is); err != nil {
				return err
			}
		}
		c.add(f)
	}
	return nil
}

// worktrees finds new ones. Those that were there before are compared as files.
func (c *comparison) worktrees(context.Context) error {
	dirs, err := gitDirs(c.shot.Common, c.shot.Admin)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if slices.ContainsFunc(c.shot.Places, func(p place) bool { return p.Dir == dir }) {
			continue
		}
		e, err := now(dir)
		if err != nil || e == nil {
			return err
		}
		name := label(c.shot.Common, dir)
		f := fileFinding(KindWorktree, name, dir, nil, e)
		f.Words = fmt.Sprintf("%s was added as %s", c.worktreeOf(dir), clean(name))
		if c.peer(filepath.Base(dir)) {
			f.ordinary("session " + filepath.Base(dir) + " works there")
		}
		c.add(f)
	}
	return nil
}

// files compares everything that was watched, and new files in watched places of .git.
func (c *comparison) files(ctx context.Context) error {
	files, whole, err := c.scan()
	if err != nil {
		return err
	}
	for _, root := range whole {
		c.add(c.tooMany(root))
	}
	names := maps.Clone(files)
	maps.Copy(names, c.shot.Files)
	for _, path := range slices.Sorted(maps.Keys(names)) {
		if slices.ContainsFunc(whole, func(root string) bool { return paths.Within(string(path), root) }) {
			continue
		}
		if err := c.file(ctx, string(path), entryAt(c.shot.Files, path), entryAt(files, path)); err != nil {
			return err
		}
	}
	return nil
}

// scan looks at everything as it is now. Directories with too much in them are named instead.
func (c *comparison) scan() (files map[Raw]Entry, whole []string, err error) {
	var dirs []string
	for _, p := range c.shot.Places {
		dirs = append(dirs, p.Dir)
	}
	list, err := roots(c.shot.Common, dirs)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range c.shot.Roots {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	files = map[Raw]Entry{}
	for _, root := range slices.Concat(list, c.shot.Outside) {
		scan := &scanner{files: map[Raw]Entry{}}
		err := scan.walk(root)
		if errors.Is(err, errTooMany) {
			whole = append(whole, root)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", clean(label(c.shot.Common, root)), err)
		}
		maps.Copy(files, scan.files)
	}
	marks := &scanner{files: files}
	for _, dir := range bare(c.shot.Common) {
		if err := marks.mark(dir); err != nil {
			return nil, nil, err
		}
	}
	return files, whole, nil
}

func entryAt(files map[Raw]Entry, path Raw) *Entry {
	if e, ok := files[path]; ok {
		return &e
	}
	return nil
}

func (c *comparison) tooMany(root string) Finding {
	name := clean(label(c.shot.Common, root))
	return Finding{Kind: c.kindOf(root), What: name, Path: Raw(root), Whole: true,
		Words: fmt.Sprintf("%s has %v now", name, errTooMany)}
}

func (c *comparison) file(ctx context.Context, path string, was, is *Entry) error {
	if same(was, is) {
		return nil
	}
	kind := c.kindOf(path)
	f := fileFinding(kind, label(c.shot.Common, path), path, was, is)
	switch kind {
	case KindIndex:
		if unchanged, err := c.index(ctx, &f, was, is); err != nil || unchanged {
			return err
		}
	case KindHead:
		c.head(&f, path)
	case KindConfig:
		c.config(ctx, &f, was, is)
	case KindWorktree:
		if c.peer(filepath.Base(filepath.Dir(path))) {
			f.ordinary("session " + filepath.Base(filepath.Dir(path)) + " works there")
		}
	default:
		if len(c.found) < maxShown {
			f.Detail = c.diff(was, is, path)
		}
	}
	c.add(f)
	return nil
}

// kindOf derives a path's kind from its place.
func (c *comparison) kindOf(path string) Kind {
	for _, dir := range c.shot.Outside {
		if paths.Within(path, dir) {
			return KindHook
		}
	}
	rel := label(c.shot.Common, path)
	base := filepath.Base(rel)
	parts := strings.Split(rel, "/")
	linked := parts[0] == "worktrees" && len(parts) == 3
	switch {
	case slices.Contains(parts, "hooks"):
		return KindHook
	case base == "config" || base == "config.worktree":
		return KindConfig
	case base == "HEAD" && (linked || len(parts) == 1):
		return KindHead
	case base == "index" && (linked || len(parts) == 1):
		return KindIndex
	case linked:
		return KindWorktree
	case slices.Contains(parts, "info") && parts[0] != "objects":
		return KindInfo
	}
	return KindFile
}

// current reads what is at a path now, if it is still what was found.
func (c *comparison) current(path string, is *Entry) ([]byte, bool) {
	if is == nil || is.Type != typeFile || is.Sum == "" {
		return nil, false
	}
	b, err := readBounded(path, maxIndex)
	return b, err == nil && sumOf(b) == is.Sum
}

// before reads what was saved.
func (c *comparison) before(was *Entry) ([]byte, bool) {
	if was == nil || !was.Kept {
		return nil, false
	}
	b, err := c.shot.content(was.Sum)
	return b, err == nil
}

// diff shows the lines that changed, where both sides are small enough to have been kept.
func (c *comparison) diff(was, is *Entry, path string) []string {
	new, ok := c.current(path, is)
	if !ok || len(new) > maxKept {
		return nil
	}
	if was == nil {
		return added(new)
	}
	if old, ok := c.before(was); ok {
		return lineDiff(old, new)
	}
	return nil
}
