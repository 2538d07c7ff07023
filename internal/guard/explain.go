package guard

import (
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/guard/verdict"
)

// Explain shows a verdict on a command to a person: the command with the
// offending part marked, the rule, the resolved path and what to do instead.
func Explain(command string, v Verdict) string {
	if v.Allow {
		return "allowed\n"
	}
	var b strings.Builder
	b.WriteString("denied by " + ruleName(v) + "\n\n")
	marked(&b, command, v)
	b.WriteString("\n  reason:  " + v.Reason + "\n")
	if v.Path != "" {
		b.WriteString("  path:    " + v.Path + "\n")
	}
	if v.Instead != "" {
		b.WriteString("  instead: " + v.Instead + "\n")
	}
	return b.String()
}

func ruleName(v Verdict) string {
	if v.Rule == verdict.RuleNone {
		return "no decision"
	}
	return string(v.Rule)
}

// marked writes the command with a line of carets under the offending part.
func marked(b *strings.Builder, command string, v Verdict) {
	offset := 0
	for line := range strings.Lines(command) {
		text := strings.TrimRight(line, "\n")
		b.WriteString("  " + text + "\n")
		from, to := max(v.Start, offset), min(v.End, offset+len(text))
		if v.End > v.Start && from < to {
			b.WriteString("  " + blank(text[:from-offset]) +
				strings.Repeat("^", utf8.RuneCountInString(text[from-offset:to-offset])) + "\n")
		}
		offset += len(line)
	}
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
