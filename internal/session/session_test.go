package session

import (
	"bytes"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

func service(t *testing.T) *Service {
	t.Helper()
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = st.Close() })
	return &Service{
		Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now, NewID: NewID,
		Report: func(string, ...any) {}, Warn: func(string, ...any) {},
	}
}

// Guards against a full disk that keeps its owner from listing sessions and destroying the box that fills it.
func TestTheTruthIsToldWhereItCannotBeWritten(t *testing.T) {
	s := service(t)
	must.Do(t, s.Store.AddSession(t.Context(), store.Session{ID: "0badcafe", Box: "b", State: store.Running,
		Created: time.Now()}))
	must.Do(t, os.MkdirAll(s.Dir("0badcafe"), 0o700))
	db := must.Get(sql.Open("sqlite", filepath.Join(s.Data, "cco.db")))(t)
	defer func() { _ = db.Close() }()
	must.Get(db.ExecContext(t.Context(),
		`CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'disk is full'); END`))(t)
	list, err := s.List(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].State != store.Failed || list[0].Reason != "interrupted" {
		t.Errorf("%+v, %v", list, err)
	}
}

// Guards against commits that a session is said not to have, because its keeper was killed before it could look.
func TestWhatNobodyHasLookedAtIsNotCalledNothing(t *testing.T) {
	s := service(t).Looking()
	must.Do(t, os.MkdirAll(s.Dir("0badcafe"), 0o700))
	must.Do(t, os.MkdirAll(s.Exchange("0badcafe"), 0o700))
	for _, started := range []time.Time{{}, time.Now()} {
		err := s.Failure(store.Session{ID: "0badcafe", State: store.Failed, Base: "1234", Started: started})
		if kept := strings.Contains(err.Error(), "its work is kept"); kept == started.IsZero() {
			t.Errorf("started %v: %v", started, err)
		}
	}
	err := s.Failure(store.Session{ID: "0badcafe", State: store.Waiting, Base: "1234", Started: time.Now()})
	if strings.Contains(err.Error(), "kept") {
		t.Errorf("it is still at work: %v", err)
	}
}

// Guards against half an order after a kill: nobody could go on with its session.
func TestAnOrderIsReplacedAsAWhole(t *testing.T) {
	s := service(t)
	must.Do(t, os.MkdirAll(s.Dir("0badcafe"), 0o700))
	must.Do(t, s.WriteOrder(Order{Session: "0badcafe", Title: "the first"}))
	before := must.Get(os.Open(s.OrderFile("0badcafe")))(t)
	defer func() { _ = before.Close() }()
	must.Do(t, s.WriteOrder(Order{Session: "0badcafe", Title: "the second"}))
	if data := must.Get(io.ReadAll(before))(t); !strings.Contains(string(data), "the first") {
		t.Errorf("it was written over: %s", data)
	}
	if o, err := s.ReadOrder("0badcafe"); err != nil || o.Title != "the second" {
		t.Errorf("read %+v, %v", o, err)
	}
}

// Guards against a session that looks alive for ever after its keeper was killed.
func TestSettleTellsTheTruthAfterACrash(t *testing.T) {
	s := service(t)
	lock := must.Get(s.KeeperLock("0badcafe"))(t)
	must.Do(t, s.Store.AddSession(t.Context(), store.Session{ID: "0badcafe", State: store.Running,
		Created: time.Now()}))
	if v, err := s.Get(t.Context(), "0badcafe"); err != nil || v.State != store.Running {
		t.Fatalf("with a live keeper: %s, %v", v.State, err)
	}
	_ = lock.Close()
	v, err := s.Get(t.Context(), "0badcafe")
	if err != nil || v.State != store.Failed || v.Reason != "interrupted" {
		t.Fatalf("after its death: %s %q, %v", v.State, v.Reason, err)
	}
}

