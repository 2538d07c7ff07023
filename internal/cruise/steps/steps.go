// Package steps does what phases decide: it opens workspaces, has agents take their turns, and speaks on the forge.
// Every step may run more than once, so it first checks whether its work is already done.
package steps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/turns"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// Forge is what a phase needs of the place where its pull request lives.
type Forge interface {
	Repository(ctx context.Context) (forge.Repository, error)
	Open(ctx context.Context, n forge.NewPull) (p forge.Pull, existed bool, err error)
	Poll(ctx context.Context, watched []forge.Watched) ([]forge.News, error)
	Said(ctx context.Context, number int, since forge.Mark) (forge.Stream, error)
	Comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error)
	Update(ctx context.Context, number int, p forge.Post) (forge.Posted, error)
	Threads(ctx context.Context, number int) (forge.Threads, error)
	Withdraw(ctx context.Context, c forge.Comment) (bool, error)
	Review(ctx context.Context, number int, r forge.Review) (forge.Posted, error)
	Push(ctx context.Context, p forge.Push) error
	Fetch(ctx context.Context, dir, branch string) (commit string, err error)
	Pushers(ctx context.Context, number int, branch, from, to string) ([]forge.Pusher, error)
	DeployKeys(ctx context.Context) (forge.DeployKeys, error)
	Pull(ctx context.Context, number int) (forge.Pull, error)
	Ready(ctx context.Context, number int) error
	Checks(ctx context.Context, numbers []int) (map[int]forge.Checked, error)
	Attempt(ctx context.Context, job int64) (int, error)
	Rerun(ctx context.Context, job int64, attempt int) error
	JobLog(ctx context.Context, job int64) (string, error)
	Merge(ctx context.Context, number int, commit string) error
	Access(ctx context.Context, login string) (forge.Access, error)
	Us(ctx context.Context) ([]string, error)
	Contains(ctx context.Context, number int, commit string) (bool, error)
	Branch(ctx context.Context, branch string) (commit string, err error)
	DeleteBranch(ctx context.Context, branch, commit string) error
}

// Sessions is what a phase needs of boxes and agents.
type Sessions interface {
	Workspace(ctx context.Context, want store.Session) (store.Session, error)
	WorkspacePath(ctx context.Context, rec store.Session) string
	Take(ctx context.Context, t turns.Turn) (turns.Taken, error)
	Collect(ctx context.Context, id, since string, o session.PullOptions) (turns.Collected, error)
	Reset(ctx context.Context, id, commit string, o session.PullOptions) (kept string, err error)
	Lend(ctx context.Context, id, commit string) error
	Show(ctx context.Context, id, name string, data []byte) error
	RemoveWorkspace(ctx context.Context, id string, force bool) ([]string, error)
}

// Settings are what the user set for all phases.
type Settings struct {
	Pull session.PullOptions // bounds of what comes out of a workspace
	Run  session.Run
	Bots []string // accounts that are programs, if the forge doesn't say so
	// Stricter is a policy as far as the text of a repository's settings makes it stricter.
	Stricter func(p gate.Policy, file string, text []byte) (gate.Policy, error)
}

// Doer carries out steps.
type Doer struct {
	Data     string
	Sessions Sessions
	Store    *store.Store
	Forge    func(ctx context.Context, repo string) (Forge, error) // of a repository on this machine
	Ask      func(ctx context.Context, w cruise.Worker, prompt string) (string, error)
	Settings Settings
	Now      func() time.Time

	Watch *Watcher
	Inbox *Inbox

	names sync.Map // phases by repository and branch, as soon as a branch is chosen
}

// SessionOf is the session that a phase's workspace belongs to.
func SessionOf(phase string) string {
	sum := sha256.Sum256([]byte("workspace of " + phase))
	return hex.EncodeToString(sum[:4])
}

// Metadata names the phase, even if the model fails.
func (d *Doer) Metadata(ctx context.Context, in cruise.MetadataIn) (reading.Metadata, error) {
	return ask(ctx, d, cruise.Where{Phase: in.Phase, Repo: in.Spec.Repo}, func(f Forge) (reading.Metadata, error) {
		return d.named(ctx, f, in)
	})
}

