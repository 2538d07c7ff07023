package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/store"
)

// looking bounds how long a command that only shows looks for tokens.
const looking = 10 * time.Second

// Watched says what a user has to know about the engine, "" if all is well or no phase lives. It starts an engine only
// if this command finds the tokens of all living phases: an engine without them would have their phases fail.
func (a *Phases) Watched(ctx context.Context) (string, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	list, err := db.Living(ctx)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, store.Phase.Far) // other machines have them
	if len(list) == 0 {
		return "", nil
	}
	if c, err := a.cluster(); err != nil || c != nil {
		return "phase " + list[0].ID + ": " + apart(c, list[0]), err
	}
	runs, err := a.engine().Alive(ctx)
	if silent, ok := errors.AsType[*serve.SilentError](err); ok {
		return "nobody watches the phases: " + silent.Error(), nil
	}
	if err != nil || runs {
		return "", err
	}
	if why := a.lacks(ctx, list); why != "" {
		return fmt.Sprintf("nobody watches the phases: no engine runs, and this command starts none: %s. `cco cruise resume "+
			"--all` starts one, `cco cruise service install` has one started always", why), nil
	}
	if err := a.launch(); err != nil {
		return "", err
	}
	return "no engine watched the phases: one is started", nil
}

// lacks says which token of the living phases this command does not find, "" if it finds all of them.
func (a *Phases) lacks(ctx context.Context, alive []store.Phase) string {
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	known := map[string]bool{}
	for _, p := range alive {
		if known[p.Repo] {
			continue
		}
		known[p.Repo] = true
		remote, err := locate(ctx, p.Repo)
		if err != nil {
			return err.Error()
		}
		c, err := a.client(ctx, remote)
		if err != nil {
			return err.Error()
		}
		if _, err := a.tokens(ctx, c.find, remote.Host); err != nil {
			return err.Error()
		}
	}
	return ""
}

// StillWatched gives a *StateError if no engine runs any more.
func (a *Phases) StillWatched(ctx context.Context) error {
	if c, err := a.cluster(); err != nil || c != nil {
		return err // whoever watches may be on another machine, and another may follow
	}
	runs, err := a.engine().Alive(ctx)
	if silent, ok := errors.AsType[*serve.SilentError](err); ok {
		return &StateError{Why: "nobody watches any more: " + silent.Error()}
	}
	if err != nil || runs {
		return err
	}
	return &StateError{Why: "nobody watches any more: the engine has ended (cruise.log in " + a.Dirs.Data +
		" may say why); `cco cruise serve` starts another"}
}
