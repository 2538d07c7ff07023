package keep

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/session"
)

// Guards against red lines about what nobody has to do anything about.
func TestTheDoormanTellsOfWhatMatters(t *testing.T) {
	var told []string
	codex := roster.Row{Name: "codex", Chatter: []string{"t.example", "u.example"}, Early: []string{"w.example"}}
	m := doorman{box: "b", session: "3f9c01aa", agent: codex,
		tell: func(kind session.Kind, words string) { told = append(told, string(kind)+": "+words) }}
	for _, e := range []broker.Entry{
		{Decision: broker.Refused, Allow: "t.example", Reason: "t.example:443 is not allowed"},
		{Decision: broker.Refused, Allow: "u.example", Reason: "u.example:443 is not allowed"},
		{Decision: broker.Refused, Allow: "w.example", Reason: "w.example:443 is not allowed"},
		{Decision: broker.Refused, Allow: "x.example", Reason: "x.example:443 is not allowed"},
		{Kind: broker.KindModel, Decision: broker.Failed, Error: broker.ClientGone},
		{Kind: broker.KindModel, Decision: broker.Failed, Error: "the model is away"},
		{Kind: broker.KindModel, Decision: broker.Allowed, Billed: true},
		{Decision: broker.Refused, Allow: "w.example", Reason: "w.example:443 is not allowed"},
	} {
		m.entry(e)
	}
	want := []string{
		"note: refused, and harmless: what codex asks for by itself, for updates and telemetry",
		"door: a connection was refused: x.example:443 is not allowed; `cco box net allow x.example --box b` would allow it",
		"door: the model is away",
		"door: a connection was refused: w.example:443 is not allowed; `cco box net allow w.example --box b` would allow it",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
