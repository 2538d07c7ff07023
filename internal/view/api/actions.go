package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/broker/sets"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// answer is `cco answer --detach`.
func answer(ctx context.Context, j *job, r *http.Request, in Words) error {
	cfg, err := j.Config()
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	rec, live, err := j.sessions.HandOff().Answer(ctx, id, func(string) (string, error) {
		return in.Text, j.same(ctx, id, in.Seen)
	}, j.RunOptions(cfg))
	if err != nil {
		return err
	}
	j.say("session %s %s", rec.ID, map[bool]string{true: "has your answer", false: "goes on"}[live])
	return nil
}

// same makes sure that a session is as it was when somebody decided on it.
func (j *job) same(ctx context.Context, id, seen string) error {
	v, err := j.sessions.Get(ctx, id)
	if err == nil && seenOf(v) != seen {
		err = &session.StateError{ID: id, State: v.State, Why: changed}
	}
	return err
}

const changed = "it is no longer what you looked at: look at it again"

// goOn is `cco box push --continue --detach`.
func goOn(ctx context.Context, j *job, r *http.Request, in GoOn) error {
	cfg, err := j.Config()
	if err != nil {
		return err
	}
	if in.MaxCost < 0 || in.MaxTokens < 0 {
		return app.Usagef("a limit can't be negative")
	}
	if err := j.same(ctx, r.PathValue("id"), in.Seen); err != nil {
		return err
	}
	o := j.RunOptions(cfg)
	o.Agent, o.Model, o.Resume, o.Message = "", "", r.PathValue("id"), strings.TrimSpace(in.Text)
	if in.MaxCost > 0 {
		o.Limits.RunCost = in.MaxCost
	}
	if in.MaxTokens > 0 {
		o.Limits.RunTokens = in.MaxTokens
	}
	rec, err := j.Push(ctx, j.sessions, cfg, o, app.PlainBox)
	if err == nil {
		j.say("session %s goes on", rec.ID)
	}
	return err
}

// sayWords is `cco box say`.
func sayWords(ctx context.Context, j *job, r *http.Request, in Words) error {
	id := r.PathValue("id")
	if err := j.same(ctx, id, in.Seen); err != nil {
		return err
	}
	later, err := j.sessions.Say(ctx, id, in.Text)
	if err == nil {
		j.say("%s", map[bool]string{true: "it is told at its next turn", false: "it is told"}[later])
	}
	return err
}

// later is `cco attention --later`.
func later(ctx context.Context, j *job, r *http.Request, in Seen) error {
	id := r.PathValue("id")
	if p, st, err := j.Load(ctx, id); err == nil {
		if seenIn(p.ID, st) != in.Seen {
			return &phases.StateError{ID: p.ID, Why: changed}
		}
	} else if err := j.same(ctx, id, in.Seen); err != nil {
		return err
	}
	id, err := j.sessions.Looking().Later(ctx, id)
	if err == nil {
		j.say("%s is hidden until something changes", id)
	}
	return err
}

// discard is `cco box prune --force` for one session.
func discard(ctx context.Context, j *job, r *http.Request, in Seen) error {
	id := r.PathValue("id")
	if err := j.same(ctx, id, in.Seen); err != nil {
		return err
	}
	v, err := j.sessions.Get(ctx, id)
	if err == nil && v.Live() {
		err = &session.StateError{ID: id, State: v.State, Why: "it is at work"}
	}
	var free, kept []session.Remains
	if err == nil {
		free, kept, err = j.sessions.Keeping().Remains(ctx, session.PruneOptions{IDs: []string{id}, Force: true})
	}
	switch {
	case err != nil:
		return err
	case len(kept) > 0:
		return &session.StateError{ID: id, State: v.State, Why: kept[0].Why}
	}
	_, err = j.sessions.Keeping().Prune(ctx, free)
	if err == nil {
		j.say("session %s is thrown away; `cco box restore %[1]s` brings it back", id)
	}
	return err
}

// kill is `cco box kill`.
func kill(ctx context.Context, j *job, r *http.Request, _ Nothing) error {
	id := r.PathValue("id")
	if err := j.sessions.Kill(ctx, id); err != nil {
		return err
	}
	j.say("session %s killed; its work is kept", id)
	return nil
}

