package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against a denied call that drives the terminal of a user who reads the log as JSON.
func TestAnEntryAsJSONIsDisarmedWithoutLoss(t *testing.T) {
	const bad = "\u009b31m\u202e\u200f\U000e0041"
	s, out, _ := term.Test("")
	input := json.RawMessage(`{"command":"` + bad + `"}`)
	must.Do(t, (&commands{&app.App{IO: s}}).entry(audit.Entry{Kind: audit.Denial, Input: input}, true))
	var e struct {
		Input struct{ Command string } `json:"tool_input"`
	}
	if err := json.Unmarshal(out.Bytes(), &e); err != nil || e.Input.Command != bad {
		t.Errorf("%q, %v", e.Input.Command, err)
	}
	if strings.ContainsAny(out.String(), bad[:2]+"\u202e\u200f\U000e0041") {
		t.Errorf("%q", out)
	}
}
