//go:build linux

package native

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(withoutVariable); what != "" {
		if err := without(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(boxtest.Main(m, func() box.Driver { return testDriver() }))
}

func testDriver() *Driver {
	return New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH")})
}

func testBox(t *testing.T) *box.Box {
	data := t.TempDir()
	return &box.Box{Name: "test", Backend: "native", Dir: filepath.Join(data, "boxes", "test"), Exchange: filepath.Join(data, "exchange")}
}

// created is a box that is running.
func created(t *testing.T) (*Driver, *box.Box) {
	t.Helper()
	d, b := testDriver(), testBox(t)
	if err := d.Create(t.Context(), b, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	return d, b
}

func shell(t *testing.T, d *Driver, b *box.Box, e box.Exec) (string, error) {
	t.Helper()
	var out bytes.Buffer
	e.Stdout = &out
	err := d.Run(t.Context(), b, e)
	return out.String(), err
}

func TestConformance(t *testing.T) {
	boxtest.Run(t, boxtest.Setup{Driver: testDriver(), New: testBox})
}

func TestAsOrdinaryUser(t *testing.T) { boxtest.AsOrdinaryUser(t) }