// pull is `cco box pull`. Nobody is asked on the way: what needs consent is named in accept, after it was seen.
func pull(ctx context.Context, j *job, r *http.Request, in Pull) error {
	cfg, err := j.Config()
	if err != nil {
		return err
	}
	o := app.PullOptions(cfg, j.Dir)
	o.Partial, o.Only, o.Seen = in.Partial, in.Only, in.Seen
	o.Timeout = time.Second // one that is at work is not waited for
	if o.Gate.Accept, err = gate.ParseKinds(in.Accept); err != nil {
		return app.Usagef("accept: %v", err)
	}
	if len(o.Gate.Accept) > 0 && o.Seen == "" {
		return app.Usagef("accept: seen must name the changes that were looked at")
	}
	p, err := j.sessions.HandOff().Pull(ctx, r.PathValue("id"), o)
	if err != nil && !p.Moved {
		return err
	}
	commits, tip := unit.Count(len(p.Summary.Commits)+p.Summary.More, "commit"), p.Tip[:min(10, len(p.Tip))]
	switch {
	case len(p.Only) > 0:
		j.say("one commit of %s on %s, now at %s; the rest is at %s", strings.Join(p.Only, ", "), p.Branch, tip, p.Ref)
	case p.Again:
		j.say("it was pulled already: %s is at %s", p.Ref, tip)
	case p.Moved:
		j.say("%s on %s, now at %s", commits, p.Branch, tip)
	default:
		j.say("%s had its %s already", p.Branch, commits)
	}
	if p.WipRef != "" {
		j.say("uncommitted work is kept at %s", p.WipRef)
	}
	for _, l := range p.Lost {
		j.say("not brought, and only in the box: %s", l)
	}
	for _, t := range p.Trouble {
		j.say("%s", t)
	}
	return err
}

// send gives a phase an event, and says so.
func send(ctx context.Context, j *job, r *http.Request, ev cruise.Event, says string) error {
	if r.PathValue("id") == "" {
		return app.Usagef("which phase?")
	}
	p, err := j.Send(ctx, r.PathValue("id"), ev)
	if err == nil {
		j.say("phase %s %s", p.ID, says)
	}
	return err
}

func pause(ctx context.Context, j *job, r *http.Request, _ Nothing) error {
	return send(ctx, j, r, cruise.Event{Kind: cruise.EventPause}, "pauses")
}

