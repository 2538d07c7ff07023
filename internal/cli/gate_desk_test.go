package cli_test

import (
	"strings"
	"testing"
)

// Guards against consent to what nobody could see: d in the question of a pull shows the whole patch of the files that
// it is about, and asks again.
func TestAPullShowsThePatchBeforeItIsAnswered(t *testing.T) {
	d := newDesk(t, map[string]string{
		"hook.md": "mkdir -p .husky; seq 30 | sed 's/^/echo /' > .husky/pre-commit; echo other > other.txt"})
	d.run("cco", "box", "push", "hook.md", "--agent", "script", "--quiet")
	before := d.run("git", "rev-parse", "main")
	asks := func() bool { return strings.HasSuffix(d.screen(), "kind commit? [y/N, d shows the whole patch]") }
	d.types("cco box pull --last")
	d.await("the gate", asks)
	if d.shows("+echo 30")() {
		t.Errorf("the question shows all of it:\n%s", d.screen())
	}
	d.types("d")
	d.await("the patch and the question", func() bool { return d.shows("+echo 30")() && asks() })
	if d.shows("+++ b/other.txt")() {
		t.Errorf("another file is shown:\n%s", d.screen())
	}
	d.types("n")
	d.await("a prompt", d.atPrompt)
	if after := d.run("git", "rev-parse", "main"); after != before {
		t.Error("a no moved the branch")
	}
	d.types("cco box pull --last")
	d.await("the gate", asks)
	d.types("y")
	d.await("the commit", d.shows("on main, now at"))
}
