//go:build heavy

package real

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// tmux is a real terminal with cco on it.
type tmux struct {
	w    *work
	sock string
}

// onTmux runs cco on a terminal; its exit status is on the screen in the end.
func (w *work) onTmux(args ...string) *tmux {
	w.t.Helper()
	dir := must.Get(os.MkdirTemp("", "cco-tmux-"))(w.t) // a socket's path must be short
	x := &tmux{w: w, sock: filepath.Join(dir, "s")}
	for i, a := range args {
		args[i] = "'" + a + "'"
	}
	x.do("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50",
		"cco "+strings.Join(args, " ")+"; echo status $?; exec sleep 1000")
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the screen:\n%s", x.screen())
		}
		x.do("kill-server")
		_ = os.RemoveAll(dir)
	})
	return x
}

func (x *tmux) do(args ...string) string {
	x.w.t.Helper()
	env := append(append([]string{"TERM=xterm-256color", "SHELL=/bin/sh"}, x.w.stage.env...), x.w.env...)
	ctx := context.WithoutCancel(x.w.t.Context()) // it is also used in the end
	out, err := proc.Output(ctx, proc.Cmd{Argv: append([]string{"tmux", "-S", x.sock}, args...),
		Dir: x.w.repo, Env: env})
	if err != nil && args[0] != "kill-server" && args[0] != "capture-pane" {
		x.w.t.Fatalf("tmux %q: %v", args, err)
	}
	return string(out)
}

func (x *tmux) screen() string {
	return strings.TrimRight(x.do("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

func (x *tmux) await(text string) {
	x.w.t.Helper()
	x.w.waitFor(text, func() bool { return strings.Contains(x.screen(), text) })
}

// asked waits for the question at the end of a run.
func (x *tmux) asked() {
	x.w.t.Helper()
	x.w.waitFor("the question", func() bool { return strings.HasSuffix(x.screen(), "[l]ater [x] discard") })
}

func (x *tmux) types(line string) { x.do("send-keys", "-l", line); x.do("send-keys", "Enter") }

// The loop on a real terminal: the agent works, a comment makes it go on in its conversation, all of it is taken.
// Nothing is red of what its CLI tries by itself, beside which nobody would see the others.
func TestARunOnATerminal(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"),
			agenttest.Shell("cat $CCO_EXCHANGE/plan.md"), commit("more.txt", "more"), agenttest.Say("done again"))
		x := w.onTmux("run", "plan.md", "--agent", agent, "--headless")
		x.asked()
		if strings.Contains(x.screen(), "a connection was refused") {
			t.Errorf("a refusal is red:\n%s", x.screen())
		}
		if before := w.git(w.repo, "ls-files"); strings.Contains(before, "hello.txt") {
			t.Errorf("taken before anybody was asked: %s", before)
		}
		x.types("c")
		x.await("What should it do?")
		x.types("The lighthouse keeper wants more.txt too")
		x.await("more.txt")
		x.w.waitFor("the second run", func() bool { return strings.Count(x.screen(), "[l]ater [x] discard") == 2 })
		x.types("a")
		x.await("2 commits on main")
		x.await("status 0")
		w.pulled("hello.txt", "hello")
		w.pulled("more.txt", "more")
		if !w.model.Saw("wants more.txt too") {
			t.Error("the model never saw the comment")
		}
	})
}

// A CLI that has the terminal to itself gives it back for the question.
func TestARunWithTheAgentsOwnScreen(t *testing.T) {
	w := newWork(t, "claude", commit("hello.txt", "hello"), commit("more.txt", "more"), agenttest.Say("The lamp is lit."))
	x := w.onTmux("run", "plan.md", "--agent", "claude")
	x.await("The lamp is lit.")
	x.do("send-keys", "-l", "/exit") // Ctrl-D would have to be pressed twice, within less than a second
	x.w.waitFor("what was typed", func() bool { return exitTyped.MatchString(x.screen()) })
	x.do("send-keys", "Enter")
	x.asked()
	x.types("s")
	x.await("Which? Numbers")
	x.types("1")
	x.await("1 of 2 files on main as one commit")
	x.await("status 0")
	w.pulled("hello.txt", "hello")
	if body := w.git(w.repo, "log", "-1", "--format=%B"); !strings.Contains(body, "Cco-Session: ") {
		t.Errorf("the commit does not say where it came from: %s", body)
	}
}

// exitTyped is claude's prompt with the word by which a person leaves.
var exitTyped = regexp.MustCompile(`(?m)^\W*/exit\s*$`)

// Several CLIs on one plan, with one budget, on a real terminal: they stand side by side, and one is taken.
func TestSeveralAgentsOnATerminal(t *testing.T) {
	w := newWork(t, "claude", commit("hello.txt", "hello"), agenttest.Say("done"))
	x := w.onTmux("run", "plan.md", "--agents", strings.Join(agents, ","))
	x.await("Which one?")
	for _, a := range agents {
		if !strings.Contains(x.screen(), a+" ") {
			t.Errorf("%s is not shown", a)
		}
	}
	x.types("2")
	x.asked()
	x.types("a")
	x.await("1 commit on main")
	x.await("status 0")
	w.pulled("hello.txt", "hello")
	refs := strings.Fields(w.git(w.repo, "for-each-ref", "--format=%(refname)", "refs/cco"))
	n := 0
	for _, r := range refs {
		if sessionRef.MatchString(r) {
			n++
		}
	}
	if n != len(agents) {
		t.Errorf("not every session is at its ref: %v", refs)
	}
}

var sessionRef = regexp.MustCompile(`^refs/cco/[0-9a-f]{8}$`)

// Guards against CLIs that spend a common budget once each: the first answer passes it, and no other is paid for.
func TestSeveralAgentsHaveOneBudget(t *testing.T) {
	dear := commit("hello.txt", "hello")
	dear.Usage = agenttest.Usage{Input: 4000, Output: 3000}
	w := newWork(t, "claude", dear, agenttest.Say("done"))
	out := w.run(4, "run", "plan.md", "--agents", strings.Join(agents, ","), "--max-tokens", "5000")
	turns := 0
	for _, r := range w.model.Requests() {
		if r.Turn {
			turns++
		}
	}
	if turns != 1 {
		t.Errorf("the model was asked %d times\n%s", turns, out)
	}
	paused := 0
	for _, m := range sessionID.FindAllStringSubmatch(out, -1) {
		if s := w.session(m[1]); s.State == "paused" &&
			(strings.Contains(s.Reason, "budget") || strings.Contains(s.Reason, "limits.run_tokens")) {
			paused++
		}
	}
	if paused < len(agents) {
		t.Errorf("%d are paused by it\n%s", paused, out)
	}
}
