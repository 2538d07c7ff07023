package cruising

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/durable"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func (t *tool) serve() *cobra.Command {
	var idle time.Duration
	var hook string
	c := &cobra.Command{
		Use: "serve", Short: "Run the phases of this machine in the foreground", Args: cobra.NoArgs,
		Long: `Run the engine of phases in the foreground, for a service manager. Other commands
talk to it when it runs, and start one when it doesn't. There is one for each
data directory. Webhooks are a faster way to see comments: point the forge's at
the address of --webhook, with the secret in CCO_WEBHOOK_SECRET.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context(), idle, hook) },
	}
	c.Flags().DurationVar(&idle, "until-idle", 0, "end when no phase has been alive for so long")
	c.Flags().StringVar(&hook, "webhook", "", "take webhooks on this `ADDRESS`, such as 127.0.0.1:8181")
	return c
}

func (t *tool) run(ctx context.Context, idle time.Duration, hook string) error {
	svc, done, err := t.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	svc.Report = t.IO.Detail // what phases do is in their own logs
	cfg, err := t.Config()
	if err != nil {
		return err
	}
	run := t.RunOptions(cfg)
	inbox := &steps.Inbox{Data: t.Dirs.Data}
	doer := &steps.Doer{
		Data: t.Dirs.Data, Sessions: svc, Store: svc.Store, Now: time.Now, Watch: &steps.Watcher{Now: time.Now}, Ask: t.ask(),
		Inbox: inbox,
		Forge: t.forges(svc.Store),
		Settings: steps.Settings{
			Pull: session.PullOptions{Bundle: cfg.Pull.MaxBundle, Limits: quarantine.Limits{PackBytes: cfg.Pull.MaxBundle,
				ObjectBytes: cfg.Pull.MaxBlob}},
			Limits: run.Limits, IdleTimeout: run.IdleTimeout, Bots: cfg.Cruise.Bots,
		},
	}
	s := &serve.Server{Data: t.Dirs.Data, Store: svc.Store, Inbox: inbox, Now: time.Now, Idle: idle,
		Ready: func() { t.IO.Progress("phases are being run") }}
	s.Open = func(ctx context.Context) (serve.Engine, error) {
		e, err := durable.Open(ctx, filepath.Join(t.Dirs.Data, "cruise.db"), t.variant.Steps(doer),
			slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		doer.Watch.Wake = func(phase string) { _ = wake(svc.Store, e, phase) }
		return e, nil
	}
	if hook != "" {
		if s.Listen, s.Hook, err = t.hooks(ctx, hook, svc.Store, doer.Watch); err != nil {
			return err
		}
	}
	return s.Run(ctx)
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
	return e.Send(flow, cruise.Event{ID: session.NewID() + session.NewID(), Kind: cruise.EventWake, At: time.Now().UTC()})
}

// hooks listens for webhooks. What they say is only a hint to look: nothing in them is believed.
func (t *tool) hooks(ctx context.Context, address string, st *store.Store, w *steps.Watcher) (net.Listener,
	http.Handler, error) {
	secret := t.Env("CCO_WEBHOOK_SECRET")
	if secret == "" {
		return nil, nil, app.Usagef("--webhook needs a secret that the forge signs with, in CCO_WEBHOOK_SECRET")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	t.IO.Say("webhooks are taken at http://%s/", l.Addr())
	return l, receiver(forge.Secret(secret), st, func(phase string) { w.Wake(phase) }), nil
}

// receiver wakes the living phases of the pull request that a webhook is about.
func receiver(secret forge.Secret, st *store.Store, wake func(phase string)) http.Handler {
	return &forge.Receiver{Secret: secret, Got: func(e forge.Event) {
		list, err := st.Phases(context.Background(), 1<<20)
		if err != nil {
			return // the next look finds what there is
		}
		for _, p := range list {
			if !p.Ended && e.Number != 0 && p.PRNumber == e.Number && strings.Contains(p.PRURL, "/"+e.Repo+"/") {
				wake(p.ID)
			}
		}
	}}
}
