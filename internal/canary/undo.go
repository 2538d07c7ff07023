package canary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/paths"
)

// Outcome is the result of undoing one finding.
type Outcome struct {
	Finding Finding `json:"finding"`
	Done    bool    `json:"done"`
	Refused string  `json:"refused,omitempty"` // why it was left as it is
	Kept    string  `json:"kept,omitempty"`    // where what was found is now

	already bool // it is as it was: the same change was undone for another session
}

// errChanged says that something is no longer as it was found.
var errChanged = errors.New("it has changed again since")

// why is the reflog message of an undo.
const why = "cco: canary undo"

// Undo reverts the findings. Each thing is put back only if it still is as it was found, and what was found is kept:
// commits below refs/cco/<id>-undone/, files below cco-undone/<id>/ in .git. What can't be put back is refused; the
// rest is done.
func Undo(ctx context.Context, repo *git.Repo, shot *Shot, findings []Finding) ([]Outcome, error) {
	if repo.CommonDir != shot.Common {
		return nil, fmt.Errorf("undo: the repository is at %s now, not at %s", clean(repo.CommonDir), clean(shot.Common))
	}
	u := newUndo(repo, shot, findings)
	err := u.undoRefs(ctx)
	u.undoFiles()
	return u.outcomes(), errors.Join(err, ctx.Err())
}

func newUndo(repo *git.Repo, shot *Shot, findings []Finding) *undo {
	u := &undo{repo: repo, shot: shot}
	for _, f := range findings {
		o := &Outcome{Finding: f}
		u.all = append(u.all, o)
		switch {
		case f.Kind == KindUnreadable:
			o.Refused = "the repository could not be read then, so there is nothing to go by"
		case f.Ref != "":
			u.byRef = append(u.byRef, o)
		case f.Path != "":
			u.byPath = append(u.byPath, o)
		default:
			o.Refused = "there is nothing to go by"
		}
	}
	return u
}

func (u *undo) outcomes() []Outcome {
	out := make([]Outcome, 0, len(u.all))
	for _, o := range u.all {
		out = append(out, *o)
	}
	return out
}

type undo struct {
	repo               *git.Repo
	shot               *Shot
	refs               map[Raw]git.Ref // as they are
	aside              string
	all, byRef, byPath []*Outcome
}

// undoRefs removes first: a ref that was added may stand in the way of one that was deleted.
func (u *undo) undoRefs(ctx context.Context) (err error) {
	if u.refs, err = refsOf(ctx, u.repo); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	gone := func(o *Outcome) bool { return u.shot.Refs[o.Finding.Ref].OID == "" }
	slices.SortStableFunc(u.byRef, func(a, b *Outcome) int {
		switch {
		case gone(a) == gone(b):
			return 0
		case gone(a):
			return -1
		}
		return 1
	})
	for _, o := range u.byRef {
		if err := u.ref(ctx, o); err != nil {
			o.Refused = clean(err.Error())
			if _, moved := errors.AsType[*git.RefChangedError](err); moved {
				o.Refused = errChanged.Error()
			}
			continue
		}
		o.Done = true
	}
	return nil
}

func (u *undo) ref(ctx context.Context, o *Outcome) error {
	f := o.Finding
	name, was := string(f.Ref), u.shot.Refs[f.Ref]
	if u.refs[f.Ref] == was && name != "refs/stash" {
		return nil // undone already, for another session that saw the same
	}
	if u.refs[f.Ref] != f.Is {
		return errChanged
	}
	if name == "refs/heads/"+u.shot.Own.Branch {
		was = git.Ref{OID: f.Is.OID} // the agent's own, which had become symbolic: it keeps its commit
	}
	if name == "refs/stash" {
		return u.stash(ctx, o, was)
	}
	keep, err := u.keepRef(ctx, strings.TrimPrefix(name, "refs/"), f.Is.OID)
	if err != nil {
		return err
	}
	if was.Symref != "" {
		if keep != "" {
			if err := u.repo.SwapRef(ctx, git.RefSwap{Name: keep, To: f.Is.OID}, why); err != nil {
				return err
			}
		}
		o.Kept = keep
		return u.repo.SetSymref(ctx, name, was.Symref, why)
	}
	o.Kept = keep
	return u.repo.SwapRef(ctx, git.RefSwap{Name: name, From: f.Is.OID, To: was.OID, Keep: keep}, why)
}

