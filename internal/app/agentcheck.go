package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// tryTime is how long a provider may take to say whether it accepts a key.
const tryTime = 20 * time.Second

// CheckAgents tries agents, or all that are installed if none is named: their program, whether the usual box sees it,
// their key, and unless offline whether their provider accepts it.
func (a *App) CheckAgents(ctx context.Context, names []string, offline bool) (checks []doctor.Check, err error) {
	all, err := a.chosen(names, func(ad agent.Adapter) bool {
		_, err := install.Find(ctx, a.Dirs.Data, ad)
		_, missing := errors.AsType[*install.MissingError](err)
		return !missing
	})
	if err != nil {
		return nil, err
	}
	b, d := a.usualBox(ctx)
	for _, ad := range all {
		s := a.agent(ctx, ad, b, d)
		program := doctor.Check{Name: ad.Name() + " program", Level: doctor.OK, Detail: "part of cco"}
		if s.Path != "" {
			program.Detail = fmt.Sprintf("%s at %s", s.Version, s.Path)
		}
		for _, m := range s.Missing {
			if !m.login {
				program = doctor.Check{Name: program.Name, Level: doctor.Fail, Detail: m.What, Mend: m.Mend}
			}
		}
		if checks = append(checks, program); ad.Provider() != "" {
			checks = append(checks, a.checkKey(ctx, ad, offline))
		}
	}
	return checks, nil
}

// chosen finds agents by name, or those that pass if none is named.
func (a *App) chosen(names []string, pass func(agent.Adapter) bool) (list []agent.Adapter, err error) {
	own, err := a.OwnAgents()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		ad, err := own.Find(name)
		if err != nil {
			return nil, err
		}
		list = append(list, ad)
	}
	if len(names) > 0 {
		return list, nil
	}
	for _, ad := range own.All() {
		if pass(ad) {
			list = append(list, ad)
		}
	}
	return list, nil
}

// checkKey tries an agent's key where it would be used.
func (a *App) checkKey(ctx context.Context, ad agent.Adapter, offline bool) doctor.Check {
	c := doctor.Check{Name: ad.Name() + " key", Level: doctor.Fail}
	cfg, err := a.ConfigIn(RepoTop(a.Dir))
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	up, err := a.upstream(ad.Provider(), ad.Name(), cfg)
	if err != nil {
		c.Detail, c.Mend = err.Error(), "cco keys set "+ad.Provider()
		return c
	}
	if offline {
		c.Level, c.Detail = doctor.OK, "there is one; it was not tried"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	if up, err = up.WithKey(ctx); err != nil {
		c.Detail, c.Mend = err.Error(), "cco keys set "+ad.Provider()
		return c
	}
	a.IO.Progress("asking %s whether it accepts the key", up.Provider.Name)
	status, err := up.Try(ctx)
	a.IO.Settle()
	refused, no := errors.AsType[*broker.KeyRefusedError](err)
	switch {
	case no:
		c.Detail, c.Mend = refused.Error(), "cco keys set "+ad.Provider()
	case err != nil && strings.Contains(err.Error(), "x509:"):
		c.Detail = err.Error()
		c.Mend = "if a proxy on the way signs with a certificate of its own, set SSL_CERT_FILE to its authority's"
	case err != nil:
		c.Detail = err.Error()
	case status >= 300:
		c.Level = doctor.Warn
		c.Detail = fmt.Sprintf("%s answers %d, so that the key could not be tried", up.Provider.Name, status)
	default:
		c.Level, c.Detail = doctor.OK, up.Provider.Name+" accepts it"
	}
	return c
}

// Updated is what became of an agent's program.
type Updated struct {
	Name    string   `json:"name"`
	Version string   `json:"version"` // that is used now
	Path    string   `json:"path"`
	Removed []string `json:"removed"`        // other versions
	Kept    string   `json:"kept,omitempty"` // why other versions stay
}

// UpdateAgents brings the agents that cco has installed to the versions that it is tried with, and removes the others.
func (a *App) UpdateAgents(ctx context.Context, names []string) (list []Updated, err error) {
	all, err := a.chosen(names, func(ad agent.Adapter) bool {
		return len(install.Versions(a.Dirs.Data, ad, install.Host())) > 0
	})
	if err != nil {
		return nil, err
	}
	for _, ad := range all {
		p, err := a.Install(ctx, ad, "", install.Host())
		if err != nil {
			return list, err
		}
		u := Updated{Name: ad.Name(), Version: p.Version, Path: p.Path, Removed: []string{}}
		var old []install.Program
		for _, v := range install.Versions(a.Dirs.Data, ad, install.Host()) {
			if v.Version != p.Version {
				old = append(old, v)
			}
		}
		if len(old) > 0 {
			if err := a.unused(ctx, ad.Name()); err != nil {
				u.Kept = err.Error()
			} else if err := install.Remove(old...); err != nil {
				return list, err
			} else {
				for _, v := range old {
					u.Removed = append(u.Removed, v.Version)
				}
			}
		}
		list = append(list, u)
	}
	return list, nil
}

// RemoveAgent removes what cco has installed of an agent, all of it or one version, and gives the directories.
func (a *App) RemoveAgent(ctx context.Context, name, version string) (gone []string, err error) {
	ad, err := a.FindAgent(name)
	if err != nil {
		return nil, err
	}
	if ad.Binary() == "" {
		return nil, &install.NothingError{Agent: name}
	}
	var list []install.Program
	for _, at := range install.Platforms(a.Dirs.Data, ad) {
		for _, p := range install.Versions(a.Dirs.Data, ad, at) {
			if version == "" || p.Version == version {
				list, gone = append(list, p), append(gone, p.Dir)
			}
		}
	}
	if len(list) == 0 {
		return nil, &NotInstalledError{name, version}
	}
	if err := a.unused(ctx, name); err != nil {
		return nil, err
	}
	return gone, install.Remove(list...)
}

// NotInstalledError says that cco has installed nothing of the kind.
type NotInstalledError struct{ Agent, Version string }

func (e *NotInstalledError) Error() string {
	return strings.TrimSpace("cco has not installed "+e.Agent+" "+e.Version) + ", see `cco agent list`"
}

// unused refuses while a session runs an agent: its box shows the program that would go.
func (a *App) unused(ctx context.Context, name string) error {
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, err := s.List(ctx, "")
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.Agent == name && v.Live() {
			return &session.StateError{ID: v.ID, State: store.Running, Why: "agent " + name + " is at work there"}
		}
	}
	return nil
}
