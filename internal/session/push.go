package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/unit"
	"github.com/cco-dev/cco/internal/whole"
)

// PushOptions say what is handed over, and to whom.
type PushOptions struct {
	Run
	Dir     string // of the command
	Plan    string // a file
	Message string // the plan itself, instead of a file
	Box     string
	Agent   string // with Resume, "" is the session's own
	Model   string // likewise
	Depth   int
	Resume  string // the session whose workspace is used again
	Again   string // the session whose plan is handed over once more, with the commits that it began with
}

// UsageError says that a command's arguments don't go together.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// Push hands a plan to an agent and starts its keeper. It checks everything before it makes anything.
func (s HandOff) Push(ctx context.Context, o PushOptions) (store.Session, error) {
	if o.Resume != "" {
		return s.resume(ctx, o)
	}
	o, err := s.likeBefore(ctx, o)
	if err != nil {
		return store.Session{}, err
	}
	repo, head, p, err := s.check(ctx, o)
	if err == nil {
		err = s.Caution(ctx, repo, head.Commit, p.here)
	}
	if err != nil {
		return store.Session{}, err
	}
	b, d, err := s.Boxes.Ready(ctx, o.Box)
	if err != nil {
		return store.Session{}, err
	}
	if err := s.Refresh(ctx, b); err != nil {
		return store.Session{}, err
	}
	rec := store.Session{
		Box: b.Name, Backend: b.Backend, Agent: o.Agent, Model: o.Model, Repo: repo.Top, RepoKey: repo.Key(),
		Branch: head.Branch, Base: head.Commit, Origin: head.Commit, Title: title(p.text), State: store.Created,
		Created: s.Now(),
	}
	if err := s.ready(ctx, rec, b, d, o.Limits); err != nil {
		return store.Session{}, err
	}
	id := s.Identity(repo)
	order := Order{Run: s.shownAs(o), Format: repo.ObjectFormat, Name: id.Name, Email: id.Email,
		Shallow: o.Depth > 0 || repo.IsShallow()}
	rec, err = s.handOver(ctx, repo, rec, order, p, o.Depth)
	if err != nil {
		return rec, fmt.Errorf("push: %w", err)
	}
	return rec, nil
}

// shownAs is how an agent runs: one that speaks a protocol has no screen for a terminal.
func (s HandOff) shownAs(o PushOptions) Run {
	if a, err := s.Agents.Find(o.Agent); err == nil && a.Protocol {
		o.Interactive = false
	}
	return o.Run
}

// Refresh updates a box that another version of cco provisioned: its instructions to agents would be out of date.
func (s HandOff) Refresh(ctx context.Context, b *box.Box) error {
	refreshed, err := s.Boxes.Refresh(ctx, b, s.Report)
	if refreshed && err == nil {
		s.Report("box %s had the instructions of another cco; it has been provisioned anew", b.Name)
	}
	return err
}

// Identity is the user's own, so that the agent's commits are theirs. An agent without one could not commit at all.
func (s HandOff) Identity(repo *git.Repo) git.Identity {
	id := repo.Identity()
	if id.Name == "" || id.Email == "" {
		s.Warn("git has no user.name and user.email here, so the agent commits as \"cco\": set them with `git config " +
			"--global`")
		id = git.Identity{Name: "cco", Email: "cco@localhost"}
	}
	return id
}

