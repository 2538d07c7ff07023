//go:build heavy

package real

import (
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cheating"
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
		"a declined blocker is a question": cruisetest.Insisting,
		"a person's demand is waited for":  cruisetest.Demanding,
		"a word that is taken back":        cruisetest.Withdrawn,
		"an old test must change":          cruisetest.OldTestMustChange,
		"a repair is merged": func(t *testing.T, r *cruisetest.Rig) {
			cruisetest.Repair(t, r, cheating.Repairs()[0])
		},
		"a cheat is a question": func(t *testing.T, r *cruisetest.Rig) {
			cruisetest.Cheat(t, r, cheating.All()["a silent target"])
		},
		"a removed test is a question": func(t *testing.T, r *cruisetest.Rig) {
			cruisetest.Cheat(t, r, cheating.All()["removed: add_test.go"])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has a Gitea of its own, and mostly waits
			carry(t, cruisetest.NewOnGitea(t, bin))
		})
	}
}
