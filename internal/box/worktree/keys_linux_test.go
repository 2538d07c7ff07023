package worktree

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a key in the user's environment that reaches the agent: agents have a door instead.
func TestKeysStayOutside(t *testing.T) {
	gittest.Home(t)
	t.Setenv("A_MODELS_KEY", "sk-secret")
	t.Setenv("ANYTHING_ELSE", "is there")
	for name, accept := range map[string][]string{"behind the kernel": nil, "without it": {AcceptNoKernel}} {
		t.Run(name, func(t *testing.T) {
			_, b := created(t, accept...)
			d := New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Keys: []string{"A_MODELS_KEY"}})
			var out bytes.Buffer
			must.Do(t, d.Run(t.Context(), b, box.Exec{Argv: []string{"env"}, Stdout: &out}))
			if strings.Contains(out.String(), "sk-secret") || !strings.Contains(out.String(), "ANYTHING_ELSE=is there") {
				t.Errorf("the environment is %s", out.String())
			}
		})
	}
}

// Guards against a key in a file of the user's home, which agents can read.
func TestFilesWithKeysAreHidden(t *testing.T) {
	home := gittest.Home(t)
	file := filepath.Join(home, "key")
	if err := os.WriteFile(file, []byte("sk-secret"),
		0o644); err != nil { // readable, so that only hiding helps
		t.Fatal(err)
	}
	_, b := created(t)
	for name, c := range map[string]struct {
		hidden []string
		want   string
	}{"named": {[]string{file}, ""}, "not named": {nil, "sk-secret"}} {
		d := New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Home: home, KeyFiles: c.hidden})
		var out bytes.Buffer
		if err := d.Run(t.Context(), b, box.Exec{Argv: []string{"sh", "-c", "cat " + file + " || true"},
			Stdout: &out}); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}
