package event

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatIsUnknownIsKept(t *testing.T) {
	for agent, decoder := range decoders() {
		d := decoder(Start{})
		if got := d.Line([]byte("Warning: something")); len(got) != 1 || got[0].Kind != KindText ||
			got[0].Text != "Warning: something" {
			t.Errorf("%s: a line of words gives %+v", agent, got)
		}
		if got := d.Line([]byte(`{"type":"brand.new","x":1`)); len(got) != 1 || got[0].Kind != KindText {
			t.Errorf("%s: half an object gives %+v", agent, got)
		}
		if agent == "script" {
			continue
		}
		for _, line := range []string{`{"type":"brand.new","x":1}`, `{}`, `{"type":7}`} {
			got := d.Line([]byte(line))
			if len(got) != 1 || got[0].Kind != KindRaw && got[0].Kind != KindText || got[0].Raw+got[0].Text != line {
				t.Errorf("%s: %s gives %+v", agent, line, got)
			}
		}
	}
}

// Guards against words of a model that are lost because they begin as the script agent's do.
func TestOnlyTheScriptAgentSpeaksAside(t *testing.T) {
	for agent, decoder := range decoders() {
		for line, aside := range map[string]bool{"==> Task 1: add": agent == "script", "==>": false, "words ==> ": false} {
			if got := decoder(Start{}).Line([]byte(line)); len(got) != 1 || got[0].Aside != aside || got[0].Text != line {
				t.Errorf("%s: %s gives %+v", agent, line, got)
			}
		}
	}
}

// Guards against the word "success" being taken for one.
func TestSuccessIsWhatTheStatusSays(t *testing.T) {
	ok := map[string]string{
		"claude":   `{"type":"result","subtype":"success","is_error":false,"result":"x"}`,
		"codex":    `{"type":"turn.completed","usage":{}}`,
		"gemini":   `{"type":"result","status":"success","stats":{}}`,
		"opencode": `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}`,
		"script":   "success",
	}
	for agent, decoder := range decoders() {
		for _, tt := range []struct {
			exit int
			want Outcome
		}{{0, OK}, {1, Failed}, {137, Killed}} {
			d := decoder(Start{})
			d.Line([]byte(ok[agent]))
			if got := d.End(tt.exit).Finished; got.Outcome != tt.want {
				t.Errorf("%s with status %d: %+v", agent, tt.exit, got)
			}
		}
		if agent == "script" {
			continue
		}
		if got := decoder(Start{}).End(0).Finished; got.Outcome != Killed {
			t.Errorf("%s: nothing said, status 0: %+v", agent, got)
		}
	}
	d := NewClaude(Start{})
	d.Line([]byte(`{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: ` +
		`Overloaded"}`))
	if got := d.End(0).Finished; got.Outcome != Failed || !got.Transient {
		t.Errorf("is_error with success: %+v", got)
	}
}

func TestClaudeLimits(t *testing.T) {
	for _, subtype := range []string{"error_max_turns", "error_max_budget_usd"} {
		d := NewClaude(Start{})
		d.Line([]byte(`{"type":"result","subtype":"` + subtype + `","is_error":true}`))
		if got := d.End(1).Finished; got.Outcome != Limit || got.Error == "" || got.Transient {
			t.Errorf("%s: %+v", subtype, got)
		}
	}
}

// Guards against the words of a limit of ours being retried: it would not help.
func TestOurOwnLimitIsALimit(t *testing.T) {
	words := "API Error: 429 " + SpendLimit + " reached: 10 tokens"
	for agent, line := range map[string]string{
		"claude": `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"` + words + `"}`,
		"codex":  `{"type":"turn.failed","error":{"message":"` + words + `"}}`,
		"gemini": `{"type":"result","status":"error","error":{"message":"` + words + `"}}`,
		"opencode": `{"type":"error","error":{"name":"APIError","data":{"message":"x","statusCode":429,"responseBody":"` +
			words + `"}}}`,
	} {
		d := decoders()[agent](Start{})
		d.Line([]byte(line))
		if got := d.End(1).Finished; got.Outcome != Limit || got.Transient {
			t.Errorf("%s: %+v", agent, got)
		}
	}
}