func (d *Doer) named(ctx context.Context, f Forge, in cruise.MetadataIn) (meta reading.Metadata, err error) {
	remote, err := f.Repository(ctx)
	if err != nil {
		return meta, err
	}
	if !remote.CanPush {
		return meta, fmt.Errorf("the token may not push to %s/%s", remote.Owner, remote.Name)
	}
	repo, err := git.Open(ctx, in.Spec.Repo)
	if err != nil {
		return meta, err
	}
	if meta, err = d.nameTask(ctx, in); err != nil {
		return meta, err
	}
	if in.Spec.Branch != "" {
		meta.Branch = in.Spec.Branch
		return meta, errors.Join(reading.CheckBranch(meta.Branch), repo.CheckBranch(ctx, meta.Branch))
	}
	for _, above := range reading.Above(meta.Branch) {
		at, err := f.Branch(ctx, above)
		if err != nil {
			return meta, err
		}
		if at != "" {
			meta.Branch = strings.ReplaceAll(meta.Branch, "/", "-")
		}
	}
	first := meta
	for n := 2; n <= 1000; n++ {
		free, err := d.free(ctx, in, f, repo, meta.Branch)
		if err != nil {
			return meta, err
		}
		if free && meta.Branch != remote.DefaultBranch {
			if meta != first {
				d.log(ctx, in.Phase, fmt.Sprintf("branch %s is taken: it is %s", first.Branch, meta.Branch))
			}
			return meta, nil
		}
		meta = first.Another(n)
	}
	return meta, fmt.Errorf("branch %s and a thousand like it exist", first.Branch)
}

// nameTask asks a model once for the names of a task, and logs what of its answer was not used. The names are kept:
// where they can't be, the model is not asked.
func (d *Doer) nameTask(ctx context.Context, in cruise.MetadataIn) (meta reading.Metadata, err error) {
	file := filepath.Join(d.dir(in.Phase), "names.json")
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &meta) == nil && meta.Branch != "" {
		return meta, nil
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), whole.Write(file, []byte("{}\n"), 0o600)); err != nil {
		return meta, err
	}
	answer, err := d.Ask(ctx, in.Spec.Planner, cruise.Prompt("name", in.Spec.Task))
	if err != nil {
		d.log(ctx, in.Phase, "no model named the task, so the names are its own words: "+err.Error())
		meta = reading.FallbackMetadata(in.Spec.Task)
	} else {
		var notes []string
		meta, notes = reading.NameTask(in.Spec.Task, answer)
		for _, n := range notes {
			d.log(ctx, in.Phase, n)
		}
	}
	if ctx.Err() != nil {
		return meta, ctx.Err() // it was not the model that failed
	}
	data, err := json.Marshal(meta)
	if err != nil {
		return meta, err
	}
	return meta, whole.Write(file, data, 0o600)
}

// free says whether a branch is unused: by the user, by other phases, and on the forge.
func (d *Doer) free(ctx context.Context, in cruise.MetadataIn, f Forge, repo *git.Repo, branch string) (bool, error) {
	if err := repo.CheckBranch(ctx, branch); err != nil {
		return false, err
	}
	if _, err := repo.Branch(ctx, branch); err == nil {
		return false, nil
	}
	if p, err := d.Store.PhaseOf(ctx, cmp.Or(in.Spec.Remote, in.Spec.Repo), branch); err == nil && p.ID != in.Phase {
		return false, nil
	}
	at, err := f.Branch(ctx, branch)
	if err != nil || at != "" {
		return false, err
	}
	// Others that begin at the same moment don't see it in any record yet.
	has, _ := d.names.LoadOrStore(in.Spec.Repo+"\x00"+branch, in.Phase)
	return has == in.Phase, nil
}

// Workspace makes or finds the phase's workspace.
func (d *Doer) Workspace(ctx context.Context, in cruise.WorkspaceIn) (cruise.Workspace, error) {
	rec, err := d.Sessions.Workspace(ctx, store.Session{
		ID: SessionOf(in.Phase), Box: in.Spec.Box, Repo: in.Spec.Repo, Branch: in.Branch,
		Base: cmp.Or(in.Head, in.Spec.Base), Title: reading.FallbackMetadata(in.Spec.Task).Title,
	})
	if err == nil && in.Lend != "" {
		err = d.Sessions.Lend(ctx, rec.ID, in.Lend)
	}
	if err != nil {
		return cruise.Workspace{}, temporary(err)
	}
	return cruise.Workspace{Session: rec.ID, Path: d.Sessions.WorkspacePath(ctx, rec), Base: rec.Origin}, nil
}