func resumePhase(ctx context.Context, j *job, r *http.Request, in Resume) error {
	if in.MoreCost < 0 || in.MoreRounds < 0 {
		return app.Usagef("a limit can't be negative")
	}
	const usual = 5 // as `cco cruise resume`
	if in.MoreRounds == 0 {
		in.MoreRounds = usual
	}
	was, st, err := j.Load(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	id := was.ID
	// To go on is the answer, to what was looked at and nothing else.
	take := cruise.Side(in.Take)
	switch {
	case take != "" && take != cruise.Theirs && take != cruise.Ours:
		return app.Usagef("take is theirs or ours")
	case seenIn(id, st) != in.Seen, take != "" && asks(st) != asksSide:
		return &phases.StateError{ID: id, Why: changed}
	case in.Over != "" && !slices.Contains(st.InTheWay(), in.Over):
		return &phases.StateError{ID: id, Why: "its merge waits for no request of " + safetext.Line(in.Over)}
	}
	p, err := j.Resume(ctx, r.PathValue("id"), cruise.Event{Kind: cruise.EventResume, MoreRounds: in.MoreRounds,
		MoreCost: in.MoreCost, Take: take, Over: in.Over})
	if err == nil {
		j.say("phase %s goes on", p.ID)
	}
	return err
}

func fix(ctx context.Context, j *job, r *http.Request, in Fix) error {
	p, st, err := j.Load(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	if st.Question != "" && seenIn(p.ID, st) != in.Seen {
		return &phases.StateError{ID: p.ID, Why: changed}
	}
	ev := cruise.Event{Kind: cruise.EventNews}
	if strings.TrimSpace(in.Comment) != "" {
		ev = cruise.Event{Kind: cruise.EventComment, Text: in.Comment}
	}
	return send(ctx, j, r, ev, "looks now")
}

func accept(ctx context.Context, j *job, r *http.Request, in Accept) error {
	p, st, err := j.Load(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	for _, c := range st.Held {
		if c.ID == in.Comment && seenComment(c) == in.Seen {
			return send(ctx, j, r, cruise.Event{Kind: cruise.EventAccept, Text: in.Comment}, "looks now")
		}
	}
	return &phases.StateError{ID: p.ID, Why: fmt.Sprintf("no comment %q waits with these words: look again", in.Comment)}
}

func cleanup(ctx context.Context, j *job, r *http.Request, in Cleanup) error {
	return send(ctx, j, r, cruise.Event{Kind: cruise.EventCleanup, Force: in.Force}, "is being cleaned up")
}

// watchPhases starts an engine where there is none. It answers no question and ends no pause, as `cco cruise resume
// --all` does: who presses it has not read them all.
func watchPhases(ctx context.Context, j *job, _ *http.Request, _ Nothing) error {
	n, err := j.Watch(ctx)
	if err == nil {
		j.say("an engine watches; phases that live: %d", n)
	}
	return err
}

// setLimit is `cco config set`, for limits alone. Settings that name a program, or say what may leave a box, are out of
// reach from here, whoever sits at the page.
func setLimit(_ context.Context, j *job, _ *http.Request, in Limit) error {
	cfg, err := j.ConfigIn("")
	if err != nil {
		return err
	}
	is, known := map[store.Cause]float64{store.LimitRunCost: cfg.Limits.RunCost, store.LimitDayCost: cfg.Limits.DayCost,
		store.LimitRunTokens: float64(cfg.Limits.RunTokens),
		store.LimitDayTokens: float64(cfg.Limits.DayTokens)}[store.Cause(in.Name)]
	switch {
	case !known:
		return app.Usagef("%q is no limit: other settings are set with `cco config set`", safetext.Line(in.Name))
	case is != in.Was:
		return &changedError{in.Name}
	}
	s, err := j.Set(in.Name, []string{in.Value})
	if err == nil {
		j.say("%s is %s", s.Name, in.Value)
	}
	return err
}

// changedError says that a setting is another than the one that was looked at.
type changedError struct{ name string }

func (e *changedError) Error() string { return e.name + ": " + changed }

// WrongState marks an error about a state.
func (*changedError) WrongState() {}

// allow is `cco box net allow`, for one host: a set or a range opens many, and says more than a button can.
func allow(ctx context.Context, j *job, r *http.Request, in Allow) error {
	if slices.Contains(sets.Names(), in.Host) || strings.ContainsAny(in.Host, "/*") {
		return app.Usagef("%s is more than one host: allow it with `cco box net allow`", safetext.Line(in.Host))
	}
	name := r.PathValue("name")
	_, _, err := j.Allow(ctx, name, []string{in.Host})
	if err == nil {
		j.say("box %s may reach %s", name, safetext.Line(in.Host))
	}
	return err
}

func verifyBox(ctx context.Context, j *job, r *http.Request, _ Nothing) error {
	results, err := j.Verify(ctx, r.PathValue("name"))
	if err != nil {
		return err
	}
	held := 0
	for _, v := range results {
		if v.Held {
			held++
		}
	}
	j.say("%d of %d held", held, len(results))
	return nil
}

func startBox(ctx context.Context, j *job, r *http.Request, _ Nothing) error {
	boxes, err := j.Boxes()
	if err == nil {
		err = boxes.Start(ctx, r.PathValue("name"), j.IO.Progress)
	}
	if err == nil {
		j.say("box %s is running", r.PathValue("name"))
	}
	return err
}

func stopBox(ctx context.Context, j *job, r *http.Request, _ Nothing) error {
	return stopOne(ctx, j, r.PathValue("name"))
}

// stopOne kills the sessions of a box, so that each keeps its work, and stops the box.
func stopOne(ctx context.Context, j *job, name string) error {
	boxes, err := j.Boxes()
	if err != nil {
		return err
	}
	list, err := j.sessions.List(ctx, name)
	if err != nil {
		return err
	}
	killed, wrong := 0, error(nil)
	for _, v := range list {
		if !v.Live() {
			continue
		}
		err := j.sessions.Kill(ctx, v.ID)
		if _, over := errors.AsType[*session.StateError](err); over {
			continue // it has just ended by itself
		}
		if err == nil {
			killed++
		}
		wrong = errors.Join(wrong, err)
	}
	if err := errors.Join(wrong, boxes.Stop(ctx, name)); err != nil {
		return err
	}
	j.say("box %s is stopped; %s killed, with the work kept", name, unit.Count(killed, "session"))
	return nil
}

// stopAll pauses the phases, so that none starts another agent, and stops every box that runs.
func stopAll(ctx context.Context, j *job, _ *http.Request, _ Nothing) error {
	list, err := j.sessions.Store.Phases(ctx, 1<<20)
	if err != nil {
		return err
	}
	var wrong error
	for _, p := range list {
		if p.Ended {
			break // the living come first
		}
		if _, st, err := j.Load(ctx, p.ID); err == nil && st.Paused {
			continue
		}
		if _, err := j.Send(ctx, p.ID, cruise.Event{Kind: cruise.EventPause}); err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		j.say("phase %s pauses", p.ID)
	}
	boxes, err := j.Boxes()
	if err != nil {
		return err
	}
	all, err := boxes.List(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.State == "running" {
			wrong = errors.Join(wrong, stopOne(ctx, j, b.Name))
		}
	}
	return wrong
}
