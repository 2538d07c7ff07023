// Package skill holds the words by which an agent carries out a plan. They are the same for every agent; what differs
// is how they reach it.
package skill

import (
	_ "embed" // the text below
	"strings"
)

// Name is what the skill is called, and the directory that it stands in.
const Name = "executing-plans-in-sandbox"

//go:embed SKILL.md
var text string

// File is SKILL.md, as agents that know skills want to find it.
func File() []byte { return []byte(text) }

// For is the skill as a prompt for one plan, for agents that can't be told to use a skill by its name.
func For(plan string) string {
	body := text
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, ok := strings.Cut(rest, "\n---\n"); ok {
			body = after
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(body, "$ARGUMENTS", plan)) + "\n"
}
