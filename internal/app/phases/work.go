package phases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// version is that of states of phases: a worker takes only phases whose states it can read and go on from. It changes
// when an older program would misread them.
const version = "1"

// workerFile keeps the name of this machine as a worker.
const workerFile = "worker.id"

// workerID is the name of this machine as a worker. It stays as long as the data directory.
func (a *Phases) workerID() (string, error) {
	file := filepath.Join(a.Dirs.Data, workerFile)
	data, err := os.ReadFile(file)
	if id := strings.TrimSpace(string(data)); err == nil && id != "" { // one that is empty was not written to the end
		return id, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Trim(regexp.MustCompile(`[^0-9a-z-]+`).ReplaceAllString(host, "-"), "-")
	id := strings.TrimLeft(host[:min(len(host), 40)]+"-"+session.NewID()[:4], "-")
	return id, errors.Join(os.MkdirAll(a.Dirs.Data, 0o700), whole.Write(file, []byte(id+"\n"), 0o600))
}

// UnsharedError says that phases are not shared.
type UnsharedError struct{}

func (e *UnsharedError) Error() string {
	return "phases are on this machine alone: set engine.database to share them (see docs/cruise.md)"
}

// WrongState marks an error about a state.
func (e *UnsharedError) WrongState() {}

// Work runs phases of the shared database on this machine until the context ends.
func (a *Phases) Work(ctx context.Context) error {
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !svc.Store.IsShared() {
		return &UnsharedError{}
	}
	svc.Report = a.IO.Detail // phases have their own logs
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	return a.work(ctx, svc, cfg)
}

func (a *Phases) work(ctx context.Context, svc *session.Service, cfg config.Config) error {
	id, err := a.workerID()
	if err != nil {
		return err
	}
	me := lease.Worker{ID: id, Slots: cfg.Worker.Slots, Versions: []string{cmp.Or(a.Version, version)}}
	db, err := a.openDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	beats, err := a.openDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = beats.Close() }()
	holder := &lease.Holder{Table: &lease.Table{DB: db, Beats: beats, Term: a.Term}, Worker: me, Boot: lease.Boot}
	models, err := knownModels(cfg.Agent.Model)
	if err != nil {
		return err
	}
	open := &forges{phases: a, store: svc.Store}
	doer := a.doer(svc, cfg, open)
	s := &settler{phases: a, svc: svc, holder: holder, forge: open.of, models: models, pull: doer.Settings.Pull,
		kept: keptIn(cfg), pushed: doer.NotePush, unsaved: map[string]bool{}, shown: map[string]string{}}
	doer.Keeper, doer.Now = s, holder.Now
	w := &serve.Worker{Holder: holder, Settle: s.settle, Abandon: s.abandon, Left: s.left, Report: a.IO.Progress,
		Server: serve.Server{Data: a.Dirs.Data, Store: svc.Store, Inbox: doer.Inbox, Now: time.Now, Renew: open.renew,
			Ready: func() { a.IO.Progress("worker %s waits for phases", me.ID) }}}
	watching := &lease.Watching{Steps: doer, Holder: holder, Repo: s.repoOf, Clone: s.cloneOf, Forget: doer.Watch.Forget}
	w.Beside = func(ctx context.Context) { watching.Serve(ctx, w.Trouble) }
	have := &offerer{phases: a, svc: svc, cfg: cfg, holder: holder, share: doer.Watch.Share}
	told := &teller{svc: svc, home: me.ID}
	w.Tick = func(ctx context.Context) error {
		now := time.Now() // a session may have begun before midnight
		return errors.Join(have.offer(ctx), told.tell(ctx), s.tidy(ctx, told.here()), s.showAll(ctx),
			svc.Store.ExchangeSpend(ctx, me.ID, store.Day(now.AddDate(0, 0, -1))))
	}
	w.Open = func(ctx context.Context) (serve.Engine, error) {
		var doing cruise.Steps = &lease.Fenced{Steps: watching, Holder: holder}
		if a.Wrap != nil {
			doing = a.Wrap(doing)
		}
		e := a.runner(svc.Store, doing, holder.Now)
		doer.Watch.Wake = func(phase string) { // it is only a hint
			err := holder.Wake(ctx, phase, func(flow string) error { return e.Send(flow, hint()) })
			if _, elsewhere := errors.AsType[*lease.LostError](err); elsewhere {
				_ = hintElsewhere(ctx, svc.Store, phase)
			}
		}
		return e, w.Tick(ctx)
	}
	return w.Run(ctx)
}

// Workers lists the machines that run phases of the shared database, and the phases that wait for one.
func (a *Phases) Workers(ctx context.Context) (workers []lease.Seen, waiting []lease.Waiting, err error) {
	st, err := a.Store(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = st.Close() }()
	if !st.IsShared() {
		return nil, nil, &UnsharedError{}
	}
	t := &lease.Table{DB: st.DB()}
	if workers, err = t.Workers(ctx); err != nil {
		return nil, nil, err
	}
	waiting, err = t.Waiting(ctx)
	return workers, waiting, err
}

