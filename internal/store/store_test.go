package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/must"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s := must.Get(Open(t.Context(), path))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sample(id string) Session {
	return Session{
		ID: id, Box: "cco-sandbox", Backend: "native", Agent: "script", Repo: "/r", RepoKey: "k", Branch: "main",
		Base: strings.Repeat("a", 40), Plan: "plan.md", State: Created, Created: time.UnixMilli(1_700_000_000_000).UTC(),
	}
}

// Guards against a record of plans, questions and spending that other users of the machine can read.
func TestOnlyTheOwnerCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	for i := range 2 {
		s := open(t, path)
		must.Do(t, s.AddSession(t.Context(), sample(fmt.Sprintf("3f9c01a%d", i))))
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s%s: %v, %v", path, suffix, info.Mode(), err)
			}
		}
		if err := errors.Join(s.Close(), os.Chmod(path, 0o644)); err != nil { // as an older cco left it
			t.Fatal(err)
		}
	}
}

func TestSessionsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir with spaces ?#%", "cco.db")
	s := open(t, path)
	must.Do(t, s.AddSession(t.Context(), sample("3f9c01aa")))
	if err := s.AddSession(t.Context(), sample("3f9c01aa")); err == nil {
		t.Error("an id was given twice")
	}
	must.Do(t, s.Close())
	got := must.Get(open(t, path).Session(t.Context(), "3f9c01aa"))(t)
	if diff := cmp.Diff(sample("3f9c01aa"), got); diff != "" {
		t.Error(diff)
	}
}

func TestUpdateWritesNothingOnError(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	must.Do(t, s.AddSession(t.Context(), sample("00000001")))
	refused := errors.New("refused")
	_, err := s.UpdateSession(t.Context(), "00000001", func(v *Session) error { v.State = Done; return refused })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if v, _ := s.Session(t.Context(), "00000001"); v.State != Created {
		t.Errorf("state %s", v.State)
	}
	var missing *NotFoundError
	if _, err := s.UpdateSession(t.Context(), "ffffffff", func(*Session) error { return nil }); !errors.As(err, &missing) {
		t.Error(err)
	}
}

// Guards against "database is locked" when many keepers start in the same moment, each with its own connection.
func TestManyProcessesOpenAndWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			id := strings.Repeat(string(rune('a'+i)), 8)
			if err := s.AddSession(t.Context(), sample(id)); err != nil {
				t.Error(err)
			}
			if _, err := s.UpdateSession(t.Context(), id, func(v *Session) error { v.State = Running; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := open(t, path).Sessions(t.Context(), "cco-sandbox")
	if err != nil || len(list) != 20 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

// Guards against "database is locked" when the first commands of all start in the same moment: SQLite does not wait
// itself where another process makes the database.
func TestOpenWaitsForWhoMakesTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	db := must.Get(sql.Open("sqlite", "file:"+path+"?_txlock=immediate"))(t)
	defer func() { _ = db.Close() }()
	making := must.Get(db.BeginTx(t.Context(), nil))(t)
	opened := make(chan error, 1)
	go func() {
		s, err := Open(t.Context(), path)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	must.Do(t, making.Rollback())
	must.Do(t, <-opened)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	s := open(t, path)
	must.Get(s.db.ExecContext(t.Context(), "PRAGMA user_version = 99"))(t)
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "newer cco") {
		t.Error(err)
	}
}

// schema is what SQLite knows of the tables and indexes of a database.
func schema(t *testing.T, s *Store) (all []string) {
	t.Helper()
	rows := must.Get(s.db.QueryContext(t.Context(), `
		SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || ifnull(c.dflt_value, '-')
				|| ' ' || c.pk
			FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
		UNION ALL SELECT l.name || ' ' || l.strict || ' ' || l.wr FROM pragma_table_list l WHERE l.schema = 'main'
		UNION ALL SELECT m.name || ' on ' || m.tbl_name || ' ' || i."unique" || i.partial || ' ' || c.seqno || c.name
			FROM sqlite_master m JOIN pragma_index_list(m.tbl_name) i ON i.name = m.name
			JOIN pragma_index_info(m.name) c WHERE m.type = 'index'
		UNION ALL SELECT sql FROM sqlite_master WHERE type = 'index'`))(t)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line sql.NullString
		must.Do(t, rows.Scan(&line))
		all = append(all, line.String)
	}
	must.Do(t, rows.Err())
	slices.Sort(all)
	return all
}

