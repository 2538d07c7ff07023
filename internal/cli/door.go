package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

// keyError says that an agent could not reach its model, and what was looked at.
type keyError struct {
	agent    string
	provider broker.Provider
}

func (e *keyError) Error() string {
	return fmt.Sprintf("agent %s: no key for %s: none of %s is set. Set one of them, or %s to a gateway on this machine that needs none",
		e.agent, e.provider.Name, strings.Join(e.provider.KeyVars, ", "), e.provider.BaseVar)
}

// door says what a session may reach, and with which key.
func (a *app) door(ctx context.Context, rec store.Session, b *box.Box) (broker.Config, error) {
	var c broker.Config
	mode, err := broker.ParseMode(b.Spec.Mode())
	if err != nil {
		return c, err
	}
	c.Mode = mode
	c.Allowed = func() []broker.Rule { return nil }
	ag, err := agent.Find(rec.Agent)
	if err != nil || ag.Provider() == "" {
		return c, err
	}
	p, err := broker.FindProvider(ag.Provider())
	if err != nil {
		return c, err
	}
	up := broker.Upstream{Provider: p}
	if base := a.env(p.BaseVar); base != "" {
		if up.Base, err = url.Parse(base); err != nil {
			return c, fmt.Errorf("%s: %w", p.BaseVar, err)
		}
	}
	for _, name := range p.KeyVars {
		if a.env(name) == "" {
			continue
		}
		if up.Key, err = broker.LoadKey(ctx, broker.KeySource{Env: name}, a.env); err != nil {
			return c, err
		}
		break
	}
	if up.Key.IsZero() && !loopback(up.Base) {
		return c, &keyError{agent: rec.Agent, provider: p}
	}
	c.Models = []broker.Upstream{up}
	return c, nil
}

// loopback says whether an address is on this very machine, where a model may want no key.
func loopback(u *url.URL) bool {
	if u == nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
