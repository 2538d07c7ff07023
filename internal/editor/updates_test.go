package editor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
)

func newTeller() *teller {
	return &teller{top: "/home/ada/shop", inside: []string{"/workspace/0a1b2c3d"}, limit: 1000, calls: map[string]bool{}}
}

func called(tool, input string) session.Event {
	return session.Event{Kind: session.KindEvent, Agent: &event.Event{Kind: event.KindToolCall, ID: "1", Tool: tool,
		Input: json.RawMessage(input)}}
}

// What a call is for is read from what it is given, whatever its tool is called.
func TestCallsAreToldByTheirInput(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"command":"go test ./...\nrm x","description":"d"}`,
			`"kind":"execute","sessionUpdate":"tool_call","status":"in_progress",` +
				`"title":"T: go test ./... …"`},
		{`{"command":["bash","-lc","ls"]}`, `"title":"T: bash -lc ls"`},
		{`{"file_path":"/workspace/0a1b2c3d/a/b.go"}`, `"locations":[{"path":"/home/ada/shop/a/b.go"}]`},
		{`{"filePath":"a.go","oldString":"x","newString":"y"}`,
			`"content":[{"newText":"y","oldText":"x","path":"/home/ada/shop/a.go","type":"diff"}],"kind":"edit"`},
		{`{"file_path":"/workspace/0a1b2c3d/n.txt","content":""}`,
			`"content":[{"newText":"","path":"/home/ada/shop/n.txt","type":"diff"}],"kind":"edit"`},
		{`{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"doing"}]}`,
			`{"entries":[{"content":"one","priority":"medium","status":"completed"},` +
				`{"content":"two","priority":"medium","status":"pending"}],"sessionUpdate":"plan"}`},
		{`{"plan":[{"step":"one","status":"in_progress"}]}`, `"content":"one","priority":"medium","status":"in_progress"`},
		{`[1]`, `"kind":"other","sessionUpdate":"tool_call","status":"in_progress","title":"T"`},
	} {
		list := newTeller().of(called("T", c.input))
		if got := string(must.Get(json.Marshal(list))(t)); !strings.Contains(got, c.want) {
			t.Errorf("%s is told as %s", c.input, got)
		}
	}
}

// Nothing that an agent names is a place of the user's outside of the repository.
func TestPlacesStayInTheRepository(t *testing.T) {
	for _, path := range []string{"/etc/passwd", "../x", "/workspace/0a1b2c3d/../../etc/passwd", "/workspace/0a1b2c3dx/a",
		"a\u202eb", "a\nb", ""} {
		input := string(must.Get(json.Marshal(map[string]string{"file_path": path, "content": "x"}))(t))
		got := string(must.Get(json.Marshal(newTeller().of(called("Write", input))))(t))
		if strings.Contains(got, "locations") || strings.Contains(got, "diff") {
			t.Errorf("%q is told as %s", path, got)
		}
	}
}

// What the real CLIs wrote: each call that is told ends, and every text is clean.
func TestRecordingsAreTold(t *testing.T) {
	decoders := map[string]func(event.Start) event.Decoder{"claude": event.NewClaude, "codex": event.NewCodex,
		"gemini": event.NewGemini, "opencode": event.NewOpencode}
	files := must.Get(filepath.Glob("../agent/event/testdata/*/*.json"))(t)
	if len(files) < 25 {
		t.Fatalf("%d recordings", len(files))
	}
	for _, file := range files {
		var r struct {
			Exit   int
			Stdout []string
		}
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(file))(t), &r))
		d, tells := decoders[filepath.Base(filepath.Dir(file))](event.Start{}), newTeller()
		var list []sdk.SessionUpdate
		for _, line := range r.Stdout {
			for _, e := range d.Line([]byte(line)) {
				list = append(list, tells.of(session.Event{Kind: session.KindEvent, Agent: &e})...)
			}
		}
		open := map[sdk.ToolCallId]bool{}
		for _, u := range append(list, tells.broken()...) {
			if u.ToolCall != nil {
				open[u.ToolCall.ToolCallId] = true
			} else if u.ToolCallUpdate != nil {
				if !open[u.ToolCallUpdate.ToolCallId] {
					t.Errorf("%s: %s ends and never began", file, u.ToolCallUpdate.ToolCallId)
				}
				delete(open, u.ToolCallUpdate.ToolCallId)
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: never ended: %v", file, open)
		}
		if len(list) == 0 && strings.HasSuffix(file, "work.json") {
			t.Errorf("%s: nothing is told", file)
		}
	}
}

// An agent that speaks the protocol is heard as it speaks: its words and its plan at once, and nothing twice.
func TestWordsOfTheProtocolComeAtOnce(t *testing.T) {
	tells := newTeller()
	tells.protocol = true
	line := func(update string) session.Event {
		return session.Event{Kind: session.KindOut, Raw: true,
			Text: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":` + update + `}}`}
	}
	for _, c := range []struct {
		e    session.Event
		want string
	}{
		{line(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"He"}}`), `"text":"He"`},
		{line(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"llo\u001b[2J"}}`), `"llo` + "\uFFFD"},
		{line(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"x","status":"y"}]}`),
			`"priority":"medium","status":"pending"`},
		{line(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"ls"}`), `null`},
		{line(`{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}`), `null`},
		{session.Event{Kind: session.KindEvent, Agent: &event.Event{Kind: event.KindText, Text: "Hello"}}, `null`},
		{session.Event{Kind: session.KindOut, Raw: true, Text: `{"half`}, `null`},
	} {
		if got := string(must.Get(json.Marshal(tells.of(c.e)))(t)); !strings.Contains(got, c.want) {
			t.Errorf("%+v is told as %s, want %s", c.e, got, c.want)
		}
	}
}
