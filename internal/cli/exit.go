package cli

import (
	"context"
	"errors"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/store"
)

// The exit codes of cco.
const (
	exitDone        = 0
	exitWrong       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitState       = 4
	exitTimeout     = 5
	exitIsolation   = 6
	exitDenied      = 7 // by `cco guard check`; also what `cco guard canary` found
	exitInterrupted = 130
)

// exits say what each code means.
var exits = [...]struct {
	code  int
	means string
}{
	{exitDone, "done"},
	{exitWrong, "it went wrong"},
	{exitUsage, "wrong usage; of a hook, a call that is denied"},
	{exitNotFound, "no such box, session, phase or the like"},
	{exitState, "not in a state for that: a box that is stopped, a branch that has diverged, work that is not saved"},
	{exitTimeout, "the time to wait is over"},
	{exitIsolation, "the isolation that was asked for is not available here"},
	{exitDenied, "denied, by `cco guard check`"},
	{exitInterrupted, "interrupted"},
}

// statusError passes on the exit status of a program that the user ran in a box.
type statusError struct{ code int }

func (e *statusError) Error() string { return "" }

// ExitCode says which code an error ends cco with.
func ExitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.code
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	for _, class := range classes() {
		if class.is(err) {
			return class.code
		}
	}
	return exitWrong
}

type class struct {
	code int
	is   func(error) bool
}

// as makes a test for a type of error.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func classes() []class {
	return []class{
		{exitUsage, as[*app.UsageError]},
		{exitUsage, as[*session.UsageError]},
		{exitUsage, as[*config.UnknownError]},
		{exitUsage, as[*config.ValueError]},
		{exitUsage, as[*agent.NotFoundError]},
		{exitUsage, as[*broker.UnknownProviderError]},
		{exitUsage, as[*install.UnknownVersionError]},
		{exitUsage, as[*install.UnknownPlatformError]},
		{exitUsage, as[*install.NothingError]},
		{exitUsage, is(settings.ErrNoHook)},
		{exitUsage, as[*box.UnknownBackendError]},
		{exitUsage, as[*box.NameError]},
		{exitUsage, as[*forge.IDError]},
		{exitUsage, as[*forge.RemoteError]},
		{exitUsage, as[*forge.HostError]},
		{exitUsage, as[*store.AmbiguousError]},
		{exitState, as[*session.ChoiceError]},
		{exitState, as[*notTakenError]},
		{exitNotFound, as[*forge.NoPullError]},
		{exitNotFound, as[*store.NotFoundError]},
		{exitNotFound, as[*store.PhaseNotFoundError]},
		{exitNotFound, as[*box.NotFoundError]},
		{exitNotFound, as[*keeping.NoGraveError]},
		{exitNotFound, as[*notABoxError]},
		{exitNotFound, as[*app.NotAllowedError]},
		{exitNotFound, as[*app.NotInstalledError]},
		{exitIsolation, as[*box.Unavailable]},
		{exitTimeout, as[*session.TimeoutError]},
		{exitWrong, as[*session.FailedError]},
		{exitState, is(settings.ErrNotInstalled)},
		{exitState, as[*app.NoNetworkError]},
		{exitState, as[*app.ClosedError]},
		{exitState, as[*app.BusyCageError]},
		{exitState, is(box.ErrNotRunning)},
		{exitState, as[*box.ConflictError]},
		{exitState, as[*box.StaleError]},
		{exitState, as[*session.StateError]},
		{exitState, as[*gate.HeldError]},
		{exitState, as[*session.BusyError]},
		{exitState, as[*session.SpentError]},
		{exitState, as[*agent.MissingError]},
		{exitState, as[*app.KeyError]},
		{exitState, as[*keeping.UnsavedError]},
		{exitState, as[git.StateError]},
		{exitWrong, as[*proc.ExitError]},
	}
}
