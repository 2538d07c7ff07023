//go:build heavy && linux

package view_test

import "strings"

// boxPages looks at a box, lets a host in, attacks it, stops and starts it, and stops everything.
func boxPages(b *browser) {
	id := b.r.Push("Reach out", "curl -sS -m 5 https://refused.example/ || true\necho tried")
	b.r.Await(id, "done")
	b.at("/boxes")
	b.sees("cco-sandbox")
	b.sees("refused.example")
	b.press("Allow")
	b.sees("Allow refused.example?")
	b.press("Yes, allow")
	b.until("allowed", "[...document.querySelectorAll('.allowed .blk')].some(e => e.innerText === 'refused.example')")
	if out := b.r.Run("cco", "box", "net", "list"); !strings.Contains(out, "refused.example") {
		b.t.Errorf("the box may reach %s", out)
	}
	b.press("Attack it")
	b.sees("attacks held")
	b.at("/boxes")
	stopped := func(words, sure string) {
		b.t.Helper()
		run := b.r.Push("Run on", "echo kept >kept.txt\ngit add .\ngit commit -qm Kept\necho waiting\nsleep 600")
		b.until("at work", "document.querySelector('.facts').innerText.includes('1 at work')")
		b.press(words)
		b.press(sure)
		b.r.Await(run, "killed")
		b.sees("with the work kept")
		b.until("stopped", "document.querySelector('.facts').innerText.includes('stopped')")
		b.press("Start box")
		b.until("running", "document.querySelector('.facts').innerText.includes('running')")
	}
	stopped("Stop everything", "Stop everything")
	stopped("Stop box", "Yes, stop it")
	b.at("/log")
	b.sees("Stopped everything")
}
