//go:build heavy

package database

import (
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
)

// Guards against locks of a process that was stopped, for which all machines would wait.
func TestATransactionWaitsForNobody(t *testing.T) {
	s := pgtest.Start(t)
	d := must.Get(Open(t.Context(), Options{Address: s.Address("postgres")}))(t)
	defer d.Close()
	var idles string
	must.Do(t, d.DB.QueryRowContext(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&idles))
	if idles != "30s" {
		t.Errorf("a transaction may idle for %s", idles)
	}
}
