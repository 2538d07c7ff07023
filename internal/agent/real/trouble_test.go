//go:build heavy

package real

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// A model that is overloaded for a while, and a stream that breaks off, cost time but no work, and nothing is done
// twice.
func TestAStormPasses(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"),
			agenttest.Shell("echo again >> count.txt && git add . && git commit -q -m Count"), agenttest.Say("done"))
		w.model.Fail(2, agenttest.Storm(agenttest.Fault{Status: 529}, 3)...)
		w.model.Fail(6, agenttest.Fault{Drop: agenttest.InMiddle})
		_, id := w.push(0)
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		w.pulled("count.txt", "again")
		if n := w.model.Turns(); n < 7 {
			t.Errorf("only %d requests: the faults did not happen", n)
		}
	})
}

// An agent that is killed while it waits for its model leaves a commit and a change behind, and both can be pulled.
func TestAKilledAgentsWorkIsKept(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, agenttest.Shell(
			"echo half > half.txt && git add . && git commit -q -m Half && echo rest > rest.txt"))
		w.model.Fail(2, agenttest.Storm(agenttest.Fault{Hang: agenttest.AtStart}, 20)...)
		_, id := w.push(0, "--detach")
		w.waitFor("the agent's second request", func() bool { return w.model.Turns() >= 2 })
		w.run(0, "box", "kill", id)
		w.waitFor("the end", func() bool { return w.session(id).State == "killed" })
		w.run(0, "box", "pull", id, "--partial")
		w.pulled("half.txt", "half")
		if got := w.git(w.repo, "show", "refs/cco/"+id+"-wip:rest.txt"); got != "rest" {
			t.Errorf("what was not committed: %q", got)
		}
	})
}

// An agent whose program dies with everything beside it, in the middle of a call, has failed; its work is kept as well.
func TestADeadAgentsWorkIsKept(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, agenttest.Shell("sh die.sh"), agenttest.Say("never said"))
		w.put("die.sh", "echo half > half.txt; git add half.txt; git commit -q -m Half; echo rest > rest.txt; kill -9 -1\n")
		out, id := w.push(1, "--no-resume")
		if s := w.session(id); s.State != "failed" || !strings.Contains(out, "--partial") {
			t.Errorf("session %+v\n%s", s, out)
		}
		w.run(0, "box", "pull", id, "--partial")
		w.pulled("half.txt", "half")
		if got := w.git(w.repo, "show", "refs/cco/"+id+"-wip:rest.txt"); got != "rest" {
			t.Errorf("what was not committed: %q", got)
		}
	})
}

// An agent that asks is answered later, by its own conversation.
func TestAQuestionIsAnswered(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		ask := agenttest.Shell(`echo "Which colour, red or blue?" > "$CCO_EXCHANGE/question.txt"`)
		if agent == "claude" {
			ask = agenttest.Ask("Which colour, red or blue?", "red", "blue")
		}
		steps := []agenttest.Step{ask, commit("colour.txt", "chosen"), agenttest.Say("painted")}
		if agent != "claude" { // it has said so and ends its turn
			steps = append(steps[:1:1], append([]agenttest.Step{agenttest.Say("I have asked.")}, steps[1:]...)...)
		}
		w := newWork(t, agent, steps...)
		out := w.run(0, "box", "push", "plan.md", "--detach", "--agent", agent)
		id := sessionID.FindStringSubmatch(out)[1]
		w.waitFor("the question", func() bool { return w.session(id).State == "waiting" })
		if list := w.run(0, "attention"); !strings.Contains(list, id) || !strings.Contains(list, "Which colour") {
			t.Errorf("attention:\n%s", list)
		}
		w.run(0, "answer", id, "Ultramarine, if you please.")
		w.waitFor("the end", func() bool { return w.session(id).State == "done" })
		if !w.model.Saw("Ultramarine") {
			t.Error("the model never saw the answer")
		}
		w.run(0, "box", "pull", id)
		w.pulled("colour.txt", "chosen")
		if list := w.run(0, "attention"); strings.Contains(list, id) {
			t.Errorf("it still waits:\n%s", list)
		}
	})
}

// A run that has used up its tokens is paused with its work kept, says how to go on, and does.
func TestASpendLimitPausesTheRun(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		dear := commit("hello.txt", "hello")
		dear.Usage = agenttest.Usage{Input: 4000, Output: 3000}
		w := newWork(t, agent, dear, commit("more.txt", "more"), agenttest.Say("done"))
		out, id := w.push(4, "--max-tokens", "5000")
		if s := w.session(id); s.State != "paused" {
			t.Errorf("session %+v", s)
		}
		for _, words := range []string{"paused", "limits.run_tokens", "--continue " + id} {
			if !strings.Contains(out, words) {
				t.Errorf("the user is not told of %q:\n%s", words, out)
			}
		}
		if n := w.model.Turns(); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		w.run(0, "box", "push", "--continue", id, "--headless", "--agent", agent, "--max-tokens", "100000")
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		w.pulled("more.txt", "more")
	})
}
