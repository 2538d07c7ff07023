package cruise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Fencer are steps that run only where their phase is at home.
type Fencer interface {
	// Within runs a step of a life of a phase, again if need be, with a context that ends when the phase has another home.
	// Its name and what it was given say which effect it is.
	Within(ctx context.Context, flow, step string, in json.RawMessage, run func(context.Context) error) error
}

// unrecorded marks an error after which nothing of a step counts here: its phase goes on elsewhere.
type unrecorded interface {
	error
	Unrecorded()
}

// Elsewhere says that an error means that a phase goes on elsewhere.
func Elsewhere(err error) bool {
	_, elsewhere := errors.AsType[unrecorded](err)
	return elsewhere
}

type flowKey struct{}

// WithFlow says to the steps below which life of a phase they are of.
func WithFlow(ctx context.Context, flow string) context.Context {
	return context.WithValue(ctx, flowKey{}, flow)
}

// Boundaries is what steps may also be, for tests: they are told when each begins, and when it is done but its phase
// does not know it yet.
type Boundaries interface {
	At(when, step string, in json.RawMessage)
}

// Dispatch runs the step of that name and gives what came of it. An error is given back only where nothing of it
// counts, because the process is ending or the phase is elsewhere: the step will run again.
func Dispatch(ctx context.Context, s Steps, step string, in json.RawMessage) (o Outcome, err error) {
	defer func() {
		// A panic would end the process, and do so again at every restart.
		if p := recover(); p != nil {
			o, err = Outcome{Failure: &Failure{Msg: fmt.Sprintf("cco went wrong in step %q: %v", step, p)}}, nil
		}
	}()
	at := func(string, string, json.RawMessage) {}
	if b, ok := s.(Boundaries); ok {
		at = b.At
	}
	var out any
	run := func(ctx context.Context) (err error) {
		at("before", step, in)
		out, err = dispatch(ctx, s, step, in)
		at("after", step, in)
		return err
	}
	if f, ok := s.(Fencer); ok {
		flow, _ := ctx.Value(flowKey{}).(string)
		err = f.Within(ctx, flow, step, in, run)
	} else {
		err = run(ctx)
	}
	if err == nil {
		data, err := json.Marshal(out)
		return Outcome{Out: data}, err
	}
	if Elsewhere(err) || ctx.Err() != nil {
		return Outcome{}, err
	}
	_, temporary := errors.AsType[*Temporary](err)
	return Outcome{Failure: &Failure{Msg: err.Error(), Temporary: temporary}}, nil
}

func dispatch(ctx context.Context, s Steps, step string, in json.RawMessage) (any, error) {
	run := table(s)[step]
	if run == nil {
		return nil, fmt.Errorf("no step %q", step)
	}
	return run(ctx, in)
}

type anyStep func(ctx context.Context, in json.RawMessage) (any, error)

// table is every step by its name.
func table(s Steps) map[string]anyStep {
	return map[string]anyStep{
		StepMetadata:    call(s.Metadata),
		StepWorkspace:   call(s.Workspace),
		StepWork:        call(s.Work),
		StepPublish:     call(s.Publish),
		StepPush:        call(s.Push),
		StepPullRequest: call(s.PullRequest),
		StepPostReview:  call(s.PostReview),
		StepLook:        call(s.Look),
		StepAnswer:      call(nothing(s.Answer)),
		StepSay:         call(nothing(s.Say)),
		StepClose:       call(nothing(s.Close)),
		StepHands:       call(s.Hands),
		StepTake:        call(s.Take),
		StepTarget:      call(s.Target),
		StepLend:        call(nothing(s.Lend)),
		StepReady:       call(nothing(s.Ready)),
		StepMerge:       call(s.Merge),
		StepVerdict:     call(nothing(s.Verdict)),
		StepChecks:      call(s.Checks),
		StepAttempt:     call(s.Attempt),
		StepRerun:       call(nothing(s.Rerun)),
		StepLog:         call(s.Log),
		StepBase:        call(s.Base),
		StepCheck:       call(s.Check),
		StepSave:        call(s.Save),
	}
}

func call[I, O any](f func(context.Context, I) (O, error)) anyStep {
	return func(ctx context.Context, data json.RawMessage) (any, error) {
		var in I
		if err := json.Unmarshal(data, &in); err != nil {
			return nil, err
		}
		return f(ctx, in)
	}
}

func nothing[I any](f func(context.Context, I) error) func(context.Context, I) (struct{}, error) {
	return func(ctx context.Context, in I) (struct{}, error) { return struct{}{}, f(ctx, in) }
}
