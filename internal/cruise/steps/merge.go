package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/gate"
)

// known is a comment with what its author may do in the repository, or why that is not known. If the forge does not
// say, a review that it calls official is by somebody who may write.
func known(ctx context.Context, f Forge, c forge.Comment) (cruise.Comment, error) {
	out := CommentOf(c)
	if c.Own || c.Author == "" {
		return out, nil
	}
	access, err := f.Access(ctx, c.Author)
	if err == nil && access == forge.AccessUnknown && !c.Official {
		out.Why = fmt.Sprintf("the forge does not tell this token what %s may do: use one of an administrator of the "+
			"repository, or --trust", c.Author)
	}
	out.Write = access == forge.AccessWrite || access == forge.AccessUnknown && c.Official
	return out, err
}

// Ready marks a draft as ready for review.
func (d *Doer) Ready(ctx context.Context, in cruise.Where) error {
	return d.on(ctx, in, func(f Forge) error { return f.Ready(ctx, in.PR) })
}

// Merge merges exactly the commit that was approved, if its approval still holds.
func (d *Doer) Merge(ctx context.Context, in cruise.MergeIn) (cruise.Merged, error) {
	ctx = forge.Anew(ctx)
	return ask(ctx, d, in.Where, func(f Forge) (cruise.Merged, error) { return d.merge(ctx, f, in) })
}

func (d *Doer) merge(ctx context.Context, f Forge, in cruise.MergeIn) (cruise.Merged, error) {
	p, err := f.Pull(ctx, in.PR)
	if err != nil {
		return cruise.Merged{}, err
	}
	switch {
	case p.State == forge.Merged && !in.Only:
		return cruise.Merged{Done: true}, nil
	case p.State != forge.Open:
		return cruise.Merged{}, nil // the next look ends it
	}
	s, err := stand(ctx, f, in, p)
	if err != nil {
		return cruise.Merged{}, err
	}
	if m := in.May(s); m != (cruise.Merged{}) || in.Only {
		m.Done = m == (cruise.Merged{})
		return m, nil
	}
	if p.Draft {
		return cruise.Merged{Wait: "somebody to mark it as ready: it is a draft"}, nil
	}
	if p.Mergeable == forge.MergeClean {
		if err = f.Merge(ctx, in.PR, in.Head); err == nil {
			return cruise.Merged{Done: true}, nil
		}
	}
	// A forge may not know yet whether it conflicts, and its refusal may not say so. One that was cut off may have merged
	// it and not noted that.
	p.Behind = p.Behind || forge.RefusedAs(err, forge.RefusedBehind)
	t, bad := d.target(ctx, f, cruise.TargetIn{Where: in.Where, Base: p.Base.Name, Head: in.Head})
	t.Demanded = p.Behind && !t.Contained
	switch {
	case bad == nil && t.Merged:
		return cruise.Merged{Done: true}, nil
	case bad == nil && (len(t.Conflicts) > 0 || t.Demanded):
		return cruise.Merged{Target: &t}, nil
	case bad != nil && err == nil:
		return cruise.Merged{}, bad
	}
	if err == nil {
		err = f.Merge(ctx, in.PR, in.Head)
	}
	if no, ok := errors.AsType[*forge.RejectedError](err); ok {
		return cruise.Merged{Refused: reading.Harmless(gate.MaskSecrets(cmp.Or(no.Message, no.Error())))}, nil
	}
	return cruise.Merged{Done: err == nil}, err
}

// stand is the state of a request, from everything that was just read.
func stand(ctx context.Context, f Forge, in cruise.MergeIn, p forge.Pull) (cruise.Stand, error) {
	s := cruise.Stand{Head: p.Head.Commit, Base: p.Base.Name}
	said, err := f.Said(ctx, in.PR, "")
	if err != nil {
		return s, err
	}
	for _, c := range forge.Standing(said.Comments) {
		if c.Own || c.Twin != "" {
			continue // it is our own, perhaps posted twice
		}
		v, err := known(ctx, f, c)
		if err != nil {
			return s, err
		}
		s.Verdicts = append(s.Verdicts, v)
	}
	us, err := f.Us(ctx)
	if err != nil {
		return s, err
	}
	for _, d := range in.Demands {
		if withdrawn(d, said.Comments, us) {
			s.Gone = append(s.Gone, d.Comment)
		}
	}
	if c := commentNow(said.Comments, in.Approval.Comment); c != nil && !c.Own {
		word, err := known(ctx, f, *c)
		if err != nil {
			return s, err
		}
		s.Word = &word
	}
	if in.Checks == cruise.ChecksNone {
		return s, nil
	}
	all, err := f.Checks(ctx, []int{in.PR})
	s.Checks = checksOf(all[in.PR])
	return s, err
}

// withdrawn says whether a demand was deleted or dismissed, or its author resolved it.
func withdrawn(d cruise.Finding, said []forge.Comment, us []string) bool {
	c := commentNow(said, d.Comment)
	return c == nil || c.State == forge.ReviewDismissed || resolver(*c, us) != "" && c.Resolver == c.Author
}

// commentNow is a comment as it is now, nil if it was deleted.
func commentNow(said []forge.Comment, id string) *forge.Comment {
	return cruise.First(said, func(c forge.Comment) bool { return c.ID == cruise.Unedited(id) })
}

// resolver is who resolved a comment's thread, "" if nobody did. What our own accounts resolved, cco may have.
func resolver(c forge.Comment, us []string) string {
	if c.State != forge.ThreadResolved || cruise.Among(us, c.Resolver) {
		return ""
	}
	return c.Resolver
}
