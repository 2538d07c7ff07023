package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against a heading whose paint is shown as text, against hostile text beside it, and against a question that d
// ends: on a real terminal.
func TestTheGateOnATerminal(t *testing.T) {
	master, slave, err := pty.Open()
	must.Do(t, err)
	defer func() { _ = master.Close() }()
	a := &commands{App: &app.App{IO: &term.Streams{In: slave, Out: slave, Err: slave, InTTY: true, OutTTY: true,
		ErrTTY: true, Color: true}}}
	found := gate.Group{Kind: "install", Danger: gate.High, Response: gate.Ask, Says: "runs at install", Count: 1,
		Findings: []gate.Finding{{Kind: "install", Danger: gate.High, Path: "setup.py", Says: "is code", Text: "+\x1b[2Jx"}}}
	a.findings(gate.Report{Groups: []gate.Group{found}}, gate.Policy{})
	must.Get(master.WriteString("d\ny\n"))(t)
	ok, err := a.askFor(t.Context(), found, func(w io.Writer, style git.DiffStyle, _ ...string) error {
		_, err := fmt.Fprintf(w, "the whole patch %d\n", style)
		return err
	})
	if !ok || err != nil {
		t.Errorf("the answer was %v (%v)", ok, err)
	}
	must.Get(io.WriteString(slave, "END\n"))(t)
	var shown strings.Builder
	for b := make([]byte, 4096); !strings.Contains(shown.String(), "END"); {
		n := must.Get(master.Read(b))(t)
		shown.Write(b[:n])
	}
	_ = slave.Close()
	text := shown.String()
	if !strings.Contains(text, "cco: warning: \x1b[31minstall\x1b[0m: runs at install (high danger, needs consent)") ||
		strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\ufffd[31m") {
		t.Errorf("shown: %q", text)
	}
	if strings.Count(text, "Take 1 change of kind install?") != 2 || !strings.Contains(text, "it is in no file") {
		t.Errorf("asked: %q", text)
	}
}
