package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/git/gittest"
)

func TestMain(m *testing.M) {
	os.Exit(boxtest.Main(m, func() box.Driver { return New(testOptions()) }))
}

func testOptions() Options {
	return Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH")}
}

func TestAsOrdinaryUser(t *testing.T) { boxtest.AsOrdinaryUser(t) }

// testBox is the record of a box.
func testBox(t *testing.T, accept ...string) *box.Box {
	data := t.TempDir()
	return &box.Box{
		Name: "box", Backend: "worktree", Dir: filepath.Join(data, "boxes", "box"), Exchange: filepath.Join(data, "exchange"),
		Spec: box.Spec{Accept: accept},
	}
}

func TestConformanceWithoutKernel(t *testing.T) {
	gittest.Home(t)
	boxtest.Run(t, boxtest.Setup{
		Driver: New(testOptions()), New: func(t *testing.T) *box.Box { return testBox(t, box.AcceptNoKernel) },
		Lacks: []boxtest.Ability{
			boxtest.Apart, boxtest.Tree, boxtest.ReadOnly, boxtest.Views, boxtest.Store, boxtest.Etc, boxtest.Binds,
			boxtest.Memory, boxtest.Procs, boxtest.Held, boxtest.Aside,
		},
	})
}
