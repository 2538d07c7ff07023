package forgetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
)

// watcher polls as cruise does: it keeps marks, and what it was told.
type watcher struct {
	p     *place
	f     Forge
	marks map[int]forge.Mark
	heard map[int][]string
	pulls map[int]forge.Pull
}

func watch(p *place, f Forge, numbers ...int) *watcher {
	w := &watcher{p: p, f: f, marks: map[int]forge.Mark{}, heard: map[int][]string{}, pulls: map[int]forge.Pull{}}
	for _, n := range numbers {
		w.marks[n] = ""
	}
	return w
}

func (w *watcher) list() []forge.Watched {
	var all []forge.Watched
	for n, m := range w.marks {
		all = append(all, forge.Watched{Number: n, Since: m})
	}
	return all
}

func (w *watcher) poll() {
	w.p.Helper()
	news, err := w.f.Poll(w.p.Context(), w.list())
	w.p.must(err)
	w.take(news)
}

func (w *watcher) take(news []forge.News) {
	for _, n := range news {
		w.marks[n.Number] = n.Mark
		if n.Pull.State != "" {
			w.pulls[n.Number] = n.Pull
		}
		for _, c := range n.Comments {
			if !c.Own {
				w.heard[n.Number] = append(w.heard[n.Number], words(c))
			}
		}
	}
}

// expect compares what was heard, in any order within one second.
func (w *watcher) expect(number int, want ...string) {
	w.p.Helper()
	got, all := slices.Sorted(slices.Values(w.heard[number])), slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(all, got); diff != "" {
		w.p.Errorf("heard on %d: %s", number, diff)
	}
}

func polls(p *place) {
	ada, rob, eve := p.as(Ada, ""), p.as(Rob, ""), p.as(Eve, "")
	one, two, quiet := p.open(ada, "one"), p.open(ada, "two"), p.open(ada, "three")
	p.post(eve, one.Number, "before")
	w := watch(p, ada, one.Number, two.Number, quiet.Number)
	w.poll()
	w.expect(one.Number, "before")
	p.post(eve, one.Number, "comment")
	p.post(ada, one.Number, "our own words")
	p.review(rob, two.Number, forge.RequestChanges, "review", at(line, "on a line"))
	w.poll()
	w.expect(one.Number, "before", "comment")
	w.expect(two.Number, "review", "on a line")
	// In the same second as what was just read.
	p.post(eve, two.Number, "quick one")
	w.poll()
	p.review(rob, two.Number, forge.Approve, "quick two")
	w.poll()
	w.poll()
	w.expect(two.Number, "review", "on a line", "quick one", "quick two")
	// On one that was left out of a poll.
	mark := w.marks[one.Number]
	delete(w.marks, one.Number)
	p.post(eve, one.Number, "meanwhile")
	w.poll()
	p.must(p.clock.Sleep(p.Context(), 3*time.Second))
	w.poll()
	w.marks[one.Number] = mark
	w.poll()
	w.expect(one.Number, "before", "comment", "meanwhile")
	// A reply to a thread, a push, a merge.
	id := p.find(ada, two.Number, "on a line").ID
	_, err := p.reply(rob, two.Number, id, forge.Post{Key: "x", Body: "more on it"})
	p.must(err)
	p.must(p.clock.Sleep(p.Context(), 3*time.Second))
	w.poll()
	w.poll()
	w.expect(two.Number, "review", "on a line", "quick one", "quick two", "more on it")
	p.merge(ada, one.Number)
	w.poll()
	w.poll()
	if w.pulls[one.Number].State != forge.Merged {
		p.Errorf("after a merge: %+v", w.pulls[one.Number])
	}
	w.expect(quiet.Number)
	w.expect(one.Number, "before", "comment", "meanwhile")
}

