package app

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

func TestBatchKeepsOrderAndGoesOn(t *testing.T) {
	s, out, _ := term.Test("")
	in := `{"id":"1","cwd":"/w/task","tool_name":"Bash","tool_input":{"command":"ls"}}

not json
{"id":"3","cwd":"/w/task","tool_name":"Write","tool_input":{"file_path":"/w/host/x"}}
{"id":7,"cwd":"/w/task","tool_name":"Bash","tool_input":{"command":"ls"}}
`
	must.Do(t, decideLines(guard.Policy{Workspace: "/w/task", Host: "/w/host"}, strings.NewReader(in), s))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{`{"id":"1","verdict":"allow"}`, `{"id":"","verdict":"deny","rule":"bad-input"`,
		`{"id":"3","verdict":"deny","rule":"writes-outside"`, `{"id":"","verdict":"allow"}`}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines: %s", len(lines), out)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is %s", i, lines[i])
		}
	}
}
