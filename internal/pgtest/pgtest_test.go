//go:build heavy

package pgtest

import (
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against tests of a database that is away, whose database was new when it came back.
func TestTheDataIsThereAfterStopAndCrash(t *testing.T) {
	s := Start(t)
	db := s.Open(t)
	must.Get(db.ExecContext(t.Context(), `CREATE TABLE kept (n BIGINT)`))(t)
	for n, end := range []func(){func() { must.Do(t, s.Stop()) }, s.Kill} {
		must.Get(db.ExecContext(t.Context(), `INSERT INTO kept VALUES ($1)`, n))(t)
		end()
		if err := db.PingContext(t.Context()); err == nil {
			t.Fatal("it answers after its end")
		}
		must.Do(t, s.Again(t.Context()))
		var rows int
		must.Do(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM kept`).Scan(&rows))
		if rows != n+1 {
			t.Errorf("%d rows are left of %d", rows, n+1)
		}
	}
	if other := s.Open(t); other.QueryRowContext(t.Context(), `SELECT 1 FROM kept`).Err() == nil {
		t.Error("a new database has the tables of another")
	}
}
