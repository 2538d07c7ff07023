package phases

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/store"
)

// far is the service that gives phases to machines, reached once for a process, and when it was last asked.
type far struct {
	mu     sync.Mutex
	client *fleet.Client
	asked  time.Time
	waits  map[string]string // phases that wait for a machine, and why none takes them
	said   string            // the last trouble
}

// cluster gives the client of the service that the user's settings name, nil if they name none.
func (a *Phases) cluster() (*fleet.Client, error) {
	cfg, err := a.ConfigIn(app.RepoTop(a.Dir))
	if err != nil || cfg.Engine.Temporal == "" {
		return nil, err
	}
	a.far.mu.Lock()
	defer a.far.mu.Unlock()
	if a.far.client != nil {
		return a.far.client, nil
	}
	o, err := a.serviceOptions(cfg)
	if err != nil {
		return nil, err
	}
	key, err := forge.OpenKey(a.Dirs.Data)
	if err != nil {
		return nil, err
	}
	seals, err := fleet.NewKey(key)
	if err != nil {
		return nil, err
	}
	a.far.client, err = fleet.Dial(o, seals)
	return a.far.client, err
}

// serviceOptions says how the service is reached: with TLS, but on this machine or where the user accepts less.
func (a *Phases) serviceOptions(cfg config.Config) (o fleet.Options, err error) {
	e := cfg.Engine
	o = fleet.Options{Address: e.Temporal, Namespace: e.Namespace, Heartbeat: e.Heartbeat}
	host, _, _ := net.SplitHostPort(e.Temporal)
	if !e.APIKey.IsZero() {
		secret, err := broker.LoadSecret(context.Background(), app.KeySource(e.APIKey), a.Env)
		if err != nil {
			return o, fmt.Errorf("engine.api_key: %w", err)
		}
		o.APIKey = secret
	}
	here := host == "localhost" || net.ParseIP(host).IsLoopback()
	if (here || slices.Contains(e.Accept, config.Plaintext)) && o.APIKey == "" && e.CA == "" && e.Cert == "" {
		return o, nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if e.CA != "" {
		pem, err := os.ReadFile(e.CA)
		if err != nil {
			return o, fmt.Errorf("engine.ca: %w", err)
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return o, errors.New("engine.ca: " + e.CA + " holds no certificate")
		}
	}
	if e.Cert != "" {
		own, err := tls.LoadX509KeyPair(e.Cert, e.Own)
		if err != nil {
			return o, fmt.Errorf("engine.cert: %w", err)
		}
		o.TLS.Certificates = []tls.Certificate{own}
	}
	return o, nil
}

// mirrorEvery is how often a process asks what has become of phases on other machines, and mirrorFor how long it waits
// for an answer before it goes on with what it knows.
const (
	mirrorEvery = time.Second
	mirrorFor   = 5 * time.Second
	mirrorBack  = 24 * time.Hour // ended phases are asked for since then
)

// Mirror writes down here what has become of phases on other machines, so that whoever looks finds it. Where the
// service is away, it is told once, and what is known stays.
func (a *Phases) Mirror(ctx context.Context, st *store.Store) error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	a.far.mu.Lock()
	defer a.far.mu.Unlock()
	if time.Since(a.far.asked) < mirrorEvery {
		return nil
	}
	if c == nil {
		return a.mirrorNone(ctx, st)
	}
	ctx, cancel := context.WithTimeout(ctx, mirrorFor)
	defer cancel()
	list, err := c.List(ctx, time.Now().Add(-mirrorBack))
	a.far.asked = time.Now()
	if err != nil {
		if words := err.Error(); words != a.far.said {
			a.far.said = words
			a.IO.Progress("what is known of phases on other machines may be old: %v", err)
		}
		return nil
	}
	a.far.said, a.far.waits = "", map[string]string{}
	for _, s := range list {
		if err := a.mirrorOne(ctx, c, st, s); err != nil {
			return err
		}
	}
	return a.mirrorGone(ctx, c, st, list)
}

// apart says why nothing can be said to a phase here, "" if it can: it is with machines, or this one's alone.
func apart(c *fleet.Client, p store.Phase) string {
	switch {
	case p.Far() && c == nil:
		return "machines share it through Temporal: set engine.temporal to where that is (see docs/machines.md)"
	case !p.Far() && c != nil:
		return "it is this machine's alone, and engine.temporal has machines share phases: it hears nothing, and no engine " +
			"is started for it, until that setting is removed"
	}
	return ""
}

// mirrorNone notes that the service of phases is not known.
func (a *Phases) mirrorNone(ctx context.Context, st *store.Store) error {
	list, err := st.Living(ctx)
	a.far.asked, a.far.waits = time.Now(), map[string]string{}
	for _, p := range list {
		if why := apart(nil, p); why != "" {
			a.far.waits[p.ID] = why
		}
	}
	return err
}

// waitsForAny says that no machine has taken a phase yet, nor said why not.
const waitsForAny = "it waits for a machine that can take it: `cco cruise worker` on one"

