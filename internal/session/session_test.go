package session

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

func service(t *testing.T) *Service {
	t.Helper()
	data := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(data, "cco.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &Service{
		Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now, NewID: NewID,
		Report: func(string, ...any) {}, Warn: func(string, ...any) {},
	}
}

func TestJudge(t *testing.T) {
	exit := &proc.ExitError{Argv: []string{"claude"}, Code: 3}
	failed := event.Finished{Outcome: event.Failed, Error: "API Error: 401\nmore"}
	for _, c := range []struct {
		name   string
		end    ending
		state  store.State
		reason string
	}{
		{"finished", ending{Ran: true}, store.Done, ""},
		{"nonzero", ending{Ran: true, Err: exit}, store.Failed, "the agent ended with status 3"},
		{"signal", ending{Ran: true, Err: &proc.ExitError{Argv: []string{"x"}, Code: 137, Signal: syscall.SIGKILL}},
			store.Failed, "the agent was killed by killed"},
		{"gave up although it exited 0", ending{Ran: true, Words: "no network"}, store.Failed, "the agent gave up"},
		{"killed beats everything", ending{Ran: true, Err: exit, Words: "x", Killed: true, Stopped: true}, store.Killed,
			"by the user"},
		{"stopped", ending{Ran: true, Stopped: true}, store.Killed, "stopped by the user"},
		{"time", ending{Ran: true, Err: context.DeadlineExceeded, TimedOut: true}, store.Failed, "timed out"},
		{"keeper told to go", ending{Ran: true, Err: context.Canceled}, store.Failed, "interrupted"},
		{"never ran", ending{Err: errors.New("clone into the box: no space\nmore")}, store.Failed,
			"clone into the box: no space"},
		{"nothing heard of it", ending{Ran: true, Err: errIdle, Idle: 30 * time.Minute}, store.Failed,
			"nothing was heard of it for 30m0s"},
		{"it says that it failed, although it exited 0", ending{Ran: true, Finished: failed}, store.Failed,
			"the agent failed: API Error: 401"},
		{"it says so, and why it was not tried again", ending{Ran: true, Err: exit, Finished: failed,
			Why: "tried 5 times in a row"}, store.Failed,
			"the agent failed: API Error: 401; tried 5 times in a row"},
		{"it says that all is well, but exited 3", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.OK}},
			store.Failed,
			"the agent ended with status 3"},
		{"it failed without a word", ending{Ran: true, Finished: event.Finished{Outcome: event.Failed}}, store.Failed,
			"the agent failed"},
		{"a question", ending{Ran: true, Err: errAsked, Question: "which?", Finished: event.Finished{Outcome: event.Killed}},
			store.Waiting, ""},
		{"a question, but it gave up", ending{Ran: true, Question: "which?", Words: "no"}, store.Failed, "the agent gave up"},
		{"a limit", ending{Ran: true, Err: errSpent,
			Limit: Reached{store.LimitRunCost, "limits.run_cost of $1.00 is reached"}}, store.Paused,
			"limits.run_cost of $1.00 is reached"},
		{"it was silent, but exited 3", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.Failed,
			Error: "it ended with status 3", Silent: true}}, store.Failed, "the agent ended with status 3"},
		{"a limit that was reached with the last word",
			ending{Ran: true, Limit: Reached{"x", "x"}, Finished: event.Finished{Outcome: event.OK}}, store.Done, ""},
		{"a limit of the agent's own", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.Limit,
			Error: "error max turns"}}, store.Paused,
			"error max turns"},
		{"a limit and a kill", ending{Ran: true, Err: context.Canceled, Limit: Reached{"x", "x"}, Killed: true}, store.Killed,
			"by the user"},
		{"words that could drive a terminal", ending{Ran: true, Finished: event.Finished{Outcome: event.Failed,
			Error: "\x1b[31mred"}}, store.Failed,
			"the agent failed: \ufffd[31mred"},
		{"done, but its work could not be kept", ending{Ran: true, Unpublished: exit}, store.Failed,
			"its work could not be kept"},
		{"exit before the agent is not the agent's", ending{Err: exit}, store.Failed, "claude: exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, cause, reason := c.end.judge()
			if want := (map[string]store.Cause{"a limit": store.LimitRunCost, "keeper told to go": store.Interrupted}); cause !=
				want[c.name] {
				t.Errorf("the cause is %q", cause)
			}
			if state != c.state || reason != c.reason {
				t.Errorf("got %s %q, want %s %q", state, reason, c.state, c.reason)
			}
		})
	}
}

