//go:build heavy

package store

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
)

func TestSharedInPostgres(t *testing.T) {
	server := pgtest.Start(t)
	conform(t, func(t *testing.T) *Shared { return must.Get(OpenShared(t.Context(), server.Open(t)))(t) })
	t.Run("many open a new one at once", func(t *testing.T) {
		address := server.Database(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				db, err := sql.Open("pgx", address)
				if err == nil {
					_, err = OpenShared(t.Context(), db)
					err = errors.Join(err, db.Close())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("a newer one is refused", func(t *testing.T) {
		db := server.Open(t)
		must.Get(OpenShared(t.Context(), db))(t)
		must.Get(db.ExecContext(t.Context(), `UPDATE cco_schema SET version = 99`))(t)
		_, err := OpenShared(t.Context(), db)
		if newer, ok := errors.AsType[*NewerError](err); !ok || newer.Schema != 99 || !strings.Contains(err.Error(),
			"made by a newer cco (schema 99") {
			t.Errorf("%v", err)
		}
		if _, err := db.ExecContext(t.Context(), `SELECT 1 FROM phases`); err != nil {
			t.Error(err)
		}
	})
	t.Run("what passes is known", func(t *testing.T) { knowsWhatPasses(t, server) })
}

func knowsWhatPasses(t *testing.T, server *pgtest.Server) {
	db := server.Open(t)
	s := must.Get(OpenShared(t.Context(), db))(t)
	if _, err := db.ExecContext(t.Context(), `SELECT nothing FROM nowhere`); err == nil || Passes(err) {
		t.Errorf("%v would be waited for", err)
	}
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	must.Get(tx.ExecContext(t.Context(), `LOCK TABLE phases`))(t)
	must.Get(db.ExecContext(t.Context(), `SET lock_timeout = 1`))(t)
	db.SetMaxOpenConns(2)
	if err := s.SavePhase(t.Context(), Phase{ID: "a"}); !Passes(err) {
		t.Errorf("locked: %v", err)
	}
	must.Do(t, tx.Rollback())
	must.Do(t, server.Stop())
	for range 2 { // the broken connection, and none at all
		if err := s.SavePhase(t.Context(), Phase{ID: "a"}); !Passes(err) {
			t.Errorf("away: %v", err)
		}
	}
	must.Do(t, server.Again(t.Context()))
	for end := time.Now().Add(time.Minute); ; {
		err := s.SavePhase(t.Context(), Phase{ID: "a"})
		if err == nil {
			return
		}
		if !Passes(err) || time.Now().After(end) {
			t.Fatalf("back: %v", err)
		}
	}
}
