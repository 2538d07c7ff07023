// Package phases wires what phases need: forges, the engine, and a model for simple questions. It is linked into
// cco-cruise alone, because every start of cco would pay for it.
package phases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Phases is cco with an engine.
type Phases struct {
	*app.App
	// Wrap, if set, wraps the steps of phases: tests inject failures there.
	Wrap func(cruise.Steps) cruise.Steps
	// Quiet is how long a phase waits for further comments; 0 is the usual time.
	Quiet time.Duration

	far   far
	given given // tokens that commands gave to this engine
}

// engine is the client of the engine.
func (a *Phases) engine() *serve.Client {
	return &serve.Client{Data: a.Dirs.Data, Launch: a.launch, Report: a.IO.Progress}
}

// launch starts the engine, detached, until it has had nothing to do for a while.
func (a *Phases) launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.Dirs.Data, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(a.Dirs.Data, "cruise.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = proc.Detach(proc.Cmd{
		Argv: []string{app.Companion, "cruise", "serve", "--until-idle", "10m"}, Path: self, Dir: a.Dirs.Data, Stdout: log,
		Stderr: log,
	})
	return err
}

// drawPhase gives an id that no phase has, and whose workspace no session has: the new phase would take either for its
// own.
func drawPhase(ctx context.Context, st *store.Store, draw func() string) (string, error) {
	const most = 100
	for range most {
		id := draw()
		_, phaseErr := st.Phase(ctx, id)
		_, sessionErr := st.Session(ctx, steps.SessionOf(id))
		_, noPhase := errors.AsType[*store.PhaseNotFoundError](phaseErr)
		_, noSession := errors.AsType[*store.NotFoundError](sessionErr)
		switch {
		case noPhase && noSession:
			return id, nil
		case phaseErr != nil && !noPhase:
			return "", phaseErr
		case sessionErr != nil && !noSession:
			return "", sessionErr
		}
	}
	return "", fmt.Errorf("no free id of a phase in %d draws", most)
}

// find gives the named phase, or without a name that of the current branch.
func (a *Phases) find(ctx context.Context, st *store.Store, id string) (store.Phase, error) {
	if id != "" {
		whole, err := st.PhaseID(ctx, id)
		if err != nil {
			return store.Phase{}, err
		}
		return st.Phase(ctx, whole)
	}
	if p, ok := ofWorkspace(ctx, st, a.Dir); ok {
		return p, nil
	}
	repo, err := a.OpenRepo(ctx, a.Dir)
	if err != nil {
		return store.Phase{}, err
	}
	head, err := repo.Head(ctx)
	if _, detached := errors.AsType[*git.DetachedError](err); err != nil && !detached {
		return store.Phase{}, err
	}
	if err == nil {
		p, err := st.PhaseOf(ctx, a.nameOf(ctx, repo.Top), head.Branch)
		if _, none := errors.AsType[*store.PhaseNotFoundError](err); !none {
			return p, err
		}
	}
	return only(ctx, st, a.nameOf(ctx, repo.Top), head.Branch)
}

// ofWorkspace gives the phase whose workspace a directory is. Agents can write the file that names it, so its record
// has to have that directory.
func ofWorkspace(ctx context.Context, st *store.Store, dir string) (store.Phase, bool) {
	shown, err := readShown(dir)
	if err != nil {
		return store.Phase{}, false
	}
	p, err := st.Phase(ctx, shown.id())
	if err != nil {
		return p, false
	}
	state, err := steps.StateOf(p)
	if err != nil {
		return p, false
	}
	here, err := os.Stat(dir)
	its, gone := os.Stat(state.Workspace.Path)
	return p, err == nil && gone == nil && os.SameFile(here, its)
}

// only gives the one living phase of a repository, if there is just one: its branch need not be checked out. Otherwise
// the error names those that may be meant.
func only(ctx context.Context, st *store.Store, repo, branch string) (store.Phase, error) {
	list, err := st.Phases(ctx, 1000)
	if err != nil {
		return store.Phase{}, err
	}
	list = slices.DeleteFunc(list, func(p store.Phase) bool { return p.Repo != repo })
	alive := slices.DeleteFunc(slices.Clone(list), func(p store.Phase) bool { return p.Ended })
	if len(alive) == 1 {
		return st.Phase(ctx, alive[0].ID)
	}
	where := "of branch " + branch
	if branch == "" {
		where = "of a branch, because HEAD is detached"
	}
	if len(alive) == 0 {
		const few = 3
		return store.Phase{}, &store.PhaseNotFoundError{ID: where, Others: list[:min(len(list), few)]}
	}
	return store.Phase{}, &store.PhaseNotFoundError{ID: where, Others: alive}
}

