//go:build heavy && linux

package view_test

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// terminalPage looks at the colours that stand on the terminal's screen, takes the keyboard and types.
func terminalPage(b *browser) {
	id := onTerminal(b.t, b.r, "Paint a screen", painted)
	b.at("/session/" + id)
	b.use("the terminal", "document.querySelector('.tabs a[href$=terminal]')", "\r")
	b.until("the screen", "document.querySelector('.xterm-rows')?.innerText.includes('READY')")
	colour := func(words, property string) string {
		return b.value(fmt.Sprintf(`getComputedStyle([...document.querySelectorAll('.xterm-rows span')].
			find(e => e.innerText.trim() === %q)).%s`, words, property))
	}
	if red := colour("red", "color"); red == colour("READY", "color") || !strings.HasPrefix(red, "rgb(") {
		b.t.Errorf("red is %s", red)
	}
	if green := colour("green", "backgroundColor"); green == "rgba(0, 0, 0, 0)" {
		b.t.Errorf("green is %s", green)
	}
	if title := b.value("document.title"); strings.Contains(title, "stolen") {
		b.t.Errorf("the page is called %s", title)
	}
	if n := b.value("document.querySelectorAll('.terminal a').length"); n != "0" {
		b.t.Errorf("the terminal has %s links", n)
	}
	b.fine("terminal")
	b.press("Take the keyboard")
	b.sees("You have the keyboard")
	b.until("the screen has the keys", "document.activeElement.closest('.xterm')")
	b.do("type", chromedp.KeyEvent("typed\r"))
	b.until("an answer", "document.querySelector('.xterm-rows').innerText.includes('heard typed')")
	b.do("leave", chromedp.KeyEvent(kb.Escape, chromedp.KeyModifiers(8)))
	b.until("the keyboard can leave", "!document.activeElement.closest('.xterm')")
	b.at("/session/" + id)
	b.types("Say something to", "a message")
	b.press("Send")
	b.sees("it is told")
	b.use("the terminal", "document.querySelector('.tabs a[href$=terminal]')", "\r")
	b.until("the screen again", "document.querySelector('.xterm-rows')?.innerText.includes('READY')")
	b.r.Run("cco", "box", "kill", id)
	b.sees("The agent has ended")
}
