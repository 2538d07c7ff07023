package aside

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
)

const (
	// passing is above refs that hold what was brought over until the user's own refs do.
	passing = "refs/cco/guarding/"
	// beside is above refs that hold what did not become the user's.
	beside = "refs/cco/guard/"
)

// maxApart is how many commits are tried one by one where all together are refused.
const maxApart = 32

// bring puts what is new into the user's object store, held by refs of its own. What is refused stays inside, and what
// is not comes without it.
func (t *taking) bring(ctx context.Context) error {
	commits := slices.Sorted(maps.Keys(t.fresh))
	err := t.bringThese(ctx, commits)
	no, ok := errors.AsType[*quarantine.RefusedError](err)
	if !ok {
		return err
	}
	for _, oid := range commits {
		why := no
		if 1 < len(commits) && len(commits) <= maxApart {
			if _, err = t.ask(ctx, []string{oid}); err == nil {
				err = t.bringThese(ctx, []string{oid})
			}
			if why, ok = errors.AsType[*quarantine.RefusedError](err); err != nil && !ok {
				return err
			}
		}
		if why != nil {
			t.refused[oid] = why.Error()
		}
	}
	return nil
}

// bringThese takes the pack through a quarantine, as what comes out of a box is taken. The pack moves if it verifies,
// every commit in it passes, and these are there with all that they need.
func (t *taking) bringThese(ctx context.Context, commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	base, err := t.base(ctx)
	if err != nil {
		return err
	}
	bundle, err := t.bundle(base, commits)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(bundle) }()
	also := t.have()
	q, err := quarantine.New(ctx, t.user, filepath.Join(t.tmp, "quarantine"),
		quarantine.Options{Limits: t.options.Limits, Kept: true, Also: also})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Unpack(ctx, bundle, base); err != nil {
		return err
	}
	if _, err := q.Examine(ctx); err != nil {
		return err
	}
	all := git.Revisions(commits, append(also, base))
	if err := q.Inside().Host().Run(ctx, all, "rev-list", "--objects", "--quiet", "--stdin"); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &quarantine.RefusedError{Rule: quarantine.RuleObject, Reason: "objects are missing"}
	}
	_, _, err = q.ImportBelow(ctx, passing+t.name)
	return err
}

// bundle writes the pack as a bundle, with a header of ours.
func (t *taking) bundle(base string, commits []string) (name string, err error) {
	refs := []git.NamedRef{{Name: quarantine.OutRef, OID: base}}
	for i, oid := range commits {
		refs = append(refs, git.NamedRef{Name: quarantine.KeptRef + strconv.Itoa(i), OID: oid})
	}
	in, err := os.Open(t.pack)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(filepath.Join(t.tmp, "bundle"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.WriteString(out, git.BundleHeader(t.user.ObjectFormat, refs, nil)); err != nil {
		return "", err
	}
	if _, err := in.Seek(t.start, io.SeekStart); err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return out.Name(), err
}

// base is the commit that new ones are measured against: what the user had checked out. A repository without a commit
// gets one that is empty and that nothing refers to.
func (t *taking) base(ctx context.Context) (string, error) {
	for _, oid := range []string{t.b.Head.OID, t.now.head.OID} {
		if oid != "" && t.user.HasObject(ctx, oid) {
			return oid, nil
		}
	}
	h := t.user.Host()
	tree, err := h.Feed(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	commit := "tree " + strings.TrimSpace(string(tree)) + "\nauthor cco <> 0 +0000\ncommitter cco <> 0 +0000\n\nnothing\n"
	oid, err := h.Feed(ctx, strings.NewReader(commit), "hash-object", "-t", "commit", "-w", "--stdin")
	return strings.TrimSpace(string(oid)), err
}
