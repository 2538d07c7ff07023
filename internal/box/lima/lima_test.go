package lima

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/remote"
	"github.com/cco-dev/cco/internal/must"
)

// nobody is a driver without a box, as far as these tests go.
type nobody struct{ box.Driver }

func (nobody) Create(context.Context, *box.Box, box.Report) error { return nil }
func (nobody) Start(context.Context, *box.Box, box.Report) error  { return nil }
func (nobody) Stop(context.Context, *box.Box) error               { return nil }
func (nobody) Halt(context.Context, *box.Box, string) error       { return nil }
func (nobody) Prepare(_ context.Context, _ *box.Box, id string) (box.Place, error) {
	return box.Place{Workspace: "/workspace/" + id}, nil
}

// fake is a limactl that replays, and cco's guest in its machine.
type fake struct {
	*testing.T
	dir string
	d   *Driver
	b   *box.Box
}

func newFake(t *testing.T) *fake {
	t.Helper()
	dir, err := os.MkdirTemp("", "l") //nolint:usetesting // an address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fake{T: t, dir: dir}
	list := must.Get(os.ReadFile(filepath.Join("testdata", "list.json")))(t)
	f.set("list.json", string(list))
	f.set("version", "limactl version 1.2.1\n")
	limactl := filepath.Join(dir, "limactl")
	must.Program(t, limactl, fmt.Sprintf("#!/bin/sh\nFAKE='%s' exec '%s' \"$@\"\n", dir,
		must.Get(filepath.Abs(filepath.Join("testdata", "limactl")))(t)))
	parts := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(parts, "cco-box"), []byte("program"), 0o755))
	f.d = New(Options{
		Limactl: limactl, Home: dir, Getenv: func(name string) string {
			return map[string]string{"LIMA_HOME": filepath.Join(dir, "lima")}[name]
		},
		Parts: func(string) (string, error) { return parts, nil }, Version: func(string) (string, error) { return "v1", nil },
		Names: []string{"cco-box"},
	})
	data := t.TempDir()
	f.b = &box.Box{Name: "cco-sandbox", Dir: filepath.Join(data, "boxes", "cco-sandbox"),
		Exchange: filepath.Join(data, "exchange")}
	return f
}

