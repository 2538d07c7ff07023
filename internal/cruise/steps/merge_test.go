package steps

import (
	"context"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// Guards against a demand that counts as settled because cco, or anybody, resolved its thread.
func TestWhoTakesADemandBack(t *testing.T) {
	at := func(author string, state forge.CommentState, resolver string) forge.Comment {
		return forge.Comment{ID: "line-1", Author: author, State: state, Resolver: resolver}
	}
	for name, c := range map[string]struct {
		said forge.Comment
		want bool
	}{
		"as it was said":       {at("ann", "", ""), false},
		"deleted":              {forge.Comment{ID: "line-2", Author: "ann"}, true},
		"resolved by itself":   {at("ann", forge.ThreadResolved, "ann"), true},
		"resolved by another":  {at("ann", forge.ThreadResolved, "bob"), false},
		"resolved by us":       {at("me", forge.ThreadResolved, "me"), false},
		"a dismissed review":   {at("ann", forge.ReviewDismissed, ""), true},
		"the forge is unaware": {at("ann", forge.ThreadResolved, ""), false},
	} {
		d := cruise.Finding{Comment: "line-1~17", Author: c.said.Author}
		if got := withdrawn(d, []forge.Comment{c.said}, []string{"Me"}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// revoked is a forge on which ann approved, and may no longer write.
type revoked struct {
	Forge
	merged *bool
}

func (revoked) Pull(context.Context, int) (forge.Pull, error) {
	return forge.Pull{State: forge.Open, Head: forge.Branch{Commit: "c1"}, Base: forge.Branch{Name: "main"},
		Mergeable: forge.MergeClean}, nil
}

func (revoked) Said(context.Context, int, forge.Mark) (forge.Stream, error) {
	return forge.Stream{Comments: []forge.Comment{{ID: "review-1", Kind: forge.InReview, Author: "ann", Commit: "c1",
		State: forge.ReviewApproved}}}, nil
}

func (revoked) Us(context.Context) ([]string, error) { return []string{"me", "me"}, nil }

func (revoked) Checks(context.Context, []int) (map[int]forge.Checked, error) {
	return map[int]forge.Checked{7: {Head: "c1"}}, nil
}

func (revoked) Access(ctx context.Context, _ string) (forge.Access, error) {
	if forge.IsAnew(ctx) {
		return forge.AccessRead, nil
	}
	return forge.AccessWrite, nil // as it was a minute ago
}

func (r revoked) Merge(context.Context, int, string) error { *r.merged = true; return nil }

// Guards against a merge by the word of somebody who lost the right to write within the last minute.
func TestWhoMayApproveIsAskedAtTheMerge(t *testing.T) {
	f := revoked{merged: new(bool)}
	d := &Doer{Forge: func(context.Context, string) (Forge, error) { return f, nil }}
	got, err := d.Merge(t.Context(), cruise.MergeIn{Where: cruise.Where{PR: 7}, Head: "c1", Base: "main",
		Approval: cruise.Approval{Name: "ann", Comment: "review-1", Commit: "c1"}})
	if err != nil || got.Lost == "" || *f.merged {
		t.Errorf("%+v, merged %v: %v", got, *f.merged, err)
	}
}

// cutOff is a forge that refuses to merge a request.
type cutOff struct {
	revoked
	t    *testing.T
	g    *gittest.Repo
	pull forge.Pull
}

func (c cutOff) Pull(context.Context, int) (forge.Pull, error) { return c.pull, nil }

func (c cutOff) Checks(context.Context, []int) (map[int]forge.Checked, error) {
	return map[int]forge.Checked{7: {Head: c.pull.Head.Commit}}, nil
}

func (cutOff) Merge(context.Context, int, string) error {
	return &forge.RejectedError{What: "merge", Status: 405, Message: "Please try again later", Why: forge.RefusedUnsettled}
}

func (c cutOff) Fetch(_ context.Context, dir, _ string) (string, error) {
	into := gittest.At(c.t, dir)
	into.Git("fetch", "-q", c.g.Dir, "main")
	return into.Git("rev-parse", "FETCH_HEAD"), nil
}

// Guards against a phase that waits for ever because the forge was cut off in the middle of the merge: it has pushed
// the merge, has not noted that, and refuses every other one.
func TestAHeadThatIsInTheBaseIsMerged(t *testing.T) {
	for name, c := range map[string]struct {
		onMain, draft bool
		want          cruise.Merged
	}{
		"it is there":     {onMain: true, want: cruise.Merged{Done: true}},
		"it is not there": {want: cruise.Merged{Refused: "Please try again later"}},
		"a draft":         {draft: true, want: cruise.Merged{Wait: "somebody to mark it as ready: it is a draft"}},
	} {
		g := gittest.New(t)
		base := g.Commit("start", "a.txt", "a\n")
		g.Git("checkout", "-q", "--detach")
		head := g.Commit("work", "b.txt", "b\n")
		if c.onMain {
			g.Git("branch", "-f", "main", head)
		}
		f := cutOff{t: t, g: g, pull: forge.Pull{State: forge.Open, Draft: c.draft, Mergeable: forge.MergeClean,
			Head: forge.Branch{Commit: head}, Base: forge.Branch{Name: "main"}}}
		d := &Doer{Data: t.TempDir(), Forge: func(context.Context, string) (Forge, error) { return f, nil }}
		got, err := d.Merge(t.Context(), cruise.MergeIn{Where: cruise.Where{Phase: "a", Repo: g.Dir, PR: 7,
			Workspace: cruise.Workspace{Session: "feedbeef", Base: base}}, Head: head, Base: "main",
			Approval: cruise.Approval{Commit: head}})
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
