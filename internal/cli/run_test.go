package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

const files = `for i in 1 2 3; do date +%N > $i.txt; done`

// asked waits until a run has ended and asks.
func (d *desk) asked() {
	d.t.Helper()
	d.await("the question", func() bool { return strings.HasSuffix(d.screen(), "[c]omment [l]ater [x] discard") })
}

func TestARunAsksWhetherToTakeIt(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files, "hook.md": "mkdir -p .husky; date +'curl %N' > .husky/pre-commit",
		"long.md": "seq 500 > long.txt", "bad.md": files + "\nfalse"})

	// Looking and a wrong word change nothing; some files come as one commit.
	before := d.run("git", "rev-parse", "main")
	d.types("cco run plan.md --agent script")
	d.asked()
	if !d.shows("1.txt +1 -0")() {
		t.Errorf("what came is not shown:\n%s", d.screen())
	}
	if !d.shows("Take this commit? [a]ll")() {
		t.Errorf("the question is another:\n%s", d.screen())
	}
	d.types("z")
	d.await("the choices", d.shows("one of a, s, d, c, l and x"))
	d.types("d")
	d.await("the patch", d.shows("+++ b/2.txt"))
	d.presses("q")
	d.asked()
	if after := d.run("git", "rev-parse", "main"); after != before {
		t.Error("a look moved the branch")
	}
	d.types("s")
	d.await("the files", d.shows("   3  3.txt"))
	d.types("9")
	d.await("a refusal", d.shows("9: there are 3 files"))
	d.asked()
	d.types("s")
	d.await("a question", func() bool { return strings.HasSuffix(d.screen(), "d shows them:") })
	d.types("1 3")
	d.await("the commit", d.shows("2 of 3 files on main as one commit"))
	d.await("a prompt", d.atPrompt)
	if got := d.run("git", "show", "--name-only", "--format=%s", "main"); !strings.HasSuffix(got, "\n\n1.txt\n3.txt\n") {
		t.Errorf("taken: %s", got)
	}

	// Of several commits the question says how many.
	d.write("repo/two.md", "## Task 1: A\n\n```sh\necho a >a.txt\n```\n\n## Task 2: B\n\n```sh\necho b >b.txt\n```\n")
	d.clear()
	d.types("cco run two.md --agent script")
	d.await("the question", func() bool {
		return strings.HasSuffix(strings.ReplaceAll(d.screen(), "\n", " "),
			"Take these 2 commits? [a]ll [s]ome [d]iff [c]omment [l]ater [x] discard")
	})
	d.types("l")
	d.await("a prompt", d.atPrompt)

	// A pager that waits gets the keys.
	d.clear()
	d.types("cco run long.md --agent script")
	d.asked()
	d.types("d")
	d.await("the pager", d.shows("+++ b/long.txt"))
	d.presses("\x03", "G")
	d.await("the end of the patch", d.shows("+500"))
	d.presses("q")
	d.asked()

	// What stands in the way can be removed, and then all of it comes.
	d.write("repo/long.txt", "mine\n")
	d.types("a")
	d.await("a refusal", d.shows("would overwrite long.txt"))
	d.asked()
	must.Do(t, os.Remove(filepath.Join(d.dir, "repo/long.txt")))
	d.types("a")
	d.await("the commit", d.shows("1 commit on main, now at"))
	d.await("a prompt", d.atPrompt)

	// Consent is asked for, and a no is no end.
	d.clear()
	d.types("cco run hook.md --agent script")
	d.asked()
	d.types("a")
	d.await("the gate", d.shows("Take 1 change of kind commit? [y/N, d shows the whole patch]"))
	d.types("n")
	d.asked()
	d.types("a")
	d.await("the gate", func() bool {
		return strings.HasSuffix(d.screen(), "Take 1 change of kind commit? [y/N, d shows the whole patch]")
	})
	d.types("y")
	d.await("the commit", d.shows("1 commit on main, now at"))
	d.await("a prompt", d.atPrompt)
}

