package phases

import (
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/engine"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Serve runs the phases of this machine, until there has been none for a while if idle says so. It receives webhooks at
// an address, if there is one.
func (a *Phases) Serve(ctx context.Context, idle time.Duration, hook string) error {
	a.borrow()
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	svc.Report = a.IO.Detail // phases have their own logs
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	if c != nil {
		if hook != "" {
			return app.Usagef("--webhook is for phases of one machine: workers look by themselves")
		}
		return a.take(ctx, svc, cfg, c)
	}
	open := &forges{phases: a, store: svc.Store}
	doer := a.doer(svc, cfg, open)
	s := &serve.Server{Data: a.Dirs.Data, Store: svc.Store, Inbox: doer.Inbox, Now: time.Now, Idle: idle,
		Renew: open.renew, Ready: func() { a.IO.Progress("phases are being run") }}
	s.Open = func(ctx context.Context) (serve.Engine, error) {
		var doing cruise.Steps = doer
		if a.Wrap != nil {
			doing = a.Wrap(doer)
		}
		e := a.runner(svc.Store, doing, time.Now)
		doer.Watch.Wake = func(phase string) { _ = wake(svc.Store, e, phase) }
		return e, nil
	}
	if hook != "" {
		if s.Listen, s.Hook, err = a.hooks(ctx, hook, svc.Store, doer.Watch); err != nil {
			return err
		}
	}
	return s.Run(ctx)
}

// workspaces are the sessions of phases.
type workspaces struct {
	session.HandOff
	keeping session.Keeping
}

// RemoveWorkspace moves a phase's workspace, and those of its turns, to the graveyard.
func (w workspaces) RemoveWorkspace(ctx context.Context, id string, force bool) ([]string, error) {
	return w.keeping.RemoveWorkspace(ctx, id, force)
}

// spare is how much a process that mostly waits may hold beyond what it needs, in percent: collecting more often costs
// it nothing.
const spare = 30

// runner runs phases on this machine.
func (a *Phases) runner(st *store.Store, doing cruise.Steps, now func() time.Time) *engine.Engine {
	debug.SetGCPercent(spare)
	return &engine.Engine{Steps: doing, Now: now, Report: a.IO.Progress,
		Saved: func(ctx context.Context, phase string) (cruise.State, error) {
			p, err := st.Phase(ctx, phase)
			if err != nil {
				return cruise.State{}, err
			}
			return serve.StateOf(p)
		},
		Log: func(phase, words string) { _ = st.Log(context.Background(), phase, now(), words) },
	}
}

// doer carries out steps on this machine.
func (a *Phases) doer(svc *session.Service, cfg config.Config, open *forges) *steps.Doer {
	run := a.RunOptions(cfg)
	return &steps.Doer{
		Data: a.Dirs.Data, Sessions: workspaces{svc.HandOff(), svc.Keeping()}, Store: svc.Store, Now: time.Now,
		Watch: &steps.Watcher{Now: time.Now}, Ask: a.ask,
		Inbox: &steps.Inbox{Store: svc.Store},
		Forge: open.of,
		Settings: steps.Settings{
			Pull: pullOf(cfg),
			Run:  session.Run{Limits: run.Limits, IdleTimeout: run.IdleTimeout, MaxWait: time.Hour},
			Bots: cfg.Cruise.Bots, Stricter: a.Stricter,
		},
	}
}

func pullOf(cfg config.Config) session.PullOptions {
	return session.PullOptions{Bundle: cfg.Pull.MaxBundle, Gate: session.Gate{Policy: cfg.Pull.Policy},
		Limits: quarantine.Limits{PackBytes: cfg.Pull.MaxBundle, ObjectBytes: cfg.Pull.MaxBlob}}
}

// wake tells a living phase to look.
func wake(st *store.Store, e serve.Engine, phase string) error {
	p, err := st.Phase(context.Background(), phase)
	if err != nil || p.Ended {
		return err
	}
	flow, err := serve.Flow(p)
	if err != nil {
		return err
	}
	return e.Send(flow, hint())
}

// hint tells a phase to look.
func hint() cruise.Event {
	return cruise.Event{ID: session.NewID() + session.NewID(), Kind: cruise.EventWake, At: time.Now().UTC()}
}

// hooks listens for webhooks. They are only a hint to look: nothing in them is trusted.
func (a *Phases) hooks(ctx context.Context, address string, st *store.Store, w *steps.Watcher) (net.Listener,
	http.Handler, error) {
	secret := a.Env("CCO_WEBHOOK_SECRET")
	if secret == "" {
		return nil, nil, app.Usagef("--webhook needs a secret that the forge signs with, in CCO_WEBHOOK_SECRET")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	a.IO.Say("webhooks are taken at http://%s/", l.Addr())
	return l, receiver(forge.Secret(secret), st, func(phase string) { w.Wake(phase) }), nil
}

// receiver wakes the living phases of the pull request that a webhook is about.
func receiver(secret forge.Secret, st *store.Store, wake func(phase string)) http.Handler {
	return &forge.Receiver{Secret: secret, Got: func(e forge.Event) {
		list, err := st.Phases(context.Background(), 1<<20)
		if err != nil {
			return // the next look finds the news
		}
		for _, p := range list {
			if !p.Ended && e.Number != 0 && p.PRNumber == e.Number && strings.Contains(p.PRURL, "/"+e.Repo+"/") {
				wake(p.ID)
			}
		}
	}}
}