func TestTransientFailures(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 11, 15, 23, 50, 0, 0, time.UTC) }
	tests := []struct {
		words string
		want  bool
		reset string // "" for none
	}{
		{"API Error: 529 Overloaded", true, ""},
		{"exceeded retry limit, last status: 429 Too Many Requests", true, ""},
		{"unexpected status 401 Unauthorized: no", false, ""},
		{"unexpected status 503 Service Unavailable", true, ""},
		{`[API Error: {"error":{"code":500,"message":"x"}}]`, true, ""},
		{`{"error":{"code": 404}}`, false, ""},
		{"API Error: Unable to connect to API (ECONNRESET)", true, ""},
		{"stream disconnected before completion: x", true, ""},
		{"TypeError: fetch failed", true, ""},
		{"[API Error: terminated]", true, ""},
		{"Invalid API key", false, ""},
		{"I wrote 500 lines", false, ""},
		{"Claude AI usage limit reached|1794787200", true, "2026-11-16T00:00:00Z"},
		{"You've hit your limit · resets 3am (Europe/Berlin)", true, "2026-11-16T02:00:00Z"},
		{"You’ve hit your usage limit. Try again at 11:55 PM.", true, "2026-11-15T23:55:00Z"},
		{"You’ve hit your usage limit. Try again at Nov 17th, 2026 1:05 AM.", true, "2026-11-17T01:05:00Z"},
		{"limit; it resets at 2026-11-16T07:00:00Z", true, "2026-11-16T07:00:00Z"},
		{"Rate limit reached. Please try again in 1m30.5s", true, "2026-11-15T23:51:30.5Z"},
		{"Suggested retry after 590s.", true, "2026-11-15T23:59:50Z"},
		{"Your quota resets in 2 days, 3 hours", true, "2026-11-18T02:50:00Z"},
		{"try again in 99999999 days", true, "2026-11-23T23:50:00Z"},
		{"it resets at 2099-01-01T00:00:00Z", true, "2026-11-23T23:50:00Z"},
		{"it resets 5", false, ""},
		{"it resets 25:99", false, ""},
	}
	for _, tt := range tests {
		var f Finished
		f.fail(tt.words, 0, now)
		reset := ""
		if !f.ResetAt.IsZero() {
			reset = f.ResetAt.UTC().Format(time.RFC3339Nano)
		}
		if f.Transient != tt.want || reset != tt.reset {
			t.Errorf("%q: transient %v, resets %q; want %v, %q", tt.words, f.Transient, reset, tt.want, tt.reset)
		}
	}
}

