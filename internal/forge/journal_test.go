package forge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// world is a forge with one place to speak, on which each attempt can go wrong in its own way.
type world struct {
	forge.Memory
	said   []string // markers
	plan   []string // what becomes of each attempt: "ok", "lost", "late", "dropped", "no"
	looks  int
	hidden int // looks for which the last thing said can't be seen yet
	now    time.Time
	slept  time.Duration
	tried  time.Time // as the journal says during the last attempt
}

func (w *world) once() forge.Once {
	return forge.Once{
		Journal: &w.Memory,
		Look: func(_ context.Context, r forge.Record) (forge.Posted, bool, error) {
			w.looks++
			if w.hidden--; w.hidden >= 0 {
				return forge.Posted{}, false, nil
			}
			for _, m := range w.said {
				if m == r.Marker {
					return forge.Posted{ID: "comment-1"}, true, nil
				}
			}
			return forge.Posted{}, false, nil
		},
		Do: func(_ context.Context, r forge.Record) (forge.Posted, error) {
			if kept, ok, _ := w.ByMarker(context.Background(), r.Repo, r.Marker); ok {
				w.tried = kept.Created
			}
			what := w.plan[0]
			w.plan = w.plan[1:]
			switch what {
			case "no":
				return forge.Posted{}, &forge.RejectedError{Status: 422}
			case "dropped":
				return forge.Posted{}, &forge.UnavailableError{}
			}
			w.said = append(w.said, r.Marker)
			if what == "empty" {
				return forge.Posted{ID: "comment-0"}, nil
			}
			if what == "late" { // the client's patience is at its end, or it had waited for a limit before
				w.now = w.now.Add(time.Minute)
				return forge.Posted{}, &forge.UnavailableError{}
			}
			if what == "lost" {
				return forge.Posted{}, &forge.UnavailableError{Status: 500}
			}
			return forge.Posted{ID: "comment-1"}, nil
		},
		Now: func() time.Time { return w.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			w.now, w.slept = w.now.Add(d), w.slept+d
			return nil
		},
	}
}

func TestOnceSaysOnceWhateverHappens(t *testing.T) {
	for name, c := range map[string]struct {
		plan   []string
		hidden int
		said   int
		fails  bool
	}{
		"at once":                  {plan: []string{"ok"}, said: 1},
		"lost answer":              {plan: []string{"lost"}, said: 1},
		"empty answer":             {plan: []string{"empty"}, said: 1},
		"lost, and late to appear": {plan: []string{"lost"}, hidden: 3, said: 1},
		"no answer for a minute":   {plan: []string{"late"}, hidden: 3, said: 1},
		"dropped, then done":       {plan: []string{"dropped", "ok"}, said: 1},
		"dropped twice, then lost": {plan: []string{"dropped", "dropped", "lost"}, said: 1},
		"refused":                  {plan: []string{"no"}, fails: true},
		"down for good":            {plan: []string{"dropped", "dropped", "dropped", "dropped"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{plan: c.plan, hidden: c.hidden}
			_, err := w.once().Say(t.Context(), forge.Record{Key: "k", Kind: forge.OnPull})
			if len(w.said) != c.said || (err != nil) != c.fails {
				t.Fatalf("said %d times, %v", len(w.said), err)
			}
			// In every case, saying it again posts it at most once.
			w.plan = []string{"ok"}
			p, err := w.once().Say(t.Context(), forge.Record{Key: "k", Kind: forge.OnPull})
			if err != nil || len(w.said) != 1 || p.Again != (c.said == 1) {
				t.Errorf("again: said %d times, %+v %v", len(w.said), p, err)
			}
		})
	}
}

// Guards against a process that was killed while the forge was at work on what it said, and the next that says it
// again.
func TestOnceWaitsForWhatAKilledProcessSaid(t *testing.T) {
	w := &world{hidden: 3}
	r := forge.Record{Key: "k", Kind: forge.OnPull, Marker: forge.NewMarker()}
	if _, _, err := w.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.said = []string{r.Marker}
	p, err := w.once().Say(t.Context(), forge.Record{Key: "k", Kind: forge.OnPull})
	if err != nil || !p.Again || p.ID != "comment-1" || len(w.said) != 1 {
		t.Errorf("said %d times, %+v %v", len(w.said), p, err)
	}
	if kept, ok, err := w.ByID(t.Context(), "", "comment-1"); !ok || err != nil || kept.Key != "k" {
		t.Errorf("recorded %+v %v", kept, err)
	}
}

