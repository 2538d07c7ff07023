package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/broker/sets"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// bound is the body of an action on a session or a phase that somebody has looked at. It is refused if that is another
// by now.
type bound interface{ looked() string }

func (b Words) looked() string  { return b.Seen }
func (b GoOn) looked() string   { return b.Seen }
func (b Seen) looked() string   { return b.Seen }
func (b Send) looked() string   { return b.Seen }
func (b Resume) looked() string { return b.Seen }

const changed = "it is no longer what you looked at: look at it again"

// same makes sure that what an action is about is as it was when somebody decided on it.
func (j *job) same(ctx context.Context, seen string) error {
	p, st, err := j.Load(ctx, j.id)
	if err == nil && seenIn(p.ID, st) != seen {
		return &phases.StateError{ID: p.ID, Why: changed}
	}
	if err == nil || j.ofPhase {
		return err
	}
	v, err := j.sessions.Get(ctx, j.id)
	if err == nil && seenOf(v) != seen {
		err = &session.StateError{ID: j.id, State: v.State, Why: changed}
	}
	return err
}

// did says what was done, if it was.
func (j *job) did(err error, format string, args ...any) error {
	if err == nil {
		j.say(format, args...)
	}
	return err
}

// answer is `cco answer --detach`.
func answer(ctx context.Context, j *job, in Words) error {
	cfg, err := j.Config()
	if err != nil {
		return err
	}
	rec, live, err := j.sessions.HandOff().Answer(ctx, j.id, func(string) (string, error) {
		return in.Text, j.same(ctx, in.Seen) // nobody else answers meanwhile
	}, j.RunOptions(cfg))
	return j.did(err, "session %s %s", rec.ID, map[bool]string{true: "has your answer", false: "goes on"}[live])
}

// goOn is `cco box push --continue --detach`.
func goOn(ctx context.Context, j *job, in GoOn) error {
	cfg, err := j.Config()
	if err != nil {
		return err
	}
	if in.MaxCost < 0 || in.MaxTokens < 0 {
		return app.Usagef("a limit can't be negative")
	}
	o := j.RunOptions(cfg)
	o.Agent, o.Model, o.Resume, o.Message = "", "", j.id, strings.TrimSpace(in.Text)
	o.Limits.RunCost = cmp.Or(in.MaxCost, o.Limits.RunCost)
	o.Limits.RunTokens = cmp.Or(in.MaxTokens, o.Limits.RunTokens)
	rec, err := j.Push(ctx, j.sessions, cfg, o, app.PlainBox)
	return j.did(err, "session %s goes on", rec.ID)
}

// sayWords is `cco box say`.
func sayWords(ctx context.Context, j *job, in Words) error {
	later, err := j.sessions.Say(ctx, j.id, in.Text)
	return j.did(err, "it is told%s", map[bool]string{true: " at its next turn"}[later])
}

// later is `cco attention --later`.
func later(ctx context.Context, j *job, _ Seen) error {
	id, err := attention.Of(j.sessions).Later(ctx, j.id)
	return j.did(err, "%s is hidden until something changes", id)
}

// discard is `cco box prune --force` for one session.
func discard(ctx context.Context, j *job, _ Seen) error {
	v, err := j.sessions.Get(ctx, j.id)
	if err == nil && v.Live() {
		err = &session.StateError{ID: j.id, State: v.State, Why: "it is at work"}
	}
	if err != nil {
		return err
	}
	free, kept, err := keeping.Of(j.sessions).Remains(ctx, keeping.PruneOptions{IDs: []string{j.id}, Force: true})
	if len(kept) > 0 {
		err = &session.StateError{ID: j.id, State: v.State, Why: kept[0].Why}
	}
	if err == nil {
		_, err = keeping.Of(j.sessions).Prune(ctx, free)
	}
	return j.did(err, "session %s is thrown away; `cco box restore %[1]s` brings it back", j.id)
}

// kill is `cco box kill`.
func kill(ctx context.Context, j *job, _ Nothing) error {
	return j.did(j.sessions.Kill(ctx, j.id), "session %s killed; its work is kept", j.id)
}

