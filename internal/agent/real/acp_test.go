//go:build heavy

package real

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// spoken are the CLIs that are driven by the Agent Client Protocol: each is a row of a table, without code.
var spoken = []string{"copilot", "qwen", "pi"}

// The whole way: the plan is carried out, with the key that only the door has, and the commit comes back.
func TestAnAgentByProtocolIsPushedAndPulled(t *testing.T) {
	eachBox(t, spoken, func(t *testing.T, agent, box string) {
		w := newWork(t, agent,
			agenttest.Step{Text: "I read the plan.", Calls: []agenttest.Call{agenttest.ShellCall("cat plan.md; uname -n")}},
			commit("hello.txt", "hello"), agenttest.Say("The lamp is lit."))
		w.box = box
		out, id := w.push(0)
		for _, words := range []string{"I read the plan.", "The lamp is lit.", "»"} {
			if !strings.Contains(out, words) {
				t.Errorf("%q is not shown:\n%s", words, out)
			}
		}
		if s := w.session(id); s.State != "done" {
			t.Errorf("session %+v", s)
		}
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		if !w.model.Saw("Commits go to the current branch") || !w.model.Saw("lighthouse keeper greets") {
			t.Error("the model never saw the skill or the plan")
		}
		for _, r := range w.model.Requests() {
			if r.Turn && r.Key() != w.key {
				t.Errorf("the model got the key %q, not the real one", r.Key())
			}
		}
		if text := w.kept(id, "transcript.jsonl"); strings.Contains(text, w.key) {
			t.Error("the key is in the transcript")
		}
		if cost := w.run(0, "box", "sessions"); !regexp.MustCompile(`(?m)^` + id + ` .*\$0\.0`).MatchString(cost) {
			t.Errorf("what it cost is not on record:\n%s", cost)
		}
	})
}

// A limit pauses it, and it goes on in its own conversation.
func TestAnAgentByProtocolGoesOnAfterALimit(t *testing.T) {
	each(t, spoken, func(t *testing.T, agent string) {
		dear := commit("hello.txt", "hello")
		dear.Usage = agenttest.Usage{Input: 4000, Output: 3000}
		w := newWork(t, agent, dear, commit("more.txt", "more"), agenttest.Say("done"))
		out, id := w.push(4, "--max-tokens", "5000")
		if s := w.session(id); s.State != "paused" {
			t.Errorf("session %+v\n%s", s, out)
		}
		w.run(0, "box", "push", "--continue", id, "--headless", "--max-tokens", "100000")
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		w.pulled("more.txt", "more")
		if w.git(w.repo, "rev-list", "--count", "HEAD") != "3" {
			t.Error("something was done twice: the conversation was not resumed")
		}
	})
}

// Killed while it waits for its model, it leaves its work, and goes on in its conversation.
func TestAnAgentByProtocolIsKilledAndGoesOn(t *testing.T) {
	each(t, spoken, func(t *testing.T, agent string) {
		w := newWork(t, agent, agenttest.Shell("echo half > half.txt && git add . && git commit -q -m Half"),
			commit("more.txt", "more"), agenttest.Say("done"))
		w.model.Fail(2, agenttest.Storm(agenttest.Fault{Hang: agenttest.AtStart}, 1)...)
		_, id := w.push(0, "--detach")
		w.waitFor("the agent's second request", func() bool { return w.model.Turns() >= 2 })
		w.run(0, "box", "kill", id)
		w.waitFor("the end", func() bool { return w.session(id).State == "killed" })
		w.run(0, "box", "push", "--continue", id, "--headless")
		w.run(0, "box", "pull", id)
		w.pulled("half.txt", "half")
		w.pulled("more.txt", "more")
		if w.git(w.repo, "rev-list", "--count", "HEAD") != "3" {
			t.Error("something was done twice: the conversation was not resumed")
		}
	})
}

// Guards against the end of a turn that is taken for success: copilot says the error of its model as words of its own.
func TestAnAgentByProtocolWhoseModelRefusesHasFailed(t *testing.T) {
	each(t, spoken, func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"))
		w.model.Fail(1, agenttest.Storm(agenttest.Fault{Status: 401}, 50)...)
		_, id := w.push(1, "--idle-timeout", "2m")
		if s := w.session(id); s.State != "failed" || !strings.Contains(s.Reason, "401") {
			t.Errorf("session %+v", s)
		}
	})
}

// It asks, and is answered in its own conversation.
func TestAnAgentByProtocolAsks(t *testing.T) {
	each(t, spoken[:1], func(t *testing.T, agent string) {
		w := newWork(t, agent, agenttest.Shell(`echo "Which colour?" > "$CCO_EXCHANGE/question.txt"`),
			agenttest.Say("I have asked."), commit("colour.txt", "chosen"), agenttest.Say("painted"))
		_, id := w.push(0, "--detach")
		w.waitFor("the question", func() bool { return w.session(id).State == "waiting" })
		if list := w.run(0, "attention"); !strings.Contains(list, "Which colour") {
			t.Errorf("attention:\n%s", list)
		}
		w.run(0, "answer", id, "Ultramarine, if you please.")
		w.waitFor("the end", func() bool { return w.session(id).State == "done" })
		if !w.model.Saw("Ultramarine") {
			t.Error("the model never saw the answer")
		}
		w.run(0, "box", "pull", id)
		w.pulled("colour.txt", "chosen")
	})
}
