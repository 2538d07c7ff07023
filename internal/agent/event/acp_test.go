package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func acpUpdateLine(u string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"update":` + u + `}}`
}

// said is what an agent was told since the last time.
func said(a *ACP) (list []string) {
	for {
		select {
		case line, ok := <-a.Says:
			if !ok {
				return append(list, "the end")
			}
			list = append(list, strings.TrimSpace(string(line)))
		default:
			return list
		}
	}
}

// begun is a turn whose agent has answered all until the prompt.
func begun(t *testing.T, turn Turn) *ACP {
	t.Helper()
	a, _ := NewACP(Start{Turn: &turn}).(*ACP)
	a.Line([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`))
	a.Line([]byte(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"abc","modes":{"availableModes":[{"id":"yolo"}]},` +
		`"configOptions":[{"id":"m","category":"model","options":[{"value":"gpt-5"}]}]}}`))
	for id := 3; !a.prompted() && !a.Over; id++ {
		a.Line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id))
	}
	return a
}

func TestACPEvents(t *testing.T) {
	a := begun(t, Turn{Prompt: "do it"})
	var got []string
	for _, line := range []string{
		acpUpdateLine(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
		acpUpdateLine(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one "}}`),
		acpUpdateLine(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two\u001b[31m"}}`),
		acpUpdateLine(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","status":"pending",` +
			`"rawInput":{}}`),
		acpUpdateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":{"command":"ls"},` +
			`"status":"in_progress"}`),
		acpUpdateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed",` +
			`"content":[{"type":"content","content":{"text":"no"}}]}`),
		acpUpdateLine(`{"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"},` +
			`{"content":"b","status":"pending"}]}`),
		acpUpdateLine(`{"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.5,"currency":"USD"}}`),
		acpUpdateLine(`{"sessionUpdate":"something_new"}`), "no protocol",
		`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`} {
		for _, e := range a.Line([]byte(line)) {
			got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Tool+" "+e.Text))
		}
	}
	want := []string{"thinking  hm", "text  one two\x1b[31m", "tool_call shell", "tool_result shell no",
		"raw", "text  no protocol"}
	if g, w := strings.Join(got, "|"), strings.Join(want, "|"); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	f := a.End(0).Finished
	if f.Outcome != OK || f.Session != "abc" || f.Usage != (Usage{}) || !a.Over {
		t.Errorf("%+v", f)
	}
}

