//go:build heavy && linux

package view_test

import "strings"

// homePage tries again what has failed.
func homePage(b *browser) {
	id := b.r.Push("Fail once", "if [ -e tried ]; then echo better; exit; fi\n"+
		"touch tried\ngit add .\ngit commit -qm Tried\nexit 1")
	b.r.Await(id, "failed")
	b.at("/")
	b.choose("Fail once")
	if b.keys || b.width < 1000 {
		b.press("Go on")
	} else {
		b.press("Try again")
	}
	b.sees("session " + id + " goes on")
	b.r.Await(id, "done")
	if out := b.r.Run("cco", "box", "logs", id); !strings.Contains(out, "better") {
		b.t.Errorf("it did not try again:\n%s", out)
	}
	b.at("/")
	b.until("it is done", `[...document.querySelectorAll('#ready .row')].some(e => e.innerText.includes('Fail once'))`)
	b.fine("home with something done")
}

func moneyPage(b *browser) {
	b.at("/money")
	b.types("Dollars a day", "33")
	b.press("Set it")
	b.sees("of $33.00")
	b.sees("limits.day_cost is 33")
	// It says what came of it, and nothing else, until it was read.
	b.until("one thing is said", `document.querySelector('.told').innerText.replace(/\s+/g, ' ').trim() ===
		'limits.day_cost is 33'`)
	b.press("OK")
	b.until("it is read", "document.querySelector('.told').innerText.trim() === ''")
	if out := b.r.Run("cco", "config", "get", "limits.day_cost"); !strings.Contains(out, "33") {
		b.t.Errorf("the setting is %q", out)
	}
	b.at("/money")
	b.types("Tokens a day", "nonsense")
	b.press("Set it")
	b.until("why not", "document.querySelector('.toast.bad')?.innerText.includes('limits.day_tokens')")
	logPage(b)
}

// logPage looks at what was just decided: each is one row with a sentence, and has what was sent below it.
func logPage(b *browser) {
	b.at("/log")
	b.until("two decisions are two rows", `[...document.querySelectorAll('.deed .what')].slice(0, 2).
		map(e => e.innerText).join().match(/^Tried to set the day’s tokens to nonsense[^S]*Set the day’s limit to \$33/)`)
	if b.holds("document.querySelector('.deed pre').checkVisibility()") {
		b.t.Error("the log shows what was sent before somebody asks")
	}
	b.use("a decision", "document.querySelector('.deed summary')", "\r")
	b.until("what was sent", `/"value": "nonsense"/.test(document.querySelector('.deed[open] pre').innerText)`)
	b.fine("the log")
	b.types("Filter", "day_cost")
	b.until("those alone", `[...document.querySelectorAll('.deed')].every(e => e.textContent.includes('day_cost') &&
		e.innerText.includes('day’s limit'))`)
}
