package script

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// bench is a session's place: a real repository with one commit, and an exchange directory.
type bench struct {
	t        *testing.T
	o        Options
	out, err bytes.Buffer
}

func newBench(t *testing.T, plan string) *bench {
	t.Helper()
	b := &bench{t: t}
	root := t.TempDir()
	b.o = Options{Plan: "plan.md", Workspace: filepath.Join(root, "workspace", "3f9c01aa"),
		Exchange: filepath.Join(root, "exchange", "3f9c01aa"), Out: &b.out, Err: &b.err, Env: cleanEnv(root)}
	for _, dir := range []string{b.o.Workspace, b.o.Exchange} {
		must.Do(t, os.MkdirAll(dir, 0o700))
	}
	b.git("init", "-q", "-b", "main")
	b.git("config", "user.name", "A U Thor")
	b.git("config", "user.email", "author@example.com")
	b.write("plan.md", plan)
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "base")
	return b
}

// cleanEnv is an environment without the machine's own git settings.
func cleanEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	must.Do(b.t, os.WriteFile(filepath.Join(b.o.Workspace, name), []byte(text), 0o600))
}

func (b *bench) read(dir, name string) string {
	b.t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, name)))(b.t)
	return string(data)
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	out, err := proc.Output(b.t.Context(), proc.Cmd{Argv: append([]string{"git"}, args...), Dir: b.o.Workspace,
		Env: b.o.Env})
	if err != nil {
		b.t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) subjects() []string {
	b.t.Helper()
	return strings.Split(b.git("log", "--reverse", "--format=%s"), "\n")
}

func (b *bench) run() error { return Run(b.t.Context(), b.o) }

func (b *bench) mustRun() {
	b.t.Helper()
	if err := b.run(); err != nil {
		b.t.Fatalf("%v\n%s%s", err, b.out.String(), b.err.String())
	}
}

func (b *bench) mustFail(parts ...string) {
	b.t.Helper()
	if err := b.run(); err == nil {
		b.t.Fatal("it succeeded")
	}
	words := b.read(b.o.Exchange, ErrorFile)
	for _, part := range parts {
		if !strings.Contains(words, part) {
			b.t.Errorf("error.txt lacks %q:\n%s", part, words)
		}
	}
}

func TestOneCommitForEachTaskThatChangedSomething(t *testing.T) {
	b := newBench(t, "## Task 1: add \"$(a)\"\n```sh\nmkdir d\n```\n```bash\necho a > d/a\n```\n"+
		"## Task 2: look\n```sh\ncat d/a\n```\n## Task 3 — two\n```sh\nrm d/a; echo b > b\n```\n## Task 4\n")
	b.mustRun()
	want := []string{"base", `Task 1: add "$(a)"`, "Task 3 — two"}
	if got := b.subjects(); !slices.Equal(got, want) {
		t.Errorf("commits %q, want %q", got, want)
	}
	if got := b.git("ls-tree", "-r", "--name-only", "HEAD"); got != "b\nplan.md" {
		t.Errorf("tree %q", got)
	}
	if got := b.git("status", "--porcelain"); got != "" {
		t.Errorf("left uncommitted: %s", got)
	}
	for _, part := range []string{"==> Task 1: add", "==> Task 2: look\na\n==> Task 2: look: nothing changed\n",
		"==> Task 3 — two: committed "} {
		if !strings.Contains(b.out.String(), part) {
			t.Errorf("output lacks %q:\n%s", part, b.out.String())
		}
	}
	if names, _ := os.ReadDir(b.o.Exchange); len(names) != 0 {
		t.Errorf("exchange holds %v", names)
	}
}

// Guards against "nothing changed" for a task whose own commands have committed.
func TestATaskThatCommitsByItself(t *testing.T) {
	b := newBench(t, "## Task 1: own\n```sh\necho a > a; git add a; git commit -qm mine\n```\n")
	b.mustRun()
	if out := b.out.String(); !strings.Contains(out, "Task 1: own: committed by itself, now at ") {
		t.Error(out)
	}
}

