//go:build heavy && linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func TestMain(m *testing.M) {
	os.Exit(boxtest.Main(m, testDriver))
}

func testDriver() box.Driver { return New(Options{Tool: boxtest.Tool()}) }

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
	tar = must.Get(filepath.Abs(tar))(t)
	if _, err := os.Stat(tar); err != nil {
		t.Fatalf("%v: make it with scripts/box-root", err)
	}
	return tar
}

func testBox(t *testing.T) *box.Box {
	data := t.TempDir()
	return &box.Box{
		Name: "test", Backend: "container", Dir: filepath.Join(data, "boxes", "test"),
		Exchange: filepath.Join(data, "exchange"),
		Spec:     box.Spec{Container: box.Container{Engine: engineUnderTest(), ImageTar: root(t)}},
	}
}

func TestConformance(t *testing.T) {
	boxtest.Run(t, boxtest.Setup{Driver: testDriver(), New: testBox})
}

func TestHoldsWhatItPromises(t *testing.T) {
	d, b := testDriver(), testBox(t)
	must.Do(t, d.Create(t.Context(), b, t.Logf))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	n := 0
	results := must.Get(verify.Run(t.Context(), d, b,
		verify.Options{Tool: boxtest.Tool(), ID: func() string { n++; return []string{"", "0000aaaa", "0000bbbb"}[n] }}))(t)
	for _, r := range results {
		// An engine shows mounts unchanged, and its user namespaces have the host's limits.
		want := r.Probe != probe.ShownSocket && r.Probe != probe.LaterSocket && r.Probe != probe.UserLimits
		if r.Held != want || r.Promised != want {
			t.Errorf("%s: held %v, promised %v: %s", r.Probe, r.Held, r.Promised, r.Detail)
		}
	}
}

// TestWithoutRoot runs everything again with a rootless engine, as a user with a range of subordinate ids.
func TestWithoutRoot(t *testing.T) {
	if os.Getuid() != 0 || engineUnderTest() != podman {
		return
	}
	const name = "cco-rootless"
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("%v: make one with `useradd --create-home %s`", err, name)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	// This ends the process that holds its namespace.
	t.Cleanup(func() { asUser(t, u, uid, gid, "podman", "system", "migrate") })
	config := filepath.Join(u.HomeDir, "storage.conf")
	// Without it this version keeps images by copying them.
	text := fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = %q\nrunroot = %q\n", u.HomeDir+"/.images",
		u.HomeDir+"/.run")
	must.Do(t, os.WriteFile(config, []byte(text), 0o644))
	boxtest.AsUser(t, uid, gid, "HOME="+u.HomeDir, "CONTAINERS_STORAGE_CONF="+config, "CCO_TEST_ROOT_TAR="+root(t))
}

func asUser(t *testing.T, u *user.User, uid, gid int, argv ...string) {
	t.Helper()
	err := proc.Run(context.WithoutCancel(t.Context()), proc.Cmd{
		Argv: argv, Dir: u.HomeDir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.HomeDir,
			"CONTAINERS_STORAGE_CONF=" + u.HomeDir + "/storage.conf"},
		Attr: func(a *syscall.SysProcAttr) { a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} },
	})
	if err != nil {
		t.Error(err)
	}
}

// Guards against making a box if the engine answers but its runtime starts nothing.
func TestNoBoxWhereNoContainerStarts(t *testing.T) {
	d, b := testDriver(), testBox(t)
	b.Spec.Container.Runtime = "/bin/false"
	boxes := &box.Boxes{Data: filepath.Dir(filepath.Dir(b.Dir)), Drivers: map[string]box.Driver{"container": d},
		Now: time.Now}
	_, err := boxes.Create(t.Context(), b.Name, "container", b.Spec, t.Logf)
	if _, ok := errors.AsType[*box.Unavailable](err); !ok {
		t.Errorf("made: %v", err)
	}
	if _, err := os.Lstat(b.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", b.Dir, err)
	}
	out, err := proc.Output(t.Context(), proc.Cmd{Argv: []string{engineUnderTest(), "ps", "--all", "--quiet", "--filter",
		"label=" + label + "=" + boxKey(b)}})
	if err != nil || len(out) > 0 {
		t.Errorf("containers are left: %s, %v", out, err)
	}
}