// keepRef finds a free name for what a ref was found to hold; "" if there is nothing that can be kept.
func (u *undo) keepRef(ctx context.Context, name, oid string) (string, error) {
	if oid == "" || !u.repo.HasObject(ctx, oid) {
		return "", nil
	}
	base := "refs/cco/" + u.shot.Own.ID + "-undone/" + name
	for n := 1; n < 1000; n++ {
		keep := base
		if n > 1 {
			keep = fmt.Sprintf("%s-%d", base, n)
		}
		if _, taken := u.refs[Raw(keep)]; !taken {
			u.refs[Raw(keep)] = git.Ref{OID: oid}
			return keep, nil
		}
	}
	return "", fmt.Errorf("keep what %s held: too many undone refs", clean(name))
}

// stash puts the list of stashes back, and keeps each stash that was not on it as a ref of its own.
func (u *undo) stash(ctx context.Context, o *Outcome, was git.Ref) error {
	path := stashLog(u.shot.Common)
	lines, err := logLines(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, line := range lines {
		s, ok := parseStep(line)
		if !ok {
			continue
		}
		keep, err := u.keepRef(ctx, "stash", s.new)
		if err != nil {
			return err
		}
		if keep == "" {
			continue
		}
		if err := u.repo.SwapRef(ctx, git.RefSwap{Name: keep, To: s.new}, why); err != nil {
			return err
		}
		o.Kept = keep
	}
	var before []byte
	if u.shot.Stash != "" {
		if before, err = u.shot.content(u.shot.Stash); err != nil {
			return err
		}
	}
	if err := u.repo.SwapRef(ctx, git.RefSwap{Name: "refs/stash", From: o.Finding.Is.OID, To: was.OID}, why); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	tmp := path + ".lock"
	if err := os.WriteFile(tmp, before, 0o644); err != nil { // as git makes it
		return err
	}
	return os.Rename(tmp, path)
}

// undoFiles looks at everything first, clears away from the deepest up, and puts back from the top down, so that each
// thing finds its directory as it was.
func (u *undo) undoFiles() {
	depth := func(a, b *Outcome) int {
		return cmp.Compare(strings.Count(string(a.Finding.Path), "/"), strings.Count(string(b.Finding.Path), "/"))
	}
	slices.SortStableFunc(u.byPath, depth)
	each := func(do func(*Outcome) error) {
		for _, o := range u.byPath {
			if o.Refused != "" || o.already {
				continue
			}
			if err := do(o); err != nil {
				o.Refused = clean(err.Error())
			}
		}
	}
	each(u.check)
	slices.Reverse(u.byPath)
	each(u.clear)
	slices.Reverse(u.byPath)
	each(u.restore)
	for _, o := range u.byPath {
		o.Done = o.Refused == ""
	}
}

// check refuses what is not as it was found, and what was never saved.
func (u *undo) check(o *Outcome) error {
	f := o.Finding
	if was := entryAt(u.shot.Files, f.Path); was != nil && was.Bare {
		return u.saved(was)
	}
	if !u.watched(string(f.Path)) {
		return errors.New("it is not in a place that was watched")
	}
	if f.Whole {
		return u.checkWhole(string(f.Path))
	}
	is, err := u.at(string(f.Path))
	if err != nil {
		return err
	}
	if o.already = same(is, entryAt(u.shot.Files, f.Path)); o.already {
		return nil
	}
	if !same(is, f.Found) {
		return errChanged
	}
	if was := entryAt(u.shot.Files, f.Path); was != nil {
		return u.saved(was)
	}
	return nil
}

// at describes what is at a path. There is nothing below a link that replaced a directory.
func (u *undo) at(path string) (*Entry, error) {
	if u.parents(path) != nil {
		return nil, nil
	}
	return now(path)
}

// watched makes sure that a forged report can't lead us elsewhere.
func (u *undo) watched(path string) bool {
	for _, dir := range []string{"worktrees", "modules", "objects"} {
		if paths.Within(path, filepath.Join(u.shot.Common, dir)) {
			return path == filepath.Clean(path)
		}
	}
	return slices.ContainsFunc(slices.Concat(u.shot.Roots, u.shot.Outside),
		func(root string) bool { return paths.Within(path, root) })
}

func (u *undo) saved(was *Entry) error {
	switch {
	case was.Bare:
		return errors.New("what was in that directory is elsewhere now: look at it and put it back by hand")
	case was.Type == typeDir || was.Type == typeLink:
		return nil
	case was.Type != typeFile:
		return errors.New("it was a " + was.Type + ", which is not made again")
	case !was.Kept:
		return errors.New("it was too large to be saved")
	}
	_, err := u.shot.content(was.Sum)
	return err
}

func (u *undo) checkWhole(root string) error {
	for path, was := range u.shot.Files {
		if paths.Within(string(path), root) {
			if err := u.saved(&was); err != nil {
				return fmt.Errorf("%s: %w", clean(string(path)), err)
			}
		}
	}
	return nil
}