func TestTheFirstFailureEndsItWithItsWords(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\necho 1 > a\n```\n## Task 2: break\n```sh\necho fine\n```\n```sh\necho out\necho "+
		"err >&2\n(exit 7)\necho not reached\n```\n## Task 3\n```sh\necho 3 > c\n```\n")
	b.mustFail("Task 2: break (plan line 10): fence 2: exit status 7\n", "out\n", "err\n")
	if got := b.subjects(); !slices.Equal(got, []string{"base", "Task 1"}) {
		t.Errorf("commits %q", got)
	}
	if strings.Contains(b.out.String(), "not reached") || b.err.String() != "err\n" {
		t.Errorf("out %q, err %q", b.out.String(), b.err.String())
	}
	if names, _ := os.ReadDir(b.o.Exchange); len(names) != 1 {
		t.Errorf("a temporary file stayed: %v", names)
	}
}

func TestBashNamesTheLineOfThePlan(t *testing.T) {
	b := newBench(t, "# Plan\n\n## Task 1\n\n```sh\ntrue\nno-such-program\n```\n")
	b.mustFail("plan.md: line 7: no-such-program: command not found", "exit status 127", "(plan line 6)")
}

func TestErrorTextKeepsOnlyTheEndOfTheOutput(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\nseq 1 100000\nfalse\n```\n")
	b.mustFail("\n99999\n100000\n")
	if n := strings.Count(b.read(b.o.Exchange, ErrorFile), "\n"); n > tailLines+5 {
		t.Errorf("error.txt has %d lines", n)
	}
	if !strings.Contains(b.out.String(), "\n1\n2\n3\n") || !strings.HasSuffix(b.out.String(), "\n100000\n") {
		t.Error("the stream is not whole")
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\ncat > in\n[ ! -s in ]\nread -r x || echo eof > in\n```\n")
	b.mustRun()
	if got := b.read(b.o.Workspace, "in"); got != "eof\n" {
		t.Errorf("in = %q", got)
	}
}

func TestARestartGoesOnAfterTheLastCommittedTask(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\necho x >> a\n```\n## Task 2\n```sh\necho x >> b\n[ -e ../go ]\n```\n## Task "+
		"3\n```sh\necho x >> c\n```\n")
	b.mustFail("Task 2")
	// A task may change the plan; finished tasks stay finished.
	b.write("plan.md", strings.Replace(b.read(b.o.Workspace, "plan.md"), "## Task 1\n", "## Task 1: ticked off\n", 1))
	must.Do(t, os.WriteFile(filepath.Join(b.o.Workspace, "..", "go"), nil, 0o600))
	b.mustRun()
	if got := b.read(b.o.Workspace, "a"); got != "x\n" {
		t.Errorf("task 1 ran again: %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.o.Exchange, ErrorFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the words of the first run are still there")
	}
	head := b.git("rev-parse", "HEAD")
	b.mustRun()
	if b.git("rev-parse", "HEAD") != head || !strings.Contains(b.out.String(), "==> Task 3: done in "+head[:12]) {
		t.Errorf("a third run did something:\n%s", b.out.String())
	}
}

// A runbook is carried out again in another session, on a branch that has the commits of the first.
func TestAnotherSessionRunsTheSameTasksAgain(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\necho x >> a\n```\n")
	b.mustRun()
	next := filepath.Join(filepath.Dir(b.o.Workspace), "00c0ffee")
	must.Do(t, os.Rename(b.o.Workspace, next))
	b.o.Workspace = next
	b.mustRun()
	if got := b.read(next, "a"); got != "x\nx\n" {
		t.Errorf("a = %q", got)
	}
}

