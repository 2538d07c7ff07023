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
	os.Exit(boxtest.Main(m, func() box.Driver { return testDriver() }))
}

func testDriver() *Driver {
	return New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH")})
}

func TestAsOrdinaryUser(t *testing.T) { boxtest.AsOrdinaryUser(t) }

// testBox is the record of a box for a new repository with one commit.
func testBox(t *testing.T, accept ...string) *box.Box {
	repo := gittest.Init(t, filepath.Join(t.TempDir(), "repo"))
	repo.Commit("start", "a.txt", "a")
	data := t.TempDir()
	return &box.Box{
		Name: "box", Backend: "worktree", Dir: filepath.Join(data, "boxes", "box"), Exchange: filepath.Join(data, "exchange"),
		Spec: box.Spec{Repo: repo.Dir, Accept: accept},
	}
}

func head(t *testing.T, b *box.Box) string {
	return gittest.At(t, b.Spec.Repo).Git("rev-parse", "HEAD")
}

func TestConformanceWithoutKernel(t *testing.T) {
	gittest.Home(t)
	boxtest.Run(t, boxtest.Setup{
		Driver: testDriver(), Base: head, New: func(t *testing.T) *box.Box { return testBox(t, AcceptNoKernel) },
		Lacks: []boxtest.Ability{
			boxtest.Apart, boxtest.OwnEnv, boxtest.OwnHome, boxtest.Tree, boxtest.ReadOnly, boxtest.Views, boxtest.Store,
			boxtest.Etc, boxtest.Binds,
			boxtest.Caches, boxtest.Memory, boxtest.Procs,
		},
	})
}
