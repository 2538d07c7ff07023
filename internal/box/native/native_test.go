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
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(belowVariable); dir != "" {
		if err := below(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if kind := os.Getenv(mealVariable); kind != "" {
		os.Exit(eaten(kind))
	}
	if what := os.Getenv(withoutVariable); what != "" {
		if err := without(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(watchedVariable) != "" {
		if err := watched(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(boxtest.Main(m, testDriver))
}

func testDriver() box.Driver { return New(testOptions()) }

func testOptions() Options {
	return Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Apart: os.Getenv(apartVariable) != ""}
}

// apartVariable makes all tests run with a separate user for each session.
const apartVariable = "CCO_TEST_APART"

func testBox(t *testing.T) *box.Box {
	data := t.TempDir()
	return &box.Box{Name: "test", Backend: "native", Dir: filepath.Join(data, "boxes", "test"),
		Exchange: filepath.Join(data, "exchange")}
}

// created is a box that is running.
func created(t *testing.T) (box.Driver, *box.Box) {
	t.Helper()
	return madeBy(t, testOptions(), testBox(t))
}

func madeBy(t *testing.T, o Options, b *box.Box) (box.Driver, *box.Box) {
	t.Helper()
	d := New(o)
	must.Do(t, d.Create(t.Context(), b, nil))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	return d, b
}

func shell(t *testing.T, d box.Driver, b *box.Box, e box.Exec) (string, error) {
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

// If each session is a user of its own, everything holds as before, and no two have the same id.
func TestSessionsApart(t *testing.T) {
	if os.Getuid() != 0 {
		return // only root can do that
	}
	self := must.Get(os.Executable())(t)
	out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{self, "-test.run=^TestConformance$"},
		Env: append(os.Environ(), apartVariable+"=1")})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d, b := New(Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Apart: true}), testBox(t)
	must.Do(t, d.Create(t.Context(), b, nil))
	seen := map[int]bool{}
	for _, id := range []string{"00000001", "00000002", "00000001", ""} {
		if id != "" {
			must.Get(d.Prepare(t.Context(), b, id))(t)
		}
		u, err := d.(*rooms.Driver).User(b, id)
		if err != nil || u.UID < cage.FirstUID {
			t.Errorf("session %q is %+v, %v", id, u, err)
		}
		seen[u.UID] = true
		if out, err := shell(t, d, b, box.Exec{Session: id, Argv: []string{"sh", "-c", "id -u; stat -c %u ~"}}); err != nil ||
			out != "1000\n1000\n" {
			t.Errorf("%v: %q", err, out)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the users are %v", seen)
	}
	if err := d.Destroy(t.Context(), b); err != nil {
		t.Error(err)
	}
}