func pollsOldMarks(p *place) {
	ada, eve := p.as(Ada, ""), p.as(Eve, "")
	one := p.open(ada, "one")
	w := watch(p, ada, one.Number)
	w.poll()
	start := w.marks[one.Number]
	p.post(eve, one.Number, "first")
	w.poll()
	// The news that were handed out are lost: the mark is the one before.
	w.marks[one.Number], w.heard = start, map[int][]string{}
	w.poll()
	w.expect(one.Number, "first")
	// A restart.
	p.post(eve, one.Number, "second")
	w.f = p.as(Ada, "")
	w.poll()
	w.poll()
	w.expect(one.Number, "first", "second")
	// One more is watched, with things said on it before.
	two := p.open(ada, "two")
	p.post(eve, two.Number, "early")
	w.poll()
	w.marks[two.Number] = ""
	w.poll()
	w.poll()
	w.expect(two.Number, "early")
	w.expect(one.Number, "first", "second")
	// A poll that fails halfway loses nothing.
	p.post(eve, one.Number, "third")
	p.post(eve, two.Number, "third")
	for n := range 3 {
		left := n
		p.proxy.Inject(mishap{Refuse: 404, Body: "{}"}, 1, func(r *http.Request) bool {
			left--
			return left < 0 && api("")(r)
		})
		news, err := w.f.Poll(p.Context(), w.list())
		if err == nil {
			w.take(news)
		}
		p.proxy.Heal()
	}
	w.poll()
	w.expect(one.Number, "first", "second", "third")
	w.expect(two.Number, "early", "third")
}

func readsPages(p *place) {
	ada, eve := p.as(Ada, ""), p.as(Eve, "")
	pull := p.open(ada, "topic")
	var want []string
	for i := range 130 {
		want = append(want, fmt.Sprintf("number %03d", i))
		p.post(eve, pull.Number, want[i])
	}
	all := p.said(ada, pull.Number, "")
	if diff := cmp.Diff(want, bodies(all.Comments)); diff != "" {
		p.Errorf("read as a whole: %s", diff)
	}
	w := watch(p, ada, pull.Number)
	w.poll()
	w.expect(pull.Number, want...)
	p.post(eve, pull.Number, "one more")
	w.poll()
	w.poll()
	w.expect(pull.Number, append(want, "one more")...)
}

// Guards against a comment that is lost because another was deleted between two pages.
func readsChangingPages(p *place) {
	ada, eve := p.as(Ada, ""), p.as(Eve, "")
	pull := p.open(ada, "topic")
	var posted []forge.Posted
	var want []string
	for i := range 130 {
		want = append(want, fmt.Sprintf("number %03d", i))
		posted = append(posted, p.post(eve, pull.Number, want[i]))
	}
	var once sync.Once
	reads := 0
	p.proxy.Before(func(r *http.Request) {
		if !api("GET", "/issues/", "/comments")(r) {
			return
		}
		if reads++; reads == 2 {
			once.Do(func() {
				for i := range 5 {
					p.server.Change(p.T, p.remote, Eve, posted[i].ID, "")
				}
			})
		}
	})
	w := watch(p, ada, pull.Number)
	w.poll()
	p.proxy.Before(nil)
	once.Do(func() {}) // a forge without pages has nothing to change between
	w.poll()
	for _, words := range want[5:] {
		if !slices.Contains(w.heard[pull.Number], words) {
			p.Errorf("%q was lost", words)
		}
	}
	seen := map[string]bool{}
	for _, words := range w.heard[pull.Number] {
		if seen[words] {
			p.Errorf("%q was told twice", words)
		}
		seen[words] = true
	}
}

func takesHooks(p *place) {
	ada, eve := p.as(Ada, ""), p.as(Eve, "")
	pull := p.open(ada, "topic")
	got := make(chan forge.Event, 16)
	right := httptest.NewServer(&forge.Receiver{Secret: "right", Got: func(e forge.Event) { got <- e }})
	defer right.Close()
	wrong := make(chan int, 16)
	checked := &forge.Receiver{Secret: "another", Got: func(e forge.Event) { p.Errorf("taken: %+v", e) }}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		checked.ServeHTTP(rec, r)
		wrong <- rec.Code
	}))
	defer other.Close()
	p.server.Hook(p.T, p.remote, right.URL, "right")
	p.server.Hook(p.T, p.remote, other.URL, "right")
	w := watch(p, ada, pull.Number)
	w.poll()
	p.post(eve, pull.Number, "through a hook")
	for {
		select {
		case e := <-got:
			if e.Number != pull.Number || e.Repo != p.remote.Owner+"/"+p.remote.Name {
				continue
			}
			w.poll()
			w.expect(pull.Number, "through a hook")
			if code := <-wrong; code != http.StatusUnauthorized {
				p.Errorf("a hook with another secret gives %d", code)
			}
			return
		case <-time.After(5 * time.Minute):
			p.Fatal("no hook came")
		}
	}
}

// count says how often words stand on a request.
func (p *place) count(f Forge, number int, words string) int {
	p.Helper()
	n := 0
	for _, c := range p.said(f, number, "").Comments {
		n += strings.Count(c.Body, words)
	}
	return n
}
