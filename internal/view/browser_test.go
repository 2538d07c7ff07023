//go:build heavy && linux

package view_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// hand is how a person sits before the page.
type hand struct {
	name  string
	width int64
	dark  bool
	keys  bool // no mouse
}

var (
	wide   = hand{name: "wide", width: 1280}
	narrow = hand{name: "narrow and dark", width: 390, dark: true}
	keys   = hand{name: "keyboard alone", width: 1280, keys: true}
	hands  = []hand{wide, narrow, keys}
)

// browser is one of a person's, with a profile of its own.
type browser struct {
	hand
	t   *testing.T
	ctx context.Context
	r   *viewtest.Rig
}

// patience is how long a page may take on a busy machine to show what it should.
const patience = 2 * time.Minute

func newBrowser(t *testing.T, r *viewtest.Rig, h hand) *browser {
	t.Helper()
	c, err := theChromium()
	if err != nil {
		t.Fatalf("%v: scripts/tools heavy installs it", err)
	}
	ctx := c.start(t)
	b := &browser{t: t, ctx: ctx, r: r}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
		case *log.EventEntryAdded:
			if strings.Contains(e.Entry.Text, "Content Security Policy") {
				t.Errorf("the page breaks its own policy: %s", e.Entry.Text)
			}
		}
	})
	must.Do(t, chromedp.Run(ctx, log.Enable())) // it starts here, and lives as long as this context
	b.sit(h)
	return b
}

// sit changes how the person sits there.
func (b *browser) sit(h hand) {
	b.t.Helper()
	b.hand = h
	scheme := "light"
	if h.dark {
		scheme = "dark"
	}
	b.do("sit", chromedp.EmulateViewport(h.width, 844), chromedp.ActionFunc(func(ctx context.Context) error {
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: scheme}}).Do(ctx)
	}), emulation.SetFocusEmulationEnabled(true)) // as in the window that a person looks at
}

func (b *browser) do(what string, actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.fail(what, err)
	}
}

func (b *browser) fail(what string, err error) {
	b.t.Helper()
	b.picture("failed")
	var text string
	soon, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	_ = chromedp.Run(soon, chromedp.Text("body", &text, chromedp.ByQuery))
	b.t.Fatalf("%s: %v\nthe page says:\n%s", what, err, text)
}

// comeIn opens the file that leads a browser in.
func (b *browser) comeIn() {
	b.t.Helper()
	b.r.Run("env", "BROWSER=true", filepath.Join(b.r.Bin, "cco"), "view", "--open")
	b.do("come in", chromedp.Navigate("file://"+filepath.Join(b.r.Data(), "view", "open.html")))
	b.until("the page", "document.querySelector('.top') && document.querySelector('main')")
	var where string
	b.do("look at the address", chromedp.Location(&where))
	if strings.Contains(where, "#") || strings.Contains(where, "code") {
		b.t.Errorf("a code stays in the address: %s", where)
	}
}

// at opens an address of the page.
func (b *browser) at(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.r.Address+path))
}

// sees waits until words are shown.
func (b *browser) sees(words string) {
	b.t.Helper()
	b.until("see "+words, fmt.Sprintf("document.body.innerText.includes(%q)", words))
}

// until waits until something is true on the page.
func (b *browser) until(what, is string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		var ok bool
		// A page that is being left can't be asked.
		if err := chromedp.Run(ctx, chromedp.Evaluate("Boolean("+is+")", &ok)); err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			b.fail(what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// calm says whether the page heeds what is pressed. Buttons that are about to be drawn so say it a moment later.
const calm = "document.documentElement.hasAttribute('data-calm')"

// use presses what an expression finds: where it is seen and nothing covers it, or by going to it with the Tab key
// and pressing a key.
func (b *browser) use(what, find, key string) {
	b.t.Helper()
	if b.keys {
		for !b.presses(what, find, key) {
		}
		return
	}
	b.until(what, fmt.Sprintf(`(() => {
		const e = %s;
		if (!e || e.disabled || e.ariaDisabled === 'true' || !`+calm+`) return false;
		e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect(), top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		if (!e.contains(top)) return false;
		e.click();
		return true; })()`, find))
}

// presses goes to what an expression finds, and presses a key. It says whether it was heeded: the page may have drawn
// something else meanwhile, or not be calm any more, and people press again then.
func (b *browser) presses(what, find, key string) bool {
	b.t.Helper()
	b.tabTo(what, find)
	b.until("be calm before "+what, fmt.Sprintf("(e => e && e.ariaDisabled !== 'true' && "+calm+")(%s)", find))
	b.value(fmt.Sprintf("window.missed = false, addEventListener('keydown', e => window.missed = e.target !== (%s) || "+
		"e.target.tagName !== 'A' && !"+calm+", {once: true, capture: true})", find))
	b.do(what, chromedp.KeyEvent(key))
	var missed bool
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.Evaluate("Boolean(window.missed)", &missed))
	return err != nil || !missed // a page that is being left can't be asked
}

// tabTo goes to what an expression finds, which is then seen to have the focus.
func (b *browser) tabTo(what, find string) {
	b.t.Helper()
	b.until("find "+what, fmt.Sprintf("(e => e && !e.disabled && e.ariaDisabled !== 'true')(%s)", find))
	for range 400 {
		switch outline := b.value(fmt.Sprintf(`(e => !e || document.activeElement !== e ? 'elsewhere' :
			getComputedStyle(e).outlineStyle)(%s)`, find)); outline {
		case "none":
			b.t.Errorf("%s is not seen to have the focus", what)
			return
		case "elsewhere":
			b.do("tab", chromedp.KeyEvent("\t"))
		default:
			return
		}
	}
	b.fail(what, fmt.Errorf("the keyboard does not reach it"))
}

// button is one by what it says, and what the card that it is on says.
func button(words, card string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('dialog[open] button'),
		...document.querySelectorAll('button, a.btn')].find(e => !e.disabled && e.checkVisibility() &&
		(e.innerText.trim() || e.ariaLabel || '').startsWith(%q) &&
		(e.closest('.row, .pane, .card0')?.textContent || '').includes(%q))`, words, card)
}

// press presses a button by what it says.
func (b *browser) press(words string) {
	b.t.Helper()
	b.use("press "+words, button(words, ""), "\r")
}

// pressOn presses a button on a card.
func (b *browser) pressOn(card, words string) {
	b.t.Helper()
	b.use("press "+words+" on "+card, button(words, card), "\r")
}

// choose shows something of the inbox: in the pane, or where there is none, on its own page.
func (b *browser) choose(title string) {
	b.t.Helper()
	row := fmt.Sprintf("[...document.querySelectorAll('.row')].find(e => e.textContent.includes(%q))", title)
	b.until("a row of "+title, row)
	if b.keys || b.width < 1000 {
		b.use("open "+title, "("+row+").querySelector('.t a')", "\r")
		b.until(title+" is open", "location.pathname !== '/' && !document.querySelector('.soon')")
		return
	}
	b.until("choose "+title, "(("+row+").click(), document.querySelector('.pane').textContent.includes("+
		fmt.Sprintf("%q", title)+"))")
}

// pressIn presses a button in a part of the page.
func (b *browser) pressIn(part, words string) {
	b.t.Helper()
	b.use("press "+words+" in "+part, fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e =>
		e.innerText.trim().startsWith(%q) && e.checkVisibility())`, part+" button, "+part+" a.btn", words), "\r")
}

