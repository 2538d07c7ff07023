package cruising

import (
	"context"
	"sync"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/store"
)

// fullForge is a forge with what commands need beside what phases do.
type fullForge interface {
	steps.Forge
	Find(ctx context.Context, branch string) (forge.Pull, error)
	Pull(ctx context.Context, number int) (forge.Pull, error)
	Us(ctx context.Context) ([]string, error)
	Limits() []forge.Limit
}

// forges opens each repository's forge once: what it has read and what is left of its limits is kept with it.
func (t *tool) forges(st *store.Store) func(context.Context, string) (steps.Forge, error) {
	var mu sync.Mutex
	open := map[string]steps.Forge{}
	return func(ctx context.Context, repo string) (steps.Forge, error) {
		mu.Lock()
		defer mu.Unlock()
		if f := open[repo]; f != nil {
			return f, nil
		}
		f, err := t.forge(ctx, st, repo)
		if err != nil {
			return nil, err
		}
		open[repo] = f
		return f, nil
	}
}