// mirrorOne writes down one phase, unless more is known of it here.
func (a *Phases) mirrorOne(ctx context.Context, c *fleet.Client, st *store.Store, s fleet.Seen) error {
	if !phaseID.MatchString(s.Phase) || s.State.Spec.Remote == "" {
		return nil
	}
	if s.Waits && s.Running {
		a.far.waits[s.Phase] = cmp.Or(s.Why, waitsForAny)
	}
	here, _ := a.worker(false) // a machine without a name runs none
	have, err := st.Phase(ctx, s.Phase)
	var was cruise.State
	if err == nil {
		whole := json.Unmarshal(have.State, &was) == nil && len(was.Spec.Domains) > 0 // a summary has none
		if s.Cut && whole && was.Life.Number >= s.Life {
			s.State = was
		} else if whole && was.Life.Number >= s.Life && (was.Home == here || have.Ended) {
			return nil // it is here, and known better
		}
	} else if _, none := errors.AsType[*store.PhaseNotFoundError](err); !none {
		return err
	}
	if s.Running && s.State.Stage == cruise.StageEnded {
		return nil // all of it is there in a moment
	}
	switch {
	case s.Cut:
		s.State.Stage, s.State.End = cruise.StageEnded, cruise.EndService
	case !s.Running: // nothing more becomes of it, and all of it is there
		full, err := c.Last(ctx, s.Phase)
		if err != nil {
			return nil //nolint:nilerr // it is asked again
		}
		s.State = full
	}
	s.State.Life.Number = max(s.State.Life.Number, s.Life)
	rec, err := steps.Record(s.Phase, s.State, s.State.LastActivity)
	if err != nil || string(rec.State) == string(have.State) {
		return err
	}
	rec.News = steps.News(was, s.State)
	return st.SavePhase(ctx, rec)
}

// mirrorGone ends the records of phases that the service no longer has.
func (a *Phases) mirrorGone(ctx context.Context, c *fleet.Client, st *store.Store, list []fleet.Seen) error {
	living, err := st.Living(ctx)
	if err != nil {
		return err
	}
	for _, p := range living {
		listed := slices.ContainsFunc(list, func(s fleet.Seen) bool { return s.Phase == p.ID })
		if listed || !p.Far() || time.Since(p.Updated) < time.Minute { // the list may be a little behind
			continue
		}
		seen, known, err := c.Look(ctx, p.ID)
		if err != nil {
			return nil //nolint:nilerr // it is asked again
		}
		if known {
			err = a.mirrorOne(ctx, c, st, seen)
		} else {
			p.Ended, p.Stage, p.News = true, string(cruise.StageEnded), []string{"the service has forgotten it"}
			full, bad := st.Phase(ctx, p.ID)
			p.State = full.State
			err = errors.Join(bad, st.SavePhase(ctx, p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// startFar has a phase wait for a machine.
func (a *Phases) startFar(ctx context.Context, c *fleet.Client, db *store.Store, id string, st cruise.State) error {
	need, err := a.ability(ctx, db, st.Spec)
	if err != nil {
		return err
	}
	if err := c.Start(ctx, id, st, need); err != nil {
		return err
	}
	a.far.mu.Lock()
	a.far.waits = map[string]string{id: waitsForAny}
	a.far.mu.Unlock()
	rec, err := steps.Record(id, st, time.Now())
	if err != nil {
		return err
	}
	return db.SavePhase(ctx, rec)
}

// ability says on whose behalf a phase is, and what its machine must have.
func (a *Phases) ability(ctx context.Context, db *store.Store, s cruise.Spec) (fleet.Ability, error) {
	remote, err := forge.ParseRemote(s.Remote)
	if err != nil {
		return fleet.Ability{}, err
	}
	f, err := a.Forge(ctx, db, s.Remote)
	if err != nil {
		return fleet.Ability{}, err
	}
	us, err := f.Us(ctx)
	if err != nil {
		return fleet.Ability{}, err
	}
	return ability(remote.Host, us[0], s.On), nil
}

func ability(host, login, label string) fleet.Ability {
	return fleet.Ability{Host: strings.ToLower(host), Login: strings.ToLower(login), Label: label}
}

// sendFar sends an event to a phase of the service, and revives one that has ended.
func (a *Phases) sendFar(ctx context.Context, c *fleet.Client, db *store.Store, p store.Phase, ev cruise.Event) error {
	err := c.Send(ctx, p.ID, ev)
	if _, ended := errors.AsType[*fleet.EndedError](err); !ended {
		return err
	}
	st, err := c.Last(ctx, p.ID)
	if err != nil {
		return fmt.Errorf("find how phase %s has ended: %w", p.ID, err)
	}
	if st, err = st.Revive(ev, time.Now()); err != nil {
		return err
	}
	if err := a.startFar(ctx, c, db, p.ID, st); err != nil {
		return err
	}
	return c.Send(ctx, p.ID, ev)
}

// unpushedFar refuses to begin with commits that only this machine has.
func unpushedFar(commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	return &StateError{Why: fmt.Sprintf("you never pushed what you committed, and another machine would not have it "+
		"(%d in all, the last is %q): push first", len(commits), commits[len(commits)-1])}
}

// Waiting gives the phases that no machine takes, and why.
func (a *Phases) Waiting() map[string]string {
	a.far.mu.Lock()
	defer a.far.mu.Unlock()
	return maps.Clone(a.far.waits)
}