// It is asked for one thing after the other, as it can be asked.
func TestACPIsToldItsTurn(t *testing.T) {
	a := begun(t, Turn{Dir: "/w", Prompt: "do it", Resume: "old", Mode: "yolo", Model: "gpt-5", Servers: Servers{
		"tickets": {Command: "/opt/t", Args: []string{"-x"}, Env: map[string]string{"K": "v"}}}})
	list := said(a)
	for i, want := range []string{`"terminal":false`, `"env":[{"name":"K","value":"v"}],"name":"tickets"}],` +
		`"sessionId":"old"`, `"method":"session/set_mode","params":{"modeId":"yolo"`, `"configId":"m"`,
		`"text":"do it"`} {
		if i >= len(list) || !strings.Contains(list[i], want) || !json.Valid([]byte(list[i])) {
			t.Fatalf("said %q, want %s", list, want)
		}
	}
	old, _ := NewACP(Start{Turn: &Turn{Resume: "old"}}).(*ACP)
	old.Line([]byte(`{"jsonrpc":"2.0","id":1,"result":{"agentCapabilities":{"loadSession":true}}}`))
	before := acpUpdateLine(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"before"}}`)
	if e := old.Line([]byte(before)); len(e) > 0 || old.Kept || old.text+old.words.String() != "" {
		t.Errorf("what was said before is told again: %+v", e)
	}
}

// What it asks of us is answered, and what only a person can say is a question.
func TestACPIsAnswered(t *testing.T) {
	a := begun(t, Turn{})
	said(a)
	ask := func(method, params string) []Event {
		return a.Line([]byte(`{"jsonrpc":"2.0","id":"r","method":"` + method + `","params":` + params + `}`))
	}
	ask("fs/read_text_file", `{"path":"/etc/passwd"}`)
	ask("session/request_permission", `{"options":[{"optionId":"no","kind":"reject_once"},`+
		`{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"}]}`)
	which := ask("session/request_permission", `{"toolCall":{"title":"Which?"},"options":[{"optionId":"a","name":"red"},`+
		`{"optionId":"b","name":"blue"}]}`)
	what := ask("elicitation/create", `{"message":"What?"}`)
	if len(which) != 1 || which[0].Text != "Which?\n- red\n- blue" || len(what) != 1 || what[0].Text != "What?" {
		t.Errorf("asked %+v %+v", which, what)
	}
	list := said(a)
	for i, want := range []string{"-32601", `"optionId":"once"`, `{"outcome":"cancelled"}`, `"action":"cancel"`} {
		if !strings.Contains(list[i], want) {
			t.Errorf("answer %d is %q", i, list[i])
		}
	}
	if !a.End(0).Finished.Asked {
		t.Error("it has not asked")
	}
}

// Guards against agents that break off, flood or never end, and against an end that is taken for success.
func TestACPEnds(t *testing.T) {
	answer := func(result string) string { return `{"jsonrpc":"2.0","id":3,` + result + `}` }
	for line, want := range map[string]Outcome{"": Killed, answer(`"result":{"stopReason":"cancelled"}`): Killed,
		answer(`"result":{"stopReason":"max_tokens"}`): Limit, answer(`"result":{"stopReason":"refusal"}`): Failed,
		answer(`"error":{"code":-32603,"message":"status 529"}`): Failed, `{"jsonrpc":"2.0","id":3,"resu`: Killed,
		answer(`"result":"` + strings.Repeat("x", 2*MaxLine) + `"`): Killed,
		answer(`"result":{"stopReason":"end_turn"}`):                OK} {
		a := begun(t, Turn{})
		events := a.Line([]byte(line[:min(len(line), MaxLine)]))
		f := a.End(0).Finished
		if f.Outcome != want || f.Transient != strings.Contains(line, "529") || len(events) > 0 && len(events[0].Text) > 99 {
			t.Errorf("%.80s: %+v %+v", line, f, events)
		}
		if list := said(a); !slices.Contains(list, "the end") {
			t.Errorf("%.80s: its input has not ended: %q", line, list)
		}
	}
	if a := begun(t, Turn{Mode: "no such"}); !strings.Contains(a.failure, `[{"id":"yolo"}]`) || !a.Over {
		t.Errorf("a mode that there isn't: %q", a.failure)
	}
	ok := Finished{Outcome: OK}
	if f := ok.Judged("its model answered with status 401", 401, nil); f.Outcome != Failed || f.Transient {
		t.Errorf("%+v", f)
	}
	if f := ok.Judged("its model answered with status 529", 529, nil); !f.Transient {
		t.Errorf("%+v", f)
	}
	if f := ok.Judged("the "+SpendLimit, 0, nil); f.Outcome != Limit {
		t.Errorf("%+v", f)
	}
}

// A cancel asks for the end of a turn, and ends at once what was not begun. One that reads nothing holds nobody up.
func TestACPIsCancelled(t *testing.T) {
	a := begun(t, Turn{})
	said(a)
	a.Cancel()
	if list := said(a); len(list) != 1 || !strings.Contains(list[0], "session/cancel") {
		t.Errorf("said %q", list)
	}
	for range 5000 {
		a.Line([]byte(`{"jsonrpc":"2.0","id":1,"method":"terminal/create"}`))
	}
	early, _ := NewACP(Start{Turn: &Turn{}}).(*ACP)
	if early.Cancel(); !early.Over || early.End(0).Finished.Outcome != Killed {
		t.Error("it goes on")
	}
}
