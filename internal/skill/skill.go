// Package skill holds an agent's instructions for carrying out a plan. Every agent gets the same text, in its own way.
package skill

import (
	_ "embed" // the text below
	"strings"
)

// Name is the name of the skill and of its directory.
const Name = "executing-plans-in-sandbox"

//go:embed SKILL.md
var text string

// File is SKILL.md, in the form that agents with skills expect.
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
