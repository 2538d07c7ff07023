package api

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// glances remembers what the gate finds in work that waits to be pulled. One session is examined at a time, while
// somebody looks at the state, and again only when it offers something else.
type glances struct {
	mu    sync.Mutex
	known map[string]glance
	next  []store.Session
	busy  bool
	done  int // how many were examined
}

// glance is what was found in what a session offered.
type glance struct {
	offer  string
	seen   string
	report gate.Report
	wrong  string // why it could not be examined
}

// glanceLines is how many findings of a kind are remembered.
const glanceLines = 5

// of is what is known of a session's work. What is not known yet is found out.
func (g *glances) of(d *Desk, v store.Session) (glance, bool) {
	offer := d.Sessions.Offered(v)
	if offer == "" {
		return glance{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if have, ok := g.known[v.ID]; ok && have.offer == offer {
		return have, true
	}
	if !slices.ContainsFunc(g.next, func(w store.Session) bool { return w.ID == v.ID }) {
		g.next = append(g.next, v)
	}
	if ctx := d.watch.context(); !g.busy && ctx != nil {
		g.busy = true
		go g.examine(ctx, d)
	}
	return glance{}, false
}

// forget drops what is known of sessions that nothing waits of.
func (g *glances) forget(waiting map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.known {
		if !waiting[id] {
			delete(g.known, id)
		}
	}
}

func (g *glances) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

// examine looks at all that wait to be looked at, as long as somebody looks at the state.
func (g *glances) examine(ctx context.Context, d *Desk) {
	for {
		g.mu.Lock()
		if len(g.next) == 0 || ctx.Err() != nil {
			g.next, g.busy = nil, false
			g.mu.Unlock()
			return
		}
		v := g.next[0]
		g.next = g.next[1:]
		g.mu.Unlock()
		got := d.glance(ctx, v)
		if ctx.Err() != nil {
			continue
		}
		g.mu.Lock()
		if g.known == nil {
			g.known = map[string]glance{}
		}
		g.known[v.ID] = got
		g.done++
		g.mu.Unlock()
	}
}

func (d *Desk) glance(ctx context.Context, v store.Session) glance {
	out := glance{offer: d.Sessions.Offered(v)}
	cfg, err := d.App.ConfigIn(v.Repo)
	var c session.Changed
	if err == nil {
		c, err = d.Sessions.Glance(ctx, v, pullOptions(cfg, v.Repo), filepath.Join(filepath.Dir(d.LogFile), "glance"))
	}
	if err != nil {
		out.wrong = safetext.Fit(safetext.Line(err.Error()), 500)
		return out
	}
	out.seen, out.report = c.Seen(), c.Gate
	for i := range out.report.Groups {
		f := &out.report.Groups[i].Findings
		*f = slices.Clone((*f)[:min(glanceLines, len(*f))])
	}
	return out
}

// groups shows what the gate found, and what the user's settings say to it.
func groups(report gate.Report, policy gate.Policy) []Group {
	out := []Group{}
	for _, g := range report.Groups {
		group := Group{Kind: string(g.Kind), Danger: g.Danger.String(), Says: g.Says, Count: g.Count,
			Response: string(policy.Of(g)), Findings: []string{}}
		for _, f := range g.Findings {
			group.Findings = append(append(group.Findings, f.Words()), f.Rest()...)
		}
		out = append(out, group)
	}
	return out
}

// decide adds to a need what of the work a person must decide on before a branch moves.
func (d *Desk) decide(n *Need, v store.Session) {
	g, ok := d.glances.of(d, v)
	switch {
	case !ok:
		return
	case g.wrong != "":
		n.Wrong = g.wrong
		return
	}
	cfg, err := d.App.ConfigIn(v.Repo)
	if err != nil {
		n.Wrong = err.Error() // it must not hide everything else
		return
	}
	for _, group := range groups(g.report, cfg.Pull.Policy) {
		if group.Response != string(gate.Tell) {
			n.Held = append(n.Held, group)
		}
	}
	if len(n.Held) == 0 {
		return
	}
	n.Work = g.seen
	if n.Kind == string(session.NeedPull) {
		n.Kind = needDecide
	}
}
