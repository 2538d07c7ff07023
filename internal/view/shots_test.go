//go:build heavy && linux

package view_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// risky is work that the gate holds up.
const risky = `mkdir -p scripts src/checkout/cart test
cat >package.json <<'EOF'
{
  "name": "webshop",
  "scripts": {
    "start": "node server.js",
    "lint": "eslint src",
    "test": "node --test",
    "postinstall": "node scripts/setup.js"
  },
  "engines": { "node": ">=22" }
}
EOF
printf 'const db = await open(process.env.DATABASE_URL);\nawait db.migrate();\n' >scripts/setup.js
cat >src/checkout/cart/store.js <<'EOF'
import { open } from "./lock.js";

// keep writes the cart before the lock is let go, so that the next request reads it.
export async function keep(cart) {
  const lock = await open(cart.id);
  try {
    return await write(cart, "two requests keep both items", 42);
  } finally {
    await lock.close();
  }
}
EOF
printf 'export const open = id => locks.take(id);\n' >src/checkout/cart/lock.js
cat >test/cart.test.js <<'EOF'
import test from "node:test";

test.skip("two requests keep both items", async () => {
  await shop.add("a");
});
EOF
git add .
git commit -qm 'Keep the cart before the lock is let go'
printf '# Changes\n\n- Carts are kept.\n' >CHANGES.md
git add .
git commit -qm 'Say so'`

// rounded is work in which there is nothing to find; FILE is what it makes.
const rounded = `printf 'package bill\n\n// Round rounds to the cent.\nfunc Round(n int) int { return n }\n' >FILE
git add .
git commit -qm 'Round totals to the cent after tax'`

// screens are all of them, as a busy user has them.
type screens struct{ held, talk, phase, live, term string }

// working is what an agent's own screen looks like. It is drawn anew when it gets another size, as agents do.
const working = `draw() {
printf '\033[H\033[2J\033[1mMend the login test\033[0m\n\n'
printf '\033[32m●\033[0m \033[1mRead\033[0m(internal/login/session_test.go)\n  \033[90m└ 214 lines\033[0m\n\n'
printf '\033[32m●\033[0m \033[1mBash\033[0m(go test -count 50 ./internal/login)\n'
printf '  \033[90m└\033[0m --- FAIL: TestLoginExpires (0.02s)\n'
printf '    session_test.go:88: no cookie left\n\n'
printf 'The test compares two clocks. I give the\nstore a clock that the test can move:\n\n'
printf '  \033[31m- deadline := time.Now().Add(ttl)\033[0m\n'
printf '  \033[32m+ deadline := s.now().Add(ttl)\033[0m\n\n'
printf '\033[33m✻\033[0m Running 50 times … \033[90m(12s, 3.1k tokens)\033[0m\n\n'
printf '\033[90m'; for i in $(seq $1); do printf ─; done; printf '\033[0m\n> '
}
was=
while sleep 0.2; do
	now=$(stty size </dev/tty)
	[ "$now" = "$was" ] || draw ${now#* }
	was=$now
done`

// busy seeds a user's month, and has some sessions really run.
func busy(t *testing.T, r *viewtest.Rig, n int) (s screens) {
	t.Helper()
	in := seeding(t, r)
	in.month(n)
	in.asking()
	s.talk, s.phase = in.talk(), in.phase()
	s.held = r.Push("Checkout must not lose carts", risky)
	r.Await(s.held, "done")
	for title, file := range map[string]string{"Round totals to the cent after tax": "round.go",
		"Show the delivery date in the cart": "date.go"} {
		r.Await(r.Push(title, strings.ReplaceAll(rounded, "FILE", file)), "done")
	}
	r.Await(r.Push("Reach out", "curl -sS -m 5 https://paste.example.net/ || true\n"+
		"curl -sS -m 5 https://telemetry.example.com/ || true\necho tried"), "done")
	s.live = r.Push("Watch the build", "for i in $(seq 1 6000); do echo \"built package $i of 6000\"; sleep 1; done")
	s.term = onTerminal(t, r, "Mend the login test that fails one time in fifty", working)
	return s
}