// Guards against a data directory that no longer opens: this one was made by ten migrations, which are one file now.
func TestTheFirstSchemaOpens(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.db")
	db := must.Get(sql.Open("sqlite", "file:"+path))(t)
	_, err := db.ExecContext(t.Context(), string(must.Get(os.ReadFile("testdata/010.sql"))(t)))
	must.Do(t, errors.Join(err, db.Close()))

	old := open(t, path)
	if diff := cmp.Diff(schema(t, open(t, filepath.Join(dir, "new.db"))), schema(t, old)); diff != "" {
		t.Errorf("a new database differs: %s", diff)
	}
	v, err := old.Session(t.Context(), "3f9c01aa")
	if err != nil || v.Cause != LimitDayCost || v.Title != "a title" {
		t.Errorf("%+v, %v", v, err)
	}
	p, err := old.Phase(t.Context(), "00000001")
	if err != nil || string(p.State) != `{"round":1}` {
		t.Errorf("%+v, %v", p, err)
	}
	if lines, err := old.ReadLog(t.Context(), p.ID, 0); err != nil || len(lines) != 1 || lines[0].Text != "begins" {
		t.Errorf("%v, %v", lines, err)
	}
}

func TestASchemaBeforeTheFirstIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	must.Get(open(t, path).db.ExecContext(t.Context(), "PRAGMA user_version = 9"))(t)
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "before the first release") {
		t.Error(err)
	}
}

func TestWhatPassesByItselfIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	s := open(t, path)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	insert := func() error {
		_, err := other.ExecContext(t.Context(), "CREATE TABLE more AS SELECT randomblob(100000) AS x")
		return err
	}
	err = s.tx(t.Context(), func(*sql.Tx) error { return insert() })
	if !Passes(err) {
		t.Errorf("locked: %v", err)
	}
	must.Get(other.ExecContext(t.Context(), "PRAGMA max_page_count = 1"))(t)
	if err := insert(); !Passes(err) {
		t.Errorf("full: %v", err)
	}
	_, err = other.ExecContext(t.Context(), "SELECT nothing FROM nowhere")
	if err == nil || Passes(err) || Passes(nil) {
		t.Errorf("%v would be waited for", err)
	}
	// Guards against a phase that waits for ever for what a forge refuses.
	if err := (&url.Error{Op: "Get", URL: "https://forge.example", Err: errors.New("refuses the token")}); Passes(err) {
		t.Errorf("%v would be waited for", err)
	}
}

func TestSentRemembersTheNewest(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	at := time.UnixMilli(1_700_000_000_000)
	for i := range keptTips + 5 {
		sha := strings.Repeat(string(rune('a'+i%26)), 2) + string(rune('0'+i/26))
		must.Do(t, s.MarkSent(t.Context(), "b", "k", sha, at.Add(time.Duration(i)*time.Second)))
	}
	got, err := s.Sent(t.Context(), "b", "k")
	if err != nil || len(got) != keptTips {
		t.Fatalf("%d tips, %v", len(got), err)
	}
	must.Do(t, s.ForgetSent(t.Context(), "b", ""))
	if got, _ := s.Sent(t.Context(), "b", "k"); len(got) != 0 {
		t.Errorf("still %v", got)
	}
}

// Guards against a bill that is forgotten: it is added up over runs, days and processes.
func TestSpendAddsUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cco.db")
	s := open(t, path)
	for _, id := range []string{"00000001", "00000002"} {
		must.Do(t, s.AddSession(t.Context(), sample(id)))
	}
	add := func(id, day string, v Spend) Spend {
		t.Helper()
		return must.Get(s.AddSpend(t.Context(), id, Account{Day: day}, map[string]Spend{"m": v}))(t)
	}
	add("00000001", "2026-11-01", Spend{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.5})
	add("00000001", "2026-11-02", Spend{Input: 10})
	add("00000002", "2026-11-02", Spend{Output: 5, Cost: 1.25})
	if got, want := add("00000001", "2026-11-02", Spend{Input: 1, Cost: 0.25, Estimate: true}),
		(Spend{Input: 11, Output: 5, Cost: 1.5, Estimate: true}); got != want {
		t.Errorf("the day: %+v, want %+v", got, want)
	}
	want := Spend{Input: 12, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.75, Estimate: true}
	v, err := open(t, path).Session(t.Context(), "00000001")
	if err != nil || v.Spent != want {
		t.Errorf("session: %+v, %v; want %+v", v.Spent, err, want)
	}
	if v.Spent.Tokens() != 21 {
		t.Errorf("%d tokens", v.Spent.Tokens())
	}
	list, err := s.Sessions(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].Spent != want || list[1].Spent.Cost != 1.25 || list[1].Spent.Estimate {
		t.Errorf("list: %+v, %v", list, err)
	}
	if today, err := s.SpentOn(t.Context(), "2026-11-03"); err != nil || today != (Spend{}) {
		t.Errorf("a day without work: %+v, %v", today, err)
	}
}

