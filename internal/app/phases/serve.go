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
	"github.com/cco-dev/cco/internal/session/turns"
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
		Renew: open.renew, Engine: a.runner(svc.Store, doer, doer),
		Ready: func() { a.IO.Progress("phases are being run") }}
	if hook != "" {
		if s.Listen, s.Hook, err = a.hooks(ctx, hook, svc.Store, doer.Watch); err != nil {
			return err
		}
	}
	return s.Run(ctx)
}

// spare is how much a process that mostly waits may hold beyond what it needs, in percent: collecting more often costs
// it nothing.
const spare = 30

// runner runs phases on this machine, with the steps of a doer or with others around them.
func (a *Phases) runner(st *store.Store, doer *steps.Doer, doing cruise.Steps) *engine.Engine {
	debug.SetGCPercent(spare)
	if a.Wrap != nil {
		doing = a.Wrap(doing)
	}
	e := &engine.Engine{Steps: doing, Now: time.Now, Report: a.IO.Progress,
		Saved: func(ctx context.Context, phase string) (cruise.State, error) {
			p, err := st.Phase(ctx, phase)
			if err != nil {
				return cruise.State{}, err
			}
			return steps.StateOf(p)
		},
		Log: func(phase, words string) { _ = st.Log(context.Background(), phase, time.Now(), words) },
	}
	doer.Watch.Wake = func(phase string) { // it is only a hint to look
		_ = e.Send(phase, cruise.Event{ID: session.NewID() + session.NewID(), Kind: cruise.EventWake, At: time.Now().UTC()})
	}
	return e
}

// doer carries out steps on this machine.
func (a *Phases) doer(svc *session.Service, cfg config.Config, open *forges) *steps.Doer {
	run := a.RunOptions(cfg)
	return &steps.Doer{
		Data: a.Dirs.Data, Sessions: turns.Of(svc), Store: svc.Store, Now: time.Now,
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
		list, err := st.Living(context.Background())
		if err != nil {
			return // the next look finds the news
		}
		for _, p := range list {
			if e.Number != 0 && p.PRNumber == e.Number && strings.Contains(p.PRURL, "/"+e.Repo+"/") {
				wake(p.ID)
			}
		}
	}}
}