func TestIDsThatCouldBePathsAreRefused(t *testing.T) {
	s := service(t)
	for _, id := range []string{"", "..", ".", "a/b", "ABCDEF01", "0123456", "012345678", "0123456g", "../../etc",
		"01234567\n"} {
		if _, err := s.Get(t.Context(), id); !as[*UsageError](err) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Guards against an agent that fills the user's disk with words.
func TestATranscriptIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr := must.Get(OpenTranscript(path, time.Now))(t)
	tr.most = 10_000
	for range 1000 {
		tr.AddLine(KindOut, []byte(strings.Repeat("x", 100)), true)
		tr.AddEvent(event.Event{Kind: event.KindText, Text: "much"})
		tr.Add(KindErr, "and more")
	}
	tr.AddEvent(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.OK}})
	tr.Add(KindEnd, "done")
	must.Do(t, tr.Close())
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 11_000 || strings.Count(string(data), "is full") != 1 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for _, want := range []string{`"outcome":"ok"`, `"text":"done"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is lost", want)
		}
	}
}

func TestLinesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr := must.Get(OpenTranscript(path, time.Now))(t)
	for _, line := range []string{"one", "", strings.Repeat("x", 3*maxChunk)} {
		tr.AddLine(KindErr, []byte(line), false)
	}
	must.Do(t, tr.Close())
	f := must.Get(os.Open(path))(t)
	defer func() { _ = f.Close() }()
	var got []string
	must.Do(t, ReadEvents(f, func(e Event) error { got = append(got, e.Text); return nil }))
	if len(got) != 5 || got[0] != "one" || got[1] != "" || len(got[2]) != maxChunk {
		t.Errorf("%d events", len(got))
	}
}

// Guards against a follower that misses what was said before it came, or waits after the end.
func TestFollowersSeeEverything(t *testing.T) {
	tr := must.Get(OpenTranscript(filepath.Join(t.TempDir(), "t.jsonl"), time.Now))(t)
	tr.Add(KindStep, "before")
	done := make(chan string)
	go func() {
		var buf bytes.Buffer
		_ = tr.CopyTo(&buf, nil)
		done <- buf.String()
	}()
	for range 100 {
		tr.Add(KindOut, "during")
	}
	must.Do(t, tr.Close())
	if got := <-done; strings.Count(got, "\n") != 101 {
		t.Errorf("saw %d lines", strings.Count(got, "\n"))
	}
}

func TestReadEventsPassesOverWhatIsNone(t *testing.T) {
	text := `{"kind":"out","text":"a"}` + "\nnot json\n" + strings.Repeat("y", event.MaxLine+10) + "\n" +
		`{"kind":"out","text":"b"}`
	var got []string
	must.Do(t, ReadEvents(strings.NewReader(text),
		func(e Event) error { got = append(got, e.Text); return nil }))
	if strings.Join(got, ",") != "a,b" {
		t.Errorf("got %q", got)
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"# Do it\nmore":          "Do it",
		"\n\n---\n## A\n":        "A",
		"":                       "",
		strings.Repeat("x", 100): strings.Repeat("x", 59) + "…",
		"\x1b[31mred":            "\ufffd[31mred",
	} {
		if got := title([]byte(in)); got != want {
			t.Errorf("title(%q) = %q", in, got)
		}
	}
}

// Guards against "nothing was found" just after a push has said that something was: its keeper was about to end.
func TestAReportIsReadWhileTheKeeperEnds(t *testing.T) {
	s := service(t)
	lock := must.Get(s.KeeperLock("0badcafe"))(t)
	defer func() { _ = lock.Close() }()
	picture := s.NewPicture("0badcafe")
	must.Do(t, canary.Report{Session: "0badcafe"}.Keep(picture))
	r, err := s.reportOf(t.Context(), store.Session{ID: "0badcafe"}, picture, false)
	if err != nil || r == nil || r.Session != "0badcafe" {
		t.Errorf("%+v, %v", r, err)
	}
}
