package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

const phase = "aaaaaaaa"

func testKey(t *testing.T) Key {
	t.Helper()
	return must.Get(NewKey(forge.NewKey()))(t)
}

// play is a workflow, and machines that a test speaks for.
type play struct {
	*testing.T
	env *testsuite.TestWorkflowEnvironment
	key Key

	mu    sync.Mutex
	lives []Begin
}

// newPlay makes a workflow whose lives do what the test says.
func newPlay(t *testing.T, life func(p *play, in Begin) (Sealed, error)) *play {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	p := &play{T: t, env: suite.NewTestWorkflowEnvironment(), key: testKey(t)}
	// A busy machine is neither a deadlock nor an end.
	p.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	p.env.SetTestTimeout(10 * time.Minute)
	p.env.RegisterWorkflowWithOptions(p.key.supervise, workflow.RegisterOptions{Name: workflowName})
	p.env.RegisterActivityWithOptions(func(_ context.Context, in Begin) (Sealed, error) {
		p.mu.Lock()
		p.lives = append(p.lives, in)
		p.mu.Unlock()
		return life(p, in)
	}, activity.RegisterOptions{Name: lifeName})
	p.env.RegisterActivityWithOptions(func(context.Context, Parcel) error { return nil },
		activity.RegisterOptions{Name: deliverName})
	return p
}

func (p *play) run() {
	p.Helper()
	state := must.Get(p.key.seal(Sealed{Kind: kindState, Phase: phase}, cruise.State{}))(p)
	p.env.ExecuteWorkflow(workflowName, Start{Phase: phase, Queue: "any",
		Heartbeat: time.Hour, State: state}) // a busy machine is not a dead one
}

func (p *play) over(in Begin, how string) (Sealed, error) {
	return p.key.seal(Sealed{Kind: kindOver, Phase: phase, Life: in.Life}, over{How: how})
}

// save saves a state of a life, and gives the answer or the refusal.
func (p *play) save(life, number int, h head) (a Answer, err error) {
	p.Helper()
	v := Save{Head: must.Get(p.key.seal(Sealed{Kind: kindHead, Phase: phase, Life: life, Number: number}, h))(p),
		State: must.Get(p.key.seal(Sealed{Kind: kindState, Phase: phase, Life: life, Number: number},
			cruise.State{Round: number}))(p)}
	return p.update(v)
}

func (p *play) update(v Save) (a Answer, err error) {
	done := make(chan struct{})
	p.env.UpdateWorkflow(saveName, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(e error) { err = e; close(done) },
		OnComplete: func(v any, e error) {
			a, _ = v.(Answer)
			err = e
			close(done)
		}}, v)
	<-done
	return a, err
}

// Guards against a machine that was stopped, and saves what is no longer so over what its successor has saved.
func TestAnOlderLifeSavesNothing(t *testing.T) {
	var first, second, late, forged error
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		switch in.Life {
		case 1:
			_, first = p.save(1, 1, head{Home: "one"})
			return Sealed{}, errors.New("it dies")
		default:
			_, late = p.save(1, 2, head{Home: "one"})
			other := testKey(p.T)
			v := Save{Head: must.Get(other.seal(Sealed{Kind: kindHead, Phase: phase, Life: in.Life, Number: 2}, head{}))(p),
				State: Sealed{Kind: kindState, Phase: phase, Life: in.Life, Number: 2}}
			_, forged = p.update(v)
			_, second = p.save(in.Life, 2, head{Home: "two", Ended: true})
			return p.over(in, overReturned)
		}
	})
	p.run()
	var last Sealed
	must.Do(t, errors.Join(p.env.GetWorkflowError(), first, second, p.env.GetWorkflowResult(&last)))
	if late == nil || forged == nil {
		t.Errorf("an older life: %v, one without a key: %v", late, forged)
	}
	if last.Life != p.lives[1].Life || p.lives[1].Number != 1 || p.lives[1].Home != "one" {
		t.Errorf("it ends with life %d; the second began with %+v", last.Life, p.lives[1])
	}
}

