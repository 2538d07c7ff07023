package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// mayWrite says whether the author of a comment may write to the repository, or why that is not known. If the forge
// does not say, a review that it calls official is by somebody who may.
func mayWrite(ctx context.Context, f Forge, c forge.Comment) (write bool, why string, err error) {
	if c.Own || c.Author == "" {
		return false, "", nil
	}
	access, err := f.Access(ctx, c.Author)
	if err != nil {
		return false, "", err
	}
	if access == forge.AccessUnknown && !c.Official {
		why = fmt.Sprintf("the forge does not tell this token what %s may do: use one of an administrator of the "+
			"repository, or --trust", c.Author)
	}
	return access == forge.AccessWrite || access == forge.AccessUnknown && c.Official, why, nil
}

// Merge merges exactly the commit that was approved, if its approval still holds.
func (d *Doer) Merge(ctx context.Context, in cruise.MergeIn) (cruise.Merged, error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return cruise.Merged{}, err
	}
	p, err := f.Pull(ctx, in.PR)
	if err != nil {
		return cruise.Merged{}, temporary(err)
	}
	switch p.State {
	case forge.Merged:
		return cruise.Merged{Done: true}, nil
	case forge.Closed:
		return cruise.Merged{}, nil // the next look ends it
	}
	said, err := f.Said(ctx, in.PR, "")
	if err != nil {
		return cruise.Merged{}, temporary(err)
	}
	s, err := stand(ctx, f, in, p, said.Comments)
	if err != nil {
		return cruise.Merged{}, temporary(err)
	}
	if m := in.May(s); m != (cruise.Merged{}) {
		return m, nil
	}
	return cruise.Merged{Done: true}, temporary(f.Merge(ctx, in.PR, in.Head))
}

// stand is the state of a request, from everything that was just read.
func stand(ctx context.Context, f Forge, in cruise.MergeIn, p forge.Pull, said []forge.Comment) (cruise.Stand, error) {
	s := cruise.Stand{Head: p.Head.Commit, Base: p.Base.Name}
	for _, c := range forge.Standing(said) {
		if c.Own {
			continue // it is our own
		}
		write, _, err := mayWrite(ctx, f, c)
		if err != nil {
			return s, err
		}
		s.Verdicts = append(s.Verdicts, cruise.Opinion{
			Name: c.Author, Commit: c.Commit, Approves: c.State == forge.ReviewApproved, Write: write,
		})
	}
	id, _, _ := strings.Cut(in.Approval.Comment, edited)
	if i := slices.IndexFunc(said, func(c forge.Comment) bool { return c.ID == id && !c.Own }); i >= 0 {
		word := commentOf(said[i])
		var err error
		if word.Write, _, err = mayWrite(ctx, f, said[i]); err != nil {
			return s, err
		}
		s.Word = &word
	}
	for _, c := range p.Checks.All {
		switch c.State {
		case forge.ChecksFailed:
			s.Failed = append(s.Failed, c.Name)
		case forge.ChecksPending:
			s.Pending = append(s.Pending, c.Name)
		case forge.ChecksNone, forge.ChecksPassed:
		}
	}
	return s, nil
}

// Base says where the branch left the one that its request goes into now.
func (d *Doer) Base(ctx context.Context, in cruise.BaseIn) (string, error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return "", err
	}
	at, err := f.MergeBase(ctx, in.PR)
	return at, temporary(err)
}

// Verdict has the reviewer's own account judge a commit. Without such an account there are only the domains' comments.
func (d *Doer) Verdict(ctx context.Context, in cruise.VerdictIn) error {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return err
	}
	us, err := f.Us(ctx)
	if err != nil || len(us) < 2 || strings.EqualFold(us[0], us[1]) {
		return temporary(err)
	}
	v := forge.RequestChanges
	if in.Approve {
		v = forge.Approve
	}
	_, err = f.Review(ctx, in.PR, forge.Review{Key: in.Phase + "-" + in.Key, Verdict: v, Body: unaddressed(in.Body),
		Commit: in.Head})
	return d.soon(in.Phase, err)
}
