//go:build heavy

package lease

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// looker counts what it asks a forge.
type looker struct {
	cruise.Steps
	looks, checks atomic.Int64
	clone         string
	fails         atomic.Bool
	changes       atomic.Bool // a look changes something
	changed       atomic.Int64
}

func (l *looker) Look(ctx context.Context, in cruise.LookIn) (cruise.News, error) {
	l.looks.Add(1)
	if l.changes.Load() {
		if err := forge.Fence(ctx); err != nil {
			return cruise.News{}, err
		}
		l.changed.Add(1)
	}
	if l.fails.Load() || in.Repo != l.clone {
		return cruise.News{}, fmt.Errorf("down, or not here: %s", in.Repo)
	}
	return cruise.News{Mark: in.Mark + fmt.Sprint(" seen ", in.PR)}, nil
}

func (l *looker) Checks(_ context.Context, in cruise.ChecksIn) (cruise.Checked, error) {
	l.checks.Add(1)
	return cruise.Checked{Head: fmt.Sprint(in.PR)}, nil
}

// watching is a machine that looks, with a clone of a repository that all have.
func watching(t *testing.T, m *machine) (*Watching, *looker) {
	t.Helper()
	l := &looker{clone: "/clones/" + m.Worker.ID}
	const repo = "forge.example/ada https://forge.example/ada/demo.git"
	w := &Watching{Steps: l, Holder: m.Holder, Forget: func(string, int) {},
		Repo: func(clone string) string {
			if clone == l.clone {
				return repo
			}
			return ""
		},
		Clone: func(name string) string {
			if name == repo {
				return l.clone
			}
			return ""
		}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { w.Serve(ctx, func(err error) { t.Error(err) }) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return w, l
}

// Guards against a forge that is asked by every machine for itself, and against phases that wait for one that is gone.
func TestOneMachineWatchesARepository(t *testing.T) {
	db := postgres(t)
	a, b := worker(t, db, "a"), worker(t, db, "b")
	a.Table.Term, b.Table.Term = time.Hour, time.Hour // nobody beats, and answers take seconds
	wa, la := watching(t, a)
	wb, lb := watching(t, b)
	look := func(w *Watching, l *looker, pr int, now bool) {
		t.Helper()
		got, err := w.Look(t.Context(), cruise.LookIn{Where: cruise.Where{Phase: "p", Repo: l.clone, PR: pr}, Mark: "m",
			Now: now})
		if err != nil || got.Mark != fmt.Sprint("m seen ", pr) {
			t.Errorf("it sees %+v, %v", got, err)
		}
	}
	look(wa, la, 1, false)
	const phases = 20
	var wg sync.WaitGroup
	for pr := range phases {
		wg.Go(func() {
			look(wb, lb, pr, false)
			got, err := wb.Checks(t.Context(), cruise.ChecksIn{Where: cruise.Where{Phase: "p", Repo: lb.clone, PR: pr},
				Within: time.Minute})
			if err != nil || got.Head != fmt.Sprint(pr) {
				t.Errorf("it reads %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if la.looks.Load() != phases+1 || la.checks.Load() != phases || lb.looks.Load() != 0 || lb.checks.Load() != 0 {
		t.Errorf("a looked %d times and read %d checks, b %d and %d", la.looks.Load(), la.checks.Load(), lb.looks.Load(),
			lb.checks.Load())
	}

	// What an effect rests on is read where the effect is.
	look(wb, lb, 1, true)
	must.Get(wb.Checks(t.Context(), cruise.ChecksIn{Where: cruise.Where{Phase: "p", Repo: lb.clone, PR: 1}}))(t)
	// What changes something is done where the phase is.
	la.changes.Store(true)
	lb.changes.Store(true)
	look(wb, lb, 1, false)
	if la.changed.Load() != 0 || lb.changed.Load() != 1 {
		t.Errorf("a changed %d, b %d", la.changed.Load(), lb.changed.Load())
	}
	la.changes.Store(false)
	lb.changes.Store(false)
	// A watcher that fails, and one that has fallen silent.
	la.fails.Store(true)
	look(wb, lb, 2, false)
	age(t, db, 2*time.Hour, "a")
	look(wb, lb, 3, false)
	if lb.looks.Load() != 4 || lb.checks.Load() != 1 {
		t.Errorf("b looked %d times itself, and read %d", lb.looks.Load(), lb.checks.Load())
	}
	before := lb.looks.Load()
	must.Do(t, a.Beat(t.Context()))
	look(wa, la, 4, false) // b watches now
	if lb.looks.Load() != before+1 {
		t.Error("two machines watch")
	}
	var left int
	must.Do(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM looks`).Scan(&left))
	if left != 0 {
		t.Errorf("%d questions are left", left)
	}
}

// Guards against a row by which another machine is made to do more than to look at what it watches.
func TestOnlyLookingIsDoneForOthers(t *testing.T) {
	db := postgres(t)
	a := worker(t, db, "a")
	wa, la := watching(t, a)
	must.Get(wa.Look(t.Context(), cruise.LookIn{Where: cruise.Where{Repo: la.clone}}))(t)
	for _, q := range []question{
		{Repo: wa.Repo(la.clone), Step: cruise.StepMerge.Name, Asked: []byte(`{}`)},
		{Repo: wa.Repo(la.clone), Step: cruise.StepLook.Name, Asked: []byte(`[]`)},
		{Repo: "forge.example/ada https://forge.example/ada/other.git", Step: cruise.StepLook.Name, Asked: []byte(`{}`)},
		{Repo: "/etc", Step: cruise.StepLook.Name, Asked: []byte(`{"repo":"/etc"}`)},
	} {
		if answer, err := a.Table.ask(t.Context(), q, "a"); answer != nil || err != nil {
			t.Errorf("%s of %s: %s, %v", q.Step, q.Repo, answer, err)
		}
	}
	// The clone is the watcher's own, whatever was asked for.
	answer, err := a.Table.ask(t.Context(), question{Repo: wa.Repo(la.clone), Step: cruise.StepLook.Name,
		Asked: []byte(`{"repo":"/etc","pr":3}`)}, "a")
	if err != nil || answer == nil || la.looks.Load() != 2 {
		t.Errorf("%s, %v, %d looks", answer, err, la.looks.Load())
	}
}
