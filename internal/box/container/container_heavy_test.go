//go:build heavy && linux

package container

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/verify"
)

func TestMain(m *testing.M) {
	os.Exit(boxtest.Main(m, func() box.Driver { return testDriver() }))
}

func testDriver() *Driver { return New(Options{Tool: boxtest.Tool()}) }

// engineUnderTest is podman, unless the caller wants docker.
func engineUnderTest() string {
	if name := os.Getenv("CCO_TEST_ENGINE"); name != "" {
		return name
	}
	return podman
}

// root is the tar that scripts/box-root makes.
func root(t *testing.T) string {
	t.Helper()
	tar := os.Getenv("CCO_TEST_ROOT_TAR")
	if tar == "" {
		tar = filepath.Join("..", "..", "..", ".cache", "box-root.tar")
	}
	tar, err := filepath.Abs(tar)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tar); err != nil {
		t.Fatalf("%v: make it with scripts/box-root", err)
	}
	return tar
}

func testBox(t *testing.T) *box.Box {
	data := t.TempDir()
	return &box.Box{
		Name: "test", Backend: "container", Dir: filepath.Join(data, "boxes", "test"), Exchange: filepath.Join(data, "exchange"),
		Spec: box.Spec{Container: box.Container{Engine: engineUnderTest(), ImageTar: root(t)}},
	}
}

func TestConformance(t *testing.T) {
	boxtest.Run(t, boxtest.Setup{Driver: testDriver(), New: testBox})
}

func TestHoldsWhatItPromises(t *testing.T) {
	d, b := testDriver(), testBox(t)
	if err := d.Create(t.Context(), b, t.Logf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	n := 0
	results, err := verify.Run(t.Context(), d, b, verify.Options{Tool: boxtest.Tool(), ID: func() string { n++; return []string{"", "0000aaaa", "0000bbbb"}[n] }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !r.Held || !r.Promised {
			t.Errorf("%s: held %v, promised %v: %s", r.Probe, r.Held, r.Promised, r.Detail)
		}
	}
}
