package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
)

// Pushers says who moved the branch on the forge away from our head.
func (d *Doer) Pushers(ctx context.Context, in cruise.PushersIn) (h cruise.Pushers, err error) {
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return h, err
	}
	has, err := f.Contains(ctx, in.PR, in.Ours)
	if err != nil {
		return h, d.soon(in.Phase, err)
	}
	h.Forced = !has
	people, err := f.Pushers(ctx, in.PR, in.Branch, in.Ours, in.Theirs)
	if err != nil {
		return h, d.soon(in.Phase, err)
	}
	us, err := f.Us(ctx)
	if err != nil || len(people) == 0 {
		return h, temporary(err)
	}
	keys, err := f.DeployKeys(ctx)
	if err != nil {
		return h, temporary(err)
	}
	for _, p := range people {
		one := cruise.Pusher{Name: p.Name, Us: among(us, p.Name), Bot: p.Bot || among(d.Settings.Bots, p.Name)}
		// Our own account is the user where nobody tells us of keys.
		one.Key = keys.May(p.Name) && (keys.Known || !one.Us)
		if !one.Us && !one.Bot {
			// Gitea tells only an administrator what others may do. Somebody who pushed could write a moment ago.
			access, err := f.Access(ctx, p.Name)
			if err != nil {
				return h, temporary(err)
			}
			one.Write = access == forge.AccessWrite || access == forge.AccessUnknown
		}
		h.People = append(h.People, one)
	}
	return h, nil
}

// Take goes on from another head than ours: it brings the forge's head through quarantine and gate, and makes the
// workspace again where the work goes on.
func (d *Doer) Take(ctx context.Context, in cruise.TakeIn) (got cruise.Took, err error) {
	repo, err := git.Open(ctx, in.Repo)
	if err != nil {
		return got, err
	}
	at, err := d.bring(ctx, repo, brought{phase: in.Phase, repo: in.Repo, branch: in.Branch, since: in.Ours,
		as: in.Workspace.Session + "theirs"})
	if err != nil {
		return got, err
	}
	if at != in.Theirs {
		got.Moved = true
		return got, nil
	}
	if err := d.choose(ctx, repo, in, &got); err != nil || len(got.Conflicts) > 0 {
		return got, temporary(err)
	}
	if err := d.measure(ctx, repo, in, &got); err != nil {
		return got, temporary(err)
	}
	if len(got.Refused) > 0 && in.Side == "" {
		return got, nil
	}
	kept, err := d.Sessions.Reset(ctx, in.Workspace.Session, got.Head, d.Settings.Pull)
	if err != nil {
		return got, temporary(err)
	}
	if kept != "" {
		d.log(ctx, in.Phase, fmt.Sprintf("the work goes on from %s; ours is kept at %s", git.Short(got.Head), kept))
	}
	f, err := d.forge(ctx, in.Repo)
	if err != nil {
		return got, err
	}
	got.At, err = d.there(ctx, f, in.Phase, in.Theirs)
	return got, err
}

// choose finds the head to go on from: theirs, or one that joins both.
func (d *Doer) choose(ctx context.Context, repo *git.Repo, in cruise.TakeIn, got *cruise.Took) error {
	above, err := repo.IsAncestor(ctx, in.Ours, in.Theirs)
	if err != nil {
		return err
	}
	if got.Head = in.Theirs; in.Side == cruise.Theirs || above && in.Side == "" {
		return nil
	}
	who := repo.Identity()
	if who.Name == "" || who.Email == "" {
		who = git.Identity{Name: "cco", Email: "cco@localhost"}
	}
	join := git.Join{Ours: in.Ours, Theirs: in.Theirs, By: who, Message: fmt.Sprintf(
		"Merge %s, which was pushed meanwhile\n", git.Short(in.Theirs))}
	if in.Side == cruise.Ours {
		join.Tree = in.Ours
		join.Message = fmt.Sprintf("Keep %s over %s\n\nBoth are parents of this, and the files are those of the former.\n",
			git.Short(in.Ours), git.Short(in.Theirs))
	}
	q, err := d.scratch(ctx, repo, in.Phase, "join")
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	if join.Tree == "" {
		merged, err := within(repo, q).Automerge(ctx, in.Ours, in.Theirs)
		if err != nil {
			return err
		}
		if got.Conflicts = merged.Conflicts; len(got.Conflicts) > 0 {
			return nil
		}
		join.Tree = merged.Tree
	}
	commit, err := within(repo, q).Join(ctx, join)
	if err != nil {
		return err
	}
	if err := repo.Adopt(ctx, within(repo, q).Host(), commit, in.Ours, in.Theirs); err != nil {
		return err
	}
	got.Head, got.Joined = commit, true
	_, err = repo.SetRefs(ctx, []git.NamedRef{{Name: "refs/cco/" + in.Workspace.Session + "joined", OID: commit}})
	return err
}