// A name that was mistyped makes no box by itself.
func TestABoxThatIsNotThereIsAskedAbout(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files})
	for _, command := range []string{"cco run", "cco box push"} {
		d.clear()
		d.types(command + " plan.md --agent script --box typo; echo status $?")
		d.await("the question", d.shows("There is no box typo. Create it? [y/N]"))
		d.types("n")
		d.await("a refusal", d.shows("sandbox not created, run `cco box create typo`\nstatus 3"))
		d.await("a prompt", d.atPrompt)
	}
	d.run("cco", "box", "create", "other")
	d.run("cco", "box", "stop", "other")
	d.clear()
	d.types("cco box push plan.md --agent script --headless --box other")
	d.await("the question", d.shows("Box other is not running. Start it? [y/N]"))
	d.types("y")
	d.await("the end", d.shows("complete. Pull with:"))
	d.await("a prompt", d.atPrompt)
}

// The branch moves on while the agent works: the work is merged, made anew on top, or goes to a branch of its own.
func TestARunOnABranchThatHasMovedOn(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files, "clash.md": "date +%N > mine.txt"})
	moves := func(plan, file string) (mine string) {
		d.clear()
		d.types("cco run " + plan + " --agent script; echo status $?")
		d.asked()
		d.write("repo/"+file, plan+file)
		d.run("git", "add", ".")
		d.run("git", "commit", "-qm", "mine "+file)
		d.types("a")
		d.await("the ways", d.shows("Branch main has moved on. Take it?"))
		return strings.TrimSpace(d.run("git", "rev-parse", "main"))
	}
	done := func() {
		d.await("the end", d.shows("\nstatus 0"))
		d.await("a prompt", d.atPrompt)
	}
	mine := moves("plan.md", "m.txt")
	d.types("d")
	d.await("the patch", d.shows("+++ b/2.txt"))
	d.presses("q")
	d.await("the ways", func() bool { return strings.HasSuffix(d.screen(), "[d]iff [l]ater") })
	d.types("m")
	done()
	if got := d.run("git", "log", "-1", "--format=%P", "main"); !strings.HasPrefix(got, mine+" ") || len(got) < 80 {
		t.Errorf("it is not merged: %s", got)
	}
	mine = moves("plan.md", "r.txt")
	d.types("r")
	done()
	if got := d.run("git", "log", "-1", "--format=%P %an %s", "main"); got != mine+" Ada Task 1: Work\n" {
		t.Errorf("it is not on top: %s", got)
	}
	d.run("git", "diff", "--exit-code", "HEAD")
	mine = moves("clash.md", "mine.txt")
	d.types("m")
	d.await("the conflict", d.shows("both sides have changed the same lines: mine.txt"))
	d.types("b")
	d.await("a question", func() bool { return strings.HasSuffix(d.screen(), "The name of the new branch:") })
	d.types("other")
	done()
	if got := d.run("git", "rev-parse", "main", "other~1"); strings.Count(got, mine) != 1 {
		t.Errorf("main and below other: %s, want main at %s", got, mine)
	}
	moves("plan.md", "l.txt")
	d.types("l")
	d.asked()
	d.types("")
	done()
}

// Files that need no consent come without a question about those that do.
func TestCleanFilesAreTakenWithoutAQuestion(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files + "\nmkdir -p .husky; date +'curl %N' > .husky/pre-commit"})
	d.types("cco run plan.md --agent script; echo status $?")
	d.asked()
	d.types("s")
	d.await("a question", func() bool { return strings.HasSuffix(d.screen(), "d shows them:") })
	d.types("1.txt 2.txt")
	d.await("the end", d.shows("\nstatus 0"))
	if !d.shows("2 of 4 files on main as one commit")() || d.shows("of kind commit?")() {
		t.Errorf("it asked, or did not come:\n%s", d.screen())
	}
}

