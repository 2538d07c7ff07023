package proc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestRunReportsExitStatusAndStderr(t *testing.T) {
	err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "echo why >&2; exit 3"}})
	e, ok := errors.AsType[*ExitError](err)
	if !ok || e.Code != 3 || !strings.Contains(e.Error(), "why") {
		t.Fatalf("err = %v", err)
	}
	if Code(err) != 3 || Code(nil) != 0 || Code(os.ErrNotExist) != -1 {
		t.Error("Code does not tell these apart")
	}
}

func TestRunReportsSignal(t *testing.T) {
	err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "kill -TERM $$"}})
	e, ok := errors.AsType[*ExitError](err)
	if !ok || e.Signal != syscall.SIGTERM || e.Code != 143 {
		t.Fatalf("err = %#v", err)
	}
}

// Guards against killing only the child: its background processes must die too.
func TestCancelKillsTheWholeGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	p := must.Get(Start(ctx, Cmd{Argv: []string{"sh", "-c",
		`sleep 1000 & echo $! > "$0.tmp"; mv "$0.tmp" "$0"; wait`, pidFile}}))(t)
	pid := waitForPid(t, pidFile)
	cancel()
	if err := p.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("a program that was broken off ends with %v", err)
	}
	for deadline := time.Now().Add(2 * time.Minute); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("grandchild %d outlived its group", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func waitForPid(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			pid := must.Get(strconv.Atoi(strings.TrimSpace(string(b))))(t)
			return pid
		}
	}
	t.Fatal("the child never started")
	return 0
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := Tail{Max: 4}
	for _, s := range []string{"ab", "cd", "ef"} {
		_, _ = tail.Write([]byte(s))
	}
	if tail.String() != "cdef" {
		t.Errorf("got %q", tail.String())
	}
}

func TestShellWordIsOneWord(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "/a/b-c_d.e+f@g%h:i=j,k": "/a/b-c_d.e+f@g%h:i=j,k", "it's": `'it'\''s'`, "a b": "'a b'", "*": "'*'",
		"$(x)": "'$(x)'", "~": "'~'", "é": "'é'", "a\nb": "'a\nb'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q became %s", word, got)
		}
	}
}
