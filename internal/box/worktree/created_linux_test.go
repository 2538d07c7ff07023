package worktree

import (
	"context"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

// created is a box that is running.
func created(t *testing.T, accept ...string) (*Driver, *box.Box) {
	t.Helper()
	d, b := testDriver(), testBox(t, accept...)
	must.Do(t, d.Create(t.Context(), b, t.Logf))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	return d, b
}
