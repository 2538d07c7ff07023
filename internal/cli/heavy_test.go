//go:build heavy

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cco-dev/cco/internal/must"
)

// TestHeavyScripts runs cco as a user types it where that takes a real engine of containers.
func TestHeavyScripts(t *testing.T) {
	tar := must.Get(filepath.Abs(filepath.Join("..", "..", ".cache", "box-root.tar")))(t)
	if _, err := os.Stat(tar); err != nil {
		t.Fatalf("%v: make it with scripts/box-root", err)
	}
	p := params("heavy", build(t))
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("ROOT_TAR", tar)
		return setup(e)
	}
	testscript.Run(t, p)
}