// measure says of the new head what a person must know, and what must not be there.
func (d *Doer) measure(ctx context.Context, repo *git.Repo, in cruise.TakeIn, got *cruise.Took) error {
	since, err := repo.MergeBase(ctx, in.Ours, got.Head)
	if err != nil {
		return err
	}
	base := cmp.Or(in.Base, in.Workspace.Base)
	sum, err := repo.Summary(ctx, base, got.Head)
	if err != nil {
		return err
	}
	got.Lines = sum.Added + sum.Deleted
	return d.examine(ctx, repo, since, cruise.PublishIn{Where: cruise.Where{Phase: in.Phase, Repo: in.Repo},
		Workspace: in.Workspace,
		Since:     since, Base: in.Base}, &got.Published)
}

// brought is a branch of the forge to bring into the user's repository.
type brought struct {
	phase, repo, branch string
	since               string // a commit that it has history in common with
	as                  string // the last part of the ref that it gets below refs/cco/
}

// bring brings a branch of the forge into the user's repository, through quarantine, and gives its commit.
func (d *Doer) bring(ctx context.Context, repo *git.Repo, b brought) (string, error) {
	f, err := d.forge(ctx, b.repo)
	if err != nil {
		return "", err
	}
	source, err := d.scratch(ctx, repo, b.phase, "fetch")
	if err != nil {
		return "", temporary(err)
	}
	defer func() { _ = source.Close() }()
	commit, err := f.Fetch(ctx, source.Dir, b.branch)
	if err != nil {
		return "", d.soon(b.phase, err)
	}
	base, err := within(repo, source).MergeBase(ctx, b.since, commit)
	if err != nil || base == commit {
		return commit, temporary(err)
	}
	if base == "" {
		return "", fmt.Errorf("branch %s is at %s now, which has nothing in common with this work", b.branch,
			git.Short(commit))
	}
	bundle := filepath.Join(d.dir(b.phase), "fetched.bundle")
	defer func() { _ = os.Remove(bundle) }()
	if err := within(repo, source).BundleOf(ctx, bundle, quarantine.OutRef, commit, base); err != nil {
		return "", temporary(err)
	}
	q, err := d.scratch(ctx, repo, b.phase, "take")
	if err != nil {
		return "", temporary(err)
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Unpack(ctx, bundle, base); err != nil {
		return "", temporary(err)
	}
	if _, err := q.Examine(ctx); err != nil {
		return "", temporary(err)
	}
	_, err = q.Import(ctx, b.as)
	return commit, temporary(err)
}

// within is such a repository before anything was unpacked there: what is fetched is bounded when it is.
func within(repo *git.Repo, q *quarantine.Repo) *git.Repo { return repo.Through(git.Bare(q.Dir)) }

// scratch makes a repository of ours that borrows the user's objects.
func (d *Doer) scratch(ctx context.Context, repo *git.Repo, phase, name string) (*quarantine.Repo, error) {
	dir := filepath.Join(d.dir(phase), name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Dir(dir), 0o700)); err != nil {
		return nil, err
	}
	return quarantine.New(ctx, repo, dir, quarantine.Options{Limits: d.Settings.Pull.Limits})
}
