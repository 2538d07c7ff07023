package cruising

import (
	"context"

	"github.com/cco-dev/cco/internal/store"
)

// forge opens the forge of a repository on this machine, found by its remote.
func (t *tool) forge(ctx context.Context, st *store.Store, dir string) (fullForge, error) {
	return t.connect(ctx, st, dir, where{})
}
