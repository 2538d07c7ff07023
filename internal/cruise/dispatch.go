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

// Dispatch runs the step of that name and gives what came of it. Its failure is a *StepError. With any other error
// nothing of it counts, because the process is ending or the phase is elsewhere: the step will run again.
func Dispatch(ctx context.Context, s Steps, step string, in json.RawMessage) (out json.RawMessage, err error) {
	defer func() {
		// A panic would end the process, and do so again at every restart.
		if p := recover(); p != nil {
			out, err = nil, &StepError{Msg: fmt.Sprintf("cco went wrong in step %q: %v", step, p)}
		}
	}()
	run := func(ctx context.Context) (err error) {
		out, err = dispatch(ctx, s, step, in)
		return err
	}
	if f, ok := s.(Fencer); ok {
		flow, _ := ctx.Value(flowKey{}).(string)
		err = f.Within(ctx, flow, step, in, run)
	} else {
		err = run(ctx)
	}
	if err == nil || Elsewhere(err) || ctx.Err() != nil {
		return out, err
	}
	_, temporary := errors.AsType[*Temporary](err)
	return nil, &StepError{Msg: err.Error(), Temporary: temporary}
}

// Step is something that a phase does to the world, by the name that it has in saved states and logs.
type Step[I, O any] struct {
	Name string
	run  func(Steps, context.Context, I) (O, error)
}

func step[I, O any](name string, run func(Steps, context.Context, I) (O, error)) Step[I, O] {
	return Step[I, O]{name, run}
}

// quiet is a step that gives nothing.
func quiet[I any](name string, run func(Steps, context.Context, I) error) Step[I, struct{}] {
	return step(name, func(s Steps, ctx context.Context, in I) (struct{}, error) { return struct{}{}, run(s, ctx, in) })
}

// The steps.
var (
	StepMetadata    = step("metadata", Steps.Metadata)
	StepWorkspace   = step("workspace", Steps.Workspace)
	StepWork        = step("work", Steps.Work)
	StepPublish     = step("publish", Steps.Publish)
	StepPush        = step("push", Steps.Push)
	StepPullRequest = step("pull request", Steps.PullRequest)
	StepPostReview  = step("post review", Steps.PostReview)
	StepLook        = step("look", Steps.Look)
	StepSort        = step("sort", Steps.Sort)
	StepAnswer      = quiet("answer", Steps.Answer)
	StepSay         = quiet("say", Steps.Say)
	StepClose       = quiet("close", Steps.Close)
	StepPushers     = step("hands", Steps.Pushers)
	StepTake        = step("take", Steps.Take)
	StepTarget      = step("target", Steps.Target)
	StepLend        = quiet("lend", Steps.Lend)
	StepReady       = quiet("ready", Steps.Ready)
	StepMerge       = step("merge", Steps.Merge)
	StepVerdict     = quiet("verdict", Steps.Verdict)
	StepBase        = step("base", Steps.Base)
	StepCheck       = step("check", Steps.Check)
	StepChecks      = step("checks", Steps.Checks)
	StepAttempt     = step("job attempt", Steps.Attempt)
	StepRerun       = quiet("run again", Steps.Rerun)
	StepLog         = step("job log", Steps.Log)
	StepSave        = step("save", Steps.Save)
)

// anyStep is a step whatever it takes and gives.
type anyStep interface {
	is(name string) bool
	call(ctx context.Context, s Steps, in json.RawMessage) (json.RawMessage, error)
}

// steps are all of them.
func steps() []anyStep {
	return []anyStep{StepMetadata, StepWorkspace, StepWork, StepPublish, StepPush, StepPullRequest, StepPostReview,
		StepLook, StepSort, StepAnswer, StepSay, StepClose, StepPushers, StepTake, StepTarget, StepLend, StepReady,
		StepMerge, StepVerdict, StepBase, StepCheck, StepChecks, StepAttempt, StepRerun, StepLog, StepSave}
}

func dispatch(ctx context.Context, s Steps, name string, in json.RawMessage) (json.RawMessage, error) {
	for _, v := range steps() {
		if v.is(name) {
			return v.call(ctx, s, in)
		}
	}
	return nil, fmt.Errorf("no step %q", name)
}

func (s Step[I, O]) is(name string) bool { return s.Name == name }

func (s Step[I, O]) call(ctx context.Context, on Steps, data json.RawMessage) (json.RawMessage, error) {
	var in I
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	out, err := s.run(on, ctx, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
