package phases

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// boxLabel and agentLabel are how workers and phases name what is had and needed. Labels of the user's have no colons.
func boxLabel(name string) string   { return "box:" + name }
func agentLabel(name string) string { return "agent:" + name }

// offerer says what this machine has, as it changes.
type offerer struct {
	phases *Phases
	svc    *session.Service
	cfg    config.Config
	holder *lease.Holder
	share  func(machines int) // is told among how many machines the user's share of the forge is divided

	logins map[string]known // by host
}

// known is whose a token is. It is asked again after a while, because names change.
type known struct {
	token [sha256.Size]byte
	login string
	until time.Time
}

// loginsFor is how long the name of a token's account is believed.
const loginsFor = time.Hour

// offer tells the others what this machine has now.
func (o *offerer) offer(ctx context.Context) error {
	labels, err := o.labels(ctx)
	if err != nil {
		return err
	}
	accounts, err := o.accounts(ctx)
	if err != nil {
		return err
	}
	alive, err := o.holder.Offer(ctx, lease.Offer{Labels: labels, Accounts: accounts, Load: lease.Load()})
	if err == nil {
		o.share(alive)
	}
	return err
}

// labels are the user's, the boxes in which phases can run, and the agents that can reach their models from one.
func (o *offerer) labels(ctx context.Context) ([]string, error) {
	all := slices.Clone(o.cfg.Worker.Labels)
	boxes, err := o.svc.Boxes.All()
	if err != nil {
		return nil, err
	}
	for _, b := range boxes {
		if b.Spec.NoKernel() {
			continue // reviewers could write there
		}
		all = append(all, boxLabel(b.Name))
		for _, name := range o.svc.Agents.Names() {
			rec := store.Session{Box: b.Name, Backend: b.Backend, Agent: name}
			if _, err := o.svc.Door(ctx, rec, b); err == nil {
				all = append(all, agentLabel(name))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// accounts are those of this machine's tokens, on the forges of phases that live. A forge for which there is no token
// is never asked.
func (o *offerer) accounts(ctx context.Context) (all []string, err error) {
	hosts, err := o.holder.Table.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		login, err := o.login(ctx, host)
		if err != nil {
			continue // a forge that is down now; others must go on
		}
		if login != "" {
			all = append(all, lease.Account{Host: host, Login: login}.String())
		}
	}
	return all, nil
}

// login is the user's name on a forge, "" without a token for it.
func (o *offerer) login(ctx context.Context, host string) (string, error) {
	remote := forge.Remote{Scheme: "https", Host: host, Owner: "cco", Name: "cco"}
	if name, _, err := net.SplitHostPort(host); err == nil && (name == "localhost" || net.ParseIP(name).IsLoopback()) {
		remote.Scheme = "http"
	}
	for _, c := range clients() {
		if kind, known := forge.KindOf(host); known && kind != c.Kind {
			continue
		}
		t, err := o.phases.tokens(ctx, c.find, host, false)
		if app := c.Kind == forge.GitHub && o.phases.Env("CCO_GITHUB_APP_ID") != ""; err != nil && !app {
			continue
		}
		token := sha256.Sum256([]byte(t.author.Reveal()))
		if k := o.logins[host]; k.token == token && time.Now().Before(k.until) {
			return k.login, nil
		}
		f, err := c.open(o.phases, ctx, o.svc.Store, c.Place(remote), false)
		if _, none := errors.AsType[*forge.NoTokenError](err); none {
			continue
		}
		if err != nil {
			return "", err
		}
		us, err := f.Us(ctx)
		if err != nil {
			_, refused := errors.AsType[*forge.TokenError](err)
			if k := o.logins[host]; k.token == token && !refused {
				return k.login, nil // the forge is down
			}
			return "", err
		}
		if o.logins == nil {
			o.logins = map[string]known{}
		}
		o.logins[host] = known{token: token, login: us[0], until: time.Now().Add(loginsFor)}
		return us[0], nil
	}
	return "", nil
}
