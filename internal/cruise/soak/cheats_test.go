//go:build heavy

package soak

import (
	"os"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cheating"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
)

// Guards against a check that becomes green in any other way than by a repair and is merged, against questions about
// repairs, and against more than one about a test that has to change.
func TestOnlyRepairsAreMergedWithoutAQuestion(t *testing.T) {
	bin := cruisetest.Build(t)
	sampled := map[string]bool{"a silent target": true, "removed: add_test.go": true, "changed: jest.config.js": true}
	for name, c := range cheating.All() {
		if os.Getenv("SOAK") == "" && !sampled[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cruisetest.Cheat(t, cruisetest.New(t, bin), c)
		})
	}
	for i, c := range cheating.Repairs() {
		if os.Getenv("SOAK") == "" && i > 0 {
			break
		}
		t.Run("a repair in "+c.File, func(t *testing.T) {
			t.Parallel()
			cruisetest.Repair(t, cruisetest.New(t, bin), c)
		})
	}
	t.Run("an old test must change", func(t *testing.T) {
		t.Parallel()
		cruisetest.OldTestMustChange(t, cruisetest.New(t, bin))
	})
}
