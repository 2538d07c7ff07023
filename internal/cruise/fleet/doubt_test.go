package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a machine that does not wait for what another was doing, because its clone is at another place.
func TestAnEffectHasOneNameOnAllMachines(t *testing.T) {
	name := func(say cruise.SayIn) string {
		return effect(cruise.StepSay.Name, must.Get(json.Marshal(say))(t))
	}
	was := cruise.SayIn{Where: cruise.Where{Phase: phase, Repo: "/home/a/clone", PR: 1}, Key: "k", Text: "<words>"}
	for what, c := range map[string]struct {
		change func(*cruise.SayIn)
		same   bool
	}{
		"nothing": {func(*cruise.SayIn) {}, true}, "clone": {func(s *cruise.SayIn) { s.Repo = "/home/b/clone" }, true},
		"phase": {func(s *cruise.SayIn) { s.Phase = "bbbbbbbb" }, false},
		"key":   {func(s *cruise.SayIn) { s.Key = "l" }, false}, "words": {func(s *cruise.SayIn) { s.Text = "" }, false},
	} {
		now := was
		c.change(&now)
		if (name(now) == name(was)) != c.same {
			t.Errorf("another %s: %s, %s", what, name(now), name(was))
		}
	}
	merge := cruise.MergeIn{Where: cruise.Where{Workspace: cruise.Workspace{Path: "/a"}}, Head: "h"}
	before := effect(cruise.StepMerge.Name, must.Get(json.Marshal(merge))(t))
	merge.Workspace.Path = "/b"
	if effect(cruise.StepMerge.Name, must.Get(json.Marshal(merge))(t)) != before {
		t.Error("another workspace gives another name")
	}
}

// Guards against an effect that is done again at once, because it was no longer under way when the machine died: its
// request may still be.
func TestWhatWentWrongIsToldForAsLongAsItMayTakeEffect(t *testing.T) {
	now := time.Duration(0)
	l := &life{Host: &Host{Boot: func() time.Duration { return now }}, doing: map[string]int{}, tried: until{},
		wary: until{"of the life before": doubt}}
	for _, key := range []string{"good", "bad", "under way"} {
		l.note(key, 1)
	}
	now = time.Second
	l.done("good", nil)
	l.done("bad", errors.New("no answer"))
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{
		{time.Second, []string{"bad", "of the life before", "under way"}},
		{doubt, []string{"bad", "under way"}},
		{doubt + time.Second, []string{"under way"}},
	} {
		now = c.at
		if got := l.doubtful(); !slices.Equal(got, c.want) {
			t.Errorf("after %v: %q, not %q", c.at, got, c.want)
		}
	}
}

// Guards against a machine that is shut down in the middle of an effect, which the next one then does at once.
func TestWhatAGivenLifeWasDoingIsTold(t *testing.T) {
	var told []string
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		must.Get(p.save(in.Life, in.Number+1, head{Home: "one", Ended: len(p.lives) > 1}))(p)
		if len(p.lives) > 1 {
			must.Do(p, p.key.open(*in.Doing, kindDoing, phase, &told))
			return p.over(in, overReturned)
		}
		doing := must.Get(p.key.seal(Sealed{Kind: kindDoing, Phase: phase, Life: in.Life}, []string{"say"}))(p)
		return p.key.seal(Sealed{Kind: kindOver, Phase: phase, Life: in.Life}, over{How: overGiven, Doing: &doing})
	})
	p.run()
	must.Do(t, p.env.GetWorkflowError())
	if !slices.Equal(told, []string{"say"}) {
		t.Errorf("the next life is told %q", told)
	}
}

// Guards against a machine that lost its phase and saves before another one has it: it would take back what is known of
// the effect that it was having.
func TestALifeThatWasGivenUpSavesNothing(t *testing.T) {
	var late error
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		if len(p.lives) == 1 {
			return Sealed{}, errors.New("it dies")
		}
		must.Get(p.save(in.Life, 2, head{Home: "two", Ended: true}))(p)
		return p.over(in, overReturned)
	})
	p.env.RegisterDelayedCallback(func() { // the next life is offered after a second
		v := Save{Head: must.Get(p.key.seal(Sealed{Kind: kindHead, Phase: phase, Life: 1, Number: 1}, head{}))(p),
			State: must.Get(p.key.seal(Sealed{Kind: kindState, Phase: phase, Life: 1, Number: 1}, cruise.State{}))(p)}
		p.env.UpdateWorkflow(saveName, "", &testsuite.TestUpdateCallback{OnAccept: func() {},
			OnReject: func(err error) { late = err }, OnComplete: func(any, error) {}}, v)
	}, time.Second/2)
	p.run()
	must.Do(t, p.env.GetWorkflowError())
	if late == nil || len(p.lives) != 2 || p.lives[1].Number != 0 {
		t.Errorf("refused: %v; the second of %d lives begins with save %d", late, len(p.lives), p.lives[1].Number)
	}
}