func (s screens) all() [][2]string {
	all := [][2]string{{"home", "/"}, {"new", "/new"}, {"session", "/session/" + s.talk}, {"live", "/session/" + s.live},
		{"changes", "/session/" + s.held + "/changes"}, {"network", "/session/" + s.talk + "/network"},
		{"plan", "/session/" + s.held + "/plan"}, {"phase", "/phase/" + s.phase}, {"boxes", "/boxes"}, {"money", "/money"},
		{"log", "/log"}, {"nothing", "/no/such/page"}, {"lost session", "/session/00000000"}}
	if s.term != "" {
		all = append(all, [2]string{"terminal", "/session/" + s.term + "/terminal"})
	}
	return all
}

// ready is true when a screen has been read whole.
const ready = `document.querySelector('main') && !document.querySelector('.soon') &&
	document.fonts.status === 'loaded' && !/being unpacked|still looking/.test(document.body.innerText)`

// looks are how a screen is looked at.
var looks = []hand{{name: "", width: 1440}, {name: "dark", width: 1440, dark: true}, {name: "phone", width: 390},
	{name: "phone dark", width: 390, dark: true}}

func (b *browser) look(h hand) {
	b.t.Helper()
	b.sit(h)
	height := int64(900)
	if h.width < 500 {
		height = 848
	}
	b.do("a screen", emulation.SetDeviceMetricsOverride(h.width, height, 1, h.width < 500))
}

// settled waits until a page that was opened is whole, and its buttons can be pressed.
func (b *browser) settled(page string) {
	b.t.Helper()
	b.until(page, ready)
	b.until(page+" is calm", calm)
	b.do("a moment", chromedp.Evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil))
}

// act does a few things, so that the log and a box have something to say.
func (s screens) act(t *testing.T, r *viewtest.Rig) {
	t.Helper()
	seen := get[api.Changes](t, r, "/sessions/"+s.held+"/changes")
	do := func(path string, in any) { t.Helper(); r.Ask(http.MethodPost, path, in, nil) }
	do("/boxes/cco-sandbox/verify", api.Nothing{})
	do("/limits", api.Limit{Name: "limits.day_cost", Value: "60", Was: 50})
	do("/limits", api.Limit{Name: "limits.day_cost", Value: "50", Was: 60})
	do("/boxes/cco-sandbox/allow", api.Allow{Host: "docs.example.org"})
	do("/sessions/"+s.held+"/marks", api.Mark{File: "CHANGES.md", Mark: seen.Files[0].Mark, On: true})
	do("/sessions/"+s.held+"/pull", api.Pull{Seen: seen.Seen}) // which the gate refuses
	do("/phases/"+s.phase+"/fix", api.Fix{Comment: "Forty milliseconds are fine."})
}

// TestShots makes the pictures of all screens: make shots.
func TestShots(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, hand{name: "", width: 1440})
	b.comeIn()
	only := os.Getenv("SHOTS_ONLY") // some of them, by their names
	for _, h := range looks {
		b.look(h)
		b.settled("the beginning")
		b.picture("view empty")
	}
	s := busy(t, r, 40)
	b.at("/session/" + s.held + "/changes")
	b.until("findings", "document.querySelectorAll('.found').length > 1")
	b.at("/")
	s.act(t, r)
	b.until("all are examined", "document.querySelectorAll('#ready .row .act').length > 1")
	for _, h := range looks {
		b.look(h)
		for _, screen := range s.all() {
			if only != "" && !strings.Contains(only, screen[0]) {
				continue
			}
			b.at(screen[1])
			b.settled(screen[0])
			if screen[0] == "home" && h.width > 1000 {
				b.choose("Checkout must not lose carts")
				b.until("its files", "document.querySelector('.pane .path')")
			}
			if screen[0] == "terminal" {
				b.until("its screen", "document.querySelector('.xterm-rows')?.innerText.includes('50 times')")
				b.press("Take the keyboard")
				b.sees("You have the keyboard")
				b.do("its new size", chromedp.Sleep(time.Second))
			}
			b.picture("view " + screen[0])
		}
	}
}
