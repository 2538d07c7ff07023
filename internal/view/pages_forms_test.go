//go:build heavy && linux

package view_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/view/viewtest"
)

// instead answers in the place of cco what a screen asks, as the tab has been told. Who is there, and the state of all,
// is still said; half of it is that a session is known, and its parts are not.
const instead = `(() => {
	const was = fetch, mode = sessionStorage.getItem('mode');
	window.fetch = (to, ...how) => {
		const path = String(to.url || to);
		const known = mode === 'half' ? /(me|state|enter|sessions\/[0-9a-f]+)$/ : /(me|state|enter)$/;
		if (!mode || !path.includes('/api/v1/') || known.test(path)) return was(to, ...how);
		if (mode === 'slow') return new Promise(() => {});
		if (mode === 'lost') return Promise.reject(new TypeError('no network'));
		return Promise.resolve(new Response('{"error": "the disk is full"}', {status: 500}));
	};
})()`

// Guards against a screen that stays empty, or waits for ever, when what it asks for fails, is lost or takes long.
func TestScreensSayThatTheyHaveNothing(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	in := seeding(t, r)
	in.month(8)
	talk, phase := in.talk(), in.phase()
	r.Serve()
	b := newBrowser(t, r, looks[0])
	b.comeIn()
	b.do("answer instead", chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(instead).Do(ctx)
		return err
	}))
	of := map[string]string{"session": "/session/" + talk, "changes": "/session/" + talk + "/changes",
		"terminal": "/session/" + talk + "/terminal", "network": "/session/" + talk + "/network",
		"plan": "/session/" + talk + "/plan", "phase": "/phase/" + phase, "boxes": "/boxes", "box": "/box/cco-sandbox",
		"money": "/money", "log": "/log", "new": "/new"}
	const failed = "/the disk is full/i.test(document.body.innerText)"
	for mode, shows := range map[string]string{"failed": failed, "half": failed,
		"lost": "/cco (view )?does not answer/i.test(document.body.innerText)",
		"slow": "[...document.querySelectorAll('.soon')].some(e => getComputedStyle(e).opacity === '1')",
	} {
		b.value("sessionStorage.setItem('mode', '" + mode + "')")
		for name, path := range of {
			if name == "new" && mode == "slow" || mode == "half" && (name == "plan" || name == "terminal") {
				continue // one can write meanwhile; the session says all of it
			}
			for _, h := range looks {
				b.look(h)
				b.at(path)
				b.until(name+" says that it is "+mode, shows)
				if broken := b.value(rules); broken != "" {
					t.Errorf("%s that is %s, %d wide, dark %v:\n%s", name, mode, h.width, h.dark, broken)
				}
				b.picture(mode + " " + name)
			}
		}
	}
}
