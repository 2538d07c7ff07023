//go:build heavy && linux

package view_test

import (
	"strings"
)

// numbers are those of the lines that an agent counted, as they stand on the page.
const numbers = `[...document.querySelectorAll('pre.lines')].flatMap(e => e.textContent.split('\n')).
	filter(l => l.startsWith('line ')).map(l => Number(l.slice(5)))`

// unbroken wants each line once, in order.
func (b *browser) unbroken() {
	b.t.Helper()
	if gap := b.value(numbers + ".findIndex((v, i, a) => i && v !== a[i-1] + 1)"); gap != "-1" {
		b.t.Errorf("a line is lost or doubled: %s", b.value(numbers))
	}
}

// sessionPage follows a session through the death of the server and of its keeper, and steers it.
func sessionPage(b *browser) {
	id := b.r.Push("Count slowly",
		"for i in $(seq 1 9000); do echo \"line $i\"; [ $i -lt 400 ] || sleep 0.1; done")
	b.at("/")
	b.until("its last line", `/line \d{3}/.test(document.querySelector('.last')?.textContent || '')`)
	b.at("/session/" + id)
	b.until("lines", numbers+".length > 100")
	// How many there are by now depends on how long this took.
	for first := b.value(numbers + "[0]"); first != "1"; first = b.value(numbers + "[0]") {
		b.press("Earlier")
		b.until("earlier lines", numbers+"[0] < "+first)
	}
	b.unbroken()

	b.r.Kill()
	b.sees("cco view does not answer")
	n := b.value(numbers + ".length")
	b.r.Serve()
	b.until("come back", "!document.body.innerText.includes('cco view does not answer')")
	b.until("more lines", numbers+".length > "+n+" + 20")
	b.unbroken()

	b.types("Search", "line 7\r")
	b.until("hits", "document.querySelectorAll('.hits li').length > 5")
	b.use("a hit", "document.querySelector('.hits li button')", "\r")
	b.until("the hit", numbers+"[0] < 8 && "+numbers+".length < 210")
	b.press("Later")
	b.until("later lines", numbers+".length > 210")
	b.press("Jump to latest")
	b.until("the end", numbers+"[0] > 100")
	b.chooses("words alone", ".finder select")
	b.chooses("tools", ".finder select")
	b.until("no words", numbers+".length === 0")
	b.at("/session/" + id)
	b.until("lines again", numbers+".length > 20")

	// Its keeper is killed: nothing says so but a lock that is free.
	b.r.Run("pkill", "-KILL", "-f", "keeper "+id)
	b.is("failed")
	b.sees("interrupted")
	b.unbroken()
	logs := strings.Fields(strings.TrimSpace(b.r.Run("cco", "box", "logs", id)))
	last := ""
	for i, w := range logs {
		if w == "line" && i+1 < len(logs) {
			last = logs[i+1]
		}
	}
	b.until("the last line, "+last, numbers+".at(-1) === "+last)

	b.types("Go on with a message", "# Sleep\n\n## Task 1: Sleep\n\n```sh\necho asleep\nsleep 600\n```\n")
	b.press("Go on")
	b.until("its words",
		"[...document.querySelectorAll('pre.lines')].some(e => e.textContent.split('\\n').includes('asleep'))")
	b.press("Stop")
	b.press("No")
	b.press("Stop")
	b.press("Yes, end it")
	b.sees("killed; its work is kept")
	b.is("killed")
	b.r.Await(id, "killed")
	b.press("What came back")
	b.sees("It made no commits")
}
