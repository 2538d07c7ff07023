//go:build heavy

package durable

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
)

// Guards against rows of the engine's own tables: what a phase is about was examined before it was begun, and nobody
// who can write to the database may change it after that.
func TestTheEngineBelievesNothingThatItDidNotWrite(t *testing.T) {
	pool := must.Get(pgxpool.ParseConfig(pgtest.Start(t).Database(t)))(t)
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := must.Get(OpenShared(t.Context(), pool, "one.1", c, 0, slog.New(slog.DiscardHandler)))(t)
	defer func() { _ = e.Close() }()
	db := must.Get(pgx.ConnectConfig(t.Context(), pool.ConnConfig))(t)
	defer func() { _ = db.Close(t.Context()) }()
	row := func(stmt string, args ...any) {
		t.Helper()
		_, err := db.Exec(t.Context(), stmt, args...)
		must.Do(t, err)
	}
	dead := func(flow string) {
		t.Helper()
		for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			var status string
			must.Do(t, db.QueryRow(t.Context(), `SELECT status FROM dbos.workflow_status WHERE workflow_uuid = $1`,
				flow).Scan(&status))
			if status == "ERROR" {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("life %s is %s", flow, status)
			}
		}
	}
	encoded := func(v any) string { return base64.StdEncoding.EncodeToString(must.Get(json.Marshal(v))(t)) }
	st := cruise.NewState(cruise.Spec{Task: "x", Repo: "/ours", Kind: cruise.Planning, Timeout: time.Hour})
	must.Do(t, e.Start("aaaaaaaa", st))
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })

	// A life that nobody here has begun, of which every engine takes what waits in its queue.
	st.Spec.Repo = "/etc"
	row(`INSERT INTO dbos.workflow_input (workflow_uuid, inputs) VALUES ('bbbbbbbb', $1)`, encoded(st))
	row(`INSERT INTO dbos.workflow_status (workflow_uuid, status, name, queue_name, application_version, application_name,
		serialization) SELECT 'bbbbbbbb', 'ENQUEUED', name, '_dbos_internal_queue', application_version, application_name,
		serialization FROM dbos.workflow_status WHERE workflow_uuid = 'aaaaaaaa'`)
	dead("bbbbbbbb")

	// What a step gave that has not run.
	row(`INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, output, serialization)
		SELECT 'cccccccc', function_id, function_name, $1, serialization FROM dbos.operation_outputs
		WHERE workflow_uuid = 'aaaaaaaa' AND function_name = 'workspace' ORDER BY function_id LIMIT 1`,
		encoded(cruise.Outcome{Out: must.Get(json.Marshal(cruise.Workspace{Session: "s", Path: "/etc"}))(t)}))
	st.Spec.Repo = "/ours"
	must.Do(t, e.Start("cccccccc", st))
	dead("cccccccc")
	for len(c.saved) > 0 {
		if s := <-c.saved; s.Spec.Repo != "/ours" || s.Workspace.Path != "" {
			t.Errorf("the engine runs a phase at %q with workspace %q", s.Spec.Repo, s.Workspace.Path)
		}
	}
}
