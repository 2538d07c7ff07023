//go:build heavy && linux

package view_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/view/viewtest"
)

// Guards against a press that another page has prepared: this one comes into sight, or something else comes under the
// pointer, just when somebody presses.
func TestButtonsWaitUntilTheyWereSeen(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	id := r.Push("Run on", "sleep 600")
	kill := `[...document.querySelectorAll('button')].find(e => /^Stop/.test(e.innerText))`
	// It is looked for, and pressed, as soon as it is there: long before a person could have seen it.
	// The program of the page came at a known time, and waits for a second from then on.
	early := "performance.now() < performance.getEntries().find(e => e.name.includes('/assets/lib.js')).responseEnd + 1000"
	said := "late"
	for tries := 0; said == "late" && tries < 20; tries++ { // on a busy machine it is drawn later than that
		b.do("press at once", chromedp.Navigate(r.Address+"/session/"+id))
		b.until("press at once", `(e => { if (!e) return false; const was = e.ariaDisabled;
			e.click(); e.click(); window.said = `+early+` ? was + ' ' + e.innerText : 'late'; return true; })(`+kill+`)`)
		said = b.value("window.said")
	}
	if said != "true Stop" {
		t.Errorf("right after the load it is %q", said)
	}
	asked := b.value("document.querySelector('dialog[open]')") != "null"
	if now := b.value(kill + ".innerText"); said != "late" && (now != "Stop" || asked) {
		t.Errorf("a press right after the load is taken: %s", now)
	}
	calm := "(e => e && e.ariaDisabled !== 'true')(" + kill + ")"
	b.until("calm", calm)
	for _, event := range []string{"window.dispatchEvent(new Event('focus'))",
		"document.dispatchEvent(new Event('visibilitychange'))"} {
		if got := b.value("(" + event + `, new Promise(r =>
			requestAnimationFrame(() => requestAnimationFrame(() => r(` + calm + ")))))"); got == "true" {
			t.Errorf("after %s it is not disabled", event)
		}
		b.until("calm", calm)
	}
	// Another button is under the pointer, which has not moved.
	b.do("point at it", chromedp.ActionFunc(b.pointAt(kill)))
	b.until("calm", calm)
	if got := b.value("(document.querySelector('.head').before(Object.assign(document.createElement('div'), " +
		"{style: 'height: 12em'})), " +
		"new Promise(r => setTimeout(() => r(" + calm + "), 60)))"); got == "true" {
		t.Error("what has moved away from under the pointer can be pressed at once")
	}
	b.until("calm", calm)
	b.press("Stop")
	b.press("Yes, end it")
	r.Await(id, "killed")

	// A session that is not there is not found, and cco is.
	b.at("/session/00000000")
	b.sees("No session")
	b.at("/session/00000000/terminal")
	b.sees("No session")
	b.until("cco answers", "!document.body.innerText.includes('does not answer')")
	// Whoever is forgotten is asked for a code, also on a page that is open.
	b.at("/")
	b.until("the page", ready)
	r.Run("cco", "view", "forget")
	b.sees("Come in with the code")
	b.comeIn()
	b.at("/log")
	b.sees("Forgot all browsers")
	b.sees("Came in with a code")
}
