package agenttest

import "testing"

// Guards against answers in any other order than that of the questions, and against a question that is missed because
// it comes in two parts, or answered twice.
func TestATerminalAnswersInTurn(t *testing.T) {
	x := Xterm()
	for _, c := range []struct{ part, want string }{
		{"text \x1b[?u more \x1b[c", "\x1b[?0u\x1b[?62;22c"}, {"\x1b[c\x1b[?u", "\x1b[?62;22c\x1b[?0u"}, {"\x1b[", ""},
		{"6n\x1b[6", "\x1b[1;1R"}, {"m nothing", ""}, {"\x1b[6n", "\x1b[1;1R"}, {"", ""},
	} {
		if got := x.Hear([]byte(c.part)); got != c.want {
			t.Errorf("%q is answered with %q, want %q", c.part, got, c.want)
		}
	}
}