func TestOnceKeepsKeysApart(t *testing.T) {
	w := &world{plan: []string{"ok", "ok"}}
	must.Get(w.once().Say(t.Context(), forge.Record{Key: "k", Kind: forge.OnPull, Number: 1}))(t)
	if _, err := w.once().Say(t.Context(), forge.Record{Key: "k", Kind: forge.OnPull, Number: 2}); err == nil {
		t.Error("a key was used for two things")
	}
	if _, err := w.once().Say(t.Context(), forge.Record{}); err == nil {
		t.Error("something was said without a key")
	}
}

func TestMarkersInWordsOfOthersAreHarmless(t *testing.T) {
	r := forge.Record{Marker: forge.NewMarker()}
	stolen := forge.Record{Marker: forge.NewMarker()}.Mark("copied")
	marked := r.Mark("words " + stolen)
	if got := forge.Markers(marked); len(got) != 1 || got[0] != r.Marker {
		t.Errorf("markers: %v", got)
	}
	if got := forge.Unmark(r.Mark("words")); got != "words" {
		t.Errorf("unmarked: %q", got)
	}
	if got := forge.Markers(r.Mark("")); len(got) != 1 {
		t.Errorf("alone: %v", got)
	}
	if long := r.Mark(strings.Repeat("ä", 100_000)); len(long) > 65_200 || len(forge.Markers(long)) != 1 {
		t.Errorf("long words have %d bytes", len(long))
	}
}

