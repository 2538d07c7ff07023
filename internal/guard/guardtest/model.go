// Package guardtest lets a real agent CLI run against a model that follows a script, on loopback. Tests use it to see
// what the guard's settings really do, whatever the documentation of those CLIs says.
package guardtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Step is one turn of the model: a tool call, or words where Tool is empty, which end the run.
type Step struct {
	Tool  string
	Input map[string]any
	Text  string
	// Before is done when the step is served: what happens to the agent's files while it works.
	Before func()
}

// Shell is the step that runs a command with an agent's shell tool.
func Shell(agent, command string) Step {
	switch agent {
	case "codex":
		return Step{Tool: "exec_command", Input: map[string]any{"cmd": command}}
	case "gemini":
		return Step{Tool: "run_shell_command", Input: map[string]any{"command": command}}
	default:
		return Step{Tool: "Bash", Input: map[string]any{"command": command, "description": "step"}}
	}
}

// Model serves a script in the protocols that claude, codex and gemini speak. The step that it serves is the number of
// the model's own turns that the request already holds, so that it needs no state and a retry gets the same answer.
type Model struct {
	URL string

	steps []Step
	mu    sync.Mutex
	seen  []string // what the tools answered, as the model got it
}

// NewModel starts a model that ends with the test.
func NewModel(t testing.TB, steps ...Step) *Model {
	t.Helper()
	m := &Model{steps: steps}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1beta/", m.generate)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[],"models":[]}`) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Heard is everything that tools answered, as the model was told it.
func (m *Model) Heard() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.seen, "\n")
}

func (m *Model) hear(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, text)
}

// step is the nth turn; after the script's end the model says that it is done.
func (m *Model) step(n int) Step {
	if n < len(m.steps) {
		if m.steps[n].Before != nil {
			m.steps[n].Before()
		}
		return m.steps[n]
	}
	return Step{Text: "done"}
}

func read(w http.ResponseWriter, r *http.Request, to any) bool {
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// event writes one server-sent event; name may be empty.
func event(w io.Writer, name string, data any) {
	line, err := json.Marshal(data)
	if err != nil {
		panic(err) // only maps and strings are sent
	}
	if name != "" {
		_, _ = fmt.Fprintf(w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
}
