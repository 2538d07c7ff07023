package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// liveDesk is a desk with the program that has the live list.
func liveDesk(t *testing.T, plans map[string]string) *desk {
	t.Helper()
	d := newDesk(t, plans)
	bin, _, _ := strings.Cut(strings.TrimPrefix(d.env[1], "PATH="), ":")
	must.Do(t, programs.Build(t.Context(), bin, "cco-cruise"))
	return d
}

// marked is the id under the list's cursor.
func (d *desk) marked() string {
	if m := regexp.MustCompile(`(?m)^> ([0-9a-f]{8}) `).FindStringSubmatch(d.screen()); m != nil {
		return m[1]
	}
	return ""
}

// below says that an id stands below the name of a group.
func (d *desk) below(group, id string) func() bool {
	return func() bool {
		now := ""
		for line := range strings.Lines(d.screen()) {
			switch line = strings.TrimRight(line, " \n"); {
			case line == "idle", line == "done", line == "at work", line == "ended", line == "failed":
				now = line
			case strings.Contains(line, id) && (strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "  ")):
				return now == group
			}
		}
		return false
	}
}

const (
	makes = `echo made >made.txt; git add made.txt; git commit -qm Make`
	waits = `echo WORKING; until test -e "$CCO_EXCHANGE/go"; do sleep 0.1; done; ` + makes
)

// Guards against a list that is there for a program, without anything to list, or where a terminal can't show it.
func TestCcoAloneIsHelpWhereThereIsNoList(t *testing.T) {
	d := liveDesk(t, map[string]string{"a.md": makes})
	help := d.run("cco", "help")
	d.clear()
	d.types("cco; echo status $?")
	d.await("help without sessions", d.shows("What it commits comes back"))
	d.await("its end", d.shows("\nstatus 0\n"))
	d.run("cco", "box", "push", "a.md", "--agent", "script")
	for _, env := range []string{"CI=1", "TERM=dumb", "TERM="} {
		d.clear()
		d.types("env " + env + " cco; echo status $?")
		d.await("the end of "+env, d.shows("\nstatus 0\n"))
		screen := d.screen()
		if !strings.Contains(screen, "What it commits comes back") || strings.Contains(screen, "done\n") {
			t.Errorf("%s: not help:\n%s", env, screen)
		}
	}
	for _, line := range []string{"cco | cat", "cco </dev/null", "cco help", "cco -h"} {
		d.clear()
		d.types(line + "; echo status $?")
		d.await("the end of "+line, d.shows("\nstatus 0\n"))
		if screen := d.screen(); !strings.Contains(screen, "What it commits comes back") {
			t.Errorf("%s: not help:\n%s", line, screen)
		}
	}
	if out := d.run("cco"); out != help {
		t.Errorf("without a terminal it says:\n%s", out)
	}
}

