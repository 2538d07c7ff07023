//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// A person at a browser, against the real program: every page and every action, wide, narrow and dark, and with the
// keyboard alone. Phases, and what needs a model, are in tests of their own.
func TestThePagesInABrowser(t *testing.T) {
	bin := viewtest.Build(t)
	t.Run("hands", func(t *testing.T) {
		for _, h := range hands {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				r := viewtest.With(t, bin)
				r.Serve()
				b := newBrowser(t, r, h)
				wayIn(b)
				for _, page := range []struct {
					name string
					try  func(*browser)
				}{{"session", sessionPage}, {"changes", changesPage}, {"home", homePage}, {"terminal", terminalPage},
					{"boxes", boxPages}, {"money", moneyPage}, {"every page", everyPage}} {
					t.Run(page.name, func(t *testing.T) {
						b.t = t
						page.try(b)
					})
					if b.t = t; t.Failed() {
						return
					}
				}
			})
		}
	})
	t.Run("two browsers", func(t *testing.T) { twoBrowsers(t, viewtest.With(t, bin)) })
}

func wayIn(b *browser) {
	b.t.Helper()
	b.at("/")
	b.sees("Come in with the code")
	b.fine("the way in")
	b.types("Code", "wrong\r")
	b.sees("the code is wrong")
	if b.keys { // and with the right one, by hand
		code := strings.Fields(b.r.Run("cco", "view", "code"))[0]
		b.types("Code", code+"\r") // over the wrong one, which is selected
	} else {
		b.types("Code", "wrong again")
		// What is pressed is heeded also where the program of the page is not.
		b.press("Come in")
		b.until("it can be typed over", "document.getElementById('code').selectionStart === 0")
		b.comeIn()
	}
	b.sees("What is to be done?")
}

// everyPage looks at all pages as they are when much has happened.
func everyPage(b *browser) {
	if b.keys {
		return // it sees the same as wide
	}
	id := b.r.Push("Say something", "echo said")
	b.r.Await(id, "done")
	for name, path := range map[string]string{"home": "/", "session": "/session/" + id,
		"changes": "/session/" + id + "/changes", "boxes": "/boxes", "box": "/box/cco-sandbox", "money": "/money",
		"log": "/log", "nothing": "/no/such/page"} {
		b.at(path)
		b.until(name, ready)
		b.fine(name)
	}
}

// twoBrowsers lets a second one in, and shows both the same.
func twoBrowsers(t *testing.T, r *viewtest.Rig) {
	r.Serve()
	one, two := newBrowser(t, r, wide), newBrowser(t, r, narrow)
	one.comeIn()
	two.comeIn()
	id := r.Push("Seen twice", "echo seen\nsleep 600")
	for _, b := range []*browser{one, two} {
		b.at("/session/" + id)
		b.sees("seen")
	}
	one.press("Stop")
	one.press("Yes, end it")
	one.sees("killed; its work is kept") // it is told when it was noted
	two.is("killed")
	two.press("What came back")
	two.sees("It made no commits")
	data := must.Get(os.ReadFile(filepath.Join(r.Data(), "view", "log.jsonl")))(t)
	var last struct {
		Who string `json:"who"`
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	must.Do(t, json.Unmarshal([]byte(all[len(all)-1]), &last))
	if !strings.Contains(last.Who, "browser ") || !strings.Contains(last.Who, "Chrome") {
		t.Errorf("the log says %q", last.Who)
	}
}
