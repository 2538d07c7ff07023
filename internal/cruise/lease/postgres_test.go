//go:build heavy

package lease

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

var server *pgtest.Server // one for all tests

func TestMain(m *testing.M) {
	var err error
	if server, err = pgtest.Run(context.Background()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = server.Close()
	os.Exit(code)
}

// postgres gives a database of a test's own, with our tables.
func postgres(t *testing.T) *sql.DB {
	t.Helper()
	db := server.Open(t)
	must.Get(store.OpenShared(t.Context(), db))(t)
	return db
}

// age lets time pass, as far as the database knows.
func age(t *testing.T, db *sql.DB, d time.Duration, workers ...string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `UPDATE workers SET beat_at = beat_at - make_interval(secs => $1),
		contact_since = contact_since - make_interval(secs => $1) WHERE cardinality($2::text[]) = 0 OR id = ANY ($2)`,
		d.Seconds(), list(workers))
	must.Do(t, err)
}
