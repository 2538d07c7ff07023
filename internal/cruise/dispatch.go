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
	Within(ctx context.Context, step string, in json.RawMessage, run func(context.Context) error) error
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

// Dispatch runs a step of a life of a phase. Its failure is a *StepError. With any other error nothing of it counts,
// because the process is ending or the phase is elsewhere: the step will run again.
func Dispatch(ctx context.Context, s Steps, step string, in any, run StepFunc) (err error) {
	defer func() {
		// A panic would end the process, and do so again at every restart.
		if p := recover(); p != nil {
			err = &StepError{Msg: fmt.Sprintf("cco went wrong in step %q: %v", step, p)}
		}
	}()
	if f, ok := s.(Fencer); ok {
		data, bad := json.Marshal(in)
		if err = bad; err == nil {
			err = f.Within(ctx, step, data, func(ctx context.Context) error { return run(ctx, s) })
		}
	} else {
		err = run(ctx, s)
	}
	if err == nil || Elsewhere(err) || ctx.Err() != nil {
		return err
	}
	_, temporary := errors.AsType[*Temporary](err)
	return &StepError{Msg: err.Error(), Temporary: temporary}
}

// Step is something that a phase does to the world, by the name that it has in logs and in the keys of effects.
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

// Begin begins the step, and gives what waits for it.
func (s Step[I, O]) Begin(r Run, in I) func() (O, error) {
	var out O
	wait := r.Start(s.Name, in, func(ctx context.Context, on Steps) (err error) {
		out, err = s.run(on, ctx, in)
		return err
	})
	return func() (O, error) { err := wait(); return out, err }
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
	StepReady       = quiet("ready", Steps.Ready)
	StepMerge       = step("merge", Steps.Merge)
	StepChecks      = step("checks", Steps.Checks)
	StepAttempt     = step("job attempt", Steps.Attempt)
	StepRerun       = quiet("run again", Steps.Rerun)
	StepLog         = step("job log", Steps.Log)
	StepSave        = step("save", Steps.Save)
)
