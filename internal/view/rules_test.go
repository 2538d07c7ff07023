//go:build heavy && linux

package view_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// rules gives what breaks a rule of the design on the page that is shown: sizes of text, colours that have no name,
// buttons that say much or shout together, lines below what is no prose, rows that are too high, a page too wide.
const rules = `(() => {
	const out = new Set(), named = new Set(['rgba(0, 0, 0, 0)']), phone = innerWidth < 761;
	const high = e => e.getBoundingClientRect().height;
	const probe = document.body.appendChild(document.createElement('i'));
	for (const sheet of document.styleSheets) for (const r of sheet.cssRules) for (const name of r.style || []) {
		if (!name.startsWith('--')) continue;
		probe.style.color = 'rgb(1, 2, 3)';
		probe.style.color = 'var(' + name + ')';
		named.add(getComputedStyle(probe).color);
	}
	probe.remove();
	const open = document.querySelector('dialog[open]'), of = open || document.body;
	for (const e of of.querySelectorAll('*')) {
		if (!e.checkVisibility() || e.closest('.xterm, head, script, style, .sr, option')) continue;
		const s = getComputedStyle(e), words = e.innerText?.trim() || '';
		const say = what => out.add(e.tagName.toLowerCase() + '.' + (e.getAttribute('class') || '') + ' ' + what);
		if (words && ![12, 13, 14, 16, 20].includes(parseFloat(s.fontSize))) say('has text of ' + s.fontSize);
		for (const c of [s.color, s.backgroundColor, s.borderTopWidth === '0px' ? '' : s.borderTopColor])
			if (c && !named.has(c)) say('has the colour ' + c);
		if (s.textDecorationLine.includes('underline') && !e.closest('.words, .ask2, .empty, .diff')) say('is underlined');
		if (e.matches('.btn:not(.long)') && words.split(/\s+/).length > 3) say('says ' + words);
		if (e.matches('.row') && Math.abs(high(e) - (phone ? 64 : 44)) > 1) say('is ' + high(e) + ' high');
		const own = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('');
		if (/\d/.test(own) && !s.fontVariantNumeric.includes('tabular-nums') && !e.closest('code, pre, .mono, kbd, .diff'))
			say('has figures of its own widths: ' + own);
		if (e.matches('td:not(.diff td), .row .meta > *') && /^[−+$\d.,%kM ]+$/.test(words) && s.textAlign !== 'right' &&
			s.textAlign !== 'end') say('has figures to the left: ' + words);
		if (e.matches('.row .n') && e.scrollWidth > e.clientWidth + 1) say('runs over with ' + words);
		if (phone && e.matches('.btn, .in, select') && high(e) < 43.5) say('is ' + high(e) + ' high, for a finger');
	}
	const at = [...of.querySelectorAll('.inbox :is(.group, .row, .more)')].map(e => e.getBoundingClientRect());
	at.sort((a, b) => a.top - b.top);
	for (let i = 1; i < at.length; i++) if (Math.abs(at[i].top - at[i - 1].bottom) > 1)
		out.add('what follows ' + at[i - 1].bottom + ' begins at ' + at[i].top);
	const filled = [...of.querySelectorAll('.btn.fill')].filter(e => e.checkVisibility());
	if (filled.length > 1) out.add('filled are ' + filled.map(e => e.innerText).join(', '));
	const over = document.documentElement.scrollWidth - innerWidth;
	if (over > 0) out.add('it is ' + over + ' pixels too wide');
	return [...out].slice(0, 12).join('\n'); })()`

// keeps holds a page to the rules, at both widths, light and dark. Axe, which takes most of the time, looks at each
// width and at light and dark once.
func (b *browser) keeps(name, path string) {
	b.t.Helper()
	for i, h := range looks {
		b.look(h)
		b.at(path)
		b.settled(name)
		if broken := b.value(rules); broken != "" {
			b.t.Errorf("%s, %d wide, dark %v:\n%s", name, h.width, h.dark, broken)
		}
		if i == 0 || i == len(looks)-1 {
			b.fine(name)
		}
	}
}

// Guards against a page that falls apart with more sessions, or with other names, than somebody had in mind.
func TestTheRulesOfTheDesign(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, looks[0])
	b.comeIn()
	in, n := seeding(t, r), 0
	for _, many := range []int{0, 8, 50, 200} {
		in.month(many - n)
		n = many
		for _, page := range []string{"/", "/new", "/boxes", "/money", "/log"} {
			b.keeps(fmt.Sprintf("%s with %d", page, many), page)
		}
		if many == 0 {
			continue
		}
		b.look(looks[0])
		b.at("/")
		b.settled("home")
		seen := b.value(`[...document.querySelectorAll('.row')].
			filter(e => e.getBoundingClientRect().bottom <= innerHeight).length`)
		height := b.value("document.documentElement.scrollHeight")
		t.Logf("%d sessions: %s rows are seen, the page is %s high, drawn in %s ms", many, seen, height, b.value(
			`Math.round(performance.getEntriesByName('shown')[0].startTime -
			performance.getEntries().find(e => e.name.includes('/assets/home.js')).responseEnd)`))
		if many == 50 && len(height) > 3 && height > "2600" {
			t.Errorf("50 sessions are %s high", height)
		}
		if many >= 50 && len(seen) < 2 || many >= 50 && seen < "14" {
			t.Errorf("only %s rows are seen", seen)
		}
	}
	in.asking()
	in.hostile()
	talk, phase := in.talk(), in.phase()
	work := r.Push(hostile[0], risky)
	r.Await(work, "done")
	s := screens{held: work, talk: talk, phase: phase, live: "5eed0001",
		term: onTerminal(t, r, hostile[1], painted)}
	for _, screen := range s.all() {
		b.keeps(screen[0], screen[1])
	}
}

// Guards against colours without a name, and against so many that nobody knows them.
func TestColoursHaveNames(t *testing.T) {
	tokens := string(must.Get(os.ReadFile("pages/static/tokens.css"))(t))
	style := string(must.Get(os.ReadFile("pages/static/style.css"))(t))
	if n := strings.Count(tokens, "light-dark("); n > 60 || n < 20 {
		t.Errorf("there are %d named colours", n)
	}
	for _, c := range regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(`).FindAllString(style, -1) {
		t.Errorf("%s has no name", c)
	}
	red := regexp.MustCompile(`([^{}]+)\{[^{}]*var\(--(?:danger|red)[^{}]*\}`).FindAllStringSubmatch(style, -1)
	if len(red) < 5 {
		t.Errorf("only %d rules are red", len(red))
	}
	for _, m := range red { // it is for danger and what went wrong alone
		if !regexp.MustCompile(`\.(bad|red|hot|lost|no|wrong)\b`).MatchString(m[1]) {
			t.Errorf("%s is red", strings.TrimSpace(m[1]))
		}
	}
	// --s1 to --s6 are these too; what stands beside something of a width of its own says so with calc().
	spaces := regexp.MustCompile(`[;{\s](?:margin|padding|gap)[a-z-]*:([^;}]*)`).FindAllStringSubmatch(style, -1)
	if len(spaces) < 100 {
		t.Errorf("only %d distances are found", len(spaces))
	}
	for _, m := range spaces {
		for _, px := range regexp.MustCompile(`(\d+)px`).FindAllStringSubmatch(m[1], -1) {
			if !strings.Contains(" 4 8 12 16 24 32 ", " "+px[1]+" ") {
				t.Errorf("a distance of %s pixels: %s", px[1], m[0])
			}
		}
	}
}
