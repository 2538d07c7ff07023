//go:build heavy

package lease

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against one row of a machine that lies, or was written while the database's clock was wrong, which keeps
// everybody from seeing the others, or a dead machine that counts as alive until that time comes.
func TestRowsOfWorkersThatCanNotBe(t *testing.T) {
	db := postgres(t)
	ctx := t.Context()
	exec := func(stmt string, args ...any) { t.Helper(); must.Get(db.ExecContext(ctx, stmt, args...))(t) }
	enqueue(t, db, "p")
	dead, a := worker(t, db, "dead"), worker(t, db, "a")
	takes(t, dead, Held{"p", 1})
	who := func() string { t.Helper(); return must.Get(a.Table.watcher(ctx, "repo", "a"))(t) }
	must.Get(a.Table.watcher(ctx, "repo", "dead"))(t)
	if got := who(); got != "dead" {
		t.Errorf("%s watches", got)
	}
	age(t, db, -time.Hour, "dead") // it beat last while the clock was an hour ahead
	exec(`UPDATE watchers SET until = until + interval '1 hour'`)
	if waiting := must.Get(a.Table.Waiting(ctx))(t); len(waiting) != 1 || waiting[0].Lost != "dead" {
		t.Errorf("no phase waits: %+v", waiting)
	}
	if got := who(); got != "a" {
		t.Errorf("%s watches, which is dead", got)
	}
	if alive := must.Get(a.Offer(ctx, Offer{Labels: a.Worker.Labels, Accounts: a.Worker.Accounts}))(t); alive != 1 {
		t.Errorf("%d workers are alive", alive)
	}
	row := `INSERT INTO workers
		(id, incarnation, labels, accounts, versions, slots, load, began_at, contact_since, beat_at)
		VALUES ($1, 1, ARRAY[$2], '{}', '{}', 1, $3::float8, $4::timestamptz, now(), $4::timestamptz)`
	exec(row, "nan", "x", "NaN", "infinity")
	exec(row, "much", "x", "Infinity", "-infinity")
	exec(row, "late", "x", "1", "200000-01-01")
	exec(row, "\x1b[31m", "x", "1", "now")
	exec(row, "large", strings.Repeat("x", 1<<20), "1", "now")
	var names []string
	list := must.Get(a.Table.Workers(ctx))(t)
	for _, w := range list {
		names = append(names, w.ID)
		if w.Alive != (w.ID == "a") {
			t.Errorf("%s is alive: %v", w.ID, w.Alive)
		}
	}
	if want := []string{"a", "dead", "late", "much", "nan"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
	exec(`INSERT INTO homes (phase, account, needs, version, queued_at) VALUES ('q', '', '{}', '', 'infinity'),
		('r', '', '{}', '', '-infinity'), ('s', repeat('x', 1000000), '{}', '', now())`)
	waiting := must.Get(a.Table.Waiting(ctx))(t)
	if len(waiting) != 3 {
		t.Errorf("%d phases wait", len(waiting))
	}
	must.Get(json.Marshal([]any{list, waiting}))(t)
}
