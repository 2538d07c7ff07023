package event

import (
	"strings"
	"testing"
)

func TestACPEvents(t *testing.T) {
	up := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"update":` + u + `}}`
	}
	d := NewACP(Start{})
	var got []string
	for _, line := range []string{`{"cco":"begun","session":"abc"}`,
		up(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
		up(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one "}}`),
		up(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two\u001b[31m"}}`),
		up(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","status":"pending","rawInput":{}}`),
		up(`{"sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":{"command":"ls"},"status":"in_progress"}`),
		up(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed",` +
			`"content":[{"type":"content","content":{"text":"no"}}]}`),
		up(`{"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}`),
		up(`{"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.5,"currency":"USD"}}`),
		up(`{"sessionUpdate":"something_new"}`), "no protocol",
		`{"cco":"ended","stop":"end_turn"}`} {
		for _, e := range d.Line([]byte(line)) {
			got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.Tool+" "+e.Text))
		}
	}
	want := []string{"started", "thinking  hm", "text  one two\x1b[31m", "tool_call shell", "tool_result shell no",
		"text  plan: 1 of 2 done: b", "raw", "text  no protocol"}
	if g, w := strings.Join(got, "|"), strings.Join(want, "|"); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	f := d.End(0).Finished
	if f.Outcome != OK || f.Session != "abc" || f.Usage != (Usage{}) {
		t.Errorf("%+v", f)
	}
}

// Guards against an end that is taken for success.
func TestACPEnds(t *testing.T) {
	for line, want := range map[string]Outcome{"": Killed, `{"cco":"ended","stop":"cancelled"}`: Killed,
		`{"cco":"ended","stop":"max_tokens"}`: Limit, `{"cco":"ended","stop":"refusal"}`: Failed,
		`{"cco":"failed","text":"session/prompt: status 529"}`: Failed, `{"cco":"ended","stop":"end_turn"}`: OK} {
		d := NewACP(Start{})
		d.Line([]byte(line))
		f := d.End(0).Finished
		if f.Outcome != want || f.Transient != strings.Contains(line, "529") {
			t.Errorf("%s: %+v", line, f)
		}
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
