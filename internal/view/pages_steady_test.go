//go:build heavy && linux

package view_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// Guards against a page that moves under the eyes of who reads it: a minute of live updates shifts nearly nothing, and
// a spinner does not flash.
func TestThePageIsSteady(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	in := seeding(t, r)
	in.month(30)
	r.Serve()
	b := newBrowser(t, r, looks[0])
	b.comeIn()
	b.look(looks[0])
	work := r.Push("Review me", risky)
	live := r.Push("Watch the build", "for i in $(seq 1 6000); do echo \"built package $i of 6000\"; sleep 0.3; done")
	r.Await(work, "done")
	b.at("/")
	b.settled("home")
	b.until("all are examined", "document.querySelector('#held .row')")
	b.do("point at a row", chromedp.MouseEvent(input.MouseMoved, 400, 299))
	b.value(watchShifts)
	for i := range 5 {
		begun := time.Now()
		r.Await(r.Push(fmt.Sprintf("Come and go %d", i), "echo here"), "done")
		for time.Since(begun) < 12*time.Second { // a minute of it, in which somebody reads
			b.do("point at a row", chromedp.MouseEvent(input.MouseMoved, 400, float64(300+i)), chromedp.Sleep(time.Second))
		}
	}
	b.shifted("home")
	b.alone(work)
	b.at("/session/" + live)
	b.sees("built package")
	b.settled("the session")
	b.value(watchShifts)
	b.do("a minute of it", chromedp.Sleep(time.Minute))
	b.shifted("a live session")
	b.spinnerWaits()
	r.Run("cco", "box", "kill", live)
}

// alone is a minute in which nobody reads, so that rows go to their groups as they come and go.
func (b *browser) alone(one string) {
	b.t.Helper()
	b.at("/")
	b.settled("home alone")
	before := b.value("document.querySelectorAll('#ready .row').length")
	b.value(watchShifts)
	for i := range 5 {
		begun := time.Now()
		b.r.Await(b.r.Push(fmt.Sprintf("Alone %d", i), rounded), "done")
		if i == 2 {
			b.r.Run("cco", "attention", "--later", one) // one of the first rows goes
		}
		b.do("a while", chromedp.Sleep(12*time.Second-time.Since(begun)))
	}
	b.until("they have come by themselves", "document.querySelectorAll('#ready .row').length >= "+before+" + 5")
	b.shifted("home with nobody there")
}

// The lines of a change: many of them are soon there, and the keyboard alone comments on one.
func TestLinesInABrowser(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	work := r.Push("Review me", risky)
	b.manyLines()
	r.Await(work, "done")
	b.sit(keys)
	b.commentByKeys(work)
}

// watchShifts adds up what moves on the page, as browsers count it. Where somebody scrolled or pressed is left out.
const watchShifts = `(window.shift = 0, window.moved = [], new PerformanceObserver(l => {
	for (const e of l.getEntries()) if (!e.hadRecentInput) {
		shift += e.value;
		moved.push(...e.sources.map(s => s.node?.nodeName + '.' + (s.node?.className || s.node?.parentNode?.className)));
	}}).observe({type: 'layout-shift'}), 0)`

func (b *browser) shifted(page string) {
	b.t.Helper()
	shift := must.Get(strconv.ParseFloat(b.value("shift"), 64))(b.t)
	b.t.Logf("%s shifts by %.4f in a minute", page, shift)
	if shift >= 0.02 {
		b.t.Errorf("%s shifts by %.3f: %s", page, shift, b.value("[...new Set(moved)].join(', ')"))
	}
}

// spinnerWaits looks at when what says that something is read is seen.
func (b *browser) spinnerWaits() {
	b.t.Helper()
	if got := b.value(`(() => {
		const e = document.body.appendChild(Object.assign(document.createElement('div'), {className: 'soon'}));
		e.append(document.createElement('i'));
		const all = [e, e.firstChild], hidden = at => {
			for (const x of all) for (const a of x.getAnimations()) { a.pause(); a.currentTime = at; }
			return all.some(x => +getComputedStyle(x).opacity < 0.01 || getComputedStyle(x).visibility === 'hidden');
		};
		const says = [0, 150, 299].map(hidden).concat(hidden(900)).join();
		e.remove();
		return says; })()`); got != "true,true,true,false" {
		b.t.Errorf("at 0, 150, 299 and 900 ms a spinner is hidden: %s", got)
	}
}

// commentByKeys comes to a line with Tab and arrows, and comments on it.
func (b *browser) commentByKeys(id string) {
	b.t.Helper()
	b.at("/session/" + id + "/changes")
	b.settled("the changes")
	b.until("they are examined", "!document.body.innerText.includes('still looking')")
	b.tabTo("the first line", "document.querySelector('.diff .at[tabindex=\"0\"]')")
	at := b.value("document.activeElement.innerText")
	b.do("down", chromedp.KeyEvent(kb.ArrowDown))
	below := b.value("document.activeElement.innerText")
	if below == at || !b.holds("document.activeElement.matches('.at')") {
		b.t.Errorf("below %q is %q", at, below)
	}
	b.do("up", chromedp.KeyEvent(kb.ArrowUp))
	if again := b.value("document.activeElement.innerText"); again != at {
		b.t.Errorf("above %q is %q", below, again)
	}
	b.do("comment", chromedp.KeyEvent("\r"))
	b.until("a field", "document.activeElement.tagName === 'TEXTAREA'")
	b.do("write", chromedp.KeyEvent("By keys alone"))
	b.press("Add comment")
	b.until("it is kept", "[...document.querySelectorAll('.note')].some(e => e.innerText.includes('By keys alone'))")
}

// manyLines logs how long 5,000 changed lines take from their arrival until they are drawn: 300 ms on a machine that
// does nothing else.
func (b *browser) manyLines() {
	b.t.Helper()
	id := b.r.Push("Many lines", `for i in $(seq 20); do
  for j in $(seq 250); do echo "func f$j(x int) string { return \"line $j\" } // $i"; done >f$i.go
done
git add . ; git commit -qm Many`)
	b.r.Await(id, "done")
	b.do("watch", chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`(() => {
			const was = fetch;
			window.fetch = async (to, ...how) => {
				const r = await was(to, ...how), read = r.json.bind(r);
				if (String(to).includes('/changes'))
					r.json = () => read().then(v => { window.came = window.drawn ? came : performance.now(); return v; });
				return r;
			};
			const look = () => {
			if (document.querySelectorAll('.diff .add').length >= 5000) {
				const at = window.came;
				return setTimeout(() => { window.drawn = performance.now(); window.came = at; });
			}
			requestAnimationFrame(look); }; requestAnimationFrame(look); })()`).Do(ctx)
		return err
	}))
	b.at("/session/" + id + "/changes")
	b.until("all lines", "window.drawn")
	if !b.holds("window.find('f249(x int) string { return \"line 249\" } // 20')") {
		b.t.Error("the last line is not found in the page")
	}
	took := must.Get(strconv.ParseFloat(b.value("drawn - came"), 64))(b.t)
	b.t.Logf("5,000 lines are drawn %.0f ms after they came", took)
	if took > 10_000 {
		b.t.Errorf("5,000 lines take %.0f ms", took)
	}
}

func (b *browser) holds(is string) bool { return b.value("Boolean("+is+")") == "true" }
