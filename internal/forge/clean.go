package forge

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// Bounds on what is taken over from a forge, in bytes.
const (
	MaxBody  = 64 << 10
	MaxTitle = 1 << 10
	MaxName  = 256
	MaxPath  = 4 << 10
)

// emptyLink is a line that Markdown renders as nothing: a link definition that points nowhere, whose title is a
// comment.
const emptyLink = `(?m)^ {0,3}\[[^\]\n]*\]:[ \t]*(?:#|<>|<#>)[ \t]*(\S.*)$`

// Clean makes text by others safe to show and pass on: it makes visible what a page would hide, spells out what would
// steer a terminal or reorder a line, and bounds the size.
func Clean(s string, most int) string {
	whole := len(s)
	if len(s) > 2*most {
		// The next steps only make it longer, so most of the excess can be dropped first.
		s = s[:safetext.Boundary(s, 2*most)]
	}
	s = showComments(strings.ReplaceAll(s, "\r", ""))
	if strings.Contains(s, "]:") {
		s = regexp.MustCompile(emptyLink).ReplaceAllString(s, "[hidden: $1]")
	}
	s = safetext.Quote(s)
	if len(s) <= most {
		return s
	}
	return s[:safetext.Boundary(s, most)] + fmt.Sprintf("\n[cut: the whole has %d bytes]", whole)
}

// Name cleans something that has one line.
func Name(s string, most int) string {
	return Clean(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s), most)
}

// address is all that an address needs, and nothing with which one could say something or call somebody.
const address = `^(?:https?:/)?/[\w./~%?&=#:+-]+$`

// Link is an address by others, "" if it is anything else: it is shown outside of what is marked as theirs.
func Link(s string) string {
	if len(s) > 1000 || !regexp.MustCompile(address).MatchString(s) {
		return ""
	}
	return s
}

// showComments makes HTML comments visible. One that never ends hides all that follows it.
func showComments(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<!--")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		hidden, after, ended := strings.Cut(rest, "-->")
		// On one line, so that nothing in it passes for a line that everybody sees.
		b.WriteString("[hidden: " + strings.Join(strings.Fields(hidden), " ") + "]")
		if !ended {
			return b.String()
		}
		s = after
	}
}
