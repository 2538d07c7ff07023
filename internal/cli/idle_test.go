package cli_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
)

// standIn is taken for claude.
const standIn = `#!/bin/bash
if test "$1" = --version; then echo 2.1.325; exit; fi
trap 'exit 130' INT
`

// hooked calls the hooks of turns as the managed settings say.
const hooked = standIn + `turn() {
	echo '{"hook_event_name":"x"}' | sh -c "$(grep -o '"command":"[^"]*--turn '$1'"' \
		/etc/claude-code/managed-settings.json | cut -d'"' -f4)" || echo "the hook failed: $?"
}
`

// sitting is a stand-in for claude on a terminal.
const sitting = hooked + `for n in 1 2 3; do
	turn begun; echo "WORKING $n"; read -r line
	turn ended; echo "RESTING $n"; read -r line
	test "$line" = /exit && exit 0
done
`

// unwatched is one that nobody types to.
const unwatched = hooked + `echo $RANDOM$RANDOM >made.txt; git add made.txt; git commit -qm "Make it"
turn begun; echo WORKING; until test -e "$CCO_EXCHANGE/go"; do sleep 0.1; done
turn ended; echo RESTING; read -r line; exit 3
`

// asking has no hooks. It asks its model, and then runs a tool until there is a file.
const asking = standIn + `curl -sS --noproxy '*' -H "x-api-key: $ANTHROPIC_API_KEY" \
	-H 'content-type: application/json' \
	-d '{"model":"claude-opus-5-5","max_tokens":9000,"messages":[{"role":"user","content":"go"}],
		"tools":[{"name":"Bash","input_schema":{"type":"object"}}]}' \
	"$ANTHROPIC_BASE_URL/v1/messages" >/dev/null
echo WORKING; sh -c 'until test -e "$CCO_EXCHANGE/go"; do sleep 0.1; done; :'
echo RESTING; read -r line
`

// deskWith is a desk with a stand-in in claude's place.
func deskWith(t *testing.T, text string) *desk {
	t.Helper()
	d := newDesk(t, map[string]string{"a.md": "true"})
	d.write("home/.local/bin/claude", text)
	must.Do(t, os.Chmod(filepath.Join(d.dir, "home/.local/bin/claude"), 0o755))
	d.types("export ANTHROPIC_API_KEY=sk-none PATH=$HOME/.local/bin:$PATH")
	return d
}

// is waits for a state of the newest session.
func (d *desk) is(want string) {
	d.t.Helper()
	d.await("state "+want, func() bool { _, state := d.newest(); return state == want })
}

// pushes starts the stand-in, and waits for its first words.
func (d *desk) pushes(words string) (id string) {
	d.t.Helper()
	d.clear()
	d.types("cco box push a.md --agent claude")
	d.await("its first turn", d.shows("\n"+words))
	d.is("running")
	id, _ = d.newest()
	return id
}

// leaves leaves an agent's terminal, and lets the agent work.
func (d *desk) leaves() {
	d.t.Helper()
	d.tmux("send-keys", "C-]")
	d.await("the way back", d.shows("come back with"))
	d.await("a prompt", d.atPrompt)
}

// Guards against a run that sits at its prompt and looks as if it worked, and against one that was left there and
// counts as killed.
func TestAnAgentAtItsPromptIsIdle(t *testing.T) {
	d := deskWith(t, sitting)
	rest := func() { d.types("go"); d.await("its prompt", d.shows("RESTING 1")); d.is("idle") }

	id := d.pushes("WORKING 1")
	rest()
	out, err := d.command("cco", "box", "pull", id, "--timeout", "5s").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not ended: somebody is at its terminal") {
		t.Errorf("pull: %v: %s", err, out)
	}
	d.types("more")
	d.await("its second turn", d.shows("WORKING 2"))
	d.is("running")
	d.types("go")
	d.await("its prompt", d.shows("RESTING 2"))
	d.is("idle")
	d.types("/exit")
	d.is("done")

	d.pushes("WORKING 1")
	rest()
	d.presses("\x03")
	d.is("done")

	d.pushes("WORKING 1")
	d.presses("\x03")
	d.is("killed")
}

