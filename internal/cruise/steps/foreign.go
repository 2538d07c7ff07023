package steps

import (
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
func (d *Doer) Pushers(ctx context.Context, in cruise.HeadsIn) (cruise.Pushers, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.Pushers, error) { return d.pushers(ctx, f, in) })
}

func (d *Doer) pushers(ctx context.Context, f Forge, in cruise.HeadsIn) (h cruise.Pushers, err error) {
	has, err := f.Contains(ctx, in.PR, in.Ours)
	if err != nil {
		return h, err
	}
	h.Forced = !has
	people, err := f.Pushers(ctx, in.PR, in.Branch, in.Ours, in.Theirs)
	if err != nil || len(people) == 0 {
		return h, err
	}
	us, err := f.Us(ctx)
	if err != nil {
		return h, err
	}
	keys, err := f.DeployKeys(ctx)
	if err != nil {
		return h, err
	}
	for _, p := range people {
		one := cruise.Pusher{Name: p.Name, Us: cruise.Among(us, p.Name), Bot: p.Bot || cruise.Among(d.Settings.Bots, p.Name)}
		// Our own account is the user where nobody tells us of keys.
		one.Key = keys.May(p.Name) && (keys.Known || !one.Us)
		if !one.Us && !one.Bot {
			// Gitea tells only an administrator what others may do. Somebody who pushed could write a moment ago.
			access, err := f.Access(ctx, p.Name)
			if err != nil {
				return h, err
			}
			one.Write = access == forge.AccessWrite || access == forge.AccessUnknown
		}
		h.People = append(h.People, one)
	}
	return h, nil
}

// Take goes on from another head than ours: it brings the forge's head through quarantine and gate, and makes the
// workspace again where the work goes on.
func (d *Doer) Take(ctx context.Context, in cruise.TakeIn) (cruise.Took, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.Took, error) { return d.take(ctx, f, in) })
}

func (d *Doer) take(ctx context.Context, f Forge, in cruise.TakeIn) (got cruise.Took, err error) {
	repo, err := git.Open(ctx, in.Repo)
	if err != nil {
		return got, err
	}
	at, err := d.bring(ctx, f, repo, in.Where, in.Branch, in.Ours, "theirs")
	if err != nil || at != in.Theirs {
		got.Moved = err == nil
		return got, err
	}
	if err := d.choose(ctx, repo, in, &got); err != nil || len(got.Conflicts) > 0 {
		return got, err
	}
	since, err := repo.MergeBase(ctx, in.Ours, got.Head)
	if err == nil {
		err = d.examine(ctx, repo, since, cruise.PublishIn{Where: in.Where, Base: in.Base}, &got.Published)
	}
	if err != nil || len(got.Refused) > 0 && in.Side == "" {
		return got, err
	}
	kept, err := d.Sessions.Reset(ctx, in.Workspace.Session, got.Head, d.Settings.Pull)
	if err != nil {
		return got, err
	}
	if kept != "" {
		d.log(ctx, in.Phase, fmt.Sprintf("the work goes on from %s; ours is kept at %s", git.Short(got.Head), kept))
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
		who = ourselves
	}
	join := git.Join{Ours: in.Ours, Theirs: in.Theirs, By: who, Message: fmt.Sprintf(
		"Merge %s, which was pushed meanwhile\n", git.Short(in.Theirs))}
	if in.Side == cruise.Ours {
		join.Tree = in.Ours
		join.Message = fmt.Sprintf("Keep %s over %s\n\nBoth are parents of this, and the files are those of the former.\n",
			git.Short(in.Ours), git.Short(in.Theirs))
	}
	var commit string
	err = d.beside(ctx, repo, in.Phase, "join", func(r *git.Repo) error {
		if join.Tree == "" {
			merged, err := r.Automerge(ctx, in.Ours, in.Theirs)
			if got.Conflicts, join.Tree = merged.Conflicts, merged.Tree; err != nil || len(got.Conflicts) > 0 {
				return err
			}
		}
		if commit, err = r.Join(ctx, join); err != nil {
			return err
		}
		return repo.Adopt(ctx, r.Host(), commit, in.Ours, in.Theirs)
	})
	if err != nil || len(got.Conflicts) > 0 {
		return err
	}
	got.Head, got.Joined = commit, true
	_, err = repo.SetRefs(ctx, []git.NamedRef{{Name: "refs/cco/" + in.Workspace.Session + "joined", OID: commit}})
	return err
}

// bring brings a branch of the forge, which has history in common with a commit, into the user's repository, through
// quarantine, and gives its commit. What it is for ends the name of its ref.
func (d *Doer) bring(ctx context.Context, f Forge, repo *git.Repo, at cruise.Where, branch, since, what string) (string,
	error) {
	source, err := d.scratch(ctx, repo, at.Phase, "fetch")
	if err != nil {
		return "", err
	}
	defer func() { _ = source.Close() }()
	commit, err := f.Fetch(ctx, source.Dir, branch)
	if err != nil {
		return "", err
	}
	base, err := within(repo, source).MergeBase(ctx, since, commit)
	if err != nil || base == commit {
		return commit, err
	}
	if base == "" {
		return "", fmt.Errorf("branch %s is at %s now, which has nothing in common with this work", branch, git.Short(commit))
	}
	bundle := filepath.Join(d.dir(at.Phase), "fetched.bundle")
	defer func() { _ = os.Remove(bundle) }()
	if err := within(repo, source).BundleOf(ctx, bundle, quarantine.OutRef, commit, base); err != nil {
		return "", err
	}
	q, err := d.scratch(ctx, repo, at.Phase, "take")
	if err != nil {
		return "", err
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Unpack(ctx, bundle, base); err != nil {
		return "", err
	}
	if _, err := q.Examine(ctx); err != nil {
		return "", err
	}
	_, err = q.Import(ctx, at.Workspace.Session+what)
	return commit, err
}

// within is such a repository before anything was unpacked there: what is fetched is bounded when it is.
func within(repo *git.Repo, q *quarantine.Repo) *git.Repo { return repo.Through(git.Bare(q.Dir)) }

// beside does something in a repository of ours that borrows the objects of the user's.
func (d *Doer) beside(ctx context.Context, repo *git.Repo, phase, name string, do func(*git.Repo) error) error {
	q, err := d.scratch(ctx, repo, phase, name)
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	return do(within(repo, q))
}

// scratch makes a repository of ours that borrows the user's objects.
func (d *Doer) scratch(ctx context.Context, repo *git.Repo, phase, name string) (*quarantine.Repo, error) {
	dir := filepath.Join(d.dir(phase), name)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Dir(dir), 0o700)); err != nil {
		return nil, err
	}
	return quarantine.New(ctx, repo, dir, quarantine.Options{Limits: d.Settings.Pull.Limits})
}
