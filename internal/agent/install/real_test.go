//go:build heavy

package install

import (
	"testing"

	"github.com/cco-dev/cco/internal/agent"
)

// The pinned versions are there, and run without a script of their packages having been run.
func TestRealInstall(t *testing.T) {
	data := t.TempDir()
	for _, a := range agent.All() {
		if a.Package().Name == "" {
			continue
		}
		t.Run(a.Name(), func(t *testing.T) {
			p, err := Install(t.Context(), data, a, "")
			if err != nil {
				t.Fatal(err)
			}
			if v := versionOf(t.Context(), p.Path); v != a.Package().Version {
				t.Errorf("%s says %q", p.Path, v)
			}
		})
	}
}
