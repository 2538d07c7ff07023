package rpc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a line that fills memory, exhausts a stack or ends the connection: it is answered, and others follow.
func TestOnlyWholeBoundedLinesPass(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":1,"method":"a","params":{"text":"[[[[\"{{"}}`
	for name, bad := range map[string]string{
		"half a line of JSON": `{"jsonrpc":"2.0","id":`,
		"no JSON":             "hello",
		"too long":            `{"text":"` + strings.Repeat("x", event.MaxLine) + `"}`,
		"too deep":            strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"deeper than a stack": strings.Repeat(`{"a":`, 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := Bound(strings.NewReader(good+"\n"+bad+"\n\n"+good+"\r\n"), &out)
			if got := string(must.Get(io.ReadAll(p))(t)); got != good+"\n"+good+"\n" {
				t.Errorf("passed: %.200q", got)
			}
			if out.String() != parseError {
				t.Errorf("answered: %q", out.String())
			}
		})
	}
}

// Guards against a line whose writer went away in the middle of it, and that reads as a whole one.
func TestALineWithoutAnEndDoesNotPass(t *testing.T) {
	var out bytes.Buffer
	if got := must.Get(io.ReadAll(Bound(strings.NewReader(`{"method":"session/prompt"}`), &out)))(t); len(got) != 0 {
		t.Errorf("passed: %q", got)
	}
}

// Guards against a bound that needs as much memory as what it bounds.
func TestALineOf100MBNeedsLittleMemory(t *testing.T) {
	in := io.MultiReader(io.LimitReader(endless{}, 100<<20), strings.NewReader("\n{}\n"))
	var out bytes.Buffer
	if got := string(must.Get(io.ReadAll(Bound(in, &out)))(t)); got != "{}\n" || out.String() != parseError {
		t.Errorf("passed %q, answered %q", got, out.String())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}
