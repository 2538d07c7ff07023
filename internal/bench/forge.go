package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// The watch that is measured: as many phases as one user could have, polled all the time as if something had just
// happened on each.
const (
	watchRepos  = 10
	watchEach   = 50
	watchEvery  = 5 * time.Second
	watchLength = time.Hour
	watchNews   = 120 // comments and reviews in that hour
)

// watching is the simulated hour.
type watching struct {
	now    time.Time
	fake   *githubfake.Server
	forges []*github.Forge
	marks  [][]forge.Watched
	said   map[string]time.Time // comments that were posted and not yet seen
	worst  time.Duration
}

// forge watches pull requests on a fake GitHub for an hour of simulated time.
func (b *bench) forge(ctx context.Context) error {
	w := &watching{now: time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC), said: map[string]time.Time{}}
	fake, err := githubfake.New(ctx, filepath.Join(b.dir, "forge"), func() time.Time { return w.now })
	if err != nil {
		return err
	}
	defer fake.Close()
	w.fake = fake
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	if broken := fake.Broken(); len(broken) > 0 {
		return fmt.Errorf("GitHub's schema does not hold: %s", broken[0])
	}
	c := fake.Counts()
	each := w.memory()
	b.rows = append(b.rows,
		row{fmt.Sprintf("%d phases in %d repositories watched for an hour, every %s, %d things said: requests that count "+
			"(of them GraphQL points)", watchRepos*watchEach, watchRepos, watchEvery, watchNews),
			fmt.Sprintf("%d (%d)", c.Counted+c.Points, c.Points), "5000", fmt.Sprintf("%.1f %%", float64(c.Counted+c.Points)/50),
			"10 %"},
		row{"the same: most requests in a minute, uncounted ones included", fmt.Sprint(c.MostAMinute), "", "", "600"},
		row{"the same: longest from said to heard, in simulated time", w.worst.Round(100 * time.Millisecond).String(), "", "",
			"one interval, " + watchEvery.String()},
		row{"memory of a watched phase", fmt.Sprintf("%.1f KB", each/1024), "", "", "64 KB"})
	return nil
}

func (w *watching) prepare(ctx context.Context) error {
	w.fake.AddUser("ada", "ghp_bench")
	clock := wire.Clock{Now: func() time.Time { return w.now }, Chance: rand.Float64,
		Sleep: func(_ context.Context, d time.Duration) error { w.now = w.now.Add(d); return nil }}
	for i := range watchRepos {
		name := fmt.Sprintf("repo%d", i)
		if err := w.fake.AddRepo(ctx, "acme", name, "ada"); err != nil {
			return err
		}
		if err := w.fake.Seed(ctx, "acme", name, "ada", watchEach); err != nil {
			return err
		}
		f, err := github.New(github.Options{Remote: w.fake.Remote("acme", name), Author: github.Fixed("bench", "ghp_bench"),
			Journal: &forge.Memory{}, Clock: clock})
		if err != nil {
			return err
		}
		var marks []forge.Watched
		for n := range watchEach {
			marks = append(marks, forge.Watched{Number: n + 1})
		}
		w.forges, w.marks = append(w.forges, f), append(w.marks, marks)
	}
	return nil
}

func (w *watching) run(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	end, n := w.now.Add(watchLength), 0
	for step := watchLength / watchNews; w.now.Before(end); w.now = w.now.Add(watchEvery) {
		for ; n < watchNews && !w.now.Before(end.Add(-watchLength+time.Duration(n+1)*step-watchEvery)); n++ {
			name, number, words := fmt.Sprintf("repo%d", rng.IntN(watchRepos)), rng.IntN(watchEach)+1, fmt.Sprintf("words %d", n)
			// Some time since the last poll.
			poll := w.now
			w.now = poll.Add(-time.Duration(rng.Int64N(int64(watchEvery))))
			if w.said[words] = w.now; n%2 == 0 {
				w.fake.Say("acme", name, number, "rob", words)
			} else {
				w.fake.SayLine("acme", name, number, "rob", words)
			}
			w.now = poll
		}
		for i, f := range w.forges {
			if err := w.poll(ctx, i, f); err != nil {
				return err
			}
		}
	}
	if len(w.said) > 0 {
		return fmt.Errorf("%d things were never heard", len(w.said))
	}
	return nil
}

func (w *watching) poll(ctx context.Context, i int, f *github.Forge) error {
	news, err := f.Poll(ctx, w.marks[i])
	if err != nil {
		return err
	}
	if w.now.Unix()%30 < int64(watchEvery/time.Second) { // where the branch is that the requests go into
		if _, err := f.Branch(ctx, "main"); err != nil {
			return err
		}
	}
	for _, v := range news {
		w.marks[i][v.Number-1].Since = v.Mark
		for _, c := range v.Comments {
			at, ok := w.said[c.Body]
			if !ok {
				return fmt.Errorf("heard twice: %s", c.Body)
			}
			delete(w.said, c.Body)
			w.worst = max(w.worst, w.now.Sub(at))
		}
	}
	return nil
}

// memory is what the watch holds for each phase: what is free when it is dropped.
func (w *watching) memory() float64 {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	runtime.KeepAlive(w.forges)
	w.forges, w.marks = nil, nil
	return (before - heap()) / (watchRepos * watchEach)
}
