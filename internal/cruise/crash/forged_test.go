//go:build heavy

package crash_test

import (
	"slices"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// history is all that the service knows of a phase.
func (c *circle) history(phase string) (all []*historypb.HistoryEvent) {
	c.Helper()
	it := c.raw.GetWorkflowHistory(c.Context(), fleet.WorkflowID(phase), "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		all = append(all, must.Get(it.Next())(c))
	}
	return all
}

func raw(p *commonpb.Payload) converter.RawValue { return converter.NewRawValue(p) }

// Guards against orders of somebody who can write to the service and has no key: what is made up is nothing, and what
// is sent again is known.
func TestWhoCanWriteToTheServiceOrdersNothing(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 5*time.Second)
	one := c.station("one", 100)
	phase, other := c.begin(), c.begin()
	c.until("both have a machine", func() bool { return c.at(phase) == one && c.at(other) == one })
	read := func(of, id string) {
		t.Helper()
		c.until("it has read "+id, func() bool {
			return slices.Contains(one.row(of).Inbox.Events, id) && c.at(of) == one
		})
	}
	c.send(phase, "a1", cruise.EventPause)
	read(phase, "a1")
	c.send(phase, "a2", cruise.EventResume)
	read(phase, "a2")
	c.send(other, "b1", cruise.EventCleanup) // an order that is meant for another
	c.until("that has ended", func() bool { return one.row(other).Stage == cruise.StageEnded })

	t.Run("signals", func(t *testing.T) { c.signals(t, phase, other) })
	t.Run("saves", func(t *testing.T) { c.saves(t, phase) })
	t.Run("workflows and memos", func(t *testing.T) { c.workflows(t, phase, one) })
	t.Run("results", func(t *testing.T) { c.results(t, phase, other, one) })

	c.send(phase, "a3", cruise.EventWake)
	read(phase, "a3")
	st := one.row(phase)
	if st.Paused || st.Stage != cruise.StageWatch || len(st.Inbox.Events) != 3 {
		t.Errorf("paused %v, %s, after %q", st.Paused, st.Stage, st.Inbox.Events)
	}
}

// signals sends made up events, those of another phase, and one that was read before.
func (c *circle) signals(t *testing.T, phase, other string) {
	var all []any
	for _, of := range []string{phase, other} {
		for _, e := range c.history(of) {
			if s := e.GetWorkflowExecutionSignaledEventAttributes(); s != nil {
				all = append(all, raw(s.GetInput().GetPayloads()[0]))
			}
		}
	}
	if len(all) != 3 {
		t.Fatalf("%d events are in the histories", len(all))
	}
	stranger := c.client(forge.NewKey(), c.user.Heartbeat)
	must.Do(t, stranger.Send(t.Context(), phase, cruise.Event{ID: "f1", Kind: cruise.EventCleanup, At: time.Now()}))
	all = append(all, "words", nil, map[string]any{"kind": "event", "phase": phase, "name": "f2", "box": []byte("words")})
	for _, forged := range all {
		must.Do(t, c.raw.SignalWorkflow(t.Context(), fleet.WorkflowID(phase), "", "event", forged))
	}
	must.Do(t, c.raw.SignalWorkflow(t.Context(), fleet.WorkflowID(phase), "", "another", "words"))
}

// saves repeats saves that were taken before, and moves one to another place.
func (c *circle) saves(t *testing.T, phase string) {
	n := 0
	for _, e := range c.history(phase) {
		u := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest()
		if u == nil {
			continue
		}
		n++
		payload := u.GetInput().GetArgs().GetPayloads()[0]
		var s fleet.Save
		must.Do(t, converter.GetDefaultDataConverter().FromPayload(payload, &s))
		s.Head.Number += 100
		s.State.Number += 100
		for what, v := range map[string]any{"again": raw(payload), "as a later one": s, "words": "words"} {
			h, err := c.raw.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: fleet.WorkflowID(phase),
				UpdateName: "save", Args: []any{v}, WaitForStage: client.WorkflowUpdateStageCompleted})
			if err == nil {
				err = h.Get(t.Context(), nil)
			}
			if err == nil {
				t.Errorf("save %d is taken %s", n, what)
			}
		}
	}
	if n == 0 {
		t.Error("there are no saves")
	}
}

// workflows begins others with what was seen of a phase's own.
func (c *circle) workflows(t *testing.T, phase string, one *station) {
	first := c.history(phase)[0].GetWorkflowExecutionStartedEventAttributes()
	var start fleet.Start
	must.Do(t, converter.GetDefaultDataConverter().FromPayload(first.GetInput().GetPayloads()[0], &start))
	renamed := start
	renamed.Phase = "deadbeef"
	before := one.row(phase).Life.Number
	for id, in := range map[string]fleet.Start{"beefbeef": start, "deadbeef": renamed} {
		run := must.Get(c.raw.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: fleet.WorkflowID(id),
			TaskQueue: first.GetTaskQueue().GetName(), Memo: map[string]any{"summary": "words", "waits": "words"}},
			first.GetWorkflowType().GetName(), in))(t)
		c.until("a life of "+id+" is refused", func() bool {
			return slices.ContainsFunc(c.history(id), func(e *historypb.HistoryEvent) bool {
				return e.GetActivityTaskFailedEventAttributes() != nil || e.GetActivityTaskCompletedEventAttributes() != nil
			})
		})
		if s, known, err := c.user.Look(t.Context(), id); known || err != nil {
			t.Errorf("%s is shown: %+v, %v", id, s, err)
		}
		must.Do(t, c.raw.TerminateWorkflow(t.Context(), fleet.WorkflowID(id), run.GetRunID(), "")) // it goes on for ever
	}
	if now := one.row(phase).Life.Number; now != before || c.at(phase) != one {
		t.Errorf("its life is %d, not %d", now, before)
	}
	if list := must.Get(c.user.List(t.Context(), time.Now().Add(-time.Hour)))(t); len(list) != 2 {
		t.Errorf("%d phases are listed: %+v", len(list), list)
	}
}

// results ends a life in its machine's name, with what is made up and with the result of another phase's.
func (c *circle) results(t *testing.T, phase, other string, one *station) {
	var theirs *commonpb.Payload
	for _, e := range c.history(other) {
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil && len(a.GetResult().GetPayloads()) > 0 {
			theirs = a.GetResult().GetPayloads()[0]
		}
	}
	if theirs == nil {
		t.Fatal("no life has ended")
	}
	for what, v := range map[string]any{"another's": raw(theirs), "words": "words",
		"made up": fleet.Sealed{Kind: "over", Phase: phase, Life: one.row(phase).Life.Number, Box: []byte("words")}} {
		before := one.row(phase).Life.Number
		d := must.Get(c.raw.DescribeWorkflowExecution(t.Context(), fleet.WorkflowID(phase), ""))(t)
		for _, a := range d.GetPendingActivities() {
			must.Do(t, c.raw.CompleteActivityByID(t.Context(), "default", fleet.WorkflowID(phase), "", a.GetActivityId(), v,
				nil))
		}
		c.until(what+": it has another life", func() bool {
			return c.at(phase) == one && one.row(phase).Life.Number > before
		})
		if s, known, err := c.user.Look(t.Context(), phase); err != nil || !known || !s.Running {
			t.Errorf("%s: %+v, %v, %v", what, s, known, err)
		}
	}
}
