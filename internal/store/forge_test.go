package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

func TestJournalKeepsWhatWasSaidAcrossOpenings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	first := forge.Record{Key: "k", Repo: "h/o/r", Number: 3, Kind: forge.OnLine, Marker: "m1",
		Created: time.UnixMilli(5000).UTC()}
	within(t, path, func(j forge.Journal) {
		kept, fresh, err := j.Begin(t.Context(), first)
		if err != nil || !fresh || kept != first {
			t.Fatalf("begin: %+v %v %v", kept, fresh, err)
		}
	})
	within(t, path, func(j forge.Journal) {
		again := first
		again.Marker = "m2"
		kept, fresh, err := j.Begin(t.Context(), again)
		if err != nil || fresh || kept != first {
			t.Fatalf("begin again: %+v %v %v", kept, fresh, err)
		}
		if _, ok, err := j.ByID(t.Context(), "h/o/r", ""); ok || err != nil {
			t.Errorf("an empty id finds %v %v", ok, err)
		}
		must.Do(t, j.Try(t.Context(), "h/o/r", "k", time.UnixMilli(9000)))
		if err := j.Try(t.Context(), "h/o/other", "k", time.UnixMilli(9000)); err == nil {
			t.Error("a record of another repository was tried")
		}
		must.Do(t, j.Finish(t.Context(), "h/o/r", "k", "line-1", "u"))
		if err := j.Finish(t.Context(), "h/o/other", "k", "line-1", "u"); err == nil {
			t.Error("a record of another repository was finished")
		}
	})
	within(t, path, func(j forge.Journal) {
		want := first
		want.ID, want.URL, want.Created = "line-1", "u", time.UnixMilli(9000).UTC()
		for name, find := range map[string]func() (forge.Record, bool, error){
			"id":     func() (forge.Record, bool, error) { return j.ByID(t.Context(), "h/o/r", "line-1") },
			"marker": func() (forge.Record, bool, error) { return j.ByMarker(t.Context(), "h/o/r", "m1") },
		} {
			got, ok, err := find()
			if diff := cmp.Diff(want, got); err != nil || !ok || diff != "" {
				t.Errorf("by %s: %v %v %s", name, ok, err, diff)
			}
		}
		if _, ok, err := j.ByID(t.Context(), "h/o/other", "line-1"); ok || err != nil {
			t.Errorf("another repository has %v %v", ok, err)
		}
	})
}

func within(t *testing.T, path string, do func(forge.Journal)) {
	t.Helper()
	s := must.Get(store.Open(t.Context(), path))(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	do(forge.Keyed{Log: s.Journal()})
}

// Guards against a thing that is said without a record because the record could not be written.
func TestNothingIsSaidThatCanNotBeRecorded(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db"))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	said := false
	journal := forge.Keyed{Log: s.Journal()}
	_, err = forge.Once{Journal: journal, Do: func(context.Context, forge.Record) (forge.Posted, error) {
		said = true
		return forge.Posted{}, errors.New("never")
	}}.Say(t.Context(), forge.Record{Key: "k"})
	if err == nil || said {
		t.Errorf("said %v, error %v", said, err)
	}
}
