package event

import (
	"fmt"
	"strings"
	"testing"
)

// What the CLIs really wrote down, shortened: claude 2.1.325, codex 0.166.0, gemini 0.61.0 and our plugin in opencode
// 1.18.33. All of it is told once, and nothing that a CLI says to its model alone.
func TestRecordsOfTerminals(t *testing.T) {
	for name, c := range map[string]struct {
		read  func() Recorder
		lines []string
		want  string
	}{
		"claude": {RecordClaude, []string{
			`{"type":"mode","mode":"normal","sessionId":"f1"}`,
			`{"type":"user","isSidechain":false,"message":{"role":"user","content":"<command-name>/x</command-name>"}}`,
			`{"type":"user","isMeta":true,"message":{"role":"user","content":[{"type":"text","text":"Base directory"}]}}`,
			`{"type":"user","message":{"role":"user","content":"Do more"}}`,
			`{"isSidechain":true,"type":"assistant","message":{"content":[{"type":"text","text":"beside"}]}}`,
			`{"type":"assistant","message":{"id":"m","content":[{"id":"t1","input":{"command":"ls"},"name":"Bash",` +
				`"type":"tool_use"}],"usage":{"input_tokens":10}}}`,
			`{"type":"user","message":{"content":[{"tool_use_id":"t1","type":"tool_result","content":"out","is_error":false}]}}`,
			`{"type":"assistant","message":{"id":"n","content":[{"type":"text","text":"Said."}]}}`, `no JSON`},
			`prompt: Do more|tool_call:Bash {"command":"ls"}|tool_result:Bash out|text: Said.`},
		"codex": {RecordCodex, []string{
			`{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":` +
				`[{"type":"text","text":"Do more"}]}}}`,
			`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`,
			`{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c1","name":"exec","input":"ls"}}`,
			`{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c1","output":` +
				`[{"type":"input_text","text":"out"}]}}`,
			`{"type":"response_item","payload":{"type":"function_call","call_id":"c2","name":"shell","arguments":"{\"a\":1}"}}`,
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"two"}}`,
			`{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage"}}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text",` +
				`"text":"Said."}]}}`},
			`prompt: Do more|tool_call:exec {"command":"ls"}|tool_result:exec out|tool_call:shell {"a":1}|` +
				`tool_result:shell two|text: Said.`},
		"gemini": {RecordGemini, []string{
			`{"$set":{"messages":[{"id":"d0","type":"user","content":[{"text":"<session_context>"}]}]}}`,
			`{"id":"u1","type":"user","content":[{"text":"Do more"}]}`,
			`{"id":"g1","type":"gemini","content":"","thoughts":[]}`,
			`{"id":"g1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"run_shell_command",` +
				`"args":{"command":"ls"},"status":"executing"}]}`,
			`{"id":"g1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"run_shell_command",` +
				`"args":{"command":"ls"},"status":"success","result":[{"functionResponse":{"response":{"output":"out"}}}]}]}`,
			`{"id":"u2","type":"user","content":[{"functionResponse":{"id":"c1"}}]}`,
			`{"id":"g2","type":"gemini","content":"Said."}`, `{"id":"g2","type":"gemini","content":"Said."}`},
			`prompt: Do more|tool_call:run_shell_command {"command":"ls"}|tool_result:run_shell_command out|text: Said.`},
		"opencode": {RecordOpencode, []string{
			`{"id":"p1","type":"text","text":"Do more","role":"user"}`,
			`{"id":"p1","type":"text","text":"Do more","role":"user"}`,
			`{"id":"p2","type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"ls"}}}`,
			`{"id":"p2","type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{},"output":"out"}}`,
			`{"id":"p3","type":"text","text":"Said.","role":"assistant","time":{"end":1}}`},
			`prompt: Do more|tool_call:bash {"command":"ls"}|tool_result:bash out|text: Said.`},
	} {
		t.Run(name, func(t *testing.T) {
			read := c.read()
			var got []string
			for _, line := range c.lines {
				for _, e := range read([]byte(line)) {
					got = append(got, fmt.Sprintf("%s:%s %s%s", e.Kind, e.Tool, e.Text, e.Input))
				}
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), c.want)
			}
		})
	}
}

// Guards against a record of a hostile program that ends the reading, or grows without end.
func TestRecordsAreHostile(t *testing.T) {
	for _, read := range []Recorder{RecordClaude(), RecordCodex(), RecordGemini(), RecordOpencode()} {
		for _, line := range []string{"", "null", "[]", "{", `{"type":7}`, `{"type":"user","message":null}`,
			`{"type":"assistant","message":{"content":{}}}`, `{"type":"response_item","payload":null}`,
			`{"type":"response_item","payload":{"type":"function_call","arguments":"{"}}`,
			`{"type":"gemini","content":[7,null,{"text":9}],"toolCalls":[{}]}`, `{"type":"tool","state":7}`,
			`{"type":"text","role":"user","text":"` + strings.Repeat("x", 1<<20) + `"}`} {
			for _, e := range read([]byte(line)) {
				if len(e.Text) > maxText+10 {
					t.Errorf("%.40q gives %d bytes", line, len(e.Text))
				}
			}
		}
	}
}