func TestOwnNeedsMoreThanAMarker(t *testing.T) {
	const repo = "h/o/r"
	marker, other := forge.NewMarker(), forge.NewMarker()
	text := forge.Record{Marker: marker}.Mark("x")
	base := forge.Comment{ID: "comment-9", Kind: forge.OnPull, Number: 1, Author: "ada"}
	change := func(do func(*forge.Comment)) forge.Comment { c := base; do(&c); return c }
	for name, c := range map[string]struct {
		comment forge.Comment
		raw     string
		own     bool
	}{
		"author and marker": {base, text, true},
		"a recorded id": {change(func(c *forge.Comment) { c.ID, c.Author = "comment-5", "somebody" }),
			"no marker", true},
		"another author":  {change(func(c *forge.Comment) { c.Author = "eve" }), text, false},
		"another request": {change(func(c *forge.Comment) { c.Number = 2 }), text, false},
		"another kind": {change(func(c *forge.Comment) { c.Kind, c.ID = forge.OnLine, "line-9" }),
			text, false},
		"an unknown marker":                 {base, forge.Record{Marker: forge.NewMarker()}.Mark("x"), false},
		"a marker of what stands elsewhere": {base, forge.Record{Marker: other}.Mark("x"), false},
		"no marker":                         {base, "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &forge.Memory{}
			for _, r := range []forge.Record{{Key: "a", Repo: repo, Number: 1, Kind: forge.OnPull, Marker: marker},
				{Key: "b", Repo: repo, Number: 1, Kind: forge.OnPull, Marker: other, ID: "comment-5"}} {
				if _, _, err := j.Begin(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			own, err := forge.Own(t.Context(), j, repo, c.comment, c.raw, []string{"Ada"})
			if err != nil || own != c.own {
				t.Errorf("own is %v %v", own, err)
			}
		})
	}
}

// A seal holds for one host, repository, request and kind, and of several posts with one marker the oldest is ours.
func TestASealHoldsForOnePlace(t *testing.T) {
	key := forge.NewKey()
	rec := forge.Record{Repo: "h/o/r", Number: 1, Kind: forge.OnPull, Marker: forge.NewMarker()}
	rec.Seal = key.Seal(rec)
	raw := rec.Mark("x")
	base := forge.Comment{ID: "comment-9", Kind: forge.OnPull, Number: 1, Author: "ada"}
	for name, c := range map[string]struct {
		repo string
		key  forge.Key
		do   func(*forge.Comment)
		own  bool
	}{
		"the place":          {"h/o/r", key, func(*forge.Comment) {}, true},
		"in capitals":        {"H/O/r", key, func(*forge.Comment) {}, true},
		"another key":        {"h/o/r", forge.NewKey(), func(*forge.Comment) {}, false},
		"no key":             {"h/o/r", forge.Key{}, func(*forge.Comment) {}, false},
		"another repository": {"h/o/q", key, func(*forge.Comment) {}, false},
		"another host":       {"g/o/r", key, func(*forge.Comment) {}, false},
		"another request":    {"h/o/r", key, func(c *forge.Comment) { c.Number = 2 }, false},
		"another kind":       {"h/o/r", key, func(c *forge.Comment) { c.Kind, c.ID = forge.OnLine, "line-9" }, false},
		"another author":     {"h/o/r", key, func(c *forge.Comment) { c.Author = "eve" }, false},
	} {
		j, said := &forge.Memory{Key: c.key}, base
		c.do(&said)
		own, err := forge.Own(t.Context(), j, c.repo, said, raw, []string{"ada"})
		if err != nil || own != c.own {
			t.Errorf("%s: %v %v", name, own, err)
		}
		said.ID = "comment-10"
		if again, err := forge.Own(t.Context(), j, c.repo, said, raw, []string{"ada"}); err != nil || again {
			t.Errorf("%s: a copy is ours: %v", name, err)
		}
	}
}

func TestAKeyIsMadeOnceAndKept(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	key := must.Get(forge.OpenKey(data))(t)
	if again := must.Get(forge.OpenKey(data))(t); again.Reveal() != key.Reveal() || len(key.Reveal()) != 64 {
		t.Error("there are two keys")
	}
	if info := must.Get(os.Stat(forge.KeyFile(data)))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(shown, key.Reveal()[:8]) {
		t.Errorf("shown: %s", shown)
	}
	other := must.Get(forge.ParseKey(" " + strings.Repeat("0a", 32) + "\n"))(t)
	must.Do(t, forge.SetKey(data, other))
	if got := must.Get(forge.OpenKey(data))(t); got.Reveal() != other.Reveal() {
		t.Error("it was not replaced")
	}
	must.Do(t, os.WriteFile(forge.KeyFile(data), []byte("half"), 0o600))
	if _, err := forge.OpenKey(data); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a damaged one gives %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(data, ".forge*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLinesOfAReviewAreOwnByTheReviewsMarker(t *testing.T) {
	j := &forge.Memory{}
	r := forge.Record{Key: "a", Repo: "r", Number: 1, Kind: forge.InReview, Marker: forge.NewMarker(), ID: "review-3"}
	if _, _, err := j.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for review, want := range map[string]bool{"review-3": true, "review-4": false} {
		c := forge.Comment{ID: "line-7", Kind: forge.OnLine, Number: 1, Author: "ada", Review: review}
		if own, err := forge.Own(t.Context(), j, "r", c, r.Mark("x"), []string{"ada"}); err != nil || own != want {
			t.Errorf("%s: %v %v", review, own, err)
		}
	}
	if _, err := forge.Own(t.Context(), &broken{}, "r", forge.Comment{}, "", nil); err == nil {
		t.Error("a journal that can't be read says whose words these are")
	}
}

type broken struct{ forge.Memory }

func (*broken) ByID(context.Context, string, string) (forge.Record, bool, error) {
	return forge.Record{}, false, errors.New("disk")
}

// Guards against a process that is killed again and again, and waits as long each time before it speaks.
func TestAPostInDoubtWaitsFromItsLastAttempt(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for after, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 29 * time.Second: time.Second,
		time.Hour: 0, -time.Hour: 30 * time.Second} {
		w := &world{plan: []string{"ok"}, now: begin.Add(after)}
		rec := forge.Record{Key: "k", Repo: "r", Number: 1, Kind: forge.OnPull, Marker: forge.NewMarker(), Created: begin}
		if _, _, err := w.Begin(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		must.Get(w.once().Say(t.Context(), forge.Record{Key: "k", Repo: "r", Number: 1, Kind: forge.OnPull,
			Created: w.now}))(t)
		if w.slept < want || w.slept > want+35*time.Second || after >= 0 && w.slept != want {
			t.Errorf("%v after the last attempt it waits %v, not %v", after, w.slept, want)
		}
		if !w.tried.Equal(w.now) {
			t.Errorf("the attempt at %v is recorded as one of %v", w.now, w.tried)
		}
	}
}
