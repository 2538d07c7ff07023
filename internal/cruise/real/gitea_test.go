//go:build heavy

package real

import (
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
)

func TestAKeyIsNeverPushedToGitea(t *testing.T) {
	cruisetest.KeyIsNeverPushed(t, cruisetest.NewOnGitea(t, cruisetest.Build(t)))
}

func TestOtherHandsArePartOfTheWorkOnGitea(t *testing.T) {
	cruisetest.OtherHands(t, cruisetest.NewOnGitea(t, cruisetest.Build(t)))
}

func TestABaseThatMovesIsMergedOnGitea(t *testing.T) {
	cruisetest.MovingBase(t, cruisetest.NewOnGitea(t, cruisetest.Build(t)))
}

func TestAFlakeIsToldFromAFaultOnGitea(t *testing.T) {
	cruisetest.FlakeAndFault(t, cruisetest.NewOnGitea(t, cruisetest.Build(t)))
}
