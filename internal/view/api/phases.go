package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/store"
)

func (d *Desk) phaseList(ctx context.Context, _ *http.Request) ([]Phase, error) {
	list, err := d.Sessions.Store.Phases(ctx, 1000)
	if err != nil {
		return nil, err
	}
	out := []Phase{}
	for _, p := range list {
		out = append(out, listedPhase(p))
	}
	return out, nil
}

// maxLog is how many lines of a phase's log are shown.
const maxLog = 500

func (d *Desk) phase(ctx context.Context, r *http.Request) (PhaseDetail, error) {
	p, st, err := d.App.Load(ctx, r.PathValue("id"))
	if err != nil {
		return PhaseDetail{}, err
	}
	out := PhaseDetail{Phase: listedPhase(p), Task: st.Spec.Task, Paused: st.Paused, Trouble: st.Waiting.Trouble,
		Waits:   st.Waiting.For,
		Against: append([]string{}, st.InTheWay()...), End: string(st.End),
		Round: st.Round, MaxRounds: st.Spec.MaxRounds, MaxCost: st.Spec.MaxCost,
		Tokens: st.Spent.Tokens, Session: st.Workspace.Session, Gate: st.Outbox.Kinds, Asks: asks(st), Seen: seenIn(p.ID, st),
		Verdicts: st.Review.Judgements, Question: st.Ask.Question}
	d.elsewhere(ctx, st, &out)
	log, err := d.Sessions.Store.ReadLog(ctx, p.ID, 0)
	out.Wrong = without(out.Wrong, "its log", err)
	end := p.Updated
	if !p.Ended {
		end = d.Now()
		log, err = d.withoutEngine(ctx, log)
		out.Wrong = without(out.Wrong, "the engine", err)
	}
	out.Bars = bars(log, end)
	out.Log = log[max(0, len(log)-maxLog):]
	for _, f := range st.Ledger.Findings {
		out.Findings = append(out.Findings, finding(st, f))
	}
	for _, c := range st.Inbox.Held {
		out.Held = append(out.Held, Comment{ID: c.ID, Who: c.Author, Words: c.Body, URL: webAddress(c.URL),
			Seen: seenComment(c)})
	}
	return out, nil
}

// elsewhere says which machine a phase is on, where machines share phases.
func (d *Desk) elsewhere(ctx context.Context, st cruise.State, out *PhaseDetail) {
	out.Worker = st.Home
	if _, err := d.Sessions.Store.Session(ctx, out.Session); err != nil {
		out.Session = "" // it has no page here
	}
}

// What a phase can want to know, beside whether it shall go on.
const (
	asksPush = "push"
	asksSide = "side"
)

// asks is what a phase wants to know of a person.
func asks(st cruise.State) string {
	switch {
	case len(st.NeedConsent()) > 0:
		return asksPush
	case st.Stage == cruise.StageAsk && st.Foreign.Commit != "":
		return asksSide
	}
	return ""
}

// seenIn names what a phase asks and where it stands, as somebody has seen it.
func seenIn(id string, st cruise.State) string {
	return named(id, st.Stage, st.Paused, st.Ask.Question, st.Consent.Holding, st.Foreign.Commit, st.End,
		st.Waiting.Trouble != "", st.InTheWay())
}

func seenComment(c cruise.Comment) string { return named(c.ID, c.Author, c.Body) }

// withoutEngine adds to the log of a living phase that no engine runs it now, if so.
func (d *Desk) withoutEngine(ctx context.Context, log []store.Line) ([]store.Line, error) {
	n, err := attention.Of(d.Sessions).Unwatched(ctx)
	if err != nil || n == 0 {
		return log, err
	}
	last, how := serve.LastLife(d.Sessions.Data), steps.Died
	if last.Stopped {
		how = steps.Stopped
	}
	if last.Last.IsZero() {
		return log, nil
	}
	return append(slices.Clone(log), store.Line{At: last.Last, Text: how}), nil
}

func finding(st cruise.State, f cruise.Finding) Finding {
	out := Finding{Finding: f, Who: f.Author, Words: f.Text, Trust: string(st.TrustIn(f))}
	out.Text, out.URL = "", webAddress(f.URL)
	switch cruise.Trust(out.Trust) {
	case cruise.TrustReviewer:
		out.Who = strings.TrimSpace(f.Author+" "+st.Spec.Reviewer.Model) + ", " + f.Domain
	case cruise.TrustCheck:
		out.Who = f.Check
	}
	return out
}

// bars makes the timeline of a phase from its log: each bar lasts until the next begins.
func bars(log []store.Line, end time.Time) []Bar {
	list := []Bar{}
	round, stage := 0, Bar{Kind: "work", Name: "starting"}
	begin := func(at time.Time, kind, name string) {
		if n := len(list); n > 0 && at.Before(list[n-1].From) {
			at = list[n-1].From // an engine is known to live a moment before its last words
		}
		if n := len(list); n > 0 && list[n-1].To.IsZero() {
			list[n-1].To = at
		}
		list = append(list, Bar{Kind: kind, Name: name, Round: round, From: at})
	}
	for _, l := range log {
		switch what, name := steps.Mark(l); what {
		case "stage":
			stage = Bar{Kind: cmp.Or(stageKinds[cruise.Stage(name)], "work"), Name: name}
			begin(l.At, stage.Kind, name)
		case "round":
			round++
			if n := len(list); n > 0 {
				list[n-1].Round = round
			}
		case "asks", "trouble", "waits", "paused":
			begin(l.At, waitKinds[what], cmp.Or(name, what))
		case "goes on":
			begin(l.At, stage.Kind, stage.Name)
		case "no engine":
			begin(l.At, "crash", name)
			if name == steps.Stopped {
				list[len(list)-1].Kind = "stopped"
			}
		case "engine":
			if len(list) > 0 {
				begin(l.At, "engine", "taken up by a new engine")
				list[len(list)-1].To = l.At
				list = append(list, Bar{Kind: stage.Kind, Name: stage.Name, Round: round, From: l.At})
			}
		case "ended":
			begin(l.At, "end", name)
			list[len(list)-1].To = l.At
		}
	}
	if n := len(list); n > 0 && list[n-1].To.IsZero() {
		list[n-1].To = end
	}
	const most = 500
	return list[max(0, len(list)-most):]
}

// stageKinds are those of stages that are no work.
var stageKinds = map[cruise.Stage]string{cruise.StageWatch: "wait", cruise.StageAsk: "ask", cruise.StageEnded: "end",
	cruise.StageEnding: "end"}

// waitKinds are those of what is no stage.
var waitKinds = map[string]string{"asks": "ask", "trouble": "trouble", "waits": "wait", "paused": "pause"}
