// Package lease says which of several machines a phase belongs to, in the shared database of package store. A machine
// keeps its phases while it beats; when it falls silent, others take them, and its late effects are refused.
package lease

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	// Term is how long a worker keeps its phases after its last beat, by the database's clock.
	Term = 10 * time.Second
	// Interval is how often a worker beats.
	Interval = 2 * time.Second
	// Margin is how long before its lease ends a worker stops its effects: what was sent by then has arrived.
	Margin = 2 * time.Second
)

// Account is a login on a forge.
type Account struct {
	Host  string `json:"host"`
	Login string `json:"login"`
}

// String is an account as it is stored. Neither hosts nor logins have slashes, and the case of both is ignored.
func (a Account) String() string { return strings.ToLower(a.Host + "/" + a.Login) }

// Worker is a machine that runs phases, and what it has.
type Worker struct {
	ID string `json:"id"`
	// Labels are what a phase can need: boxes, agents, and what the user calls the machine.
	Labels   []string `json:"labels"`
	Accounts []string `json:"accounts"`
	// Versions are those of phases that it can replay.
	Versions []string `json:"versions"`
	// Slots is how many phases it holds at most.
	Slots int `json:"slots"`
}

// Home is what a phase needs of a worker.
type Home struct {
	Phase   string
	Account Account // that started it; no other may go on with it
	Needs   []string
	Version string
}

// Held is a phase that a worker has, and how many homes it has had.
type Held struct {
	Phase string `json:"phase"`
	Epoch int64  `json:"epoch"`
}

// Table is the shared record of workers and homes.
type Table struct {
	DB *sql.DB
	// Beats, if set, are connections for beats alone: nothing else may make them wait.
	Beats *sql.DB
	// Term is for tests; 0 is the usual one. All workers of a database must have the same.
	Term time.Duration
}

// Interval is how often a worker beats.
func (t *Table) Interval() time.Duration { return min(Interval, t.term()/5) }

// DB is a database or a transaction.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (t *Table) term() time.Duration {
	if t.Term > 0 {
		return t.Term
	}
	return Term
}

// SupersededError says that another process has taken a worker's place.
type SupersededError struct{ Worker string }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("another process is worker %s now: it may be running from a copy of this data directory", e.Worker)
}

// WrongState marks an error about a state.
func (e *SupersededError) WrongState() {}

var name = regexp.MustCompile(`^[0-9a-z][0-9a-z.-]{0,62}$`)

// register makes the worker known, and takes the place of an earlier process of it: that one's phases are its own at
// once, with a new epoch, because nobody else has them. As every change here it is one statement: a process that is
// stopped in the middle of a transaction would hold locks for others.
func (t *Table) register(ctx context.Context, w Worker) (incarnation int64, now time.Time, err error) {
	if !name.MatchString(w.ID) {
		return 0, now, fmt.Errorf("%q is not the name of a worker: letters, digits, dots and dashes", w.ID)
	}
	err = t.DB.QueryRowContext(ctx, `WITH me AS (
			INSERT INTO workers AS w (id, incarnation, labels, accounts, versions, slots, began_at, contact_since, beat_at)
			VALUES ($1, 1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp(), clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET incarnation = w.incarnation + 1, labels = excluded.labels,
				accounts = excluded.accounts, versions = excluded.versions, slots = excluded.slots,
				began_at = excluded.began_at, contact_since = excluded.contact_since, beat_at = excluded.beat_at
			RETURNING incarnation
		), mine AS (
			UPDATE homes SET epoch = CASE WHEN worker = $1 THEN epoch + 1 ELSE epoch END, refused = array_remove(refused, $1)
			WHERE (worker = $1 OR $1 = ANY (refused)) AND NOT ended
		)
		SELECT incarnation, clock_timestamp() FROM me`, w.ID, list(w.Labels), list(w.Accounts), list(w.Versions),
		w.Slots).Scan(&incarnation, &now)
	if err != nil {
		return 0, now, fmt.Errorf("register worker %s: %w", w.ID, err)
	}
	return incarnation, now, nil
}