// is waits for the state of what the page is about.
func (b *browser) is(state string) {
	b.t.Helper()
	b.until("it is "+state, fmt.Sprintf("document.querySelector('.state')?.dataset.state === %q", state))
}

// types writes into what has a placeholder or a label.
func (b *browser) types(into, words string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('input, textarea')].find(e =>
		e.checkVisibility() && ((e.placeholder || '').startsWith(%q) || e.labels?.[0]?.innerText.startsWith(%q)))`,
		into, into)
	if b.keys {
		b.tabTo(into, find)
	} else {
		b.until("write into "+into, fmt.Sprintf("(e => { e?.focus(); if (e?.tagName === 'INPUT') e.select(); "+
			"return e && document.activeElement === e; })(%s)", find))
	}
	b.do("type "+words, chromedp.KeyEvent(words))
}

// marks marks a check box.
func (b *browser) marks(what, selector string) {
	b.t.Helper()
	b.use(what, fmt.Sprintf("document.querySelector(%q)", selector), " ")
}

// chooses takes the next of what can be chosen.
func (b *browser) chooses(what, selector string) {
	b.t.Helper()
	find := fmt.Sprintf("document.querySelector(%q)", selector)
	b.until(what+" to choose", "("+find+")?.options.length > 1")
	if b.keys {
		b.tabTo(what, find)
		b.do(what, chromedp.KeyEvent(kb.ArrowDown))
		return
	}
	b.until(what, fmt.Sprintf(`(s => { s.value = s.options[s.selectedIndex + 1].value;
		return s.dispatchEvent(new Event('change', {bubbles: true})); })(%s)`, find))
}

func (b *browser) value(js string) (out string) {
	b.t.Helper()
	b.do(js, chromedp.Evaluate("Promise.resolve("+js+").then(String)", &out,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return out
}

// pointAt moves the pointer over what an expression finds.
func (b *browser) pointAt(find string) func(context.Context) error {
	return func(ctx context.Context) error {
		var at []float64
		if err := chromedp.Evaluate("(r => [r.x + r.width / 2, r.y + r.height / 2])(("+find+").getBoundingClientRect())",
			&at).Do(ctx); err != nil {
			return err
		}
		return input.DispatchMouseEvent(input.MouseMoved, at[0], at[1]).Do(ctx)
	}
}

// picture keeps a picture of the page, if SHOTS names a directory.
func (b *browser) picture(name string) {
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)) == nil {
		name = strings.ReplaceAll(strings.TrimSpace(name+" "+b.name), " ", "-")
		_ = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644) // pictures are no secret
	}
}

// fine looks for what people with other eyes and hands would stumble over, and for a page wider than the screen.
func (b *browser) fine(page string) {
	b.t.Helper()
	axe := must.Get(axeCore())(b.t)
	var found string
	b.do("axe on "+page, chromedp.Evaluate(axe+`; undefined`, nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations
			.map(v => [v.id, v.help, v.nodes.map(n => n.html).slice(0, 3)])))`,
			&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if found != "[]" {
		b.t.Errorf("%s, %s: axe finds %s", page, b.name, found)
	}
	if over := b.value("document.documentElement.scrollWidth - innerWidth"); !strings.HasPrefix(over, "-") && over != "0" {
		b.t.Errorf("%s, %s: it is %s pixels too wide", page, b.name, over)
	}
	b.picture(page)
}

// axeCore gets axe-core from npm once, at one version.
var axeCore = sync.OnceValues(func() (string, error) {
	const version = "4.14.0"
	dir, err := filepath.Abs("../../.cache/npm/axe-core-" + version)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := proc.Run(context.Background(), proc.Cmd{Argv: []string{"npm", "install", "--silent", "--no-save",
			"--ignore-scripts", "--prefix", dir, "axe-core@" + version}}); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(file)
	return string(text), err
})
