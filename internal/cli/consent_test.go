package cli_test

import (
	"strings"
	"testing"
)

// Guards against work that moves a branch without the yes that it needs, and against a yes that nobody wrote down.
func TestAPullAsksAtATerminal(t *testing.T) {
	d := newDesk(t, map[string]string{"plan.md": "mkdir .husky\necho id > .husky/pre-commit\necho on > ci.txt"})
	d.run("cco", "box", "push", "plan.md", "--agent", "script", "--headless")
	id, _ := d.newest()
	before := d.run("git", "rev-parse", "HEAD")
	for _, c := range []struct {
		answer, status string
		moves          bool
	}{{"n", "4", false}, {"", "4", false}, {"\x04", "4", false}, {"y", "0", true}} {
		d.clear()
		d.types("cco box pull " + id + "; echo status $?")
		d.await("the question", d.shows("Take 1 change of kind commit?"))
		if screen := d.screen(); !strings.Contains(screen, ".husky/pre-commit:1: git runs it as a hook: +id") {
			t.Errorf("asked before it was shown:\n%s", screen)
		}
		if got := d.run("git", "rev-parse", "HEAD"); got != before {
			t.Errorf("moved before the answer")
		}
		d.presses(c.answer + map[bool]string{true: "\r"}[c.answer != "\x04"])
		d.await("an end", d.shows("\nstatus "+c.status))
		d.await("a prompt", d.atPrompt)
		if moved := d.run("git", "rev-parse", "HEAD") != before; moved != c.moves {
			t.Errorf("answer %q: moved %v", c.answer, moved)
		}
		if written := strings.Contains(d.run("cco", "guard", "log"), "accepted 1 of kind commit at "); written != c.moves {
			t.Errorf("answer %q: written down %v", c.answer, written)
		}
	}
}
