package api

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/store"
)

// glances remembers what the gate finds in work that came back. It can take seconds, so that no answer waits for it:
// one session is examined at a time, while somebody looks, and again only when it offers something else.
type glances struct {
	one   sync.Mutex // is examined at a time
	mu    sync.Mutex
	known map[string]glance
	next  []store.Session
	done  int // how many were examined
}

// glance is what was found in what a session offered.
type glance struct {
	offer  string
	seen   string
	size   Size
	report gate.Report
	wrong  string // why it could not be examined
}

// offerOf names the work of a session that can be examined; "" if there is none.
func (d *Desk) offerOf(v store.Session) string {
	if v.State == store.Pulled {
		return v.Tip
	}
	return d.Sessions.Looking().Offered(v)
}

// of is what is known of a session's work. What is not known yet is found out, first where somebody waits for it.
func (g *glances) of(d *Desk, v store.Session, first bool) (glance, bool) {
	offer := d.offerOf(v)
	g.mu.Lock()
	defer g.mu.Unlock()
	if have, ok := g.known[v.ID]; ok && have.offer == offer && (have.wrong == "" || !first) { // it may go better now
		return have, true
	}
	at := slices.IndexFunc(g.next, func(w store.Session) bool { return w.ID == v.ID })
	switch {
	case offer == "":
	case first && at != 0:
		g.next = append([]store.Session{v}, g.next...)
	case at < 0:
		g.next = append(g.next, v)
	}
	return glance{}, false
}

// How long somebody waits for what the gate finds, and how long it goes on when they have left: a page and a program
// ask again.
const (
	examineSoon = 600 * time.Millisecond
	examineOn   = 10 * time.Second
	examineTick = 20 * time.Millisecond
)

// found is what the gate finds in a session's work, if that is known soon after it was asked for.
func (d *Desk) found(ctx context.Context, v store.Session, asked time.Time) (g glance, ok bool) {
	for g, ok = d.glances.of(d, v, true); !ok && d.offerOf(v) != "" && ctx.Err() == nil &&
		time.Since(asked) < examineSoon; g, ok = d.glances.of(d, v, false) {
		time.Sleep(examineTick)
	}
	return g, ok
}

func (g *glances) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

// mostKept bounds how many findings are remembered: an agent can make any number of sessions wait.
const mostKept = 20_000

// keepExamining looks at all that wait to be looked at, as long as somebody looks at the state.
func (d *Desk) keepExamining(ctx context.Context) {
	g := &d.glances
	g.one.Lock()
	defer g.one.Unlock()
	for tick := time.NewTicker(examineTick); ctx.Err() == nil; {
		g.mu.Lock()
		todo := slices.Clone(g.next)
		g.mu.Unlock()
		if len(todo) == 0 {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
			continue
		}
		got := d.glance(ctx, todo[0], "glance")
		g.mu.Lock()
		kept := 0
		for _, k := range g.known {
			for _, of := range k.report.Groups {
				kept += len(of.Findings)
			}
		}
		if g.known == nil || kept > mostKept {
			g.known = map[string]glance{}
		}
		if g.next = slices.DeleteFunc(g.next, func(w store.Session) bool { return w.ID == todo[0].ID }); ctx.Err() == nil {
			g.known[todo[0].ID] = got
			g.done++
		}
		g.mu.Unlock()
	}
}

// glance examines what a session offers, in a quarantine of its own.
func (d *Desk) glance(ctx context.Context, v store.Session, in string) glance {
	out := glance{offer: d.offerOf(v)}
	cfg, err := d.App.ConfigIn(v.Repo)
	var c session.Changed
	if err == nil {
		c, err = d.Sessions.Looking().Glance(ctx, v, app.PullOptions(cfg, v.Repo), filepath.Join(filepath.Dir(d.LogFile), in))
	}
	if err != nil {
		out.wrong = safetext.Fit(safetext.Line(err.Error()), 500)
	}
	out.seen, out.report = c.Seen(), c.Gate
	out.size = Size{len(c.Summary.Files), c.Summary.Added, c.Summary.Deleted}
	return out
}

// sizeOf is how much of a session's work is known to have changed.
func (g *glances) sizeOf(id string) *Size {
	g.mu.Lock()
	defer g.mu.Unlock()
	if have, ok := g.known[id]; ok && have.wrong == "" {
		return &have.size
	}
	return nil
}

// groups shows what the gate found, and what the user's settings say to it.
func groups(report gate.Report, policy gate.Policy) []Group {
	out := []Group{}
	for _, g := range report.Groups {
		group := Group{Kind: string(g.Kind), Danger: g.Danger.String(), Says: g.Says, Count: g.Count,
			Response: string(policy.Of(g)), Findings: []string{}}
		for _, f := range g.Findings {
			group.Findings = append(group.Findings, strings.Join(append([]string{f.Words()}, f.Rest()...), "\n"))
		}
		out = append(out, group)
	}
	return out
}

// neededLines is how many findings of a kind stand where something is needed.
const neededLines = 5

// decide adds to a need what of the work a person must decide on before a branch moves.
func (d *Desk) decide(n *Need, v store.Session) {
	g, ok := d.glances.of(d, v, false)
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
			group.Findings = group.Findings[:min(neededLines, len(group.Findings))]
			n.Held = append(n.Held, group)
		}
	}
	n.Work = g.seen
	if len(n.Held) > 0 && n.Kind == attention.NeedPull {
		n.Kind = attention.NeedDecide
	}
}
