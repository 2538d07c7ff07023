package phases

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/session/turns"
	"github.com/cco-dev/cco/internal/store"
)

// worker is the name of this machine among those that share phases: the user's, or one that is drawn once; "" if it has
// none yet and none is drawn.
func (a *Phases) worker(draw bool) (string, error) {
	cfg, err := a.Config()
	if err != nil || cfg.Worker.Name != "" {
		return cfg.Worker.Name, err
	}
	return a.workerID(draw)
}

// machineID is what no other machine has: a copy of a disk that is started beside it gets a new one from its system. It
// is not told to anybody as it is.
func (a *Phases) machineID() string {
	own, _ := os.Hostname() // a system without either of the files has a name that is its own
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(id)) > 0 {
			own = string(id)
			break
		}
	}
	sum := sha256.Sum256([]byte("cco " + a.Dirs.Data + " " + own))
	return hex.EncodeToString(sum[:8])
}

// Drain has the worker of this machine take nothing new, and waits until its turns have ended.
func (a *Phases) Drain(ctx context.Context) error { return a.engine().Drain(ctx) }

// take runs phases of the service on this machine until the context ends, or until it is drained.
func (a *Phases) take(ctx context.Context, svc *session.Service, cfg config.Config, c *fleet.Client) error {
	name, err := a.worker(true)
	if err != nil {
		return err
	}
	models, err := knownModels(cfg.Agent.Model)
	if err != nil {
		return err
	}
	open := &forges{phases: a, store: svc.Store}
	doer := a.doer(svc, cfg, open)
	host := &fleet.Host{Client: c, Name: name, Machine: a.machineID(), Slots: cfg.Worker.Slots, Boot: fleet.Boot}
	e := a.runner(svc.Store, doer, &fleet.Fenced{Steps: doer})
	e.Full = fleet.Full
	draining := make(chan struct{})
	drain := sync.OnceFunc(func() { close(draining) })
	hear := func(_ context.Context, r serve.Request) error {
		if r.Renew != nil {
			open.renew(*r.Renew)
		}
		if r.Drain {
			drain()
		}
		if r.Phase != "" {
			return &StateError{ID: r.Phase, Why: "the worker that runs here only has phases that machines share"}
		}
		return nil
	}
	s := &settler{phases: a, svc: svc, forge: open.of, models: models, pull: doer.Settings.Pull,
		pushed: doer.NotePush, over: map[string]bool{}, name: name}
	host.Engine, host.Trouble, host.Abandon, host.Settle = e, a.trouble(), s.abandon, s.settle
	host.Log = func(phase, words string) { _ = svc.Store.Log(context.WithoutCancel(ctx), phase, time.Now(), words) }
	host.Keep = doer.Inbox.Keep
	have := &offerer{phases: a, svc: svc, cfg: cfg}
	host.Ready = func() { a.IO.Progress("worker %s waits for phases", name) }
	host.Abilities = func(ctx context.Context) ([]fleet.Ability, error) {
		if err := errors.Join(a.Mirror(ctx, svc.Store), s.leave(ctx, host.Phases())); err != nil {
			return nil, err
		}
		return have.abilities(ctx)
	}
	return serve.Alone(a.Dirs.Data, func() error {
		return serve.Hear(ctx, a.Dirs.Data, hear, func(ctx context.Context) error {
			return errors.Join(host.Run(ctx, draining), e.Close())
		})
	})
}

// trouble reports what is wrong, once.
func (a *Phases) trouble() func(err error) {
	var mu sync.Mutex
	said := ""
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		words := ""
		if err != nil {
			words = err.Error()
		}
		if words != said && words != "" {
			a.IO.Progress("%s", words)
		}
		said = words
	}
}

// settle makes a phase ready: it believes nothing of it that this machine's settings and the forge don't confirm.
// What was not pushed went with its machine, if that was another.
func (s *settler) settle(ctx context.Context, phase string, st cruise.State) (cruise.State, error) {
	if err := checkRow(phase, st, s.models, s.svc.Agents); err != nil {
		return st, err
	}
	remote, err := forge.ParseRemote(st.Spec.Remote)
	if err != nil || remote.Plain() {
		return st, &fleet.UnfitError{Why: "its repository is not at an address that nobody on the way can read"}
	}
	was := st.Home
	if was != "" && was != s.name { // it may have pushed just now, and the forge not show that everywhere
		if err := s.pushed(phase); err != nil {
			return st, err
		}
	}
	repo, err := s.clone(ctx, remote, st)
	if err != nil {
		return st, err
	}
	st.Spec.Repo, st.Workspace.Path, st.Home = repo.Top, "", s.name
	if err := s.canRun(ctx, st.Spec); err != nil {
		return st, err
	}
	st, _ = st.Moved(func(commit string) bool { return repo.Has(ctx, commit) })
	for _, oid := range []string{st.Spec.Base, st.Head.Commit, st.Workspace.Base} {
		if oid != "" && !repo.Has(ctx, oid) {
			return st, &fleet.UnfitError{Why: "commit " + git.Short(oid) + " is not on the forge"}
		}
	}
	if was != st.Home {
		if err := s.reset(ctx, phase, st); err != nil {
			return st, err
		}
	}
	if id := st.Workspace.Session; id != "" { // where the next turn makes it, if it is not there
		st.Workspace.Path = s.svc.WorkspacePath(ctx, store.Session{ID: id, Box: st.Spec.Box})
	}
	return st, s.svc.Store.Log(ctx, phase, time.Now(), "worker "+s.name+" goes on with it")
}

// reset puts a workspace that this machine has from an earlier home where the phase is now, and keeps what it held.
func (s *settler) reset(ctx context.Context, phase string, st cruise.State) error {
	id := steps.SessionOf(phase)
	if _, err := s.svc.Get(ctx, id); err != nil {
		if _, none := errors.AsType[*store.NotFoundError](err); none {
			return nil
		}
		return err
	}
	if err := s.abandon(ctx, phase); err != nil {
		return err
	}
	at := cmp.Or(st.Ours(), st.Workspace.Base, st.Spec.Base)
	if at == "" {
		return nil
	}
	_, err := turns.Of(s.svc).Reset(ctx, id, at, s.pull)
	return err
}

// leave ends what phases do here that have gone to another machine, and removes the workspaces of those that have
// ended there: their commits are on the forge. Work that exists nowhere else keeps one.
func (s *settler) leave(ctx context.Context, here []string) error {
	left, err := s.left(ctx)
	if err != nil {
		return err
	}
	for _, phase := range left {
		p, err := s.svc.Store.Phase(ctx, phase)
		if err != nil || !p.Far() || slices.Contains(here, phase) || s.over[phase] {
			continue
		}
		st, err := steps.StateOf(p)
		if err != nil || st.Home == "" || st.Home == s.name {
			continue
		}
		if err := s.abandon(ctx, phase); err != nil {
			return err
		}
		s.over[phase] = true // once
		if !p.Ended {
			continue
		}
		_, err = turns.Of(s.svc).RemoveWorkspace(ctx, steps.SessionOf(phase), false)
		if _, unsaved := errors.AsType[*keeping.UnsavedError](err); !unsaved && err != nil {
			return err
		}
	}
	return nil
}