func TestResumedRunsCountOnlyThemselves(t *testing.T) {
	result := `{"type":"result","session_id":"s","total_cost_usd":%g,"usage":{"input_tokens":5,"output_tokens":1},` +
		`"modelUsage":{"a":{"inputTokens":%d,"outputTokens":10,"cacheReadInputTokens":3,"cacheCreationInputTokens":2},` +
		`"b":{"inputTokens":1,"outputTokens":1}}}`
	d := NewClaude(Start{Before: Usage{Input: 100, Output: 8, CacheRead: 3, Cost: 0.5}})
	d.Line(fmt.Appendf(nil, result, 0.75, 120))
	if got, want := d.End(0).Finished, (Usage{Input: 21, Output: 3, CacheWrite: 2, Cost: 0.25}); got.Usage != want ||
		got.Total.Input != 121 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// A CLI that began to count anew.
	d = NewClaude(Start{Before: Usage{Input: 1000, Cost: 9}})
	d.Line(fmt.Appendf(nil, result, 0.75, 120))
	if got := d.End(0).Finished.Usage; got.Input != 121 || got.Cost != 0.75 {
		t.Errorf("got %+v", got)
	}
	d = NewCodex(Start{Before: Usage{Input: 30, Output: 15, CacheRead: 10}})
	d.Line([]byte(`{"type":"turn.completed","usage":{"input_tokens":60,"cached_input_tokens":20,"output_tokens":20}}`))
	if got, want := d.End(0).Finished.Usage, (Usage{Input: 10, Output: 5, CacheRead: 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Guards against a run that was killed being counted as nothing, and against one message being counted for each of its
// blocks.
func TestUsageSoFar(t *testing.T) {
	d := NewClaude(Start{})
	block := `{"type":"assistant","session_id":"s","message":{"id":"%s","content":[{"type":"text","text":"x"}],` +
		`"usage":{"input_tokens":10,"output_tokens":%d}}}`
	for _, m := range []struct {
		id  string
		out int
	}{{"a", 1}, {"a", 1}, {"a", 7}, {"b", 2}} {
		d.Line(fmt.Appendf(nil, block, m.id, m.out))
	}
	if got, want := d.End(143).Finished, (Usage{Input: 20, Output: 9, Turns: 2}); got.Usage != want ||
		got.Outcome != Killed || got.Session != "s" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Guards against a session id that would be an option on the next run's command line.
func TestSessionIDsAreHarmless(t *testing.T) {
	for _, id := range []string{"--dangerous", "a b", "a\nb", "$(x)", strings.Repeat("a", 200), "é"} {
		if got := sessionID(id); got != "" {
			t.Errorf("%q was taken as %q", id, got)
		}
	}
	for _, id := range []string{"ses_e21f6834effeY3GDclyg6up2O5", "01a1de02-09cb-7743-8786-1f323c6bff29"} {
		if sessionID(id) != id {
			t.Errorf("%q was refused", id)
		}
	}
}

func TestGeminiSpeaksInLines(t *testing.T) {
	d := NewGemini(Start{})
	piece := func(s string) []Event {
		return d.Line(fmt.Appendf(nil, `{"type":"message","role":"assistant","delta":true,"content":%q}`, s))
	}
	if got := piece("Hel"); got != nil {
		t.Errorf("half a word: %+v", got)
	}
	if got := piece("lo\nwor"); len(got) != 1 || got[0].Text != "Hello" {
		t.Errorf("a line: %+v", got)
	}
	if got := d.Line([]byte(`{"type":"result","status":"success","stats":{}}`)); len(got) != 2 || got[0].Text != "wor" {
		t.Errorf("the rest: %+v", got)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ü", maxText)
	d := NewClaude(Start{})
	got := d.Line([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"` + long +
		`"},{"type":"tool_use","id":"1","name":"Write","input":{"content":"` + long + `"}}]}}`))
	if len(got) != 2 || len(got[0].Text) > maxText+8 || got[1].Input != nil || !got[1].Cut || got[1].Tool != "Write" {
		t.Errorf("%d events, %d bytes", len(got), len(got[0].Text))
	}
}

// Guards against a review of which only its last line is kept, because gemini tells its words in pieces.
func TestGeminiEndsWithAllThatItSaidLast(t *testing.T) {
	d := NewGemini(Start{})
	for _, line := range []string{
		`{"type":"message","role":"assistant","content":"I look.\n","delta":true}`,
		`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1","parameters":{}}`,
		`{"type":"tool_result","tool_id":"1","status":"success","output":"x"}`,
		"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"```json\\n{\\\"verdict\\\":\\n \\\"APP\",\"delta\":true}",
		"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ROVED\\\"}\\n```\",\"delta\":true}",
		`{"type":"result","status":"success","stats":{}}`,
	} {
		d.Line([]byte(line))
	}
	if got, want := d.End(0).Finished.Text, "```json\n{\"verdict\":\n \"APPROVED\"}\n```"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Guards against a note of claude's makers to themselves as the reason for an end.
func TestClaudesDiagnosticsAreNoReason(t *testing.T) {
	r := claudeResult{Subtype: "error_during_execution", Errors: []any{"[ede_diagnostic] x=y", "no space left"}}
	if got := r.words(); got != "no space left" {
		t.Errorf("%q", got)
	}
	r.Errors = r.Errors[:1]
	if got := r.words(); got != "error during execution" {
		t.Errorf("%q", got)
	}
}

// Guards against people who read that something unknown happened, when Claude Code drew its own terminal anew.
func TestUIInvalidateReachesNobody(t *testing.T) {
	lines := 0
	for _, name := range []string{"work", "killed", "refused", "denied", "dropped", "storm"} {
		d := NewClaude(Start{Now: recordedAt})
		for _, line := range load(t, "claude", name).Stdout {
			if !strings.Contains(line, `"subtype":"ui_invalidate"`) {
				continue
			}
			lines++
			if got := d.Line([]byte(line)); len(got) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	if lines == 0 {
		t.Error("no recording has one")
	}
}