// pull is `cco box pull`. Nobody is asked on the way: what needs consent is named in accept, after it was seen.
func pull(ctx context.Context, j *job, in Pull) error {
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
	p, err := j.sessions.HandOff().Pull(ctx, j.id, o)
	if _, moved := errors.AsType[*git.DivergedError](err); moved && in.Merge {
		o.Join = session.Merge
		p, err = j.sessions.HandOff().Pull(ctx, j.id, o)
	}
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
func send(ctx context.Context, j *job, ev cruise.Event, says string) error {
	p, err := j.Send(ctx, j.id, ev)
	return j.did(err, "phase %s %s", p.ID, says)
}

func pause(ctx context.Context, j *job, _ Nothing) error {
	return send(ctx, j, cruise.Event{Kind: cruise.EventPause}, "pauses")
}

func resumePhase(ctx context.Context, j *job, in Resume) error {
	if in.MoreCost < 0 || in.MoreRounds < 0 {
		return app.Usagef("a limit can't be negative")
	}
	_, st, err := j.Load(ctx, j.id)
	if err != nil {
		return err
	}
	// To go on is the answer, to what was looked at and nothing else.
	take := cruise.Side(in.Take)
	switch {
	case take != "" && take != cruise.Theirs && take != cruise.Ours:
		return app.Usagef("take is theirs or ours")
	case take != "" && asks(st) != asksSide:
		return &phases.StateError{ID: j.id, Why: changed}
	case in.Over != "" && !slices.Contains(st.InTheWay(), in.Over):
		return &phases.StateError{ID: j.id, Why: "its merge waits for no request of " + safetext.Line(in.Over)}
	}
	const usual = 5 // as `cco cruise resume`
	p, err := j.Resume(ctx, j.id, cruise.Event{Kind: cruise.EventResume, MoreRounds: cmp.Or(in.MoreRounds, usual),
		MoreCost: in.MoreCost, Take: take, Over: in.Over})
	return j.did(err, "phase %s goes on", p.ID)
}

func fix(ctx context.Context, j *job, in Fix) error {
	_, st, err := j.Load(ctx, j.id)
	if err == nil && st.Ask.Question != "" {
		err = j.same(ctx, in.Seen)
	}
	if err != nil {
		return err
	}
	ev := cruise.Event{Kind: cruise.EventNews}
	if strings.TrimSpace(in.Comment) != "" {
		ev = cruise.Event{Kind: cruise.EventComment, Text: in.Comment}
	}
	return send(ctx, j, ev, "looks now")
}

func accept(ctx context.Context, j *job, in Accept) error {
	p, st, err := j.Load(ctx, j.id)
	if err != nil {
		return err
	}
	read := func(c cruise.Comment) bool { return c.ID == in.Comment && seenComment(c) == in.Seen }
	if !slices.ContainsFunc(slices.Concat(st.Inbox.Held, st.Inbox.Remarks), read) {
		return &phases.StateError{ID: p.ID, Why: fmt.Sprintf("no comment %q waits with these words: look again", in.Comment)}
	}
	return send(ctx, j, cruise.Event{Kind: cruise.EventAccept, Text: in.Comment}, "looks now")
}

func cleanup(ctx context.Context, j *job, in Cleanup) error {
	return send(ctx, j, cruise.Event{Kind: cruise.EventCleanup, Force: in.Force}, "is being cleaned up")
}

// watchPhases starts an engine where there is none. It answers no question and ends no pause, as `cco cruise resume
// --all` does: who presses it has not read them all.
func watchPhases(ctx context.Context, j *job, _ Nothing) error {
	n, err := j.WatchAll(ctx, nil)
	return j.did(err, "an engine watches; phases that live: %d", n)
}

// setLimit is `cco config set`, for limits alone. Settings that name a program, or say what may leave a box, are out of
// reach from here, whoever sits at the page.
func setLimit(_ context.Context, j *job, in Limit) error {
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
	return j.did(err, "%s is %s", s.Name, in.Value)
}

// changedError says that a setting is another than the one that was looked at.
type changedError struct{ name string }

func (e *changedError) Error() string { return e.name + ": " + changed }

// WrongState marks an error about a state.
func (*changedError) WrongState() {}

// allow is `cco box net allow`, for one host: a set or a range opens many, and says more than a button can.
func allow(ctx context.Context, j *job, in Allow) error {
	if slices.Contains(sets.Names(), in.Host) || strings.ContainsAny(in.Host, "/*") {
		return app.Usagef("%s is more than one host: allow it with `cco box net allow`", safetext.Line(in.Host))
	}
	_, _, err := j.Allow(ctx, j.id, []string{in.Host})
	return j.did(err, "box %s may reach %s", j.id, safetext.Line(in.Host))
}

func verifyBox(ctx context.Context, j *job, _ Nothing) error {
	results, err := j.Verify(ctx, j.id)
	held := 0
	for _, v := range results {
		if v.Held {
			held++
		}
	}
	return j.did(err, "%d of %d held", held, len(results))
}

func startBox(ctx context.Context, j *job, _ Nothing) error {
	return j.did(j.sessions.Boxes.Start(ctx, j.id, j.IO.Progress), "box %s is running", j.id)
}

func stopBox(ctx context.Context, j *job, _ Nothing) error { return stopOne(ctx, j, j.id) }

// stopOne kills the sessions of a box, so that each keeps its work, and stops the box.
func stopOne(ctx context.Context, j *job, name string) error {
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
	return j.did(errors.Join(wrong, j.sessions.Boxes.Stop(ctx, name)), "box %s is stopped; %s killed, with the work kept",
		name, unit.Count(killed, "session"))
}

// stopAll pauses the phases, so that none starts another agent, and stops every box that runs.
func stopAll(ctx context.Context, j *job, _ Nothing) error {
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
		_, err := j.Send(ctx, p.ID, cruise.Event{Kind: cruise.EventPause})
		wrong = errors.Join(wrong, j.did(err, "phase %s pauses", p.ID))
	}
	all, err := j.sessions.Boxes.List(ctx)
	for _, b := range all {
		if b.State == "running" {
			wrong = errors.Join(wrong, stopOne(ctx, j, b.Name))
		}
	}
	return errors.Join(wrong, err)
}
