package api

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// desk has a store of its own, and no boxes.
func desk(t *testing.T) *Desk {
	t.Helper()
	dir := t.TempDir()
	db := must.Get(store.Open(t.Context(), filepath.Join(dir, "cco.db")))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	return &Desk{Now: time.Now, LogFile: filepath.Join(dir, "view", "log.jsonl"),
		Sessions: &session.Service{Store: db, Data: dir, Now: time.Now}}
}

// Guards against a double click that starts two runs, and against a run that failed to start and can't be tried again.
func TestAKeyStartsOneRun(t *testing.T) {
	var d Desk
	n := 0
	begin := func() ([]string, error) {
		if n++; n == 1 {
			return nil, errors.New("no box")
		}
		return []string{"started"}, nil
	}
	if _, err := d.once("a-key-of-a-page", begin); err == nil {
		t.Error("what failed is said to have begun")
	}
	for range 2 {
		if says, err := d.once("a-key-of-a-page", begin); err != nil || len(says) != 1 || n != 2 {
			t.Errorf("after %d tries it says %q, %v", n, says, err)
		}
	}
}

// Guards against a run in a directory that nobody named, without a budget, or without a key.
func TestWhatMayBeStarted(t *testing.T) {
	d := desk(t)
	d.Repos = []string{"/src/shop"}
	good := Start{Text: "Do it", Repo: "/src/shop", Agents: []string{"script"}, Budget: 1, Key: "12345678"}
	for what, change := range map[string]func(*Start){"another directory": func(s *Start) { s.Repo = "/etc" },
		"no words": func(s *Start) { s.Text = " \n" }, "no agent": func(s *Start) { s.Agents = nil },
		"no budget": func(s *Start) { s.Budget = 0 }, "no key": func(s *Start) { s.Key = "" }} {
		in := good
		change(&in)
		if start(t.Context(), &job{Desk: d}, in) == nil {
			t.Errorf("%s: it starts", what)
		}
	}
}

// Guards against a comment that says nothing of where it is, or that is lost.
func TestRemarksAreKept(t *testing.T) {
	d := desk(t)
	must.Do(t, d.Sessions.Store.AddSession(t.Context(), store.Session{ID: "3f9c01aa", State: store.Done}))
	j := &job{Desk: d, id: "3f9c01aa"}
	must.Do(t, remark(t.Context(), j, Remark{File: "a.go", Mark: "m1", Line: 7, Code: "x := 1", Text: "Why?"}))
	must.Do(t, markSeen(t.Context(), j, Mark{File: "a.go", Mark: "m1", On: true}))
	if remark(t.Context(), j, Remark{File: "a.go", Mark: "m1", Text: " "}) == nil {
		t.Error("a comment without words is kept")
	}
	n := must.Get(d.readNotes("3f9c01aa"))(t)
	if len(n.Remarks) != 1 || n.Remarks[0].ID != j.says[0] || n.Seen["a.go"] != "m1" {
		t.Fatalf("kept is %+v", n)
	}
	if got, want := n.Remarks[0].words(), "- a.go, line 7 (x := 1): Why?"; got != want {
		t.Errorf("an agent gets %q, not %q", got, want)
	}
	must.Do(t, unsay(t.Context(), j, Unsay{Comment: j.says[0]}))
	if n = must.Get(d.readNotes("3f9c01aa"))(t); len(n.Remarks) != 0 {
		t.Errorf("kept is %+v", n)
	}
}