// Guards against a list that does things in a way of its own, or for another session than the one that is marked.
func TestTheLiveListRunsOrdinaryCommands(t *testing.T) {
	d := liveDesk(t, map[string]string{"a.md": makes, "b.md": waits})
	d.run("cco", "box", "push", "a.md", "--agent", "script")
	done, _ := d.newest()
	d.run("cco", "box", "push", "b.md", "--agent", "script", "--detach")
	working, _ := d.newest()
	d.fill()
	d.types("cco")
	d.await("what is done", d.below("done", done))
	d.await("what is at work", d.below("at work", working))
	if got := d.marked(); got != done {
		t.Fatalf("%s is marked", got)
	}

	// It says what it runs, and waits until that was read.
	d.presses("t")
	d.await("the pull", d.shows("\n$ cco box pull "+done))
	d.await("its end", d.shows("Enter goes back to the list."))
	if got := d.run("git", "show", "HEAD:made.txt"); got != "made\n" {
		t.Errorf("it brought %q", got)
	}
	d.presses("\r")
	d.await("the new place", d.below("ended", done))
	if got := d.marked(); got != done {
		t.Errorf("%s is marked, after %s has moved", got, done)
	}

	// A session is followed, left, and followed again.
	d.presses("\x1b[A")
	d.await("the mark", func() bool { return d.marked() == working })
	for range 2 {
		d.presses("\r")
		d.await("its words", d.shows("\nWORKING"))
		d.tmux("send-keys", "C-]")
		d.await("the list", d.below("at work", working))
	}

	// What is said is typed in the list, and is an argument of the command.
	d.presses("s")
	d.await("what to type", d.shows("Say to "+working+", Esc leaves it:"))
	d.presses("go on, 'please'", "\r")
	d.await("the command", d.shows("\n$ cco box say -- "+working+" 'go on, "))
	d.await("its end", d.shows("Enter goes back to the list."))
	d.presses("\r")
	d.await("the list", d.below("at work", working))

	// What is dangerous is asked about, and everything but y is no.
	d.presses("k")
	d.await("the question", d.shows("End its agent: "+working))
	d.presses("n")
	d.await("no question", func() bool { return !d.shows("End its agent")() })
	d.presses("k", "y")
	d.await("the end", d.shows("session "+working+" killed"))
	d.presses("\r")
	d.await("its new place", d.below("ended", working))
	d.presses("x")
	d.await("what the command asks", d.shows("[y/N]"))
	d.presses("y\r")
	d.await("its end", d.shows("Enter goes back to the list."))
	d.presses("\r")
	d.await("the list without it", func() bool { return d.shows("\nended")() && !d.shows("  "+working)() })

	d.presses("q")
	d.await("a prompt", d.atPrompt)
	d.stillWorks()
	d.filled()
}

// Guards against a list that a person must ask for anew, against a cursor that slips to another session, and against a
// key for a row that is there no more.
func TestTheLiveListFollows(t *testing.T) {
	d := liveDesk(t, map[string]string{"a.md": waits, "b.md": waits})
	d.run("cco", "box", "push", "a.md", "--agent", "script", "--detach")
	first, _ := d.newest()
	d.run("cco", "box", "push", "b.md", "--agent", "script", "--detach")
	second, _ := d.newest()
	d.types("cco")
	d.await("both", func() bool { return d.below("at work", first)() && d.below("at work", second)() })
	if d.marked() != second {
		t.Errorf("%s is marked, not the newest", d.marked())
	}
	d.write("data/cco/exchange/"+first+"/go", "")
	d.await("the first above", d.below("done", first))
	if d.marked() != second {
		t.Errorf("%s is marked when rows have moved", d.marked())
	}
	d.tmux("resize-window", "-x", "60", "-y", "12")
	d.await("a smaller list", func() bool { return strings.Count(d.screen(), "\n") < 12 && d.marked() == second })

	d.run("cco", "box", "kill", second)
	d.run("cco", "box", "prune", second, "--force", "--yes")
	d.await("that it is gone", d.shows(second+" is no longer listed"))
	d.presses("d")
	d.await("that nothing is marked", d.shows("choose one first"))
	d.presses("\x1b[A")
	d.await("the mark", func() bool { return d.marked() == first })
	d.presses("l")
	d.await("later", d.below("ended", first))
	d.presses("\x03")
	d.await("a prompt", d.atPrompt)
}

// Guards against more of it in every keeper: a keeper is a cco.
func TestTheLiveListIsNotInCco(t *testing.T) {
	out := string(must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"go", "list", "-deps", "../../cmd/cco",
		"../../cmd/cco-box", "../../cmd/cco-guard"}}))(t))
	if strings.Contains(out, "charm.land") || strings.Contains(out, "charmbracelet") || strings.Contains(out, "cli/live") {
		t.Error("the live list is linked into cco, cco-box or cco-guard")
	}
	lines := 0
	for _, name := range must.Get(filepath.Glob("live/*.go"))(t) {
		if !strings.HasSuffix(name, "_test.go") {
			lines += strings.Count(string(must.Get(os.ReadFile(name))(t)), "\n")
		}
	}
	if lines == 0 || lines > 700 {
		t.Errorf("it has %d lines", lines)
	}
}