// Guards against a full disk that keeps its owner from listing sessions and destroying the box that fills it.
func TestTheTruthIsToldWhereItCannotBeWritten(t *testing.T) {
	s := service(t)
	if err := s.Store.AddSession(t.Context(), store.Session{ID: "0badcafe", Box: "b", State: store.Running,
		Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.dir("0badcafe"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(s.Data, "cco.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(),
		`CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'disk is full'); END`); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].State != store.Failed || list[0].Reason != "interrupted" {
		t.Errorf("%+v, %v", list, err)
	}
}

// Guards against a session that looks alive for ever after its keeper was killed.
func TestSettleTellsTheTruthAfterACrash(t *testing.T) {
	s := service(t)
	lock, err := s.keeperLock("0badcafe")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.AddSession(t.Context(), store.Session{ID: "0badcafe", State: store.Running,
		Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
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
		var invalid *InvalidIDError
		if _, err := s.Get(t.Context(), id); !errors.As(err, &invalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestLinesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr, err := newTranscript(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w := &lines{kind: KindOut, to: tr}
	_, _ = w.Write([]byte("one\ntwo"))
	_, _ = w.Write([]byte("\n" + strings.Repeat("x", 3*maxChunk)))
	w.flush()
	if err := tr.close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := readEvents(f, func(e Event) error { got = append(got, e.Text); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || got[0] != "one" || got[1] != "two" || len(got[2]) != maxChunk {
		t.Errorf("%d events", len(got))
	}
}

// Guards against an agent that fills the user's disk with words.
func TestATranscriptIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr, err := newTranscript(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	tr.most = 10_000
	for range 1000 {
		tr.raw([]byte(strings.Repeat("x", 100)))
		tr.event(event.Event{Kind: event.KindText, Text: "much"})
		tr.add(KindErr, "and more")
	}
	tr.event(event.Event{Kind: event.KindFinished, Finished: &event.Finished{Outcome: event.OK}})
	tr.add(KindEnd, "done")
	if err := tr.close(); err != nil {
		t.Fatal(err)
	}
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

// Guards against a follower that misses what was said before it came, or waits after the end.
func TestFollowersSeeEverything(t *testing.T) {
	tr, err := newTranscript(filepath.Join(t.TempDir(), "t.jsonl"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	tr.add(KindStep, "before")
	done := make(chan string)
	go func() {
		var buf bytes.Buffer
		_ = tr.copyTo(&buf, nil)
		done <- buf.String()
	}()
	for range 100 {
		tr.add(KindOut, "during")
	}
	if err := tr.close(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; strings.Count(got, "\n") != 101 {
		t.Errorf("saw %d lines", strings.Count(got, "\n"))
	}
}

func TestReadEventsPassesOverWhatIsNone(t *testing.T) {
	text := `{"kind":"out","text":"a"}` + "\nnot json\n" + strings.Repeat("y", maxLine+10) + "\n" +
		`{"kind":"out","text":"b"}`
	var got []string
	if err := readEvents(strings.NewReader(text),
		func(e Event) error { got = append(got, e.Text); return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, ",") != "a,b" {
		t.Errorf("got %q", got)
	}
}

func TestSocketInADeepDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := socket.Listen(filepath.Join(dir, "keeper.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte(`{"kind":"end","text":"done"}` + "\n"))
			_ = c.Close()
		}
	}()
	s := &Service{Data: dir}
	if err := os.MkdirAll(s.dir("00000001"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "keeper.sock"), s.socket("00000001")); err != nil {
		t.Fatal(err)
	}
	link, err := s.Dial(t.Context(), "00000001")
	if err != nil {
		t.Fatal(err)
	}
	var last Event
	if err := link.Follow(func(e Event) error { last = e; return nil }); err != nil || last.Kind != KindEnd {
		t.Errorf("%+v, %v", last, err)
	}
}

// Guards against leaving files that an agent has closed to its own user.
func TestRemoveTreeOpensClosedDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Mkdir(victim, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{filepath.Join(dir, "a"), dir} {
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("a link was followed: %v %v", info.Mode(), err)
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
