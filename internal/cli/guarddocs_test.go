package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against docs that recommend the hook before the cage: what install and doctor say first stands there too.
func TestDocsSayWhatHolds(t *testing.T) {
	for _, name := range []string{"README.md", "docs/guard.md", "docs/security.md"} {
		if text := must.Get(os.ReadFile("../../" + name))(t); !strings.Contains(string(text), app.HoldFirst) {
			t.Errorf("%s does not say: %s", name, app.HoldFirst)
		}
	}
}
