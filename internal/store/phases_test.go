package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

func TestWhatPhasesRelyOn(t *testing.T) {
	conform(t, func(t *testing.T) *Store { return open(t, filepath.Join(t.TempDir(), "cco.db")) })
}

// conform is what phases rely on, of each database that they can be in. Open gives a new one.
func conform(t *testing.T, open func(*testing.T) *Store) {
	for name, test := range map[string]func(*testing.T, *Store){
		"phases are kept and found":     phasesAreKept,
		"strangers' words are kept":     wordsAreKept,
		"what was said is kept":         journalIsKept,
		"one of many says it":           oneSaysIt,
		"what was sent is read once":    sentIsRead,
		"an end waits for what is sent": endsOrReads,
		"logs are read in order":        logsAreRead,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func phasesAreKept(t *testing.T, s *Store) {
	ctx := t.Context()
	at := time.UnixMilli(1_800_000_000_000)
	for i, p := range []Phase{
		{ID: "00000001", Ended: true, Created: at.Add(2 * time.Hour)}, {ID: "00000002", Created: at},
		{ID: "00000003", Created: at.Add(time.Hour)},
		{ID: "00000003", Created: at.Add(9 * time.Hour), Stage: "ended", Cost: 2.5, Estimate: true, PRNumber: 7, PRURL: "u"},
	} {
		p.Repo, p.Branch, p.Kind = "/r", "add-a-flag", "planning"
		p.Updated, p.State = at.Add(time.Duration(i)*time.Minute), json.RawMessage(`{"round":1}`)
		must.Do(t, s.SavePhase(ctx, p))
	}
	want := Phase{ID: "00000003", Repo: "/r", Branch: "add-a-flag", Kind: "planning", Stage: "ended", PRNumber: 7,
		PRURL: "u", Cost: 2.5, Estimate: true, Created: at.Add(time.Hour), Updated: at.Add(3 * time.Minute),
		State: json.RawMessage(`{"round":1}`)}
	p, err := s.PhaseOf(ctx, "/r", "add-a-flag")
	if diff := cmp.Diff(want, p); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	list, err := s.Phases(ctx, 10)
	if err != nil || len(list) != 3 || list[0].ID != "00000003" || list[1].ID != "00000002" || !list[2].Ended {
		t.Errorf("%+v, %v", list, err)
	}
	if few, err := s.Phases(ctx, 1); err != nil || len(few) != 1 {
		t.Errorf("%+v, %v", few, err)
	}
	if id, err := s.PhaseID(ctx, "00000002"); err != nil || id != "00000002" {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := s.PhaseID(ctx, "0000000"); !as[*AmbiguousError](err) {
		t.Error(err)
	}
	if _, err := s.PhaseID(ctx, "%"); !as[*PhaseNotFoundError](err) {
		t.Error(err)
	}
	if _, err := s.PhaseOf(ctx, "/r", "none"); !as[*PhaseNotFoundError](err) {
		t.Error(err)
	}
}

// Guards against a phase that stops because a title holds bytes that the database refuses or reads otherwise.
func wordsAreKept(t *testing.T, s *Store) {
	odd := "a\x00b\xffc'); DROP TABLE phases; -- \u202e$1 ?"
	p := Phase{ID: "00000001", Title: odd, Branch: odd, PRURL: odd, State: json.RawMessage(`{"x":"` + odd + `"}`)}
	must.Do(t, s.SavePhase(t.Context(), p))
	must.Do(t, s.Log(t.Context(), p.ID, time.Now(), odd))
	must.Do(t, s.Keep(t.Context(), p.ID, Sent{ID: "e", Event: []byte(odd)}))
	got := must.Get(s.Phase(t.Context(), p.ID))(t)
	if got.Title != odd || got.Branch != odd || got.PRURL != odd {
		t.Errorf("%q is kept as %q", odd, got.Title)
	}
}

func journalIsKept(t *testing.T, s *Store) {
	ctx := t.Context()
	var j forge.Journal = forge.Keyed{Log: s.Journal()}
	first := forge.Record{Key: "k", Repo: "h/o/r", Number: 3, Kind: forge.OnLine, Marker: "m1",
		Created: time.UnixMilli(5000).UTC()}
	if kept, fresh, err := j.Begin(ctx, first); err != nil || !fresh || kept != first {
		t.Fatalf("begin: %+v %v %v", kept, fresh, err)
	}
	again := first
	again.Marker = "m2"
	if kept, fresh, err := j.Begin(ctx, again); err != nil || fresh || kept != first {
		t.Fatalf("begin again: %+v %v %v", kept, fresh, err)
	}
	again.Key, again.Marker = "k2", "m1"
	if _, _, err := j.Begin(ctx, again); err == nil {
		t.Error("a marker was given twice")
	}
	if _, ok, err := j.ByID(ctx, "h/o/r", ""); ok || err != nil {
		t.Errorf("an empty id finds %v %v", ok, err)
	}
	must.Do(t, j.Try(ctx, "h/o/r", "k", time.UnixMilli(9000)))
	if err := j.Try(ctx, "h/o/other", "k", time.UnixMilli(9000)); err == nil {
		t.Error("a record of another repository was tried")
	}
	must.Do(t, j.Finish(ctx, "h/o/r", "k", "line-1", "u"))
	must.Do(t, j.Finish(ctx, "h/o/r", "k", "line-2", "v")) // another machine posted it too: the first to be known stays
	if err := j.Finish(ctx, "h/o/other", "k", "line-1", "u"); err == nil {
		t.Error("a record of another repository was finished")
	}
	want := first
	want.ID, want.URL, want.Created = "line-1", "u", time.UnixMilli(9000).UTC()
	for name, find := range map[string]func() (forge.Record, bool, error){
		"id":     func() (forge.Record, bool, error) { return j.ByID(ctx, "h/o/r", "line-1") },
		"marker": func() (forge.Record, bool, error) { return j.ByMarker(ctx, "h/o/r", "m1") },
	} {
		got, ok, err := find()
		if diff := cmp.Diff(want, got); err != nil || !ok || diff != "" {
			t.Errorf("by %s: %v %v %s", name, ok, err, diff)
		}
	}
	if _, ok, err := j.ByID(ctx, "h/o/other", "line-1"); ok || err != nil {
		t.Errorf("another repository has %v %v", ok, err)
	}
}

// Guards against one thing that two machines say, because each was told that it is new.
func oneSaysIt(t *testing.T, s *Store) {
	for round := range 5 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		fresh, markers := 0, map[string]bool{}
		for i := range 8 {
			wg.Go(func() {
				r := forge.Record{Repo: "r", Key: fmt.Sprint(round), Marker: fmt.Sprint(round, "m", i)}
				kept, isFresh, err := s.Journal().Begin(t.Context(), r)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if isFresh {
					fresh++
				}
				markers[kept.Marker] = true
			})
		}
		wg.Wait()
		if fresh != 1 || len(markers) != 1 {
			t.Errorf("%d are told that it is new, with %v", fresh, markers)
		}
	}
}

func sentIsRead(t *testing.T, s *Store) {
	ctx := t.Context()
	at := time.Unix(1_800_000_000, 5).UTC()
	for i, id := range []string{"c", "a", "b", "a"} {
		must.Do(t, s.Keep(ctx, "00000001", Sent{ID: id, At: at.Add(time.Duration(i)), Event: []byte(fmt.Sprint(i))}))
	}
	must.Do(t, s.Keep(ctx, "00000002", Sent{ID: "a", At: at}))
	ids := func(seen ...string) (all []string) {
		for _, v := range must.Get(s.Unread(ctx, "00000001", seen))(t) {
			all = append(all, v.ID+string(v.Event))
		}
		return all
	}
	if got := ids(); !slices.Equal(got, []string{"c0", "a1", "b2"}) {
		t.Errorf("unread: %v", got)
	}
	if got := ids("a", "b"); !slices.Equal(got, []string{"c0"}) {
		t.Errorf("unread but a and b: %v", got)
	}
	if got := ids(); !slices.Equal(got, []string{"c0"}) {
		t.Errorf("what was seen comes back: %v", got)
	}
	if other := must.Get(s.Unread(ctx, "00000002", nil))(t); len(other) != 1 {
		t.Errorf("of another phase: %v", other)
	}
}

// Guards against an answer that is acknowledged and then lost, because its phase ended at the same moment: either the
// phase reads it, or who sends it finds the phase ended.
func endsOrReads(t *testing.T, s *Store) {
	ctx := t.Context()
	for round := range 20 {
		p := Phase{ID: fmt.Sprintf("%08d", round)}
		must.Do(t, s.SavePhase(ctx, p))
		var unread, found bool
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Keep(ctx, p.ID, Sent{ID: "e", At: time.Now()}); err != nil {
				t.Error(err)
			}
			now, err := s.Phase(ctx, p.ID)
			if err != nil {
				t.Error(err)
			}
			found = now.Ended
		})
		wg.Go(func() {
			end := p
			end.Ended = true
			var err error
			if unread, err = s.EndPhase(ctx, end, nil, false); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if left := must.Get(s.Unread(ctx, p.ID, nil))(t); len(left) != 1 && !found {
			t.Fatalf("lost: unread %v, found ended %v", unread, found)
		}
		if now := must.Get(s.Phase(ctx, p.ID))(t); now.Ended == unread {
			t.Errorf("ended %v, and unread %v", now.Ended, unread)
		}
		p.Ended = true
		if unread, err := s.EndPhase(ctx, p, nil, true); unread || err != nil {
			t.Errorf("in any case: %v, %v", unread, err)
		}
		if left := must.Get(s.Unread(ctx, p.ID, nil))(t); len(left) > 0 {
			t.Errorf("left at the end: %v", left)
		}
	}
	p := Phase{ID: "aaaaaaaa", Ended: true}
	must.Do(t, s.Keep(ctx, p.ID, Sent{ID: "seen"}))
	if unread, err := s.EndPhase(ctx, p, []string{"seen"}, false); unread || err != nil {
		t.Errorf("what was seen stops the end: %v, %v", unread, err)
	}
}

func logsAreRead(t *testing.T, s *Store) {
	ctx := t.Context()
	at := time.Unix(1_800_000_000, 123).UTC()
	for i := range 5 {
		must.Do(t, s.Log(ctx, "00000001", at.Add(-time.Duration(i)), fmt.Sprint(i)))
		must.Do(t, s.Log(ctx, "00000002", at, "other"))
	}
	got := must.Get(s.ReadLog(ctx, "00000001", 3))(t)
	if diff := cmp.Diff([]Line{{at.Add(-3), "3"}, {at.Add(-4), "4"}}, got); diff != "" {
		t.Error(diff)
	}
	if none, err := s.ReadLog(ctx, "00000003", 0); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// Guards against two phases that answer the same comments, and against one that is revived twice by two commands.
func TestAnEndedPhaseIsRevivedOnceAndAlone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	p := Phase{ID: "aaaaaaaa", Ended: true, PRURL: "https://forge.example/pull/7"}
	must.Do(t, s.SavePhase(t.Context(), p))
	revived := 0
	revive := func(p Phase) (Phase, error) { revived++; p.Ended = false; return p, nil }
	for _, id := range []string{"e1", "e2"} {
		must.Do(t, s.Send(t.Context(), p.ID, Sent{ID: id}, revive))
	}
	if living := must.Get(s.Living(t.Context()))(t); revived != 1 || len(living) != 1 {
		t.Errorf("revived %d times: %+v", revived, living)
	}
	other := Phase{ID: "bbbbbbbb", PRURL: p.PRURL}
	if err := s.BeginPhase(t.Context(), other); !as[*TakenError](err) {
		t.Error(err)
	}
	other.Ended = true
	must.Do(t, s.SavePhase(t.Context(), other))
	if err := s.Send(t.Context(), other.ID, Sent{ID: "e"}, revive); !as[*TakenError](err) {
		t.Error(err)
	}
	if left := must.Get(s.Unread(t.Context(), other.ID, nil))(t); len(left) > 0 {
		t.Errorf("what was refused is kept: %v", left)
	}
	if err := s.Send(t.Context(), "cccccccc", Sent{ID: "e"}, revive); !as[*PhaseNotFoundError](err) {
		t.Error(err)
	}
}

// Guards against a thing that is said without a record because the record could not be written.
func TestNothingIsSaidThatCanNotBeRecorded(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	_ = s.Close()
	said := false
	_, err := forge.Once{Journal: forge.Keyed{Log: s.Journal()},
		Do: func(context.Context, forge.Record) (forge.Posted, error) {
			said = true
			return forge.Posted{}, errors.New("never")
		}}.Say(t.Context(), forge.Record{Key: "k"})
	if err == nil || said {
		t.Errorf("said %v, error %v", said, err)
	}
}