func TestARefusingHookFailsTheTask(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\necho x > a\n```\n")
	hook := "#!/bin/sh\necho 'no such style here' >&2\nexit 1\n"
	hooks := filepath.Join(b.o.Workspace, ".git", "hooks")
	must.Do(t, os.MkdirAll(hooks, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(hooks, "pre-commit"), []byte(hook), 0o700))
	b.mustFail("Task 1 (plan line 1): commit: git commit: exit status 1", "no such style here")
}

// A program in the background kept the pipe open, and the fence failed five seconds after its end.
func TestABackgroundProgramHoldsNothingUpAndLivesOn(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\nmkfifo ../f\n(cat ../f; echo late > ../late; echo done > ../g) &\nmkfifo "+
		"../g\necho first\n```\n## Task 2\n```sh\necho go > ../f\ncat ../g\n```\n## Task 3\n```sh\nsleep 1000 & echo $! > "+
		"../pid\n```\n")
	b.mustRun()
	if got := b.read(filepath.Dir(b.o.Workspace), "late"); got != "late\n" {
		t.Errorf("late = %q", got)
	}
	if !strings.Contains(b.out.String(), "first\n") || !strings.Contains(b.out.String(), "go\n") {
		t.Errorf("out = %q", b.out.String())
	}
	pid := strings.TrimSpace(b.read(filepath.Dir(b.o.Workspace), "pid"))
	if err := proc.Run(t.Context(), proc.Cmd{Argv: []string{"kill", pid}}); err != nil {
		t.Errorf("end what the last fence left: %v", err)
	}
}

func TestAProgramThatNeverStopsPrintingIsNotFollowed(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\nyes &\necho x > a\n```\n")
	b.o.Out = io.Discard
	b.mustRun()
}

func TestAnInterruptedRunLeavesNoWords(t *testing.T) {
	b := newBench(t, "## Task 1\n```sh\necho x > a\n```\n## Task 2\n```sh\necho started\nexec sleep 1000\n```\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.o.Out = onWord{"started", cancel}
	if err := Run(ctx, b.o); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.o.Exchange, ErrorFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("an interruption is no failure, but error.txt is there")
	}
	if got := b.subjects(); !slices.Equal(got, []string{"base", "Task 1"}) {
		t.Errorf("commits %q", got)
	}
}

// onWord calls do when the word is printed.
type onWord struct {
	word string
	do   func()
}

func (w onWord) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.word)) {
		w.do()
	}
	return len(p), nil
}

func TestPlansThatCantBeCarriedOutSayWhy(t *testing.T) {
	b := newBench(t, "# Nothing to do\n")
	if err := b.run(); !errors.Is(err, ErrNoTasks) {
		t.Errorf("err = %v", err)
	}
	if words := b.read(b.o.Exchange, ErrorFile); !strings.Contains(words, "no task") {
		t.Errorf("error.txt = %q", words)
	}
	b.o.Plan = "missing.md"
	if err := b.run(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if words := b.read(b.o.Exchange, ErrorFile); !strings.Contains(words, "missing.md") {
		t.Errorf("error.txt = %q", words)
	}
}

func TestOddPlanNamesAndAnUnbornBranch(t *testing.T) {
	for _, name := range []string{"-e plan.md", "a\nb'\"$(touch x).md", "плaн.md"} {
		b := newBench(t, "")
		b.git("update-ref", "-d", "HEAD")
		b.write(name, "# Task 1\n```sh\necho \"$PWD\" > a\n```\n")
		b.o.Plan, b.o.Out, b.o.Err = name, io.Discard, io.Discard
		b.mustRun()
		if got := b.subjects(); !slices.Equal(got, []string{"Task 1"}) {
			t.Errorf("%q: commits %q", name, got)
		}
	}
}

func TestFencesOfAnyLength(t *testing.T) {
	b := newBench(t, "# Task 1\n```sh\n"+strings.Repeat(": a line of shell that is longer than nothing\n", 10000)+
		"echo x > a\n```\n")
	b.mustRun()
	if got := b.read(b.o.Workspace, "a"); got != "x\n" {
		t.Errorf("a = %q", got)
	}
}