// list is never null in the database.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// beat renews a worker's lease, and says what time it is there. Contact begins anew where beats were missing: the
// database may have been away, and then others could not beat either.
func (t *Table) beat(ctx context.Context, id string, incarnation int64) (now time.Time, err error) {
	err = cmp.Or(t.Beats, t.DB).QueryRowContext(ctx, `UPDATE workers SET beat_at = clock_timestamp(),
			contact_since = CASE WHEN beat_at BETWEEN clock_timestamp() - make_interval(secs => $3) AND clock_timestamp()
				THEN contact_since ELSE clock_timestamp() END
		WHERE id = $1 AND incarnation = $2 RETURNING beat_at`, id, incarnation, (t.term() / 2).Seconds()).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) {
		return now, &SupersededError{Worker: id}
	}
	if err != nil {
		return now, fmt.Errorf("beat: %w", err)
	}
	return now, nil
}

// held lists the living phases that a worker has.
func (t *Table) held(ctx context.Context, id string) ([]Held, error) {
	rows, err := cmp.Or(t.Beats, t.DB).QueryContext(ctx, `SELECT phase, epoch FROM homes
		WHERE worker = $1 AND NOT ended`, id)
	return scan(rows, err)
}

// take gives a worker phases that wait, and those of workers whose leases have lapsed, as far as it has what they need
// and slots for them. A worker's row is locked when its phases are taken: its own beat comes before that and saves
// them, or after it.
func (t *Table) take(ctx context.Context, w Worker, incarnation int64) ([]Held, error) {
	rows, err := t.DB.QueryContext(ctx, `
		WITH me AS MATERIALIZED (
			SELECT id, contact_since <= clock_timestamp() - make_interval(secs => $3) AS calm FROM workers
			WHERE id = $1 AND incarnation = $2 AND beat_at > clock_timestamp() - make_interval(secs => $3)
		), lapsed AS MATERIALIZED (
			SELECT w.id FROM workers w WHERE (SELECT calm FROM me) AND w.id <> $1
				AND w.beat_at NOT BETWEEN clock_timestamp() - make_interval(secs => $3)
					AND clock_timestamp() + make_interval(secs => $3)
				AND EXISTS (SELECT 1 FROM homes h WHERE h.worker = w.id AND NOT h.ended)
			FOR UPDATE SKIP LOCKED
		), pick AS MATERIALIZED (
			SELECT phase FROM homes
			WHERE NOT ended AND EXISTS (SELECT 1 FROM me)
				AND (worker IS NULL OR worker IN (SELECT id FROM lapsed))
				AND account = ANY ($4) AND needs <@ $5 AND version = ANY ($6) AND NOT $1 = ANY (refused)
			ORDER BY queued_at, phase
			LIMIT greatest(0, $7 - (SELECT count(*) FROM homes WHERE worker = $1 AND NOT ended))
			FOR UPDATE SKIP LOCKED
		)
		UPDATE homes h SET worker = $1, epoch = epoch + 1 FROM pick WHERE h.phase = pick.phase RETURNING h.phase, h.epoch`,
		w.ID, incarnation, t.term().Seconds(), list(w.Accounts), list(w.Labels), list(w.Versions), w.Slots)
	return scan(rows, err)
}

