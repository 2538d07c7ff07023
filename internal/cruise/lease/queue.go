package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Offer is what a worker has at a moment.
type Offer struct {
	Labels   []string
	Accounts []string
	Load     float64
}

// Offer says what the worker has now, and gives how many workers are alive. With something new it looks again at phases
// that it has refused. Phases of an account that it has no token of any more, or of a version that it can't replay, are
// for others.
func (h *Holder) Offer(ctx context.Context, o Offer) (alive int, err error) {
	h.mu.Lock()
	same := slices.Equal(h.offered.Accounts, o.Accounts) && slices.Equal(h.offered.Labels, o.Labels)
	h.Worker.Accounts, h.Worker.Labels = o.Accounts, o.Labels
	h.mu.Unlock()
	err = h.Table.DB.QueryRowContext(ctx, `WITH me AS (
			UPDATE workers SET accounts = $3, labels = $4, load = $5 WHERE id = $1 AND incarnation = $2 RETURNING id
		), again AS (
			UPDATE homes SET refused = array_remove(refused, $1)
			WHERE $6 AND $1 = ANY (refused) AND NOT ended AND EXISTS (SELECT 1 FROM me)
		), others AS (
			UPDATE homes SET worker = NULL, epoch = epoch + 1
			WHERE worker = $1 AND NOT ended AND NOT (account = ANY ($3) AND version = ANY ($8)) AND EXISTS (SELECT 1 FROM me)
		)
		SELECT count(*) FROM workers w WHERE w.beat_at BETWEEN clock_timestamp() - make_interval(secs => $7)
			AND clock_timestamp() + make_interval(secs => $7)`,
		h.Worker.ID, h.incarnation, list(o.Accounts), list(o.Labels), o.Load, !same, h.Table.term().Seconds(),
		list(h.Worker.Versions)).Scan(&alive)
	if err != nil {
		return 0, fmt.Errorf("say what this worker has: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offered = o
	return alive, nil
}

// Waiting is a phase that no living worker has.
type Waiting struct {
	Phase   string    `json:"phase"`
	Account string    `json:"account"`
	Needs   []string  `json:"needs"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Lost    string    `json:"lost,omitempty"` // the worker that had it and is silent
	Why     string    `json:"why,omitempty"`  // nobody takes it; "" if somebody will
	Busy    bool      `json:"busy,omitempty"` // who could take it has no free slot: that passes

	refused []string
	age     time.Duration
}

// settling is how long a phase may wait until all workers know whether they have its account.
const settling = 20 * time.Second

// Waiting lists the phases that no living worker has, the longest wait first, and says why nobody takes them.
func (t *Table) Waiting(ctx context.Context) (all []Waiting, err error) {
	rows, err := t.DB.QueryContext(ctx, `SELECT h.phase, h.account, array_to_json(h.needs), h.version,
			least(greatest(h.queued_at, 'epoch'), clock_timestamp()), COALESCE(h.worker, ''), array_to_json(h.refused),
			extract(epoch FROM clock_timestamp() - least(greatest(h.queued_at, 'epoch'), clock_timestamp()))::float8
		FROM homes h LEFT JOIN workers w ON w.id = h.worker
		WHERE NOT h.ended AND (w.id IS NULL OR w.beat_at NOT BETWEEN
			clock_timestamp() - make_interval(secs => $1) AND clock_timestamp() + make_interval(secs => $1))
			AND length(h.phase || h.account || h.version || h.needs::text || h.refused::text) < 100000
		ORDER BY h.queued_at, h.phase`, t.term().Seconds())
	if err != nil {
		return nil, fmt.Errorf("list phases that wait: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var w Waiting
		var needs, refused []byte
		var age float64
		if err := rows.Scan(&w.Phase, &w.Account, &needs, &w.Version, &w.Since, &w.Lost, &refused, &age); err != nil {
			return nil, fmt.Errorf("list phases that wait: %w", err)
		}
		if err := errors.Join(json.Unmarshal(needs, &w.Needs), json.Unmarshal(refused, &w.refused)); err != nil {
			return nil, fmt.Errorf("list phases that wait: %w", err)
		}
		w.age = time.Duration(age * float64(time.Second))
		all = append(all, w)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		return all, err
	}
	workers, err := t.Workers(ctx)
	for i := range all {
		all[i].explain(workers)
	}
	return all, err
}

// explain says why no worker takes a phase.
func (w *Waiting) explain(workers []Seen) {
	const few = 5
	var reasons []string
	alive, busy := 0, false
	for _, s := range workers {
		if !s.Alive {
			continue
		}
		reason := w.lacks(s)
		full := len(s.Phases) >= s.Slots
		switch {
		case reason == "" && !full:
			return
		case reason == "":
			reason, busy = fmt.Sprintf("has no free slot (%d of %d)", len(s.Phases), s.Slots), true
		}
		if alive++; alive <= few {
			reasons = append(reasons, "worker "+s.ID+" "+reason)
		}
	}
	switch {
	case alive == 0:
		reasons = append(reasons, "no worker is alive: start one with `cco cruise worker`")
	case alive > few:
		reasons = append(reasons, fmt.Sprintf("and %d more workers", alive-few))
	}
	w.Why, w.Busy = strings.Join(reasons, "; "), busy
}

// lacks says what a worker lacks for a phase, as take sees it, but for slots.
func (w *Waiting) lacks(s Seen) string {
	if !slices.Contains(s.Accounts, w.Account) && w.age > settling {
		host, login, _ := strings.Cut(w.Account, "/")
		return fmt.Sprintf("has no token of %s on %s", login, host)
	}
	var missing []string
	for _, need := range w.Needs {
		if slices.Contains(s.Labels, need) {
			continue
		}
		kind, name, ours := strings.Cut(need, ":")
		if !ours {
			kind, name = "label", need
		}
		missing = append(missing, "no "+kind+" "+name)
	}
	switch {
	case len(missing) > 0:
		return "has " + strings.Join(missing, ", ")
	case !slices.Contains(s.Versions, w.Version):
		return "runs another version of cco, which can't go on with it"
	case slices.Contains(w.refused, s.ID):
		return fmt.Sprintf("can't run it: `cco cruise logs %s` says why, and `cco cruise resume %[1]s` has it try again",
			w.Phase)
	}
	return ""
}

// Retry lets workers look again at a phase that they have refused.
func Retry(ctx context.Context, db DB, phase string) error {
	_, err := db.ExecContext(ctx, `UPDATE homes SET refused = '{}' WHERE phase = $1 AND refused <> '{}' AND NOT ended`,
		phase)
	if err != nil {
		return fmt.Errorf("enqueue phase %s: %w", phase, err)
	}
	return nil
}
