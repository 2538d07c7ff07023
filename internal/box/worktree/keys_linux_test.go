package worktree

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// Guards against a key that comes along with the user's environment: agents have a door instead.
func TestKeysStayOutside(t *testing.T) {
	gittest.Home(t)
	t.Setenv("A_MODELS_KEY", "sk-secret")
	t.Setenv("ANYTHING_ELSE", "is there")
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			_, b := created(t, accept...)
			d := New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Keys: []string{"A_MODELS_KEY"}})
			var out bytes.Buffer
			if err := d.Run(t.Context(), b, box.Exec{Argv: []string{"env"}, Stdout: &out}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "sk-secret") || !strings.Contains(out.String(), "ANYTHING_ELSE=is there") {
				t.Errorf("the environment is %s", out.String())
			}
		})
	}
}
