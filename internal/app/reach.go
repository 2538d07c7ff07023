package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/broker/sets"
	"github.com/cco-dev/cco/internal/config"
)

// Allow lets a box reach hosts and sets of hosts. It gives the box's mode, and the sets.
func (a *App) Allow(ctx context.Context, name string, args []string) (mode string, known []sets.Set, err error) {
	rules, named, err := readRules(args)
	if err != nil {
		return "", nil, err
	}
	for _, name := range named {
		s, err := sets.Find(name)
		if err != nil {
			return "", nil, err
		}
		known = append(known, s)
	}
	err = a.records().Change(ctx, name, func(spec *box.Spec) error {
		mode = spec.Mode()
		for _, r := range rules {
			spec.Allow = with(spec.Allow, r)
		}
		for _, name := range named {
			spec.Sets = with(spec.Sets, name)
		}
		return nil
	})
	return mode, known, err
}

// Deny takes back what was allowed for a box, and gives it in its normal form.
func (a *App) Deny(ctx context.Context, name string, cfg config.Config, args []string) ([]string, error) {
	rules, named, err := readRules(args)
	if err != nil {
		return nil, err
	}
	rules = append(rules, named...)
	boxes := a.records()
	return rules, boxes.Change(ctx, name, func(spec *box.Spec) error {
		for _, r := range rules {
			if !slices.Contains(spec.Allow, r) && !slices.Contains(spec.Sets, r) {
				return &NotAllowedError{r, name, inSettings(cfg, r)}
			}
			is := func(s string) bool { return s == r }
			spec.Allow, spec.Sets = slices.DeleteFunc(spec.Allow, is), slices.DeleteFunc(spec.Sets, is)
		}
		return nil
	})
}

// with adds what is not there yet.
func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// readRules tells hosts from sets, and puts each host into its one normal form.
func readRules(args []string) (rules, named []string, err error) {
	for _, arg := range args {
		if slices.Contains(sets.Names(), arg) {
			named = append(named, arg)
			continue
		}
		r, err := broker.ParseRule(arg)
		if err != nil {
			return nil, nil, Usagef("%w", err)
		}
		rules = append(rules, r.String())
	}
	return rules, named, nil
}

// NotAllowedError says that there is nothing to take back.
type NotAllowedError struct{ host, box, why string }

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("%s is not allowed for box %s by name%s, see `cco box net list`", e.host, e.box, e.why)
}

// inSettings says that a rule is in the settings, if it is.
func inSettings(cfg config.Config, rule string) string {
	same := func(r broker.Rule) bool { return r.String() == rule }
	if slices.ContainsFunc(cfg.Network.Allow, same) || slices.Contains(cfg.Network.Sets, rule) {
		return ", but by your settings"
	}
	return ""
}

// Reachable is what a box may reach.
type Reachable struct {
	Box     string   `json:"box"`
	Mode    string   `json:"mode"`
	Allowed []Permit `json:"allowed"`
}

// Reach lists what a box may reach.
func (a *App) Reach(_ context.Context, cfg config.Config, name string) (Reachable, error) {
	boxes := a.records()
	b, err := boxes.Record(name)
	if err != nil {
		return Reachable{}, err
	}
	mode, err := a.mode(b, RepoTop(a.Dir), cfg)
	if err != nil {
		return Reachable{}, err
	}
	l := Reachable{Box: name, Mode: mode.String(), Allowed: []Permit{}}
	if mode == broker.ModeNone {
		return l, nil
	}
	agents, err := a.OwnAgents()
	if err != nil {
		return l, err
	}
	for _, ag := range agents.All() {
		if p, err := broker.FindProvider(ag.Provider()); err == nil {
			base := p.Base
			if u, err := url.Parse(a.gateway(p, cfg)); err == nil && u.Host != "" {
				base = u.Redacted()
			}
			l.Allowed = append(l.Allowed, Permit{
				Rule: base, From: "the model of " + ag.Name() + ", with your key added on the way",
			})
		}
	}
	more, err := permits(b.Spec, cfg)
	for _, p := range more {
		l.Allowed = append(l.Allowed, Permit{p.rule.String(), p.from})
	}
	return l, err
}