// Send gives a phase an event.
func (a *Phases) Send(ctx context.Context, id string, ev cruise.Event) (store.Phase, error) {
	st, err := a.Store(ctx)
	if err != nil {
		return store.Phase{}, err
	}
	defer func() { _ = st.Close() }()
	p, err := a.find(ctx, st, id)
	if err != nil {
		return p, err
	}
	c, err := a.cluster()
	if err != nil {
		return p, err
	}
	if why := apart(c, p); why != "" {
		return p, &StateError{ID: p.ID, Why: why}
	}
	if ev.ID == "" {
		ev.ID = session.NewID() + session.NewID()
	}
	ev.At = time.Now().UTC()
	if err := a.lend(ctx); err != nil {
		return p, err
	}
	if ev.Kind == cruise.EventResume {
		if err := a.offer(ctx, p.Repo); err != nil {
			return p, err
		}
	}
	if p.Far() {
		return p, a.sendFar(ctx, c, st, p, ev)
	}
	v, err := steps.Sent(ev)
	if err != nil {
		return p, err
	}
	revive := func(p store.Phase) (store.Phase, error) {
		was, err := steps.StateOf(p)
		if err == nil {
			was, err = was.Revive(ev, time.Now())
		}
		if err != nil {
			return p, err
		}
		return steps.Record(p.ID, was, time.Now())
	}
	return p, a.engine().Take(ctx, p.ID, func() error { return st.Send(ctx, p.ID, v, revive) })
}

// Resume lets a phase go on. If it waits for consent to push something, this is the consent, for exactly that; it is
// written down before it is given.
func (a *Phases) Resume(ctx context.Context, id string, ev cruise.Event) (store.Phase, error) {
	p, st, err := a.Load(ctx, id)
	if err != nil {
		return p, err
	}
	if held := st.NeedConsent(); len(held) > 0 {
		svc, done, err := a.Sessions(ctx)
		if err != nil {
			return p, err
		}
		defer done()
		for _, h := range held {
			if err := svc.LogAccepted(p.ID, st.Consent.Holding, h.Kind, len(h.Lines), a.Dir); err != nil {
				return p, err
			}
		}
		ev.Let = st.Consent.Holding
	}
	return a.Send(ctx, p.ID, ev)
}

// Load reads a phase and its state.
func (a *Phases) Load(ctx context.Context, id string) (store.Phase, cruise.State, error) {
	var st cruise.State
	db, err := a.Store(ctx)
	if err != nil {
		return store.Phase{}, st, err
	}
	defer func() { _ = db.Close() }()
	p, err := a.find(ctx, db, id)
	if e, none := errors.AsType[*store.PhaseNotFoundError](err); none && id == "" && len(e.Others) == 1 {
		p, err = db.Phase(ctx, e.Others[0].ID) // the only one that there is, which has ended: it is only looked at
	}
	if err != nil {
		return p, st, err
	}
	st, err = steps.StateOf(p)
	return p, st, err
}

// Log gives the lines of a phase's log after the first skip.
func (a *Phases) Log(ctx context.Context, id string, skip int) ([]store.Line, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	return db.ReadLog(ctx, id, skip)
}

// WatchAll starts an engine where there is none, which continues phases, and says how many are alive. Those that were
// paused or ask are given an event; without one they stay so: to go on can be a consent.
func (a *Phases) WatchAll(ctx context.Context, ev *cruise.Event) (alive int, err error) {
	db, err := a.Store(ctx)
	if err != nil {
		return 0, err
	}
	list, err := db.Living(ctx)
	_ = db.Close()
	if err != nil {
		return 0, err
	}
	c, err := a.cluster()
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(p store.Phase) bool {
		why := apart(c, p)
		if why != "" {
			a.IO.Warn("phase %s: %s", p.ID, why)
		}
		return why != ""
	})
	if c == nil {
		if err := a.engine().Ensure(ctx); err != nil {
			return 0, err
		}
	}
	if err := a.lend(ctx); err != nil {
		return 0, err
	}
	offered := map[string]bool{}
	for _, p := range list {
		if !offered[p.Repo] {
			offered[p.Repo] = true
			if err := a.offer(ctx, p.Repo); err != nil {
				return alive, err
			}
		}
		_, st, err := a.Load(ctx, p.ID)
		if err != nil {
			return alive, err
		}
		alive++
		if ev == nil || !st.Paused && st.Ask.Question == "" {
			continue
		}
		if _, err := a.Send(ctx, p.ID, *ev); err != nil {
			return alive, err
		}
	}
	return alive, nil
}
