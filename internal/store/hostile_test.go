//go:build heavy

package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against rows of a shared database that change what is known of this machine's own spend, that stop machines
// from telling each other of theirs, or that are too large to be read.
func TestRowsOfOthersAreBounded(t *testing.T) {
	ctx := t.Context()
	db := pgtest.Start(t).Open(t)
	exec := func(stmt string, args ...any) { t.Helper(); must.Get(db.ExecContext(ctx, stmt, args...))(t) }
	s := must.Get(store.Open(ctx, t.TempDir()+"/cco.db"))(t)
	defer func() { _ = s.Close() }()
	s.Share(must.Get(store.OpenShared(ctx, db))(t), func() error { return nil })
	today := store.Day(time.Now())
	must.Get(s.AddSpend(ctx, "aaaaaaaa", store.Account{Day: today, Agent: "claude", Model: "m"},
		map[string]store.Spend{"m": {Cost: 3}}))(t)
	row := `INSERT INTO spend (home, session, day, agent, model, cost) VALUES ($1, $2, $3, 'claude', 'm', $4::float8)`
	exec(row, "", "aaaaaaaa", today, "0") // in the place of our own
	exec(row, "evil", "b", today, "-100")
	exec(row, "evil", "c", today, "NaN")
	exec(row, "evil", "d", today, "Infinity")
	exec(row, "evil", "f", today, "1")
	exec(`UPDATE spend SET repo = repeat('x', 1000000) WHERE session = 'f'`)
	exec(row, "other", "e", today, "2")
	must.Do(t, s.ExchangeSpend(ctx, "me", today))
	if got := must.Get(s.SpentOn(ctx, today))(t); got.Cost != 5 {
		t.Errorf("on this day %v was spent", got.Cost)
	}

	copies := `INSERT INTO sessions (home, session, phase, agent, state, cost, estimate, tokens, told_at)
		VALUES ($1, $2, '00c0ffee', $3, 'running', $4::float8, FALSE, $5, $6::timestamptz)`
	exec(copies, "a", "aaaaaaaa", "claude", "1", 1, "now")
	exec(copies, "b", "bbbbbbbb", "claude", "NaN", 1, "now")
	exec(copies, "c", "cccccccc", "claude", "-1", 1, "now")
	exec(copies, "d", "dddddddd", "claude", "1", -1, "now")
	exec(copies, "e", "eeeeeeee", strings.Repeat("x", 1<<20), "1", 1, "now")
	exec(copies, "f", "ffffffff", "claude", "1", 1, "infinity")
	exec(copies, "g", "gggggggg", "claude", "1", 1, "200000-01-01")
	exec(`INSERT INTO workers VALUES ('a', 1, '{}', '{}', '{}', 1, now(), now(), '-infinity')`)
	told := must.Get(s.Copies(ctx, "00c0ffee"))(t)
	must.Get(json.Marshal(told))(t)
	if len(told) != 3 || told[0].ID != "aaaaaaaa" || told[0].Silence < time.Hour {
		t.Errorf("of sessions it is told: %+v", told)
	}

	p := store.Phase{ID: "00c0ffee", State: json.RawMessage(`{}`)}
	must.Do(t, s.SavePhase(ctx, p))
	exec(`UPDATE phases SET state = repeat('x', $1)`, 4*store.MaxState)
	if got := must.Get(s.Phase(ctx, p.ID))(t); len(got.State) > 0 {
		t.Errorf("a state of %d bytes was read", len(got.State))
	}
	exec(`UPDATE phases SET cost = 'NaN', created_at = 9e18, updated_at = -9e18, title = repeat('x', 1000000)`)
	list := must.Get(s.Phases(ctx, 10))(t)
	must.Get(json.Marshal(list))(t)
	if len(list) != 1 || len(list[0].Title) > 5000 {
		t.Errorf("%d phases are listed, or all of a title", len(list))
	}
	exec(`INSERT INTO workers VALUES ('me', 1, '{}', '{}', '{}', 1, now(), now(), now())`)
	exec(`INSERT INTO homes (phase, account, needs, version, worker, queued_at)
		VALUES ('00c0ffee', '', '{}', '', 'me', now())`)
	exec(`INSERT INTO inbox VALUES ('00c0ffee', 'a', 1, repeat('x', 50000000)), ('00c0ffee', 'b', 2, '{}')`)
	if mail := must.Get(s.Mail(ctx, "me"))(t)["00c0ffee"]; len(mail) != 1 || mail[0].ID != "b" {
		t.Errorf("%d events were read", len(mail))
	}
	if err := s.Keep(ctx, "00c0ffee", store.Sent{ID: "c", Event: make([]byte, 2<<20)}); err == nil {
		t.Error("what nobody would read is kept")
	}
}
