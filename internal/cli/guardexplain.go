package cli

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/term"
)

// explained shows a verdict on a command to a person: the command with the offending part marked, the rule, the
// resolved path and what to do instead.
func (a *commands) explained(command string, v guard.Verdict) string {
	if v.Allow {
		return a.IO.Paint(term.Green, "allowed") + "\n"
	}
	text := a.IO.Paint(term.Red, "denied by "+cmp.Or(string(v.Rule), "no decision")) + "\n\n" + a.marked(command, v) + "\n"
	for _, f := range []struct{ name, text string }{
		{"reason:  ", v.Reason}, {"path:    ", v.Path}, {"instead: ", v.Instead},
	} {
		if f.text != "" {
			text += "  " + f.name + safetext.Text(f.text) + "\n"
		}
	}
	return text
}

// marked is the command with a line of carets under the offending part.
func (a *commands) marked(command string, v guard.Verdict) string {
	var b strings.Builder
	offset := 0
	for line := range strings.Lines(command) {
		text := strings.TrimRight(line, "\n")
		b.WriteString("  " + safetext.Text(text) + "\n")
		from, to := max(v.Start, offset), min(v.End, offset+len(text))
		if v.End > v.Start && from < to {
			carets := strings.Repeat("^", utf8.RuneCountInString(text[from-offset:to-offset]))
			b.WriteString(a.IO.Paint(term.Red, "  "+blank(text[:from-offset])+carets) + "\n")
		}
		offset += len(line)
	}
	return b.String()
}

// blank is as wide as s, keeping tabs.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