func scan(rows *sql.Rows, err error) (all []Held, _ error) {
	if err != nil {
		return nil, fmt.Errorf("look for phases: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var h Held
		if err := rows.Scan(&h.Phase, &h.Epoch); err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, rows.Err()
}

// Enqueue makes a new phase wait for a worker that has what it needs. One that is known keeps its home.
func Enqueue(ctx context.Context, db DB, h Home) error {
	_, err := db.ExecContext(ctx, `INSERT INTO homes (phase, account, needs, version, queued_at)
		VALUES ($1, $2, $3, $4, clock_timestamp()) ON CONFLICT (phase) DO NOTHING`,
		h.Phase, h.Account.String(), list(h.Needs), h.Version)
	if err != nil {
		return fmt.Errorf("enqueue phase %s: %w", h.Phase, err)
	}
	return nil
}

// Requeue gives a phase that has ended a home again: its last one while that is alive, because its workspace is there.
// The account that it belongs to stays.
func Requeue(ctx context.Context, db DB, phase, version string) error {
	_, err := db.ExecContext(ctx, `UPDATE homes SET ended = FALSE, epoch = epoch + 1, version = $2, refused = '{}',
		queued_at = clock_timestamp() WHERE phase = $1`, phase, version)
	if err != nil {
		return fmt.Errorf("enqueue phase %s: %w", phase, err)
	}
	return nil
}

// End records that a phase needs no home any more. It has no effect for a phase that has a new home.
func End(ctx context.Context, db DB, h Held) error {
	_, err := db.ExecContext(ctx, `UPDATE homes SET ended = TRUE WHERE phase = $1 AND epoch = $2`, h.Phase, h.Epoch)
	if err != nil {
		return fmt.Errorf("end phase %s: %w", h.Phase, err)
	}
	return nil
}

// Refuse gives a phase back that this worker can't run, for another one to take.
func (h *Holder) Refuse(ctx context.Context, p Held) error {
	_, err := h.Table.DB.ExecContext(ctx, `UPDATE homes SET worker = NULL, refused = array_append(refused, $3)
		WHERE phase = $1 AND epoch = $2 AND worker = $3`, p.Phase, p.Epoch, h.Worker.ID)
	if err != nil {
		return fmt.Errorf("give back phase %s: %w", p.Phase, err)
	}
	h.lose(p)
	return nil
}

// current says whether a phase is still where it was. With a lock it stays there until the transaction ends.
func current(ctx context.Context, db DB, worker string, incarnation int64, h Held, lock string) (bool, error) {
	var one int
	err := db.QueryRowContext(ctx, `SELECT 1 FROM homes h JOIN workers w ON w.id = h.worker
		WHERE h.phase = $1 AND h.epoch = $2 AND NOT h.ended AND w.id = $3 AND w.incarnation = $4 `+lock,
		h.Phase, h.Epoch, worker, incarnation).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Seen is a worker as others see it.
type Seen struct {
	Worker
	Began  time.Time     `json:"began"`
	Beat   time.Time     `json:"beat"`
	Age    time.Duration `json:"-"` // of its last beat, by the database's clock
	Alive  bool          `json:"alive"`
	Phases []string      `json:"phases"`
	Load   float64       `json:"load"` // of its machine, for each core
}

// Workers lists all workers by name, but for those that can't be.
func (t *Table) Workers(ctx context.Context) (all []Seen, err error) {
	rows, err := t.DB.QueryContext(ctx, `SELECT id, array_to_json(labels), array_to_json(accounts),
			array_to_json(versions), slots, CASE WHEN load BETWEEN 0 AND 1e6 THEN load ELSE 0 END,
			least(greatest(began_at, 'epoch'), clock_timestamp()), least(greatest(beat_at, 'epoch'), clock_timestamp()),
			extract(epoch FROM clock_timestamp() - least(greatest(beat_at, 'epoch'), clock_timestamp()))::float8,
			w.beat_at BETWEEN clock_timestamp() - make_interval(secs => $1)
				AND clock_timestamp() + make_interval(secs => $1), -- not while the clock was wrong
			array_to_json(ARRAY(SELECT phase FROM homes WHERE worker = w.id AND NOT ended ORDER BY phase))
		FROM workers w WHERE length(id) < 64 AND length(labels::text || accounts::text || versions::text) < 100000
		ORDER BY id`, t.term().Seconds())
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s Seen
		var age float64
		var labels, accounts, versions, phases []byte
		if err := rows.Scan(&s.ID, &labels, &accounts, &versions, &s.Slots, &s.Load, &s.Began, &s.Beat, &age,
			&s.Alive, &phases); err != nil {
			return nil, fmt.Errorf("list workers: %w", err)
		}
		err := errors.Join(json.Unmarshal(labels, &s.Labels), json.Unmarshal(accounts, &s.Accounts),
			json.Unmarshal(versions, &s.Versions), json.Unmarshal(phases, &s.Phases))
		if err != nil {
			return nil, fmt.Errorf("list workers: %w", err)
		}
		s.Age = time.Duration(age * float64(time.Second))
		if name.MatchString(s.ID) {
			all = append(all, s)
		}
	}
	return all, rows.Err()
}

// Hosts lists the forges of the phases that live.
func (t *Table) Hosts(ctx context.Context) (hosts []string, err error) {
	rows, err := t.DB.QueryContext(ctx, `SELECT DISTINCT split_part(account, '/', 1) AS host FROM homes WHERE NOT ended
		ORDER BY host LIMIT 100`)
	if err != nil {
		return nil, fmt.Errorf("list forges: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var host string
		if err := rows.Scan(&host); err != nil {
			return nil, fmt.Errorf("list forges: %w", err)
		}
		hosts = append(hosts, host)
	}
	return hosts, rows.Err()
}