// Guards against an event that is lost with the life that was given it, read twice, or sent by somebody without a key.
func TestAnEventIsKeptUntilASavedStateHasSeenIt(t *testing.T) {
	var unread, ended Answer
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		switch len(p.lives) {
		case 1:
			must.Get(p.save(in.Life, 1, head{Home: "one"}))(p)
			sealed := must.Get(p.key.seal(Sealed{Kind: kindEvent, Phase: phase, Name: "e1"}, cruise.Event{ID: "e1"}))(p)
			other := must.Get(testKey(p.T).seal(Sealed{Kind: kindEvent, Phase: phase, Name: "e2"}, cruise.Event{ID: "e2"}))(p)
			elsewhere := sealed
			elsewhere.Name = "e3"
			for _, ev := range []Sealed{sealed, other, elsewhere, sealed} {
				p.env.SignalWorkflow(eventName, ev)
			}
			unread = must.Get(p.save(in.Life, 2, head{Home: "one", Ended: true}))(p)
			return Sealed{}, errors.New("it dies")
		default:
			ended = must.Get(p.save(in.Life, 3, head{Home: "one", Ended: true, Seen: []string{"e1"}}))(p)
			return p.over(in, overReturned)
		}
	})
	p.run()
	must.Do(t, p.env.GetWorkflowError())
	names := []string{}
	for _, e := range p.lives[1].Events {
		names = append(names, e.Name)
	}
	if !unread.Unread || ended.Unread || !slices.Equal(names, []string{"e1"}) || p.lives[1].Ended {
		t.Errorf("%+v, %+v, the second life began with %v", unread, ended, names)
	}
}

// Guards against a phase that kills one machine after another for ever, and against one that nobody takes which is
// counted among those.
func TestThreeLivesWithoutASaveAreAskedAbout(t *testing.T) {
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		switch {
		case len(p.lives) == 1:
			return p.over(in, overDeclined)
		case !in.Ask:
			return Sealed{}, errors.New("it dies")
		}
		must.Get(p.save(in.Life, 1, head{Home: "one", Ended: true}))(p)
		return p.over(in, overReturned)
	})
	p.run()
	must.Do(t, p.env.GetWorkflowError())
	if len(p.lives) != 2+maxBarren {
		t.Errorf("%d lives", len(p.lives))
	}
}

// Guards against a history without end, and against what is lost when it is begun anew.
func TestAFullHistoryIsBegunAnewWithEverything(t *testing.T) {
	p := newPlay(t, func(p *play, in Begin) (Sealed, error) {
		for n := 1; ; n++ {
			if must.Get(p.save(in.Life, n, head{Home: "one"}))(p).Full {
				return p.over(in, overReturned)
			}
		}
	})
	p.run()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](p.env.GetWorkflowError())
	if !ok || len(p.lives) != 1 {
		t.Fatalf("%d lives: %v", len(p.lives), p.env.GetWorkflowError())
	}
	if again.WorkflowType.Name != workflowName {
		t.Errorf("it goes on as %q", again.WorkflowType.Name)
	}
}

// Guards against a box that opens for something else than it was made for.
func TestABoxOpensForNothingElse(t *testing.T) {
	k := testKey(t)
	was := must.Get(k.seal(Sealed{Kind: kindState, Phase: phase, Life: 2, Number: 3, Name: "n"}, "words"))(t)
	var words string
	must.Do(t, k.open(was, kindState, phase, &words))
	for what, change := range map[string]func(*Sealed){
		"kind": func(s *Sealed) { s.Kind = kindEvent }, "phase": func(s *Sealed) { s.Phase = "bbbbbbbb" },
		"life": func(s *Sealed) { s.Life++ }, "number": func(s *Sealed) { s.Number-- },
		"name": func(s *Sealed) { s.Name = "m" }, "bytes": func(s *Sealed) { s.Box[len(s.Box)-1] ^= 1 },
	} {
		moved := was
		moved.Box = slices.Clone(was.Box)
		change(&moved)
		if err := k.open(moved, moved.Kind, moved.Phase, &words); err == nil {
			t.Errorf("it opens with another %s", what)
		}
	}
	if testKey(t).open(was, kindState, phase, &words) == nil {
		t.Error("it opens with another key")
	}
}