// Guards against what is sent in the very moment in which a history is begun anew.
func TestAnEventIsCarriedOnThatComesAsAHistoryIsBegunAnew(t *testing.T) {
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		for n := 1; ; n++ {
			if must.Get(p.save(in.Life, n, head{Home: "one"}))(p).Full {
				ev := must.Get(p.key.seal(Sealed{Kind: kindEvent, Phase: phase, Name: "e1"}, cruise.Event{ID: "e1"}))(p)
				p.env.SignalWorkflowSkippingWorkflowTask(eventName, ev)
				return p.over(in, overReturned)
			}
		}
	})
	p.run()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](p.env.GetWorkflowError())
	if !ok {
		t.Fatal(p.env.GetWorkflowError())
	}
	var next Start
	must.Do(t, json.Unmarshal(again.Input.GetPayloads()[0].GetData(), &next))
	if len(next.Events) != 1 || next.Events[0].Name != "e1" || next.Number != maxSaves || next.Home != "one" {
		t.Errorf("it goes on with events %v, save %d, at %q", next.Events, next.Number, next.Home)
	}
}

// Guards against a machine that drains and takes the same phase again and again, and against one that forgets its own.
func TestAMachineThatEndsTakesNothing(t *testing.T) {
	h := &Host{Name: "one", Slots: 1, Log: func(string, string) {}}
	if o := h.admit(&life{Host: h}); o.How != "" || h.held() != 1 {
		t.Fatalf("it takes nothing: %+v", o)
	}
	other := &life{Host: h}
	other.Phase = "bbbbbbbb"
	if o := h.admit(other); o.How != overDeclined || o.Why == "" {
		t.Errorf("beyond its slots: %+v", o)
	}
	h.Slots, h.ending = 2, overMoved
	if o := h.admit(other); o.How != overDeclined || o.Why == "" {
		t.Errorf("as it ends: %+v", o)
	}
}

// Guards against a machine that waits for ever for a life that hangs, and says to nobody why the phase does not go on.
func TestAMachineWithALifeThatDoesNotEndDeclines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := false
		old := &life{Begin: Begin{Start: Start{Phase: phase, Life: 1}}, gone: make(chan struct{}),
			lose: func(error) { lost = true }}
		h := &Host{Name: "w", Slots: 2, lives: map[string]*life{phase: old}}
		next := &life{Begin: Begin{Start: Start{Phase: phase, Life: 2, Heartbeat: Heartbeat}}}
		if o := h.admit(next); !lost || o.How != overDeclined || !strings.Contains(o.Why, "does not end") {
			t.Errorf("%+v", o)
		}
		go func() { time.Sleep(time.Second); h.dismiss(old) }()
		if o := h.admit(next); o.How != "" || h.lives[phase] != next {
			t.Errorf("it is let in as %+v", o)
		}
	})
}

// Guards against words of a panic that the service is told.
func TestTheServiceIsToldNoWordsOfAPanic(t *testing.T) {
	said := 0
	h := &Host{key: testKey(t), Trouble: func(error) { said++ }}
	begin := Begin{Start: Start{Phase: phase, Heartbeat: time.Minute}}
	result, err := h.live(context.Background(), begin) // the service does not call it: it panics
	if err == nil || err.Error() != refused("life").Error() || len(result.Box) > 0 || said != 1 {
		t.Errorf("%v, %v, reported %d times", result, err, said)
	}
}

// Guards against a second life beside a phase's own, begun by somebody without the key with what was seen, and against
// one whose beats are not those that the service waits for.
func TestALifeOfAnotherWorkflowIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		beat, served time.Duration
		flow         string
		want         bool
	}{
		"its own":                     {time.Minute, time.Minute, WorkflowID(phase), true},
		"another workflow's":          {time.Minute, time.Minute, WorkflowID(phase) + "2", false},
		"one without beats":           {0, 0, WorkflowID(phase), false},
		"one that is never missed":    {time.Minute, 0, WorkflowID(phase), false},
		"one that stops itself later": {time.Hour, time.Minute, WorkflowID(phase), false},
	} {
		info := activity.Info{HeartbeatTimeout: c.served}
		info.WorkflowExecution.ID = c.flow
		if genuine(Begin{Start: Start{Phase: phase, Heartbeat: c.beat}}, info) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}