// slow is a stand-in that takes its time to begin.
const slow = hooked + `until test -e "$CCO_EXCHANGE/begin"; do sleep 0.1; done
printf '\033]2;its own title\007'
turn begun; echo WORKING; read -r line; turn ended; echo RESTING; read -r line
`

// Guards against a terminal that stands empty while a slow program starts, that does not say how it is left, and whose
// title says nothing of its session, or says it for ever.
func TestATerminalSaysWhatItsSessionDoes(t *testing.T) {
	d := deskWith(t, slow)
	title := func() string { return strings.TrimSpace(d.tmux("display", "-p", "#{pane_title}")) }
	before := title()
	d.clear()
	d.types("cco box push a.md --agent claude")
	d.await("how it is left", d.shows("cco: Ctrl-] leaves claude at work"))
	d.await("that it starts", d.shows("starting claude, "))
	d.is("running")
	id, _ := d.newest()
	d.await("a title", func() bool { return title() == "cco "+id+" running" })
	d.write("data/cco/exchange/"+id+"/begin", "")
	d.await("its first words", d.shows("\nWORKING"))
	if d.shows("starting claude")() {
		t.Errorf("it still starts:\n%s", d.screen())
	}
	d.types("go")
	d.await("another title", func() bool { return title() == "cco "+id+" idle" })
	d.leaves()
	if after := title(); after != before {
		t.Errorf("the title is %q, and was %q", after, before)
	}
	d.run("cco", "box", "kill", id)
}

// Guards against finished work that is in no list, that a pull waits for in vain, and that has to be killed.
func TestTheWorkOfAnIdleAgentIsTaken(t *testing.T) {
	d := deskWith(t, unwatched)
	push := func() string { id := d.pushes("WORKING"); d.leaves(); return id }
	rest := func(id string) { d.write("data/cco/exchange/"+id+"/go", ""); d.is("idle") }

	id := push()
	d.clear()
	d.types("cco box pull " + id)
	d.await("waiting", d.shows("waiting for session"))
	rest(id)
	d.await("the question", d.shows("Its agent is idle: end it and take its work? [y/N]"))
	d.types("y")
	d.await("the commit", d.shows("1 commit on main"))
	d.is("pulled")

	// Where nobody can be asked it is said, and nothing ended.
	id = push()
	waits := d.command("cco", "box", "pull", id, "--timeout", "5m")
	said := must.Get(waits.StderrPipe())(t)
	must.Do(t, waits.Start())
	for line, waiting := bufio.NewScanner(said), false; ; {
		if !line.Scan() {
			t.Fatal("a pull that waits never says that the agent is idle")
		}
		if !waiting && strings.Contains(line.Text(), "waiting for session "+id) { // one that begins later would end it
			waiting = true
			rest(id)
		}
		if strings.Contains(line.Text(), "the agent of session "+id+" is idle: it sits at its prompt") {
			break
		}
	}
	must.Do(t, waits.Process.Signal(os.Interrupt))
	_ = waits.Wait()
	d.is("idle")
	if out := d.run("cco", "attention"); !strings.HasPrefix(out, id+"  idle  ") ||
		!strings.Contains(out, "cco box pull "+id+"\n") {
		t.Errorf("attention: %s", out)
	}
	if out, err := d.command("cco", "box", "pull", "--all").CombinedOutput(); err == nil {
		t.Errorf("pull --all: %s", out)
	}
	d.is("idle")
	if out := d.run("cco", "box", "pull", id); !strings.Contains(out, "1 commit on main") {
		t.Errorf("pull: %s", out)
	}
	d.is("pulled")

	id = push()
	rest(id)
	if out := d.run("cco", "box", "kill", id); !strings.Contains(out, "cco box pull "+id+"\n") {
		t.Errorf("kill: %s", out)
	}
	d.is("done")

	// A question is open, though the turn has ended.
	id = push()
	d.write("data/cco/exchange/"+id+"/question.txt", "Which?\n")
	d.is("waiting")
	d.write("data/cco/exchange/"+id+"/go", "")
	d.await("its prompt", func() bool { return strings.Contains(d.run("cco", "box", "logs", id), "RESTING") })
	if out, err := d.command("cco", "box", "pull", id, "--timeout", "3s").CombinedOutput(); err == nil {
		t.Errorf("pull: %s", out)
	}
	d.is("waiting")
	d.run("cco", "box", "kill", id)
	d.is("killed")
}

