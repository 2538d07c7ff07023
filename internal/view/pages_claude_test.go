//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// dear is a step that takes thousands of tokens.
func dear(s agenttest.Step) agenttest.Step {
	s.Usage = agenttest.Usage{Input: 4000, Output: 3000}
	return s
}

// The real claude, with a script as its model: it reaches limits that are raised on the page, thinks, calls, is
// refused, asks, and is answered there. What it would write outside is noted.
func TestClaudeOnThePage(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	model := agenttest.Serve(t,
		dear(agenttest.Step{Thinking: "Let me think of it.",
			Text:  "## First\n\nI begin with *words* and <script>alert(1)</script>.",
			Calls: []agenttest.Call{agenttest.ShellCall("curl -sS -m 5 https://refused.example/ || echo it ran")}}),
		dear(agenttest.Write("/etc/evil", "x")),
		dear(agenttest.Write("/etc/evil", "y")),
		agenttest.Ask("Which colour shall it have?", "Red", "Blue"),
		agenttest.Ask("Which size shall it have?", "Small", "Large"),
		agenttest.Ask("Which name shall it have?", "Ann", "Bob"),
		agenttest.Say("Blue, large and Bob it is."))
	claude := filepath.Dir(agenttest.Program(t, "claude"))
	for i, v := range r.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			r.Env[i] = "PATH=" + r.Bin + ":" + claude + ":" + path
		}
	}
	r.Env = append(r.Env, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=none")
	r.Run("cco", "config", "set", "limits.day_tokens", "5000")
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	r.Run("cco", "box", "push", "-m", "# Paint it\n\nDo what the script says.", "--agent", "claude", "--detach")
	raiseLimits(b)
	b.sees("Which colour shall it have?")
	b.sees("Asks")
	b.fine("a question at home")
	id := b.value("document.querySelector('#asks .row').dataset.id")
	transcript(b, id)

	b.at("/")
	b.press("Blue")
	b.pressIn(".pane", "Answer")
	b.sit(narrow)
	b.at("/session/" + id)
	b.sees("Which size shall it have?")
	b.fine("a question in a session")
	b.press("Large")
	b.press("Answer")
	b.sit(keys)
	b.at("/session/" + id)
	b.sees("Which name shall it have?")
	b.press("Bob")
	b.press("Answer")
	b.until("the answer arrives", "document.querySelector('.state')?.dataset.state !== 'waiting'")
	b.at("/session/" + id)
	b.sees("Blue, large and Bob it is.")
	for _, said := range []string{"Blue", "Large", "Bob"} {
		if !model.Saw(said) {
			t.Errorf("the model never saw %s", said)
		}
	}
	for _, h := range []hand{wide, narrow} {
		b.sit(h)
		b.at("/money")
		b.sees("By model")
		b.until("a plot", "document.querySelector('.chart rect')")
		b.fine("money with a plot")
	}
	b.sit(wide)
	b.at("/box/cco-sandbox")
	b.sees("its model")
	b.sees("/etc/evil")
}

// raiseLimits raises the day's limit on the page of money, and the run's where it is reached.
func raiseLimits(b *browser) {
	b.t.Helper()
	b.at("/")
	b.sees("Reached a limit")
	b.sees("The day’s limit of 5000 tokens is reached")
	b.fine("a limit of the day")
	b.at("/money")
	b.until("the limit", "document.getElementById('limit-day_tokens')?.value === '5k'")
	b.types("Tokens a day", "1000000")
	b.press("Set it")
	b.until("the new limit", "document.getElementById('limit-day_tokens')?.value === '1M'")
	b.at("/money")
	b.types("Tokens a run", "5000")
	b.press("Set it")
	b.until("the limit of a run", "document.getElementById('limit-run_tokens')?.value === '5k'")
	b.at("/")
	b.press("Go on")
	b.sees("The run’s limit of 5000 tokens is reached")
	b.fine("a limit of a run")
	b.sit(narrow)
	b.choose("Paint it")
	b.types("Tokens of the next run", "5000")
	before := b.paused()
	b.press("Raise it")
	// It is soon paused again: a page that reads rarely, on a slow machine, never shows that nothing waits.
	for until := time.Now().Add(8 * time.Minute); b.paused() == "" || b.paused() == before; {
		if time.Now().After(until) {
			b.t.Fatal("it does not go on")
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.at("/")
	b.until("the limit again", // a phone hides it
		"document.querySelector('#asks .row')?.textContent.includes('run’s limit')")
	b.sit(keys)
	b.choose("Paint it")
	b.types("Tokens of the next run", "1000000")
	b.press("Raise it")
	b.at("/")
	b.sit(wide)
}

// paused is when the only session was paused, "" if it is not.
func (b *browser) paused() string {
	b.t.Helper()
	var list []struct{ State, Finished string }
	must.Do(b.t, json.Unmarshal([]byte(b.r.Run("cco", "box", "sessions", "--json")), &list))
	if len(list) != 1 || list[0].State != "paused" {
		return ""
	}
	return list[0].Finished
}

// transcript looks at what an agent did.
func transcript(b *browser, id string) {
	b.t.Helper()
	some := func(what, selector, words string) {
		b.t.Helper()
		b.until(what, "[...document.querySelectorAll('"+selector+"')].some(e => e.textContent.includes('"+words+"'))")
	}
	b.at("/session/" + id)
	b.sees("It asks")
	some("thoughts", "details.thought summary", "Let me think of it.")
	some("calls", "details.call1 summary", "refused.example")
	some("refusals", ".calls.refused", "refused.example")
	b.sees("<script>alert(1)</script>")
	b.until("folded", "[...document.querySelectorAll('details.call1')].every(e => !e.open)")
	b.fine("claude's session")
}