func (f *fake) set(name, text string) {
	f.Helper()
	must.Do(f, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

func (f *fake) get(name string) string {
	text, _ := os.ReadFile(filepath.Join(f.dir, name))
	return strings.TrimSpace(string(text))
}

func (f *fake) forget() { _ = os.Remove(filepath.Join(f.dir, "calls")) }

// part plays cco's guest in the machine.
func (f *fake) part(version string) {
	f.Helper()
	sock := filepath.Join(f.dir, "lima", f.b.Name, "sock")
	must.Do(f, os.MkdirAll(sock, 0o700))
	l := must.Get(net.Listen("unix", filepath.Join(sock, "cco.sock")))(f)
	s := &remote.Server{Driver: nobody{}, Dir: f.TempDir(), Exchange: "/exchange", Version: version}
	done := make(chan struct{})
	go func() { _ = s.Serve(context.Background(), l); close(done) }()
	f.Cleanup(func() { _ = l.Close(); <-done })
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.part("v1")
	var said []string
	report := func(format string, args ...any) { said = append(said, strings.TrimSpace(format)) }
	for range 2 {
		must.Do(t, f.d.Create(t.Context(), f.b, report))
		if up, err := f.d.Running(t.Context(), f.b); err != nil || !up {
			t.Errorf("running %v, %v", up, err)
		}
	}
	if n := strings.Count(f.get("calls"), " create "); n != 1 {
		t.Errorf("%d machines were made:\n%s", n, f.get("calls"))
	}
	if _, err := os.Stat(f.b.Exchange); err != nil {
		t.Errorf("the machine was made before what it sees: %v", err)
	}
	if len(said) < 3 {
		t.Errorf("little was said: %q", said)
	}
	for range 2 {
		must.Do(t, f.d.Stop(t.Context(), f.b))
	}
	if up, err := f.d.Running(t.Context(), f.b); err != nil || up {
		t.Errorf("running %v, %v", up, err)
	}
	for range 2 {
		must.Do(t, f.d.Start(t.Context(), f.b, nil))
	}
	dir, err := f.d.Disk(t.Context(), f.b)
	if err != nil || dir != filepath.Join(f.dir, "lima", f.b.Name) || f.get("status") != "Stopped" {
		t.Errorf("its disk: %q, %v, %s", dir, err, f.get("status"))
	}
	for range 2 {
		must.Do(t, f.d.Destroy(t.Context(), f.b))
	}
	if f.get("status") != "" {
		t.Error("the machine is still there")
	}
	for line := range strings.Lines(f.get("calls")) {
		if !strings.HasPrefix(line, "--tty=false ") && !strings.HasPrefix(line, "--version") {
			t.Errorf("limactl %s", line)
		}
	}
}

// Guards against taking a machine for one that was never made, and making it again over its content.
func TestOddStatesAreErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.part("v1")
	must.Do(t, f.d.Create(t.Context(), f.b, nil))
	for _, status := range []string{"Paused", "", "running"} {
		f.set("status", status)
		if _, err := f.d.Running(t.Context(), f.b); err == nil {
			t.Errorf("%q was understood", status)
		}
		f.forget()
		if err := f.d.Create(t.Context(), f.b, nil); err == nil || strings.Contains(f.get("calls"), " create ") {
			t.Errorf("%q: a machine was made: %v", status, err)
		}
	}
	f.set("status", "Running")
	for _, line := range []string{"not json\n", `{"status":"Running"}` + "\n", "[]\n"} {
		f.set("odd", line)
		if _, err := f.d.Running(t.Context(), f.b); err == nil {
			t.Errorf("%q was understood", line)
		}
	}
}

func TestMissingAndOldLimactl(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct{ says, why string }{
		{"limactl version 1.0.7\n", "the first usable one is"}, {"limactl version 0.23.2", "0.23.2"},
	} {
		f.set("version", c.says)
		u, ok := errors.AsType[*box.Unavailable](f.d.Check(t.Context()))
		if !ok || !strings.Contains(u.Why, c.why) || !strings.Contains(u.Mend, "install") {
			t.Errorf("%q: %+v", c.says, u)
		}
	}
	f.set("version", "limactl version 2.0.1-17-gabc\n")
	if err := f.d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	f.set("version", "what?\n")
	if err := f.d.Check(t.Context()); err == nil {
		t.Error("a version that is none was accepted")
	}
	for _, o := range []Options{{Limactl: "/no/limactl"}, {Limactl: f.d.opts.Limactl, Root: true}} {
		if _, ok := errors.AsType[*box.Unavailable](New(o).Check(t.Context())); !ok {
			t.Errorf("%+v", o)
		}
	}
}

// Guards against a box whose machine would never see anything handed over.
func TestMachineWithoutTheExchange(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.part("v1")
	must.Do(t, f.d.Create(t.Context(), f.b, nil))
	f.set("exchange", "/home/ada/other")
	for _, err := range []error{f.d.Create(t.Context(), f.b, nil), f.d.Start(t.Context(), f.b, nil)} {
		stale, ok := errors.AsType[*box.StaleError](err)
		if !ok || !strings.Contains(stale.Mend, "cco box destroy cco-sandbox && cco box create cco-sandbox") {
			t.Errorf("%v", err)
		}
	}
}

// Guards against removing a user's own machine that happens to have the same name.
func TestForeignMachineIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.set("status", "Running")
	f.set("exchange", f.b.Exchange)
	if _, ok := errors.AsType[*box.StaleError](f.d.Create(t.Context(), f.b, nil)); !ok {
		t.Error("it was taken over")
	}
	if up, err := f.d.Running(t.Context(), f.b); up || err != nil {
		t.Errorf("%v, %v", up, err)
	}
	if err := errors.Join(f.d.Stop(t.Context(), f.b), f.d.Destroy(t.Context(), f.b)); err != nil ||
		f.get("status") != "Running" {
		t.Errorf("%v, it is %s", err, f.get("status"))
	}
}