// Guards against an agent without a hook that looks at work for ever.
func TestAnAgentWithoutAHookIsIdleWhenNothingMoves(t *testing.T) {
	model := agenttest.Serve(t, agenttest.Say("done"))
	d := deskWith(t, asking)
	d.types("export ANTHROPIC_BASE_URL=" + model.URL)
	id := d.pushes("WORKING")
	d.leaves()
	d.write("data/cco/exchange/"+id+"/go", "")
	d.is("idle")
	if out := d.run("cco", "box", "kill", id); !strings.Contains(out, "session "+id+" ended") {
		t.Errorf("kill: %s", out)
	}
}

// Guards against an agent that counts as idle while it waits to try again: the one beside it, which began later and
// whose model has answered, is. What an answer has cost stands in the title.
func TestAnAgentThatWaitsToTryAgainIsNotIdle(t *testing.T) {
	dear := agenttest.Say("done")
	dear.Usage = agenttest.Usage{Input: 4000, Output: 3000}
	model := agenttest.Serve(t, dear)
	model.Fail(1, agenttest.Fault{Status: 529})
	d := deskWith(t, asking)
	d.types("export ANTHROPIC_BASE_URL=" + model.URL)
	tries := d.pushes("WORKING")
	d.leaves()
	d.write("data/cco/exchange/"+tries+"/go", "")
	id := d.pushes("WORKING")
	d.await("what it has cost", func() bool {
		return strings.HasPrefix(d.tmux("display", "-p", "#{pane_title}"), "cco "+id+" running $0.0")
	})
	d.leaves()
	d.write("data/cco/exchange/"+id+"/go", "")
	d.is("idle")
	if list := d.run("cco", "box", "sessions"); !regexp.MustCompile(`(?m)^` + tries + ` +running `).MatchString(list) {
		t.Errorf("the one that waits to try again:\n%s", list)
	}
	if out, err := d.command("cco", "box", "pull", tries, "--timeout", "1s").CombinedOutput(); err == nil {
		t.Errorf("pull: %s", out)
	}
	if out := d.run("cco", "attention"); !strings.HasPrefix(out, id+"  idle  ") || strings.Contains(out, tries) {
		t.Errorf("attention: %s", out)
	}
}

// listening notes each line that is typed to it, in the middle of its turn and at its prompt.
const listening = hooked + `note() { IFS= read -r line; printf '%s\n' "$line" | cat -v >>"$CCO_EXCHANGE/typed"; }
turn begun; echo WORKING; note
turn ended; echo RESTING; note; note; read -r line
`

// Guards against words that reach an agent as keys: what is said is pasted, and then entered, again if nothing begins.
func TestSayingTypesIntoASession(t *testing.T) {
	d := deskWith(t, listening)
	id := d.pushes("WORKING")
	d.leaves()
	said := func(words ...string) {
		t.Helper()
		if out := d.run("cco", append([]string{"box", "say", id}, words...)...); !strings.Contains(out, "was told") {
			t.Errorf("say: %s", out)
		}
	}
	is := func(want string) {
		t.Helper()
		d.await(want, func() bool { return strings.HasSuffix(d.typed(id), want) })
	}
	said("use ä\x1b \x03tabs\x1b[31m\u009b")
	is("^[[200~use M-CM-$ tabs[31m^[[201~\n")
	d.is("idle")
	said("and go on")
	is("\n^[[200~and go on^[[201~\n\n")

	for words, want := range map[string]string{"": "exit status 2", "\x1b\x03": "exit status 2"} {
		if out, err := d.command("cco", "box", "say", id, words).CombinedOutput(); err == nil || err.Error() != want {
			t.Errorf("say %q: %v: %s", words, err, out)
		}
	}
	d.run("cco", "box", "kill", id)
	out, err := d.command("cco", "box", "say", id, "late").CombinedOutput()
	if err == nil || err.Error() != "exit status 4" {
		t.Errorf("say: %v: %s", err, out)
	}
}
