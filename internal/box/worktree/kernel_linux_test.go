package worktree

import (
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/git/gittest"
)

func TestConformanceBehindTheKernel(t *testing.T) {
	gittest.Home(t)
	boxtest.Run(t, boxtest.Setup{
		Driver: testDriver(), Base: head, New: func(t *testing.T) *box.Box { return testBox(t) },
		Lacks: []boxtest.Ability{boxtest.OwnEnv, boxtest.OwnHome, boxtest.Views, boxtest.Store, boxtest.Caches},
	})
}