// Guards against a bill that nobody can read: it is kept by what it was for, and outlives the record of its session.
func TestSpendIsKeptByAccount(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	must.Do(t, s.AddSession(t.Context(), sample("00000001")))
	a := Account{Day: "2026-11-02", Agent: "claude", Repo: "/r", RepoKey: "k", Phase: "aaaaaaaa"}
	must.Get(s.AddSpend(t.Context(), "00000001", a, map[string]Spend{
		"opus": {Input: 1, Cost: 2}, "haiku": {Input: 3, Cost: 0.5, Estimate: true}, "none": {},
	}))(t)
	a.Agent, a.Phase = "codex", ""
	must.Get(s.AddSpend(t.Context(), "00000001", a, map[string]Spend{"gpt": {Output: 4, Cost: 1}}))(t)
	must.Do(t, s.RemoveSessions(t.Context(), "00000001"))
	got := must.Get(s.Accounts(t.Context(), "2026-11-02"))(t)
	account := func(agent, model, phase string) Account {
		return Account{Day: "2026-11-02", Agent: agent, Model: model, Repo: "/r", RepoKey: "k", Phase: phase}
	}
	want := []Spent{
		{account("claude", "haiku", "aaaaaaaa"), Spend{Input: 3, Cost: 0.5, Estimate: true}},
		{account("claude", "opus", "aaaaaaaa"), Spend{Input: 1, Cost: 2}},
		{account("codex", "gpt", ""), Spend{Output: 4, Cost: 1}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if later := must.Get(s.Accounts(t.Context(), "2026-11-03"))(t); len(later) != 0 {
		t.Errorf("%+v", later)
	}
}

func TestWhoWaitsMayHaveAKeeperOrNot(t *testing.T) {
	for _, c := range []struct {
		v    Session
		live bool
	}{
		{Session{State: Created}, true}, {Session{State: Running}, true}, {Session{State: Waiting}, true},
		{Session{State: Waiting, Finished: time.UnixMilli(1)}, false}, {Session{State: Paused}, false},
		{Session{State: Done}, false},
	} {
		if c.v.Live() != c.live {
			t.Errorf("%s, finished %v: live %v", c.v.State, !c.v.Finished.IsZero(), c.v.Live())
		}
	}
}

// Guards against a session that is compared with itself and differs by nanoseconds: every killed keeper was taken for
// one that another process had just replaced.
func TestWhatAnUpdateGivesIsWhatIsReadLater(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	must.Do(t, s.AddSession(t.Context(), sample("3f9c01aa")))
	at := time.Unix(1_700_000_000, 123_456_789)
	gave := must.Get(s.UpdateSession(t.Context(), "3f9c01aa", func(v *Session) error {
		v.Started, v.Finished = at, at
		v.Pulled, v.Asked = at, at
		return nil
	}))(t)
	read, err := s.Session(t.Context(), "3f9c01aa")
	if err != nil || !gave.Started.Equal(read.Started) || !gave.Finished.Equal(read.Finished) ||
		!gave.Pulled.Equal(read.Pulled) || !gave.Asked.Equal(read.Asked) {
		t.Errorf("%+v is read as %+v: %v", gave, read, err)
	}
}

// Guards against a list that stands still, and against one that is read anew for every cent.
func TestChangesAreSeen(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	last := s.Changed()
	at := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct {
		what string
		do   func() error
		same bool
	}{
		{"a new session", func() error { return s.AddSession(t.Context(), sample("3f9c01aa")) }, false},
		{"another state", func() error {
			_, err := s.UpdateSession(t.Context(), "3f9c01aa", func(v *Session) error { v.State = Running; return nil })
			return err
		}, false},
		{"a later turn's end", func() error {
			_, err := s.UpdateSession(t.Context(), "3f9c01aa", func(v *Session) error { v.Asked = at; return nil })
			return err
		}, false},
		{"what it costs", func() error {
			_, err := s.AddSpend(t.Context(), "3f9c01aa", Account{Day: Day(at), Agent: "script"},
				map[string]Spend{"gpt-5": {Cost: 0.01}})
			return err
		}, true},
		{"a phase", func() error {
			return s.SavePhase(t.Context(), Phase{ID: "0a1b2c3d", Created: at, Updated: at})
		}, false},
		{"its change", func() error {
			return s.SavePhase(t.Context(), Phase{ID: "0a1b2c3d", Created: at, Updated: at.Add(time.Second)})
		}, false},
		{"its end", func() error {
			_, err := s.EndPhase(t.Context(), Phase{ID: "0a1b2c3d", Ended: true}, nil, false)
			return err
		}, false},
		{"the session's end", func() error { return s.RemoveSessions(t.Context(), "3f9c01aa") }, false},
	} {
		must.Do(t, c.do())
		now := s.Changed()
		if now.Equal(last) != c.same {
			t.Errorf("%s: %v after %v", c.what, now, last)
		}
		last = now
	}
}