// Fleet says how the machines are that share phases.
func (a *Phases) Fleet(ctx context.Context, st *store.Store) (f session.Fleet, err error) {
	t := &lease.Table{DB: st.DB()}
	workers, err := t.Workers(ctx)
	if err != nil {
		return f, err
	}
	f.Alive = slices.ContainsFunc(workers, func(w lease.Seen) bool { return w.Alive })
	waiting, err := t.Waiting(ctx)
	f.Waiting = map[string]string{}
	for _, w := range waiting {
		if !w.Busy {
			f.Waiting[w.Phase] = w.Why
		}
	}
	return f, err
}

// NoWorker says why no worker takes a phase, "" if one has it or will.
func (a *Phases) NoWorker(ctx context.Context, id string) (string, error) {
	st, err := a.Store(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = st.Close() }()
	if !st.IsShared() {
		return "", nil
	}
	waiting, err := (&lease.Table{DB: st.DB()}).Waiting(ctx)
	for _, w := range waiting {
		if w.Phase == id {
			return w.Why, err
		}
	}
	return "", err
}

// queue is how commands reach phases of the shared database.
func (a *Phases) queue(st *store.Store) (*serve.Queue, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	return &serve.Queue{Store: st, Now: time.Now, Version: version,
		Home: func(ctx context.Context, s cruise.State) (lease.Home, error) { return a.home(ctx, st, s.Spec) },
		Bundle: func(ctx context.Context, id string, s cruise.State) (*store.Bundle, error) {
			return a.unpushedBundle(ctx, st, id, s, keptIn(cfg))
		}}, nil
}

// home says what a phase needs, and to which account it belongs.
func (a *Phases) home(ctx context.Context, st *store.Store, s cruise.Spec) (lease.Home, error) {
	remote, err := forge.ParseRemote(s.Remote)
	if err != nil {
		return lease.Home{}, err
	}
	f, err := a.Forge(ctx, st, s.Repo, Where{})
	if err != nil {
		return lease.Home{}, err
	}
	us, err := f.Us(ctx)
	if err != nil {
		return lease.Home{}, err
	}
	h := lease.Home{Account: lease.Account{Host: remote.Host, Login: us[0]}, Needs: []string{boxLabel(s.Box)}}
	for _, name := range s.Agents() {
		if need := agentLabel(name); !slices.Contains(h.Needs, need) {
			h.Needs = append(h.Needs, need)
		}
	}
	if s.On != "" {
		h.Needs = append(h.Needs, s.On)
	}
	return h, nil
}

// unpushedBundle bundles the commits that the phase begins with and that the forge lacks.
func (a *Phases) unpushedBundle(ctx context.Context, st *store.Store, id string, s cruise.State,
	k kept) (*store.Bundle, error) {
	if len(s.Head.Unpushed) == 0 {
		return nil, nil
	}
	repo, err := a.OpenRepo(ctx, s.Spec.Repo)
	if err != nil {
		return nil, err
	}
	f, err := a.Forge(ctx, st, s.Spec.Repo, Where{})
	if err != nil {
		return nil, err
	}
	about, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	at, err := f.Branch(ctx, about.DefaultBranch)
	if err != nil {
		return nil, err
	}
	base := ""
	if at != "" && repo.Has(ctx, at) {
		if base, err = repo.MergeBase(ctx, at, s.Spec.Base); err != nil {
			return nil, err
		}
	}
	if base == "" {
		return nil, &StateError{Why: fmt.Sprintf("this repository lacks %s as it is on the forge, so that what was never "+
			"pushed can't travel: fetch it, or push your commits first", about.DefaultBranch)}
	}
	dir, err := os.MkdirTemp("", "cco-bundle")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := bundle(ctx, repo, dir, s.Spec.Base, base, k.most)
	if err != nil {
		return nil, err
	}
	b.Phase, b.Name = id, store.BundleStart
	return &b, k.put(&b)
}

// noWorker says that no machine runs phases of the shared database, "" if one does.
func (a *Phases) noWorker(ctx context.Context, st *store.Store) (string, error) {
	workers, err := (&lease.Table{DB: st.DB()}).Workers(ctx)
	if err != nil || slices.ContainsFunc(workers, func(w lease.Seen) bool { return w.Alive }) {
		return "", err
	}
	return "nobody watches the phases: no worker is alive; start one with `cco cruise worker`", nil
}

// nameOf is how phases name a repository: by its path, or where they are shared by its address.
func nameOf(ctx context.Context, st *store.Store, path string) string {
	s := cruise.Spec{Repo: path}
	if st.IsShared() && onForge(ctx, &s) == nil {
		return s.Remote
	}
	return path
}

// onForge gives a spec the address of its repository, by which any machine finds it.
func onForge(ctx context.Context, s *cruise.Spec) error {
	remote, err := locate(ctx, s.Repo, Where{})
	if err != nil {
		return err
	}
	if remote.Plain() {
		return app.Usagef("%s is reached over http, which anybody on the way can read: no worker takes such a phase",
			remote)
	}
	s.Remote = address(remote)
	return nil
}

// address is that of a repository as all machines write it.
func address(r forge.Remote) string { return r.Base() + "/" + r.Owner + "/" + r.Name + ".git" }
