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
	if t.Commit, err = d.bring(ctx, f, repo, in.Where, in.Branch, in.Head, "base"); err != nil {
		return t, err
	}
	if t.Merged, err = repo.IsAncestor(ctx, in.Head, t.Commit); err != nil || t.Merged {
		t.Contained = t.Merged
		return t, err
	}
	if t.Contained, err = repo.IsAncestor(ctx, t.Commit, in.Head); err != nil || t.Contained {
		return t, err
	}
	if in.Demands {
		p, err := f.Pull(ctx, in.PR)
		if err != nil {
			return t, err
		}
		t.Demanded = p.Behind
	}
	q, err := d.scratch(ctx, repo, in.Phase, "join")
	if err != nil {
		return t, err
	}
	defer func() { _ = q.Close() }()
	merged, err := within(repo, q).Automerge(ctx, in.Head, t.Commit)
	if errors.Is(err, git.ErrNoAutomerge) {
		return t, nil // the forge says so in the end
	}
	t.Conflicts = merged.Conflicts
	return t, err
}

// Lend makes a commit known in the workspace.
func (d *Doer) Lend(ctx context.Context, in cruise.LendIn) error {
	return temporary(d.Sessions.Lend(ctx, in.Workspace.Session, in.Commit))
}

// mergedTarget says whether a new head contains the target that was to be merged. Then what came is judged by what
// differs from both: base is a merge of the two as git makes it, in a repository of its own.
func (d *Doer) mergedTarget(ctx context.Context, repo *git.Repo, in cruise.PublishIn, tip string) (inner *git.Repo,
	base string, end func(), err error) {
	if in.Onto == "" {
		return nil, "", nil, nil
	}
	if has, err := repo.IsAncestor(ctx, in.Onto, tip); err != nil || !has {
		return nil, "", nil, err
	}
	q, err := d.scratch(ctx, repo, in.Phase, "join")
	if err != nil {
		return nil, "", nil, err
	}
	inner = within(repo, q)
	merged, err := inner.Automerge(ctx, in.Since, in.Onto)
	if err == nil {
		base, err = inner.Join(ctx, git.Join{Ours: in.Since, Theirs: in.Onto, Tree: merged.Tree, Message: "merged by git",
			By: git.Identity{Name: "cco", Email: "cco@localhost"}})
	}
	return inner, base, func() { _ = q.Close() }, err
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
	q, err := d.scratch(ctx, repo, in.Phase, "merges")
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	var lines []string
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		if len(all) != 3 {
			lines = append(lines, "merge: "+git.Short(all[0])+" joins more than two commits")
			continue
		}
		merged, err := within(repo, q).Automerge(ctx, all[1], all[2])
		if errors.Is(err, git.ErrNoAutomerge) {
			lines = append(lines, "merge: "+git.Short(all[0])+": "+err.Error())
			continue
		}
		if err != nil {
			return err
		}
		changed, err := within(repo, q).Changed(ctx, merged.Tree, all[0])
		if err != nil {
			return err
		}
		for _, c := range changed {
			if !slices.Contains(merged.Conflicts, c.Path) {
				lines = append(lines, "merge: "+git.Short(all[0])+" has another "+c.Path+" than git makes of its parents")
			}
		}
	}
	if more := len(lines) - mostHeld; more > 0 {
		lines = append(lines[:mostHeld], "merge: and "+unit.Count(more, "more file"))
	}
	if len(lines) > 0 {
		p.Holds = append(p.Holds, cruise.Hold{Kind: "merge", Why: cruise.HoldMerge, Lines: lines})
	}
	return nil
}

// tip is where a branch was, and when it was asked for.
type tip struct {
	commit string
	at     time.Time
}

// tipFor is how long that counts for all phases of a repository.
const tipFor = 30 * time.Second

// tip says where a branch of a repository is.
func (w *Watcher) tip(ctx context.Context, f Forge, repo, branch string, now bool) (string, error) {
	if branch == "" {
		return "", nil
	}
	r := w.repo(repo)
	if err := r.take(ctx); err != nil {
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
