package main

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge/githubfake"
)

// What happens while phases wait for checks: some time passes until all have waited for long, and then the hour begins.
const (
	checksWarm    = 20 * time.Minute
	checksChanged = 250 // checks that change their state in the hour; watchNews things are said in it
)

// waits is the simulated time of phases that wait for checks. The phases are the real ones.
type waits struct {
	watching
	doer *steps.Doer

	mu     sync.Mutex
	asleep sleepers
	phases map[string]*waiter
	yield  chan error // a phase sleeps, or has ended

	changed map[string]time.Time // commits whose checks have changed, until a phase sees it
	late    time.Duration
}

// checks watches phases that wait for checks on a fake GitHub.
func (b *bench) checks(ctx context.Context) error {
	w := &waits{phases: map[string]*waiter{}, changed: map[string]time.Time{}, yield: make(chan error)}
	w.now, w.said = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC), map[string]time.Time{}
	fake, err := githubfake.New(ctx, filepath.Join(b.dir, "checks"), func() time.Time { return w.now })
	if err != nil {
		return err
	}
	defer fake.Close()
	w.fake = fake
	if err := w.prepare(ctx); err != nil {
		return err
	}
	w.doer = &steps.Doer{Data: b.dir, Now: func() time.Time { return w.now },
		Watch: &steps.Watcher{Now: func() time.Time { return w.now }, Wake: w.wake},
		Forge: func(_ context.Context, repo string) (steps.Forge, error) {
			var i int
			_, err := fmt.Sscanf(repo, "repo%d", &i)
			return w.forges[i], err
		}}
	if err := w.hour(ctx); err != nil {
		return err
	}
	if broken := fake.Broken(); len(broken) > 0 {
		return fmt.Errorf("GitHub's schema does not hold: %s", broken[0])
	}
	c := fake.Counts()
	most := 500 + 2*checksChanged
	b.rows = append(b.rows,
		row{fmt.Sprintf("%d phases in %d repositories wait for checks for an hour, %d of which change, %d things said: "+
			"requests that count (of them GraphQL points)", watchRepos*watchEach, watchRepos, checksChanged, watchNews),
			fmt.Sprintf("%d (%d)", c.Counted+c.Points, c.Points), "5000", fmt.Sprintf("%.1f %%", float64(c.Counted+c.Points)/50),
			fmt.Sprintf("10 %% and 2 for each change: %d", most)},
		row{"the same: most requests in a minute, uncounted ones included", fmt.Sprint(c.MostAMinute), "", "", "600"},
		row{"the same: longest until a phase sees a change, in simulated time", w.late.Round(time.Second).String(), "", "",
			"10 m"})
	return nil
}

// hour lets the phases wait, and has things happen in the second part of it.
func (w *waits) hour(ctx context.Context) error {
	start := w.now
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	type head struct {
		repo, commit string
		number       int
	}
	var heads []head
	for i, f := range w.forges {
		name := fmt.Sprintf("repo%d", i)
		w.fake.Require("acme", name, []string{"unit", "lint"}, nil)
		onto, err := f.Branch(ctx, "main")
		if err != nil {
			return err
		}
		for n := range watchEach {
			commit, err := f.Branch(ctx, fmt.Sprintf("topic-%d", n+1))
			if err != nil {
				return err
			}
			w.fake.SetCheck("acme", name, commit, "unit", "queued", "")
			w.fake.SetCheck("acme", name, commit, "lint", "queued", "")
			heads = append(heads, head{name, commit, n + 1})
			w.begin(ctx, waiting(name, onto, commit, n+1), start.Add(time.Duration(rng.Int64N(int64(checksWarm)/2))))
		}
	}
	began := start.Add(checksWarm)
	if err := w.until(began); err != nil {
		return err
	}
	w.fake.Reset()
	rng.Shuffle(len(heads), func(i, j int) { heads[i], heads[j] = heads[j], heads[i] })
	const all = checksChanged + watchNews
	said := 0
	for n := range all {
		if err := w.until(began.Add(time.Duration(n) * watchLength / (all + 1))); err != nil {
			return err
		}
		if h := heads[n]; said*all < n*watchNews {
			said++
			w.fake.Say("acme", h.repo, h.number, "rob", "Thanks!")
		} else {
			w.fake.SetCheck("acme", h.repo, h.commit, "lint", "completed", "success")
			w.changed[h.commit] = w.now
		}
	}
	return w.until(began.Add(watchLength))
}

// waiting is a phase that is approved and waits for its checks.
func waiting(repo, onto, commit string, number int) cruise.State {
	st := cruise.NewState(cruise.Spec{Kind: cruise.Planning, Repo: repo, Checks: cruise.ChecksRequired})
	st.Stage, st.Head.Commit, st.Head.Pushed, st.Base.Branch = cruise.StageChecks, commit, commit, "main"
	st.Workspace.Base, st.Meta.Branch = onto, fmt.Sprintf("topic-%d", number)
	st.PR = &cruise.PullRequest{Number: number, Base: "main"}
	st.Review.Approval = &cruise.Approval{Commit: commit, End: cruise.EndApproved}
	return st
}

