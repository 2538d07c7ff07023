//go:build linux

package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/must"
)

func TestAppArmorProfileQuotesThePath(t *testing.T) {
	got := AppArmorProfile("/home/some one/bin/cco")
	if !strings.Contains(got, `"/home/some one/bin/cco{,-box}"`) || !strings.Contains(got, "userns,") {
		t.Error(got)
	}
}

func TestMissingToolIsNotAMissingKernel(t *testing.T) {
	err := New(Options{Tool: filepath.Join(t.TempDir(), "none")}).Check(t.Context())
	if _, ok := errors.AsType[*box.Unavailable](err); ok || err == nil {
		t.Errorf("check says %v", err)
	}
}

func TestMountsAreReadOnlyUnlessTheySayOtherwise(t *testing.T) {
	d, b := testDriver(), testBox(t)
	host := t.TempDir()
	ro, rw := filepath.Join(host, "ro"), filepath.Join(host, "rw")
	for _, dir := range []string{ro, rw} {
		must.Do(t, errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777),
			os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o666)))
	}
	b.Spec.Mounts = []box.Mount{{Path: ro}, {Path: rw, Write: true}}
	must.Do(t, d.Create(t.Context(), b, nil))
	out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c",
		`cat "$1/file" "$2/file"; touch "$1/new" || echo kept; touch "$2/new" && echo made`, "sh", ro, rw}})
	if err != nil || out != "text\ntext\nkept\nmade\n" {
		t.Errorf("%v: %q", err, out)
	}
	b.Spec.Mounts = []box.Mount{{Path: "/"}}
	if _, err := shell(t, d, b, box.Exec{Argv: []string{"true"}}); err == nil {
		t.Error("the root was mounted")
	}
	if err := d.Create(t.Context(), b, nil); err == nil {
		t.Error("a box that mounts the root was created")
	}
	b.Spec.Mounts, b.Spec.Accept = nil, []string{"anything"}
	if err := d.Create(t.Context(), b, nil); err == nil {
		t.Error("an unknown weaker mode was accepted")
	}
}

// Guards against a tool that only its owner can run: if root starts it, the box's user is another one.
func TestClosedToolIsCopied(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "cco-box")
	data := must.Get(os.ReadFile(boxtest.Tool()))(t)
	must.Do(t, os.WriteFile(tool, data, 0o700))
	d, b := New(Options{Tool: tool}), testBox(t)
	must.Do(t, d.Create(t.Context(), b, nil))
	for range 2 {
		if out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c",
			"/run/cco/bin/cco-box probe noop && id -u"}}); err != nil ||
			out != "1000\n" {
			t.Errorf("%v: %q", err, out)
		}
	}
}

// Guards against a shell in a box whose home is too large for memory.
func TestBulkyHomeIsCopiedOnDisk(t *testing.T) {
	d, b := created(t)
	big := box.File{Path: "big", Data: make([]byte, rooms.SmallBytes+1)}
	must.Do(t, d.Provision(t.Context(), b, []box.File{big}, nil))
	var disk syscall.Stat_t
	must.Do(t, syscall.Stat(b.Dir, &disk))
	out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", `wc -c < ~/big; rm ~/big; stat -c %d ~`}})
	if want := fmt.Sprintf("4194305\n%d\n", disk.Dev); err != nil || out != want {
		t.Errorf("%v: %q, not %q", err, out, want)
	}
	if out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", `wc -c < ~/big`}}); err != nil ||
		out != "4194305\n" {
		t.Errorf("the second shell: %v, %q", err, out)
	}
	if left, err := os.ReadDir(rooms.Layout{Dir: b.Dir}.Shells()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	must.Do(t, d.Provision(t.Context(), b, []box.File{{Path: "big"}}, nil))
	if out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", `stat -f -c %T ~; stat -c %d ~`}}); err != nil ||
		!strings.HasPrefix(out, "tmpfs\n") || out == fmt.Sprintf("tmpfs\n%d\n", disk.Dev) {
		t.Errorf("a small home: %v, %q", err, out)
	}
}

// Guards against an agent that leaves programs in its home for cco's own steps.
func TestOwnStepsSeeNothingOfTheSession(t *testing.T) {
	d, b := created(t)
	const id = "0000feed"
	must.Get(d.Prepare(t.Context(), b, id))(t)
	script := `mkdir -p ~/.local/bin && printf '#!/bin/sh\necho evil\n' > ~/.local/bin/git && chmod +x ~/.local/bin/git ` +
		`&& echo x > ~/.cache/x`
	must.Get(shell(t, d, b, box.Exec{Session: id, Argv: []string{"sh", "-c", script}}))(t)
	out, err := shell(t, d, b, box.Exec{Session: id, Repo: "r", Own: true,
		Argv: []string{"sh", "-c", `command -v git; ls -A ~ /home/agent; case $PATH in */home/agent*) echo home;; esac`}})
	if err != nil || strings.HasSuffix(out, "home\n") || strings.Contains(out, ".local") ||
		strings.Contains(out, ".cache") {
		t.Errorf("%v: %q", err, out)
	}
}

// Guards against taking over another user's box.
func TestBoxBelongsToItsUser(t *testing.T) {
	_, b := created(t)
	must.Do(t, os.WriteFile(rooms.Layout{Dir: b.Dir}.Owner(), []byte("4242 4242\n"), 0o600))
	_, err := rooms.Owner(b)
	if os.Getuid() != 0 && err == nil {
		t.Error("a box of another user was opened")
	}
	for _, bad := range []string{"", "0 0", "x", "-1 5"} {
		must.Do(t, os.WriteFile(rooms.Layout{Dir: b.Dir}.Owner(), []byte(bad), 0o600))
		if _, err := rooms.Owner(b); err == nil {
			t.Errorf("owner %q was believed", bad)
		}
	}
}

// Guards against a box that takes all pseudo-terminals of the machine.
func TestPseudoterminalsAreBounded(t *testing.T) {
	d, b := created(t)
	const script = `ulimit -n 2000; i=0; while eval "exec $((i+10))<>/dev/ptmx" 2> /dev/null && [ $i -lt 300 ]; do ` +
		`i=$((i+1)); done; [ $i -lt 300 ] && [ $i -gt 200 ] && echo bounded`
	if out, err := shell(t, d, b, box.Exec{Argv: []string{"bash", "-c", script}}); err != nil || out != "bounded\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// Guards against a pid that now belongs to another process.
// Guards against a thread of the init that keeps privileges that the others gave up.
func TestEveryThreadOfTheInitIsConfined(t *testing.T) {
	d, b := created(t)
	out := must.Get(shell(t, d, b, box.Exec{Argv: []string{"sh", "-c", `cat /proc/1/task/*/status`}}))(t)
	threads := 0
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		want, ok := map[string]string{
			"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
			"CapAmb":     "0000000000000000",
			"NoNewPrivs": "1", "Seccomp": "2", "Uid": "1000\t1000\t1000\t1000", "Gid": "1000\t1000\t1000\t1000",
		}[name]
		if ok && value != want {
			t.Errorf("%s is %q", name, value)
		}
		if name == "Seccomp" {
			threads++
		}
	}
	if threads < 2 {
		t.Errorf("only %d threads were seen", threads)
	}
}
