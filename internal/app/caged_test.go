package app

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/guard/caged"
)

// Guards against a setting that is accepted and means nothing.
func TestSettingsOfTheCageAreKnownToIt(t *testing.T) {
	if want := caged.Sockets(); !slices.Equal(config.Sockets(), want) {
		t.Errorf("sockets %v, and the cage knows %v", config.Sockets(), want)
	}
	want := []string{caged.Auto, string(caged.Namespaces), string(caged.Landlock), string(caged.Seatbelt)}
	if !slices.Equal(config.Cages(), want) {
		t.Errorf("cages %v, and there are %v", config.Cages(), want)
	}
}
