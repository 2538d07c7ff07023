//go:build linux

package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func TestMain(m *testing.M) { os.Exit(boxtest.Main(m, driver)) }

func driver() box.Driver { return native.New(native.Options{Tool: boxtest.Tool()}) }

func TestAsOrdinaryUser(t *testing.T) { boxtest.AsOrdinaryUser(t) }

func ids() func() string {
	n := 0x7e570000
	return func() string {
		n++
		return fmt.Sprintf("%08x", n)
	}
}

// testBox is a box of a user whose home has something to lose.
func testBox(t *testing.T) *box.Box {
	home := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(home, ".cache"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("token"), 0o600))
	t.Setenv("HOME", home)
	data := t.TempDir()
	return &box.Box{Name: "test", Dir: filepath.Join(data, "boxes", "test"), Exchange: filepath.Join(data, "exchange")}
}

// tryAll makes a box and tries every way out of it.
func tryAll(t *testing.T, d box.Driver, b *box.Box) []Result {
	t.Helper()
	must.Do(t, d.Create(t.Context(), b, nil))
	defer func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	}()
	results := must.Get(Run(t.Context(), d, b, Options{Tool: boxtest.Tool(), ID: ids()}))(t)
	return results
}

func TestNativeBoxHolds(t *testing.T) {
	b := testBox(t)
	results := tryAll(t, driver(), b)
	if len(results) != len(probe.All()) {
		t.Errorf("%d results of %d probes", len(results), len(probe.All()))
	}
	for _, r := range results {
		t.Logf("%-22s held %v %s", r.Probe, r.Held, r.Detail)
		if !r.Held || !r.Promised {
			t.Errorf("%s (%s): %s", r.Probe, r.What, r.Detail)
		}
	}
	if left, _ := os.ReadDir(b.Exchange); len(left) > 0 {
		t.Errorf("left in the exchange: %v", left)
	}
	if _, there := os.LookupEnv(secretVariable); there {
		t.Error("the bait is still in the environment")
	}
}

// noBox is a driver without any wall: it runs programs on the host as our own user. It has its own mounts, so that
// mounts made by probes harm nobody.
type noBox struct{ box.Driver }

func (noBox) Prepare(_ context.Context, b *box.Box, id string) (box.Place, error) {
	at := func(name string) string { return filepath.Join(b.Exchange, id, name) }
	for _, name := range []string{"home", "workspace", "store"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			return box.Place{}, err
		}
	}
	return box.Place{Workspace: at("workspace"), Home: at("home"), Store: at("store"),
		Exchange: filepath.Join(b.Exchange, id), Tool: boxtest.Tool()}, nil
}

func (noBox) Discard(context.Context, *box.Box, string) error { return nil }

func (noBox) Layers(context.Context, *box.Box) ([]box.Layer, error) { return nil, nil }

func (noBox) Promises(*box.Box) []string { return nil }

func (noBox) Run(ctx context.Context, _ *box.Box, e box.Exec) error {
	e = e.Led(boxtest.Tool())
	if e.Stdin != nil {
		// The first process of this machine is not bait: the process outside stands in for it.
		var bait probe.Bait
		if err := json.NewDecoder(e.Stdin).Decode(&bait); err != nil {
			return err
		}
		bait.Init = bait.Pid
		data, err := json.Marshal(bait)
		if err != nil {
			return err
		}
		e.Stdin = bytes.NewReader(data)
	}
	leak, err := os.Open("/")
	if err != nil {
		return err
	}
	defer func() { _ = leak.Close() }()
	return proc.Run(ctx, proc.Cmd{
		Argv: e.Argv, Dir: e.Dir, Env: append(os.Environ(), e.Env...), Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr,
		Files: []*os.File{leak},
		Attr: func(a *syscall.SysProcAttr) {
			if os.Getuid() == 0 {
				a.Unshareflags = syscall.CLONE_NEWNS
			}
		},
	})
}

// Guards against probes that always hold: outside of any box each must get through. Probes that the kernel itself
// refuses to ordinary users are left out if we are one.
func TestEveryProbeCanFail(t *testing.T) {
	needRoot := map[string]bool{
		"system": true, "tool": true, "odd-sockets": true, "mount": true, "remount": true, "chroot": true,
		"file-handle": true, "proc-sys": true, "host-settings": true, "cgroup": true, "devices": true, "terminal": true,
		"netlink": true, probe.DoorOutside: true,
	}
	b := testBox(t)
	for dir := filepath.Dir(b.Exchange); dir != os.TempDir() && os.Getuid() == 0; dir = filepath.Dir(dir) {
		must.Do(t, os.Chmod(dir, 0o755))
	}
	must.Do(t, os.MkdirAll(b.Dir, 0o755))
	results := must.Get(Run(t.Context(), noBox{}, b, Options{Tool: boxtest.Tool(), ID: ids(),
		serve: func(b *behind) door.Server { return laxDoor{b} }}))(t)
	for _, r := range results {
		t.Logf("%-22s held %v %s", r.Probe, r.Held, r.Detail)
		if r.Held && (os.Getuid() == 0 || !needRoot[r.Probe]) {
			t.Errorf("%s holds without a box", r.Probe)
		}
		if r.Promised {
			t.Errorf("%s is promised by nobody", r.Probe)
		}
	}
}

// Guards against a Finding that contradicts what the host itself saw.
func TestWhatTheHostSeesCounts(t *testing.T) {
	tr := &trial{driver: noBox{}, found: map[string]probe.Finding{"host-home": {Probe: "host-home", Held: true}}}
	tr.breach("host-home", "it was changed")
	if f := tr.found["host-home"]; f.Held || f.Detail == "" {
		t.Errorf("found %+v", f)
	}
	for _, r := range tr.results(nil) {
		if r.Held {
			t.Errorf("%s holds although nobody tried", r.Probe)
		}
	}
}

func TestBaitTravels(t *testing.T) {
	in := must.Get(json.Marshal(probe.Bait{Secret: "s", Pid: 7, Homes: []string{"a"}}))(t)
	var out bytes.Buffer
	if code := probe.Main([]string{"capabilities"}, bytes.NewReader(in), &out); code != 0 {
		t.Fatal(code)
	}
	var f probe.Finding
	if err := json.Unmarshal(out.Bytes(), &f); err != nil || f.Probe != "capabilities" {
		t.Errorf("%v, %q", err, out.String())
	}
}
