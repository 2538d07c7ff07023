package cruising_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec" // the program under test, on a terminal
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// typed runs a command on a terminal, with what the user types, and gives what is left there.
func typed(r *cruisetest.Rig, keys string, args ...string) (left string, code int) {
	r.Helper()
	c := exec.Command(filepath.Join(r.Bin, "cco"), args...) //nolint:forbidigo // a pty starts it
	c.Dir, c.Env = r.Repo, r.Env
	master := must.Get(pty.StartWithSize(c, &pty.Winsize{Cols: 200, Rows: 50}))(r)
	defer func() { _ = master.Close() }()
	_, _ = io.WriteString(master, keys)
	out, _ := io.ReadAll(master) // a terminal whose program is gone gives an error
	_ = c.Wait()
	var lines []string
	for line := range strings.Lines(string(out)) {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i:]
		}
		lines = append(lines, strings.Trim(line, "\r\n\x1b[K"))
	}
	return strings.Join(lines, "\n"), c.ProcessState.ExitCode()
}

// Guards against commands that say what they did on a line that is erased at once.
func TestCommandsLeaveWordsOnATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	r.Await(id, "watching", watching)
	for _, c := range []struct{ args, want string }{
		{"fix", "looks now"}, {"pause", "pauses"}, {"resume", "goes on"}, {"resume --all", "phase"},
		{"cleanup", "cleaned up"},
	} {
		if left, code := typed(r, "", append([]string{"cruise"}, strings.Fields(c.args)...)...); code != 0 ||
			!strings.Contains(left, c.want) {
			t.Errorf("cco cruise %s ends with %d and leaves %q", c.args, code, left)
		}
	}
}

func TestAStartFollowsItsPhaseAndEndsAsItDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	start := func(task string, args ...string) []string {
		file := filepath.Join(t.TempDir(), "task.md")
		must.Do(t, os.WriteFile(file, []byte(task), 0o600))
		return append([]string{"cruise", "start", "--file", file, "--planner", "script", "--domains", "Security"}, args...)
	}
	var s cruisetest.Status
	out, words, err := r.Run(start(cruisetest.Picky, "--json")...)
	if must.Do(t, json.Unmarshal([]byte(out), &s)); err != nil || s.End != "approved" || !strings.Contains(words,
		"planning: watching") {
		t.Errorf("%v: %s\n%s", err, out, words)
	}
	words = r.Fails(4, start(strings.Replace(cruisetest.Picky, "author)", "author)\n\texit 0", 1))...)
	if !strings.Contains(words, "asks: the script did not do its work") || !strings.Contains(words, "cco cruise resume") {
		t.Errorf("a phase that asks: %s", words)
	}
	never := strings.Replace(cruisetest.Picky, "grep -q tested $plan", "false", 1)
	if words = r.Fails(4, start(never, "--max-rounds", "1")...); !strings.Contains(words, "ended: round limit") {
		t.Errorf("a phase at its limit: %s", words)
	}
	if out = r.CCO("attention"); !strings.Contains(out, "asks") || !strings.Contains(out, "did not do its work") ||
		strings.Contains(out, "cco box pull") {
		t.Errorf("attention: %s", out)
	}
}

func TestAPhaseIsFoundWithoutABranch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	first := r.Start(cruisetest.Unsure, "--domains", "Security")
	r.Await(first, "watching", watching)
	g := gittest.At(t, r.Repo)
	g.Git("checkout", "-q", "--detach")
	if out := r.CCO("cruise", "status"); !strings.Contains(out, first) {
		t.Errorf("on a detached HEAD: %s", out)
	}
	g.Git("checkout", "-q", "main")
	second := r.Start(cruisetest.Unsure, "--domains", "Security")
	r.Await(second, "watching", watching)
	if words := r.Fails(3, "cruise", "status"); !strings.Contains(words, first) || !strings.Contains(words, second) {
		t.Errorf("with two phases: %s", words)
	}
	r.CCO("cruise", "cleanup", second)
	r.CCO("cruise", "pause", first)
	r.Await(first, "paused", func(s cruisetest.Status) bool { return s.Paused })
	list := r.CCO("cruise", "list")
	for _, want := range []string{"TITLE", "AGE", "paused", "Add a flag"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	r.CCO("cruise", "cleanup", first)
	if words := r.Fails(3, "cruise", "status"); !strings.Contains(words, first) || !strings.Contains(words, second) {
		t.Errorf("after both have ended: %s", words)
	}
	r.Fails(2, "cruise", "fix", first, "--comment", "  ")
	dir := t.TempDir()
	for _, want := range []string{"3 written, 0 were", "0 written, 3 were"} {
		if _, words, err := r.Run("cruise", "commands", "install", dir); err != nil || !strings.Contains(words, want) {
			t.Errorf("commands install says %q, %v", words, err)
		}
	}
}

// Guards against commits that a pull request publishes without a word.
func TestCommitsThatWereNeverPushedAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	g := gittest.At(t, r.Repo)
	g.Git("stash", "-q", "-u")
	g.Commit("private thoughts", "thoughts.txt", "mine\n")
	g.Write("dirty.txt", "x\n")
	file := filepath.Join(t.TempDir(), "task.md")
	must.Do(t, os.WriteFile(file, []byte(cruisetest.Unsure), 0o600))
	args := []string{"cruise", "start", "--file", file, "--planner", "script", "--domains", "Security", "--detach"}
	left, code := typed(r, "n\n", args...)
	if code != 4 || !strings.Contains(left, "private thoughts") || !strings.Contains(left, "Publish them?") {
		t.Errorf("answered with no, it ends with %d and leaves %s", code, left)
	}
	if out := r.CCO("cruise", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("it began: %s", out)
	}
	if left, code = typed(r, "", append(args, "--yes")...); code != 0 || strings.Contains(left, "Publish them?") {
		t.Errorf("with --yes it ends with %d and leaves %s", code, left)
	}
	out, words, err := r.Run(append(args, "--json")...)
	var s struct {
		ID        string
		Publishes []string
	}
	if must.Do(t, json.Unmarshal([]byte(out), &s)); err != nil || len(s.Publishes) != 1 ||
		!strings.Contains(words, "private thoughts") || !strings.Contains(words, "uncommitted changes stay here") {
		t.Errorf("%v: %s\n%s", err, out, words)
	}
	if log := r.CCO("cruise", "logs", s.ID); !strings.Contains(log, "never pushed: ") ||
		!strings.Contains(log, "private thoughts") || !strings.HasPrefix(log, "20") {
		t.Errorf("log: %s", log)
	}
}