// Guards against Ctrl-C during the minutes of a first start.
func TestInterruptedCreate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.set("hang", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.d.Create(ctx, f.b, nil) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(f.dir, "hanging")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it never began")
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if f.get("status") != "Broken" {
		t.Fatalf("the machine is %s", f.get("status"))
	}
	_ = os.Remove(filepath.Join(f.dir, "hang"))
	f.part("v1")
	if err := f.d.Create(t.Context(), f.b, nil); err != nil || f.get("status") != "Running" {
		t.Errorf("create goes on: %v, %s", err, f.get("status"))
	}
	f.set("status", "Uninitialized")
	if err := f.d.Create(t.Context(), f.b, nil); err != nil {
		t.Errorf("create makes it anew: %v", err)
	}
	f.forget()
	f.b.Spec.VM.CPUs = 7
	if err := f.d.Create(t.Context(), f.b, nil); err != nil || !strings.Contains(f.get("template"), "cpus: 7\n") ||
		!strings.Contains(f.get("calls"), " delete ") {
		t.Errorf("create makes what is asked for now: %v\n%s", err, f.get("calls"))
	}
	f.set("status", "Broken")
	if err := f.d.Destroy(t.Context(), f.b); err != nil || f.get("status") != "" {
		t.Errorf("destroy removes it: %v", err)
	}
}

func TestPartsAreCheckedByVersion(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.part("v0")
	f.set("status", "Running")
	f.set("exchange", f.b.Exchange)
	must.Do(t, errors.Join(os.MkdirAll(f.b.Dir, 0o700), os.WriteFile(ours(f.b), nil, 0o600)))
	_, err := f.d.Prepare(t.Context(), f.b, "0000aaaa")
	if stale, ok := errors.AsType[*box.StaleError](err); !ok || !strings.Contains(stale.Mend, "cco box provision") {
		t.Errorf("%v", err)
	}
	// The programs that are put in are checked too.
	if err := f.d.install(t.Context(), f.b, t.Logf); err == nil || !strings.Contains(err.Error(), "v0") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(f.get("stdin"), "program") {
		t.Error("the programs did not travel")
	}
}

// Guards against programs of the host's platform in a machine of another.
func TestPlatformIsTheMachines(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if _, _, err := f.d.Platform(t.Context(), f.b); !errors.Is(err, box.ErrNotRunning) {
		t.Errorf("no machine: %v", err)
	}
	f.set("status", "Running")
	f.set("exchange", f.b.Exchange)
	list := f.get("list.json")
	for arch, want := range map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "", "": ""} {
		f.set("list.json", strings.Replace(list, `"arch":"x86_64"`, `"arch":"`+arch+`"`, 1)+"\n")
		goos, got, err := f.d.Platform(t.Context(), f.b)
		if got != want || (err == nil) != (want != "") || err == nil && goos != "linux" {
			t.Errorf("%q: %s/%s, %v", arch, goos, got, err)
		}
	}
	f.set("odd", "not json\n")
	if _, _, err := f.d.Platform(t.Context(), f.b); err == nil {
		t.Error("nothing was understood, and it said all the same")
	}
}

func TestFailuresSayWhatLimactlSaid(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.set("fail-create", "no image for this machine")
	if err := f.d.Create(t.Context(), f.b, nil); err == nil ||
		!strings.Contains(err.Error(), "no image for this machine") {
		t.Errorf("%v", err)
	}
	f.set("fail-list", "cannot read LIMA_HOME")
	if err := f.d.Destroy(t.Context(), f.b); err == nil || !strings.Contains(err.Error(), "cannot read LIMA_HOME") {
		t.Errorf("%v", err)
	}
}

func TestStoppedMachineRunsNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if err := f.d.Run(t.Context(), f.b, box.Exec{Argv: []string{"true"}}); !errors.Is(err, box.ErrNotRunning) {
		t.Errorf("%v", err)
	}
	if err := f.d.Halt(t.Context(), f.b, "0000aaaa"); err != nil {
		t.Error(err)
	}
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		`time="2026-11-15T07:12:10Z" level=info msg="SSH Local Port: 37759"`: {"info", "SSH Local Port: 37759"},
		`time="x" level=fatal msg="failed to find \"lima-guestagent\" binary" name=x`: {"fatal",
			`failed to find "lima-guestagent" binary`},
		`time="x" level=warning msg=short`: {"warning", "short"},
		`plain words`:                      {"", "plain words"},
		``:                                 {"", ""},
	} {
		if level, msg := parseLog(line); level != want[0] || msg != want[1] {
			t.Errorf("%s: %q %q", line, level, msg)
		}
	}
}
