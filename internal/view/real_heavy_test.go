//go:build heavy && linux

package view_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// A container has the same door as other boxes, and no other way to the page.
func TestNoWayInFromAContainer(t *testing.T) {
	t.Parallel()
	image := must.Get(filepath.Abs("../../.cache/box-root.tar"))(t)
	if _, err := os.Stat(image); err != nil {
		t.Fatalf("%v: make it with scripts/box-root", err)
	}
	r := viewtest.New(t)
	r.Serve()
	noWayIn(t, r, "container --image-tar "+image)
}
