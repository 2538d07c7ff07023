//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// A person works through the inbox: starts a run there, goes from row to row with keys, takes one, several and all that
// are clean, and is left alone by what is new.
func TestTheInboxInABrowser(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	seeding(t, r).month(8)
	r.Serve()
	b := newBrowser(t, r, looks[0])
	b.comeIn()
	b.look(looks[0])
	b.startsOne()
	ids := map[string]string{}
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "omega"} {
		ids[name] = r.Push("Make "+name, strings.ReplaceAll(rounded, "FILE", name+".go"))
		r.Await(ids[name], "done")
	}
	b.at("/")
	b.until("all are examined", "document.querySelectorAll('#ready .row .act').length === 5")
	b.goesByKeys()
	b.filters()

	taken := func(names ...string) {
		t.Helper()
		for _, name := range names {
			r.Await(ids[name], "pulled")
		}
		out := r.Run("git", "ls-tree", "--name-only", "main")
		for _, name := range names {
			if !strings.Contains(out, name+".go") {
				t.Errorf("%s is not on main: %s", name, out)
			}
		}
	}
	row := func(name string) string { return "document.querySelector('[data-id=\"" + ids[name] + "\"]')" }
	b.until("choose one", "("+row("alpha")+".click(), "+row("alpha")+".matches('.on'))")
	b.until("take it with a key", calm+` &&
		document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 't', bubbles: true}))`)
	taken("alpha")
	b.until("it is gone", "document.querySelectorAll('#ready .row').length === 4")
	for _, name := range []string{"beta", "gamma"} {
		b.until("choose "+name, "("+row(name)+".click(), "+row(name)+".matches('.on'))")
		b.do("one of several", chromedp.KeyEvent("x"))
	}
	b.press("Take 2")
	taken("beta", "gamma")
	b.until("they are gone", "document.querySelectorAll('#ready .row').length === 2")
	b.press("Take 2 clean")
	taken("delta", "omega")
	b.reads()
}

// startsOne starts a run with two presses at once, which is one.
func (b *browser) startsOne() {
	b.t.Helper()
	count := func() int {
		var list []any
		must.Do(b.t, json.Unmarshal([]byte(b.r.Run("cco", "box", "sessions", "--all", "--json")), &list))
		return len(list)
	}
	before := count()
	b.at("/")
	b.press("Start") // with nothing to do, it leads to where that is said
	b.sees("Say what is to be done")
	b.until("the field has the focus", "document.activeElement.matches('textarea')")
	b.types("What is to be done?", "Say hello")
	b.until("start, twice", fmt.Sprintf("(e => e && !e.disabled && %s && (e.click(), e.click(), true))(%s)", calm,
		button("Start", "")))
	b.until("it has a row", "[...document.querySelectorAll('.row')].some(e => e.innerText.includes('Say hello'))")
	b.until("the next can be written", "document.querySelector('.new textarea').value === ''")
	if now := count(); now != before+1 {
		b.t.Errorf("two presses make %d sessions", now-before)
	}
}

// goesByKeys goes from row to row, opens and comes back.
func (b *browser) goesByKeys() {
	b.t.Helper()
	key := func(k string) { b.t.Helper(); b.do("press "+k, chromedp.KeyEvent(k)) }
	at := func(n int) string {
		return fmt.Sprintf("[...document.querySelectorAll('.row')].findIndex(e => e.matches('.on')) === %d", n)
	}
	b.until("the first is chosen", at(0))
	key("j")
	key("j")
	b.until("the third", at(2))
	key("k")
	b.until("the second", at(1))
	b.until("the pane shows it", "document.querySelector('.pane h2').innerText === "+
		"document.querySelector('.row.on .t a').innerText")
	key("x")
	b.until("it is one of several", "document.querySelector('.row.on input').checked")
	key("x")
	b.until("it is not", "!document.querySelector('.row.on input').checked")
	key("?")
	b.until("the keys", "document.getElementById('keys').open")
	// The button that had the focus in there has it for a moment longer, and keys go on where they were.
	b.do("no keys, and open", chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("\r"))
	b.until("it is open", "location.pathname.startsWith('/session/') && document.querySelector('.tabs')")
	b.do("back", chromedp.Evaluate("history.back()", nil))
	b.until("as it was left", at(1))
	key("r")
	b.until("its changes", "location.pathname.endsWith('/changes') && document.querySelector('.file')")
	b.do("back", chromedp.Evaluate("history.back()", nil))
	b.until("home", at(1))
}

func (b *browser) filters() {
	b.t.Helper()
	all := b.value("document.querySelectorAll('.row').length")
	// As a keyboard does it: a press whose letter the page keeps back types none.
	slash := input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithCode("Slash").WithText("/")
	b.do("filter", slash, chromedp.KeyEvent("gamma"))
	b.until("one row", "document.querySelectorAll('.row').length === 1")
	b.do("leave", chromedp.KeyEvent("\r"))
	b.until("it is left", "document.activeElement === document.body && document.querySelectorAll('.row').length === 1")
	b.do("filter no more", slash, chromedp.KeyEvent(kb.Escape))
	b.until("all rows", "document.querySelectorAll('.row').length === "+all)
	b.chooses("a repository", "select[aria-label^='Filter by']")
	b.until("those of it", "document.querySelectorAll('.row').length < "+all)
	b.until("all again", `(s => { s.value = ''; s.dispatchEvent(new Event('change', {bubbles: true}));
		return document.querySelectorAll('.row').length === `+all+`; })(document.querySelector('.tools select'))`)
}

// reads moves the pointer, as one does who reads: what is new waits until it is asked for.
func (b *browser) reads() {
	b.t.Helper()
	const places = "[...document.querySelectorAll('.row')].map(e => e.dataset.id + e.getBoundingClientRect().top).join()"
	move := func(x float64) { b.do("read", chromedp.MouseEvent(input.MouseMoved, x, 500)) }
	b.until("all is taken, and nothing moves", `!document.querySelector('#ready .row') &&
		![...document.querySelectorAll('.tools .btn')].some(e => e.innerText.endsWith('new')) &&
		!document.getAnimations().some(a => a.transitionProperty)`)
	move(300)
	before := b.value(places)
	id := b.r.Push("Come while one reads", "echo here")
	for i := 0; !b.holds(`/^\d+ new$/.test(document.querySelector('.tools .btn')?.innerText)`); i++ {
		move(300 + float64(i%5))
	}
	if now := b.value(places); now != before {
		b.t.Errorf("rows move while somebody reads:\n%s\n%s", before, now)
	}
	b.use("show it", "document.querySelector('.tools .btn')", "\r")
	b.until("it is shown", "document.querySelector('[data-id=\""+id+"\"]')")
	b.r.Await(id, "done")
}
