package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/whole"
)

// Publish brings the workspace's commits to the host, examined.
func (d *Doer) Publish(ctx context.Context, in cruise.PublishIn) (cruise.Published, error) {
	got, err := d.Sessions.Collect(ctx, in.Workspace.Session, in.Since, d.Settings.Pull)
	if err != nil {
		return cruise.Published{}, temporary(err)
	}
	repo, err := git.Open(ctx, in.Repo)
	if err != nil {
		return cruise.Published{}, err
	}
	p := cruise.Published{Head: got.Tip, Rewritten: got.Rewritten}
	var known []string
	if in.Onto != "" {
		has, err := repo.IsAncestor(ctx, in.Onto, got.Tip)
		if err != nil {
			return p, err
		}
		if has {
			p.Onto, in.Base, known = in.Onto, in.Onto, []string{in.Onto}
		}
	}
	commits, err := repo.Commits(ctx, in.Since, got.Tip, known...)
	if err != nil {
		return p, err
	}
	if got.Rewritten != "" {
		d.log(ctx, in.Phase, "an agent rewrote what was pushed: that is kept at "+got.Rewritten+
			", and the workspace is back at "+got.Tip)
	}
	for _, c := range commits {
		p.Commits = append(p.Commits, commitOf(c))
		for _, f := range c.Files {
			if ok, _ := filepath.Match("docs/plans/*.md", f); ok && p.Plan == "" {
				p.Plan = f
			}
		}
	}
	if p.Onto == "" {
		err = d.examine(ctx, repo, in.Since, in, &p)
	} else { // what came is judged by what differs from both: since is a merge of the two as git makes it
		err = d.beside(ctx, repo, in.Phase, "join", func(r *git.Repo) error {
			merged, err := r.Automerge(ctx, in.Since, in.Onto)
			if err != nil {
				return err
			}
			since, err := r.Join(ctx, git.Join{Ours: in.Since, Theirs: in.Onto, Tree: merged.Tree, Message: "merged by git",
				By: ourselves})
			if err != nil {
				return err
			}
			return d.examine(ctx, r, since, in, &p)
		})
	}
	if err == nil {
		err = d.examineMerges(ctx, repo, in, &p)
	}
	return p, temporary(err)
}

// ourselves makes commits where the user has no name.
var ourselves = git.Identity{Name: "cco", Email: "cco@localhost"}

func commitOf(c git.CommitText) cruise.Commit {
	out := cruise.Commit{ID: c.Commit, Subject: c.Subject, Files: c.Files}
	for _, t := range c.Trailers {
		switch t.Key {
		case cruise.TrailerFinding:
			out.Findings = append(out.Findings, t.Value)
		case cruise.TrailerDeclined:
			id, text, _ := strings.Cut(t.Value, " ")
			out.Declined = append(out.Declined, cruise.Reason{Finding: id, Text: strings.TrimSpace(text)})
		}
	}
	return out
}

// Push moves the forge's branch, from a repository that no agent has ever written.
func (d *Doer) Push(ctx context.Context, in cruise.PushIn) (time.Time, error) {
	return ask(ctx, d, in.Where, func(f Forge) (at time.Time, err error) {
		if err = d.push(ctx, f, in); err == nil {
			at, err = d.there(ctx, f, in.Phase, in.New)
		}
		if err == nil { // last: a repository that is not found is not waited for anew with each try
			err = d.NotePush(in.Phase)
		}
		return at, err
	})
}

// there is when a commit was surely on the forge, by its own clock: later comments are about it. That is noted when it
// is asked for first, so that it does not move where a step runs again.
func (d *Doer) there(ctx context.Context, f Forge, phase, commit string) (at time.Time, err error) {
	name := filepath.Join(d.dir(phase), "there")
	data, _ := os.ReadFile(name) // the first time there is none
	was, stamp, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if at, err = time.Parse(time.RFC3339Nano, stamp); err == nil && was == commit {
		return at, nil
	}
	remote, err := f.Repository(ctx)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err == nil {
		err = whole.Write(name, []byte(commit+" "+remote.Now.UTC().Format(time.RFC3339Nano)+"\n"), 0o600)
	}
	return remote.Now, err
}

func (d *Doer) push(ctx context.Context, f Forge, in cruise.PushIn) (err error) {
	repo, err := git.Open(ctx, in.Repo)
	if err != nil {
		return err
	}
	q, err := d.scratch(ctx, repo, in.Phase, "push")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	p := forge.Push{Dir: q.Dir, Branch: in.Branch, Commit: in.New, Lease: in.Old}
	err = f.Push(ctx, p)
	moved, ok := errors.AsType[*git.LeaseError](err)
	switch {
	case !ok:
	case in.Old == "":
		return fmt.Errorf("branch %s is on the forge already: end this with `cco cruise cleanup` and start with another "+
			"--branch", in.Branch)
	case moved.Now != "":
		return fmt.Errorf("somebody else pushed to branch %s: put it back with `git push --force-with-lease=%[1]s:%s "+
			"REMOTE %s:%[1]s` and go on", in.Branch, moved.Now, in.Old)
	case !in.Anew:
		return fmt.Errorf("branch %s was deleted on the forge; going on pushes it again", in.Branch)
	default:
		p.Lease = ""
		err = f.Push(ctx, p)
	}
	return err
}

// settling is how long a forge may take to show a push everywhere: until then something may still be missing.
const settling = 2 * time.Minute

// NotePush notes that something of a phase was pushed, here or by the machine that had it before.
func (d *Doer) NotePush(phase string) error {
	name := filepath.Join(d.dir(phase), "pushed")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return whole.Write(name, []byte(d.Now().UTC().Format(time.RFC3339)), 0o600)
}

// soon marks temporary failures, including what a forge does not find shortly after our push.
func (d *Doer) soon(phase string, err error) error {
	if !isGone(err) {
		return temporary(err)
	}
	data, _ := os.ReadFile(filepath.Join(d.dir(phase), "pushed"))
	at, bad := time.Parse(time.RFC3339, string(data))
	if since := d.Now().Sub(at); bad == nil && since >= 0 && since < settling {
		return &cruise.Temporary{Err: err}
	}
	return err
}
