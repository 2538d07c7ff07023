package lease

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// Watching are steps that leave looking at a repository to one machine, which asks the forge for the phases of all.
// What an effect rests on right before it happens, each machine reads itself.
type Watching struct {
	cruise.Steps
	Holder *Holder
	// Repo names a clone of this machine as all machines do, "" if it is not known; Clone is the other way round.
	Repo  func(clone string) string
	Clone func(repo string) string
	// Forget ends the watch of a request whose phase, on another machine, has not asked for long.
	Forget func(clone string, pr int)

	mu    sync.Mutex
	heard map[seen]time.Time // when others last asked
}

type seen struct {
	clone string
	pr    int
}

const (
	// watches is how long a machine stays the watcher after it last looked for itself: longer than phases wait.
	watches = 10 * time.Minute
	// patience is how long another machine is waited for.
	patience = 20 * time.Second
	// answering is how often answers are looked for, and questions half as often.
	answering = 500 * time.Millisecond
	// maxAsked and maxAnswer bound what is believed to be a question or an answer.
	maxAsked, maxAnswer = 1 << 14, 8 << 20
	// maxAtOnce bounds how many questions are taken at a time.
	maxAtOnce = 100
)

// Look looks here, or has the watcher look.
func (w *Watching) Look(ctx context.Context, in cruise.LookIn) (news cruise.News, err error) {
	if !in.Now {
		if done, err := w.ask(ctx, in.Repo, cruise.StepLook.Name, in, &news); done || err != nil {
			return news, err
		}
	}
	return w.Steps.Look(ctx, in)
}

// Checks reads here, or has the watcher read.
func (w *Watching) Checks(ctx context.Context, in cruise.ChecksIn) (checks cruise.Checked, err error) {
	if in.Within > 0 {
		if done, err := w.ask(ctx, in.Repo, cruise.StepChecks.Name, in, &checks); done || err != nil {
			return checks, err
		}
	}
	return w.Steps.Checks(ctx, in)
}

// ask has another machine do a step if that is the watcher, and says whether it has. If it can't, this one does it: the
// worst of that is a request too many.
func (w *Watching) ask(ctx context.Context, clone, step string, in, out any) (bool, error) {
	repo := w.Repo(clone)
	if repo == "" {
		return false, nil
	}
	who, err := w.Holder.Table.watcher(ctx, repo, w.Holder.Worker.ID)
	if err != nil || who == w.Holder.Worker.ID {
		return false, nil //nolint:nilerr // the fence tells of a database that is away
	}
	data, err := json.Marshal(in)
	if err != nil {
		return false, err
	}
	answer, err := w.Holder.Table.ask(ctx, question{Repo: repo, Step: step, Asked: data}, who)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || answer == nil {
		return false, nil //nolint:nilerr // as above
	}
	return json.Unmarshal(answer, out) == nil, nil
}

// watcher says who watches a repository: this worker if nobody else does.
func (t *Table) watcher(ctx context.Context, repo, me string) (who string, err error) {
	err = t.DB.QueryRowContext(ctx, `WITH mine AS (
			INSERT INTO watchers AS w (repo, worker, until) VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
			ON CONFLICT (repo) DO UPDATE SET worker = excluded.worker, until = excluded.until
			WHERE w.worker = $2 OR w.until < clock_timestamp() OR NOT EXISTS (SELECT 1 FROM workers l
				WHERE l.id = w.worker AND l.beat_at BETWEEN clock_timestamp() - make_interval(secs => $4)
					AND clock_timestamp() + make_interval(secs => $4))
			RETURNING w.worker
		)
		SELECT COALESCE((SELECT worker FROM mine), (SELECT worker FROM watchers WHERE repo = $1), '')`,
		repo, me, watches.Seconds(), t.term().Seconds()).Scan(&who)
	if err != nil {
		return "", fmt.Errorf("find who watches: %w", err)
	}
	if who == "" {
		who = me // another made the row at this moment; the next look finds it
	}
	return who, nil
}

// question is a step that one machine asks of another.
type question struct {
	N     int64
	Repo  string
	Step  string
	Asked []byte
}

