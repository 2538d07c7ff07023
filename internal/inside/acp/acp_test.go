package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent/wire"
)

// TestMain is an agent of a kind, if it is started as one.
func TestMain(m *testing.M) {
	if kind := os.Getenv("ACP_TEST_AGENT"); kind != "" {
		agent(kind)
		return
	}
	os.Exit(m.Run())
}

const words = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
	`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`

// agent plays one that does what a real one could: it is a program of its own, on real pipes.
func agent(kind string) {
	in := bufio.NewScanner(os.Stdin)
	say := func(line string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, line+"\n", args...) }
	var prompted any
	for in.Scan() {
		var m struct {
			ID     any             `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		answer := func(id any, result string) {
			say(`{"jsonrpc":"2.0","id":%v,"result":%s}`, id, result)
		}
		switch {
		case m.Method == sdk.AgentMethodInitialize:
			answer(m.ID, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		case m.Method == sdk.AgentMethodSessionNew || m.Method == sdk.AgentMethodSessionLoad:
			if m.Method == sdk.AgentMethodSessionLoad {
				say("%s", words) // what was said before
			}
			answer(m.ID, `{"sessionId":"s","modes":{"availableModes":[{"id":"yolo"}]}}`)
		case m.Method == sdk.AgentMethodSessionSetMode:
			answer(m.ID, `{}`)
		case m.Method == sdk.AgentMethodSessionPrompt && kind == "half":
			_, _ = os.Stdout.WriteString(words + "\n" + words[:40])
			return
		case m.Method == sdk.AgentMethodSessionPrompt && kind == "long":
			say(`{"jsonrpc":"2.0","id":3,"result":"%s"}`, strings.Repeat("x", 100<<20))
		case m.Method == sdk.AgentMethodSessionPrompt && kind == "long update":
			say(`%s%s"}}}}`, words[:len(words)-5], strings.Repeat("x", 100<<20))
			answer(m.ID, `{"stopReason":"end_turn"}`)
		case m.Method == sdk.AgentMethodSessionPrompt && kind == "never":
			say("%s", words)
			prompted = m.ID
		case m.Method == sdk.AgentMethodSessionCancel:
			answer(prompted, `{"stopReason":"cancelled"}`)
		case m.Method == sdk.AgentMethodSessionPrompt:
			prompted = m.ID
			say("a line of its own\n%s", words)
			say(`{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`)
			say(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"options":` +
				`[{"optionId":"no","kind":"reject_once"},{"optionId":"yes","kind":"allow_once"}]}}`)
			say(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"toolCall":` +
				`{"title":"Which?"},"options":[{"optionId":"a","name":"red"},{"optionId":"b","name":"blue"}]}}`)
		case m.ID == "f" || m.ID == "p" || m.ID == "q":
			fmt.Fprintf(os.Stderr, "%v %s%s\n", m.ID, m.Result, m.Error)
			if strings.Count(seen(m.ID), "") == 4 {
				answer(prompted, `{"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":2}}`)
			}
		}
	}
}

var answered string

// seen gathers the answers that came.
func seen(id any) string {
	answered += fmt.Sprint(id)
	return answered
}

// drive runs the driver with an agent of a kind, and gives what it passes on.
func drive(t *testing.T, kind string, change func(*wire.Job), stop <-chan os.Signal) (out, errs string, code int) {
	t.Helper()
	t.Setenv("ACP_TEST_AGENT", kind)
	t.Setenv("HOME", t.TempDir())
	job := wire.Job{Argv: []string{os.Args[0]}, Dir: t.TempDir(), Prompt: "do it"}
	if change != nil {
		change(&job)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		data, _ := io.ReadAll(r)
		done <- string(data)
	}()
	var said strings.Builder
	code = Drive(t.Context(), job, stop, &said, w)
	_ = w.Close()
	return said.String(), <-done, code
}

func TestATurn(t *testing.T) {
	out, errs, code := drive(t, "good", func(j *wire.Job) {
		j.Mode, j.Resume, j.Files = "yolo", "s", map[string]string{".x/y.json": "{}"}
	}, nil)
	if code != 0 || strings.Count(out, words) != 1 { // the replay is not passed on
		t.Errorf("status %d, %s", code, out)
	}
	for _, want := range []string{`{"cco":"begun","session":"s"}`, `"text":"Which?\n- red\n- blue"`,
		`"stop":"end_turn"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	for _, want := range []string{"a line of its own\n", "-32601", `p {"outcome":{"optionId":"yes","outcome":"selected"}}`,
		`q {"outcome":{"outcome":"cancelled"}}`} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %s in %s", want, errs)
		}
	}
	if data, err := os.ReadFile(os.Getenv("HOME") + "/.x/y.json"); string(data) != "{}" {
		t.Errorf("its settings are not there: %v", err)
	}
}

// Guards against agents that break off, flood or never end: the turn ends, with a word about why.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ kind, want string }{{"half", `"cco":"failed"`},
		{"long", "it wrote a line of more than 4 MiB"},
		{"long update", "an update of more than 4 MiB is left out"}} {
		out, _, code := drive(t, tt.kind, nil, nil)
		if !strings.Contains(out, tt.want) || (code == 0) != (tt.kind == "long update") || len(out) > 10_000 {
			t.Errorf("%s: status %d, %.500s", tt.kind, code, out)
		}
	}
	out, _, code := drive(t, "good", func(j *wire.Job) { j.Mode = "no such" }, nil)
	if code != 1 || !strings.Contains(out, `there are [{\"id\":\"yolo\"}]`) {
		t.Errorf("a mode that there isn't: %d, %s", code, out)
	}
	out, _, code = drive(t, "good", func(j *wire.Job) { j.Files = map[string]string{"../x": ""} }, nil)
	if code != 1 || !strings.Contains(out, "leads out of") {
		t.Errorf("a file elsewhere: %d, %s", code, out)
	}
}

func TestASignalCancelsTheTurn(t *testing.T) {
	stop := make(chan os.Signal, 1)
	stop <- syscall.SIGINT // at once, or when it is under way: it ends in both cases
	out, _, code := drive(t, "never", nil, stop)
	if code != 130 || strings.Contains(out, "failed") {
		t.Errorf("status %d, %s", code, out)
	}
}