// Work has an agent take its turn.
func (d *Doer) Work(ctx context.Context, j cruise.Job) (cruise.Report, error) {
	run := d.Settings.Run
	if most := &run.Limits.RunCost; j.MaxCost > 0 && (*most == 0 || j.MaxCost < *most) {
		*most = j.MaxCost
	}
	stop, err := d.Inbox.removal(ctx, j.Phase)
	if err != nil {
		return cruise.Report{}, temporary(err)
	}
	got, err := d.Sessions.Take(ctx, turns.Turn{
		Key: j.Key, Phase: j.Phase, Workspace: j.Workspace.Session, Agent: j.Worker.Agent, Model: j.Worker.Model,
		Prompt: j.Prompt,
		Plan:   j.Task,
		Title:  string(j.Role) + " of phase " + j.Phase, Look: j.Role == cruise.Reviewer, Message: j.Message, Env: j.Env(),
		Run: run, Stop: stop,
	})
	if errors.Is(err, turns.ErrStopped) {
		return cruise.Report{Error: err.Error()}, nil
	}
	if err != nil {
		return cruise.Report{}, temporary(err)
	}
	r := cruise.Report{
		OK: got.Session.State == store.Done || got.Session.State == store.Pulled, Answer: got.Answer, Cost: got.Spent.Cost,
		Tokens:   got.Spent.Tokens(),
		Estimate: got.Spent.Estimate,
	}
	switch {
	case r.OK:
	case got.Session.State == store.Failed && got.Transient:
		r.Transient, r.Error = true, got.Session.Reason
	case got.Session.Question != "":
		r.Error = fmt.Sprintf("it asks: %s (answer with `cco cruise fix --comment`)", got.Session.Question)
	default:
		r.Error = fmt.Sprintf("%s (%s), see `cco box logs %s`", got.Session.State, got.Session.Reason, got.Session.ID)
	}
	return r, nil
}

// PullRequest opens the branch's pull request, or finds it.
func (d *Doer) PullRequest(ctx context.Context, in cruise.PullRequestIn) (cruise.PullRequest, error) {
	return ask(ctx, d, in.Where, func(f Forge) (cruise.PullRequest, error) {
		remote, err := f.Repository(ctx)
		if err != nil {
			return cruise.PullRequest{}, err
		}
		p, _, err := f.Open(ctx, forge.NewPull{Key: in.Phase + "-pull", Head: in.Branch, Base: remote.DefaultBranch,
			Title: in.Title, Body: in.Body, Draft: in.Draft})
		return cruise.PullRequest{Number: p.Number, URL: p.URL, Base: p.Base.Name}, err
	})
}

// Close removes the workspace, and the branch if that was asked for.
func (d *Doer) Close(ctx context.Context, in cruise.CloseIn) error {
	buried, err := d.Sessions.RemoveWorkspace(ctx, in.Workspace.Session, in.Force)
	if err != nil {
		return temporary(err)
	}
	for _, b := range buried {
		d.log(ctx, in.Phase, "moved to "+b)
	}
	if in.Head == "" || !in.Delete {
		return nil
	}
	return d.on(ctx, in.Where, func(f Forge) error { return f.DeleteBranch(ctx, in.Branch, in.Head) })
}

// on does something on the forge of a phase's repository. What fails there may pass by itself.
func (d *Doer) on(ctx context.Context, at cruise.Where, do func(Forge) error) error {
	f, err := d.Forge(ctx, at.Repo)
	if err == nil {
		err = do(f)
	}
	return d.soon(at.Phase, err)
}

// ask does something there that gives something.
func ask[O any](ctx context.Context, d *Doer, at cruise.Where, do func(Forge) (O, error)) (out O, err error) {
	err = d.on(ctx, at, func(f Forge) (err error) {
		out, err = do(f)
		return err
	})
	return out, err
}

func (d *Doer) dir(phase string) string { return filepath.Join(d.Data, "phases", phase) }

// temporary marks failures that pass by themselves.
func temporary(err error) error {
	if err == nil {
		return nil
	}
	_, limit := errors.AsType[*forge.LimitError](err)
	_, down := errors.AsType[*forge.UnavailableError](err)
	_, busy := errors.AsType[*session.BusyError](err)
	_, op := errors.AsType[*net.OpError](err)
	if limit || down || busy || op || forge.RefusedAs(err, forge.RefusedUnsettled) || git.Passes(err) ||
		store.Passes(err) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EDQUOT) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) {
		return &cruise.Temporary{Err: err}
	}
	return err
}