// waiter is what a phase sees of the engine: the simulated time.
type waiter struct {
	*waits
	ctx    context.Context
	id     string
	at     time.Time // when it wakes
	woken  int
	resume chan struct{}
	index  int // among those that sleep, -1 if it does not
	inbox  []cruise.Event
}

// begin has a phase begin at a time.
func (w *waits) begin(ctx context.Context, st cruise.State, at time.Time) {
	p := &waiter{waits: w, ctx: ctx, id: fmt.Sprintf("%s-%d", st.Spec.Repo, st.PR.Number), at: at,
		resume: make(chan struct{})}
	w.phases[p.id] = p
	heap.Push(&w.asleep, p)
	go func() {
		<-p.resume
		_, err := cruise.Phase(p, st)
		if err == nil {
			err = fmt.Errorf("phase %s has ended", p.id)
		}
		w.yield <- err
	}()
}

// until lets the phases go on, one after another, until a time.
func (w *waits) until(t time.Time) error {
	for {
		w.mu.Lock()
		if len(w.asleep) == 0 || w.asleep[0].at.After(t) {
			w.now = t
			w.mu.Unlock()
			return nil
		}
		p := heap.Pop(&w.asleep).(*waiter)
		if p.at.After(w.now) {
			w.now = p.at
		}
		w.mu.Unlock()
		p.resume <- struct{}{}
		if err := <-w.yield; err != nil {
			return err
		}
	}
}

// wake has a phase look now.
func (w *waits) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.phases[id]
	p.woken++
	p.inbox = append(p.inbox, cruise.Event{ID: fmt.Sprintf("%s-%d", id, p.woken), Kind: cruise.EventWake})
	if p.index >= 0 {
		p.at = w.now
		heap.Fix(&w.asleep, p.index)
	}
}

func (p *waiter) Sleep(time.Duration) error { return errors.New("what it saves is always saved") }
func (p *waiter) ID() string                { return p.id }
func (p *waiter) Full() bool                { return false }
func (p *waiter) Now() (time.Time, error)   { return p.now, nil }

func (p *waiter) Recv(timeout time.Duration) (*cruise.Event, error) {
	if e := p.take(); e != nil || timeout == 0 {
		return e, nil
	}
	p.mu.Lock()
	p.at = p.now.Add(timeout)
	heap.Push(&p.asleep, p)
	p.mu.Unlock()
	p.yield <- nil
	<-p.resume
	return p.take(), nil
}

// Await lets the phase itself look, so that every look is seen here.
func (p *waiter) Await(w cruise.Wait) (*cruise.Event, time.Time, error) {
	e, err := p.Recv(w.Pace.Interval())
	return e, time.Time{}, err
}

func (p *waiter) take() *cruise.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox) == 0 {
		return nil
	}
	e := p.inbox[0]
	p.inbox = p.inbox[1:]
	return &e
}

func (p *waiter) Start(step string, in any) cruise.Pending {
	data, err := json.Marshal(in)
	if err != nil {
		return done{err: err}
	}
	o, err := cruise.Dispatch(p.ctx, onlyWatching{p.doer, p.waits}, step, data)
	if o.Failure != nil {
		err = fmt.Errorf("%s: %s", step, o.Failure.Msg)
	}
	return done{o, err}
}

type done struct {
	o   cruise.Outcome
	err error
}

func (d done) Get(out any) error {
	if d.err != nil {
		return d.err
	}
	return d.o.Decode(out)
}

// onlyWatching are the steps of phases that watch. What they say costs the same without checks.
type onlyWatching struct {
	*steps.Doer
	w *waits
}

func (onlyWatching) Say(context.Context, cruise.SayIn) error { return nil }
func (onlyWatching) Save(context.Context, cruise.SaveIn) (cruise.Saved, error) {
	return cruise.Saved{}, nil
}

func (s onlyWatching) Checks(ctx context.Context, in cruise.ChecksIn) (cruise.Checked, error) {
	got, err := s.Doer.Checks(ctx, in)
	at, changed := s.w.changed[got.Head]
	if changed && slices.ContainsFunc(got.All, func(c cruise.Check) bool { return c.State == cruise.CheckGreen }) {
		s.w.late = max(s.w.late, s.w.now.Sub(at))
		delete(s.w.changed, got.Head)
	}
	return got, err
}

// sleepers are phases that wait, the first to wake first.
type sleepers []*waiter

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].at.Before(s[j].at) }
func (s sleepers) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *sleepers) Push(x any) {
	p := x.(*waiter)
	p.index = len(*s)
	*s = append(*s, p)
}

func (s *sleepers) Pop() any {
	old := *s
	p := old[len(old)-1]
	p.index = -1
	*s = old[:len(old)-1]
	return p
}
