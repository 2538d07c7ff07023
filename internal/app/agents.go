package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/session"
)

// Agent is an agent as it is on this machine.
type Agent struct {
	Name    string        `json:"name"`
	Ready   bool          `json:"ready"`
	Version string        `json:"version,omitempty"`
	Pinned  string        `json:"pinned,omitempty"`
	Path    string        `json:"path,omitempty"`
	Login   install.Login `json:"login"`
	Missing []Missing     `json:"missing,omitempty"`
}

// Missing is something that an agent needs, with what to do about it.
type Missing struct {
	What string `json:"what"`
	Mend string `json:"mend"`

	login bool
}

// OwnAgents are the agents of the user's settings, beside cco's own.
func (a *App) OwnAgents() (own agent.Own, err error) {
	cfg, err := a.ConfigIn("")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		s := cfg.Agents[name]
		ad, err := agent.Spec{Name: name, NPM: s.NPM, ACP: s.ACP, Provider: s.Provider, Env: s.Env, Files: s.Files,
			Mode: s.Mode, Model: s.Model}.Adapter()
		if err != nil {
			return nil, fmt.Errorf("agents.%s: %w", name, err)
		}
		own = append(own, ad)
	}
	return own, nil
}

// FindAgent finds an agent of cco's or of the user's settings.
func (a *App) FindAgent(name string) (agent.Adapter, error) {
	own, err := a.OwnAgents()
	if err != nil {
		return agent.Adapter{}, err
	}
	return own.Find(name)
}

// Agents are all agents as they are on this machine.
func (a *App) Agents(ctx context.Context) (list []Agent, err error) {
	own, err := a.OwnAgents()
	if err != nil {
		return nil, err
	}
	b, d := a.usualBox(ctx)
	for _, ad := range own.All() {
		list = append(list, a.agent(ctx, ad, b, d))
	}
	return list, nil
}

// usualBox is the box that a push uses if none is named, nil if it does not run.
func (a *App) usualBox(ctx context.Context) (*box.Box, box.Driver) {
	cfg, err := a.ConfigIn(RepoTop(a.Dir))
	if err != nil {
		return nil, nil
	}
	boxes, err := a.Boxes()
	if err != nil {
		return nil, nil
	}
	b, d, err := boxes.Ready(ctx, cfg.Box.Name)
	if _, ok := d.(box.Machine); ok || err != nil {
		return nil, nil // a machine gets programs of its own
	}
	return b, d
}

func (a *App) agent(ctx context.Context, ad agent.Adapter, b *box.Box, d box.Driver) Agent {
	s := Agent{Name: ad.Name(), Pinned: ad.Package().Version}
	if ad.Binary() == "" {
		s.Ready = true
		return s
	}
	p, err := install.Find(ctx, a.Dirs.Data, ad)
	if err != nil {
		s.Missing = append(s.Missing, Missing{What: programWords(err), Mend: agent.Install(ad)})
	} else if b != nil && p.Dir == "" && errors.As(session.LookFor(ctx, ad, b, d, ""), new(*agent.MissingError)) {
		s.Missing = append(s.Missing, Missing{What: "box " + b.Name + " does not see " + p.Path, Mend: agent.Install(ad)})
	}
	s.Path, s.Version = p.Path, p.Version
	var keys []string
	if provider, err := broker.FindProvider(ad.Provider()); err == nil {
		keys = provider.KeyVars
	}
	s.Login = install.FindLogin(ad, keys, a.Env, a.Home)
	if !s.Login.Known && len(keys) > 0 {
		s.Missing = append(s.Missing, Missing{What: "no key or login", Mend: "export " + keys[0] + "=…", login: true})
	}
	s.Ready = len(s.Missing) == 0
	return s
}

func programWords(err error) string {
	if old, ok := errors.AsType[*install.OldError](err); ok {
		return old.Path + " is version " + old.Version + ", older than " + old.Oldest
	}
	if _, ok := errors.AsType[*install.MissingError](err); ok {
		return "not installed"
	}
	return err.Error()
}
