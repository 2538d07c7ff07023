package cruising_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
)

// programs are built once, when the first test needs them.
type programs struct {
	once sync.Once
	dir  string
	err  error
}

var built programs

// newRig is a user with the programs.
func newRig(t *testing.T) *cruisetest.Rig {
	t.Helper()
	return cruisetest.New(t, build(t))
}

// build gives the directory of the programs. Their engine waits less than usual for comments that belong together.
func build(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "cco-cruising-") //nolint:usetesting // all tests share it
		if built.err == nil {
			built.err = cruisetest.BuildInto(context.Background(), built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}