// handOver fills the exchange directory, records the session and starts its keeper, or leaves nothing behind.
func (s HandOff) handOver(ctx context.Context, repo *git.Repo, rec store.Session, o Order, p plan,
	depth int) (_ store.Session, err error) {
	id, lock, err := s.draw(ctx, repo)
	if err != nil {
		return rec, err
	}
	rec.ID, o.Session = id, id
	// This removes only what was made here: nothing else has the id, or it would not have been drawn.
	made := []func(context.Context) error{func(context.Context) error { return tree.Remove(s.Dir(id)) }}
	defer func() {
		_ = lock.Close()
		if err == nil {
			return
		}
		for _, undo := range slices.Backward(made) {
			err = errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
	}()
	if err = os.MkdirAll(s.Boxes.Exchange(), 0o700); err == nil {
		err = os.Mkdir(s.Exchange(id), 0o700)
	}
	if err != nil {
		return rec, err
	}
	made = append(made, func(context.Context) error { return tree.Remove(s.Exchange(id)) },
		func(ctx context.Context) error { return repo.DropRef(ctx, BaseRef(id)) })
	var refErr error
	var side sync.WaitGroup
	side.Go(func() { refErr = repo.SetRef(ctx, BaseRef(id), rec.Base) })
	err = s.Send(ctx, repo, rec, o.Shallow, depth)
	side.Wait()
	if err := errors.Join(err, refErr); err != nil {
		return rec, err
	}
	if o.Plan, err = s.placePlan(id, p); err != nil {
		return rec, err
	}
	rec.Plan = o.Plan
	if err := errors.Join(whole.Write(s.planFile(id), p.text, 0o600), s.WriteOrder(o)); err != nil {
		return rec, err
	}
	if err := s.Store.AddSession(ctx, rec); err != nil {
		return rec, err
	}
	made = append(made, func(ctx context.Context) error { return s.Store.RemoveSessions(ctx, id) })
	return rec, s.spawn(id, lock)
}

// spawn starts the keeper with a lock and a listening socket that are ready before it is.
func (s HandOff) spawn(id string, lock *os.File) error {
	l, err := socket.Listen(s.Socket(id))
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	f, err := l.File()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.Spawn(id, f, lock)
}

// check finds the repository, the commit and the plan of a push.
func (s HandOff) check(ctx context.Context, o PushOptions) (repo *git.Repo, head git.Head, p plan, err error) {
	if _, err = s.Agents.Find(o.Agent); err != nil {
		return repo, head, p, err
	}
	if o.Again != "" {
		repo, head, p, err = s.checkAgain(ctx, o)
	} else if repo, err = s.Open(ctx, o.Dir); err == nil {
		if head, err = repo.Head(ctx); err == nil {
			p, err = s.findPlan(ctx, repo, head, o)
		}
	}
	if err == nil {
		err = repo.CheckComplete(ctx, head.Commit, o.Depth)
	}
	return repo, head, p, err
}

// Caution tells the user what will not travel with a commit. They already know about a file that they name.
func (s HandOff) Caution(ctx context.Context, repo *git.Repo, commit, named string) error {
	var survey git.Survey
	var surveyErr error
	var side sync.WaitGroup
	side.Go(func() { survey, surveyErr = repo.Survey(ctx, commit) })
	dirty, err := repo.Dirty(ctx, 50)
	side.Wait()
	if err := errors.Join(err, surveyErr); err != nil {
		return err
	}
	// A directory that holds nothing else ends with a slash.
	if len(dirty) == 1 && (dirty[0] == named || strings.HasSuffix(dirty[0], "/") && strings.HasPrefix(named, dirty[0])) {
		dirty = nil
	}
	if len(dirty) > 0 {
		s.Warn("uncommitted changes stay here, only committed work travels (%d changed, e.g. %s)", len(dirty),
			safetext.Line(dirty[0]))
	}
	if len(survey.Submodules) > 0 {
		s.Warn("submodules are not sent: %s will be empty in the box", safetext.Line(strings.Join(survey.Submodules, ", ")))
	}
	if survey.LFS {
		s.Warn("Git LFS files travel as pointers, not as content")
	}
	return nil
}

// BaseRef keeps the commit that a session began with in the user's repository: a branch may be amended or removed, and
// git may clear away what it had, while work comes back on top of it.
func BaseRef(id string) string { return "refs/cco/" + id + "-base" }

// DropBase lets go of it, unless something of the session is in the graveyard, which builds on it. A ref that is left
// does no harm.
func (s *Service) DropBase(ctx context.Context, rec store.Session) {
	if there, err := s.buried(rec.ID); there || err != nil {
		return
	}
	if repo, err := s.Open(ctx, rec.Repo); err == nil {
		_ = repo.DropRef(ctx, BaseRef(rec.ID))
	}
}

// Send writes what travels into the exchange directory: only what the box lacks, or a shallow repository.
func (s HandOff) Send(ctx context.Context, repo *git.Repo, rec store.Session, shallow bool, depth int) error {
	s.Report("packing %s", rec.Branch)
	if shallow {
		dir := filepath.Join(s.Exchange(rec.ID), inside.InputRepo)
		err := repo.Shallow(ctx, dir, git.ShallowRequest{Branch: rec.Branch, Commit: rec.Base, Depth: depth,
			Progress: s.gitProgress()})
		if err != nil {
			return err
		}
		return readable(dir)
	}
	have, err := s.Store.Sent(ctx, rec.Box, rec.RepoKey)
	if err != nil {
		return err
	}
	return s.bundle(ctx, repo, rec, have)
}

func (s HandOff) bundle(ctx context.Context, repo *git.Repo, rec store.Session, have []string) error {
	path := filepath.Join(s.Exchange(rec.ID), inside.InputBundle)
	r, err := repo.Bundle(ctx, path, git.BundleRequest{Branch: rec.Branch, Commit: rec.Base, Have: have,
		Progress: s.gitProgress()})
	if err != nil {
		return err
	}
	if r.Nothing {
		s.Report("the box has %s already", rec.Branch)
		return nil
	}
	what := "all of it"
	if len(r.Prerequisites) > 0 {
		what = "only what the box lacks"
	}
	s.Report("sending %s, %s", unit.Count(r.Size, "byte"), what)
	return os.Chmod(path, 0o644) // the box's own uid reads it; the directory is closed
}

// readable lets a box's own user read what was written for it. Nobody else gets past the directory above.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o755) // see above
		}
		return os.Chmod(path, 0o644) // see above
	})
}

// sendAll sends a session's base with all its history.
func (s HandOff) sendAll(ctx context.Context, rec store.Session, w Where) error {
	repo, err := s.Repository(ctx, rec, w)
	if err != nil {
		return err
	}
	if err := s.Clear(rec.ID, inside.InputBundle); err != nil {
		return err
	}
	return s.bundle(ctx, repo, rec, nil)
}

func (s *Service) gitProgress() git.ProgressFunc {
	last := s.Now()
	return func(p git.Progress) {
		if now := s.Now(); now.Sub(last) > time.Second {
			last = now
			if p.Total > 0 {
				s.Report("%s: %d%%", strings.ToLower(p.Step), p.Done*100/p.Total)
			} else {
				s.Report("%s: %d", strings.ToLower(p.Step), p.Done)
			}
		}
	}
}
