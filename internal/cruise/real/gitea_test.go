//go:build heavy

package real

import (
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
)

func TestPhasesOnGitea(t *testing.T) {
	bin := cruisetest.Build(t)
	for name, carry := range map[string]func(*testing.T, *cruisetest.Rig){
		"a key is never pushed":            cruisetest.KeyIsNeverPushed,
		"other hands are part of the work": cruisetest.OtherHands,
		"a deploy key is asked about":      cruisetest.DeployKey,
		"a base that moves is merged":      cruisetest.MovingBase,
		"a flake is told from a fault":     cruisetest.FlakeAndFault,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has a Gitea of its own, and mostly waits
			carry(t, cruisetest.NewOnGitea(t, bin))
		})
	}
}