// ask gives the watcher's answer, nil if it has none within a while.
func (t *Table) ask(ctx context.Context, q question, watcher string) (answer []byte, err error) {
	err = t.DB.QueryRowContext(ctx, `INSERT INTO looks (repo, watcher, step, asked, asked_at)
		VALUES ($1, $2, $3, $4, clock_timestamp()) RETURNING n`, q.Repo, watcher, q.Step, string(q.Asked)).Scan(&q.N)
	if err != nil {
		return nil, fmt.Errorf("ask worker %s to look: %w", watcher, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), Interval)
		defer cancel()
		_, gone := t.DB.ExecContext(after, `DELETE FROM looks WHERE n = $1`, q.N)
		err = errors.Join(err, gone)
	}()
	tick := time.NewTicker(answering)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil //nolint:nilerr // whoever asked does it
		case <-tick.C:
		}
		var text sql.NullString
		var failed bool
		err := t.DB.QueryRowContext(ctx, `SELECT answer, failed FROM looks
			WHERE n = $1 AND COALESCE(octet_length(answer), 0) <= $2`, q.N, maxAnswer).Scan(&text, &failed)
		switch {
		case errors.Is(err, sql.ErrNoRows) || failed:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("wait for worker %s: %w", watcher, err)
		case text.Valid:
			return []byte(text.String), nil
		}
	}
}

// Serve answers what other machines ask, until the context ends.
func (w *Watching) Serve(ctx context.Context, trouble func(error)) {
	tick := time.NewTicker(2 * answering)
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.Holder.lapsed() {
			continue
		}
		list, err := w.Holder.Table.asked(ctx, w.Holder.Worker.ID)
		if err != nil && ctx.Err() == nil {
			trouble(err)
		}
		for _, q := range list {
			under.Go(func() {
				if err := w.answer(ctx, q); err != nil && ctx.Err() == nil {
					trouble(err)
				}
			})
		}
		w.forget(time.Now())
	}
}

// asked takes what was asked of a worker and is still waited for.
func (t *Table) asked(ctx context.Context, me string) (list []question, err error) {
	rows, err := t.DB.QueryContext(ctx, `WITH old AS (
			DELETE FROM looks WHERE asked_at < clock_timestamp() - interval '5 minutes'
		)
		UPDATE looks SET taken = TRUE WHERE n IN (
			SELECT n FROM looks WHERE watcher = $1 AND NOT taken AND asked_at >= clock_timestamp() - make_interval(secs => $2)
				AND octet_length(asked) <= $3 AND length(repo) <= $3 AND length(step) <= $3 ORDER BY n LIMIT $4)
		RETURNING n, repo, step, asked`, me, patience.Seconds(), maxAsked, maxAtOnce)
	if err != nil {
		return nil, fmt.Errorf("look what others ask: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var q question
		var asked string
		if err := rows.Scan(&q.N, &q.Repo, &q.Step, &asked); err != nil {
			return nil, err
		}
		q.Asked = []byte(asked)
		list = append(list, q)
	}
	return list, rows.Err()
}

// answer does a step for another machine. Only looking can be asked for, and only at a repository that is watched here.
func (w *Watching) answer(ctx context.Context, q question) error {
	var out any
	err := errors.New("not watched here")
	if clone := w.Clone(q.Repo); clone != "" {
		out, err = w.look(ctx, clone, q)
	}
	text := []byte(nil)
	if err == nil {
		text, err = json.Marshal(out)
	}
	_, saved := w.Holder.Table.DB.ExecContext(ctx, `UPDATE looks SET answer = $2, failed = $3 WHERE n = $1`, q.N,
		string(text), err != nil)
	if saved != nil {
		return fmt.Errorf("answer another worker: %w", saved)
	}
	return nil
}

func (w *Watching) look(ctx context.Context, clone string, q question) (any, error) {
	// A look can change something: what was posted twice is removed. Only the phase's own machine may do that.
	ctx = forge.WithFence(ctx, func(context.Context) error { return errors.New("only its own machine changes it") })
	switch q.Step {
	case cruise.StepLook.Name:
		var in cruise.LookIn
		if err := json.Unmarshal(q.Asked, &in); err != nil {
			return nil, err
		}
		in.Repo = clone
		w.hear(clone, in.PR)
		return w.Steps.Look(ctx, in)
	case cruise.StepChecks.Name:
		var in cruise.ChecksIn
		if err := json.Unmarshal(q.Asked, &in); err != nil {
			return nil, err
		}
		in.Repo = clone
		w.hear(clone, in.PR)
		return w.Steps.Checks(ctx, in)
	default:
		return nil, fmt.Errorf("%s is done by nobody else", q.Step)
	}
}

func (w *Watching) hear(clone string, pr int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heard == nil {
		w.heard = map[seen]time.Time{}
	}
	w.heard[seen{clone, pr}] = time.Now()
}

// forget ends the watch of requests that nobody has asked for in a while.
func (w *Watching) forget(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, at := range w.heard {
		if now.Sub(at) > watches {
			delete(w.heard, s)
			w.Forget(s.clone, s.pr)
		}
	}
}
