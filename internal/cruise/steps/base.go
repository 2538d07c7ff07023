package steps

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/unit"
)

// Target brings the branch that a request goes into, and says whether it can be merged.
func (d *Doer) Target(ctx context.Context, in cruise.TargetIn) (cruise.Target, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.Target, error) { return d.target(ctx, f, in) })
}

func (d *Doer) target(ctx context.Context, f Forge, in cruise.TargetIn) (t cruise.Target, err error) {
	repo, err := git.Open(ctx, in.Repo)
	if err != nil {
		return t, err
	}
	if t.Commit, err = d.bring(ctx, f, repo, in.Where, in.Base, in.Head, "base"); err != nil {
		return t, err
	}
	t.From, err = repo.MergeBase(ctx, in.Head, t.Commit)
	t.Merged = t.From == in.Head
	t.Contained = t.Merged || t.From == t.Commit
	if err != nil || t.Contained {
		return t, err
	}
	if in.Demands {
		p, err := f.Pull(ctx, in.PR)
		if err != nil {
			return t, err
		}
		t.Demanded = p.Behind
	}
	err = d.beside(ctx, repo, in.Phase, "join", func(r *git.Repo) error {
		merged, err := r.Automerge(ctx, in.Head, t.Commit)
		if errors.Is(err, git.ErrNoAutomerge) {
			return nil // the forge says so in the end
		}
		t.Conflicts = merged.Conflicts
		return err
	})
	return t, err
}

// examineMerges holds merges that are not as git makes them by itself, outside of the files that conflict: a merge can
// throw away what others did without a line of it in any diff.
func (d *Doer) examineMerges(ctx context.Context, repo *git.Repo, in cruise.PublishIn, p *cruise.Published) error {
	known := []string{"^" + in.Since}
	if in.Onto != "" {
		known = append(known, "^"+in.Onto)
	}
	out, err := repo.Host().Out(ctx, append([]string{"rev-list", "--merges", "--parents", p.Head}, known...)...)
	if err != nil || len(out) == 0 {
		return err
	}
	var lines []string
	err = d.beside(ctx, repo, in.Phase, "merges", func(r *git.Repo) error {
		for line := range strings.Lines(string(out)) {
			odd, err := oddMerge(ctx, r, strings.Fields(line))
			if err != nil {
				return err
			}
			lines = append(lines, odd...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if more := len(lines) - mostHeld; more > 0 {
		lines = append(lines[:mostHeld], "merge: and "+unit.Count(more, "more file"))
	}
	if len(lines) > 0 {
		p.Holds = append(p.Holds, cruise.Hold{Kind: "merge", Why: cruise.HoldMerge, Lines: lines})
	}
	return nil
}

// oddMerge says how a merge, which stands before its parents, differs from what git makes of those.
func oddMerge(ctx context.Context, r *git.Repo, all []string) (lines []string, err error) {
	name := "merge: " + git.Short(all[0])
	if len(all) != 3 {
		return []string{name + " joins more than two commits"}, nil
	}
	merged, err := r.Automerge(ctx, all[1], all[2])
	if errors.Is(err, git.ErrNoAutomerge) {
		return []string{name + ": " + err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	changed, err := r.Changed(ctx, merged.Tree, all[0])
	for _, c := range changed {
		if !slices.Contains(merged.Conflicts, c.Path) {
			lines = append(lines, name+" has another "+c.Path+" than git makes of its parents")
		}
	}
	return lines, err
}

// tip is where a branch was, and when it was asked for.
type tip struct {
	commit string
	at     time.Time
}

// tip says where a branch of a repository is.
func (w *Watcher) tip(ctx context.Context, f Forge, repo, branch string, now bool) (string, error) {
	if branch == "" {
		return "", nil
	}
	r, err := w.take(ctx, repo)
	if err != nil {
		return "", err
	}
	defer r.leave()
	if t, ok := r.tips[branch]; ok && !now && !w.Now().Before(t.at) && w.Now().Sub(t.at) < tipFor {
		return t.commit, nil
	}
	commit, err := f.Branch(ctx, branch)
	if err != nil {
		return "", err
	}
	r.tips[branch] = tip{commit, w.Now()}
	return commit, nil
}