func TestARunIsLeftThrownAwayOrGoesOn(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files, "bad.md": files + "\nfalse", "slow.md": "echo READY\nsleep 1000"})
	before := d.run("git", "rev-parse", "main")

	// Left with a word, with Ctrl-C and with Ctrl-D: it is kept, and the way on is named.
	for keys, status := range map[string]string{"l\r": "0", "\r": "0", "\x04": "0", "\x03": "130"} {
		d.clear()
		d.types("cco run plan.md --agent script; echo status $?")
		d.asked()
		d.presses(keys)
		d.await("the way on", d.shows("and its work are kept"))
		d.await("the end", d.shows("\nstatus "+status))
		d.await("a prompt", d.atPrompt)
	}
	if after := d.run("git", "rev-parse", "main"); after != before {
		t.Error("a run that was left moved the branch")
	}

	// An agent that failed is asked about as well. A comment goes on with it; a plan without tasks fails again.
	d.clear()
	d.types("cco run bad.md --agent script")
	d.asked()
	if !d.shows("failed (the agent gave up)")() {
		t.Errorf("how it ended is not shown:\n%s", d.screen())
	}
	d.types("c")
	d.await("a question", func() bool { return strings.HasSuffix(d.screen(), "What should it do?") })
	d.types("")
	d.asked()
	d.types("c")
	d.await("a question", func() bool { return strings.HasSuffix(d.screen(), "What should it do?") })
	d.types("more of it")
	d.await("the next run", d.shows("the plan has no task"))
	d.asked()

	// Thrown away it is in the graveyard.
	d.types("x")
	d.await("the grave", d.shows("is thrown away; `cco box restore"))
	d.await("a prompt", d.atPrompt)
	if list := d.run("cco", "box", "graveyard"); !strings.Contains(list, "work") {
		t.Errorf("it is not in the graveyard:\n%s", list)
	}

	// What was not shown is not taken: something went on in the session while the question stood.
	d.clear()
	d.types("cco run plan.md --agent script; echo status $?")
	d.asked()
	id, _ := d.newest()
	d.run("cco", "box", "shell", "--session", id, "--", "touch", "new.txt")
	d.types("a")
	d.await("a refusal", d.shows("it is not what was shown"))
	d.await("the end", d.shows("\nstatus 4"))

	// Left while it works, it goes on; killed, its work is kept and nothing is asked.
	d.clear()
	d.types("cco run slow.md --agent script")
	d.await("the agent", d.shows("READY"))
	d.presses("\x1d")
	d.await("its last words", d.shows("goes on; come back with"))
	id, state := d.newest()
	if state != "running" {
		t.Errorf("%s is %s", id, state)
	}
	d.run("cco", "box", "kill", id)
	d.clear()
	d.types("cco run slow.md --agent script; echo status $?")
	d.await("the agent", d.shows("READY"))
	d.pressesTwice("\x03", "\x03")
	d.await("the end", d.shows("\nstatus 130"))
	d.await("a prompt", d.atPrompt)
	if after := d.run("git", "rev-parse", "main"); after != before {
		t.Error("the branch moved")
	}
}

func TestOneOfSeveralIsTaken(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": files})
	d.types("cco run plan.md --agents script,script,script; echo status $?")
	which := func() bool { return strings.HasSuffix(strings.ReplaceAll(d.screen(), "\n", " "), "leaves them all:") }
	d.await("the choice", which)
	if !d.shows("COMMITS")() {
		t.Errorf("nothing stands side by side:\n%s", d.screen())
	}
	d.types("zz")
	d.await("a refusal", d.shows("is not a session id"))
	d.await("the choice", which)
	d.types("d 1")
	d.await("the patch", d.shows("+++ b/2.txt"))
	d.presses("q")
	d.await("the choice", which)
	d.types("2")
	d.asked()
	d.types("l") // not this one
	d.await("the choice", which)
	d.types("3")
	d.asked()
	d.types("a")
	d.await("the commit", d.shows("1 commit on main, now at"))
	d.await("the end", d.shows("\nstatus 0"))
	if refs := d.run("git", "for-each-ref", "--format=%(refname)", "refs/cco"); strings.Count(refs, "\n") < 3 {
		t.Errorf("not all are at their refs: %s", refs)
	}
	if log := d.run("git", "log", "--oneline", "main"); strings.Count(log, "\n") != 2 {
		t.Errorf("main has %s", log)
	}
}
