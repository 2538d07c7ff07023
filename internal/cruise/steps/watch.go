package steps

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// Watcher polls forges for all phases: one poll of a repository serves all its phases.
type Watcher struct {
	// Wake tells a phase that there is news for it, found by another's look.
	Wake func(phase string)
	Now  func() time.Time

	mu    sync.Mutex
	repos map[string]*watched
	spare *rate.Limiter // how many requests are left to be made sooner than is due
}

// watched is one repository. Looks at it come one after another.
type watched struct {
	turn   chan struct{}         // holds something while somebody looks
	phases map[int]*watchedPhase // by pull request
	tips   map[string]tip        // of the branches that requests go into
	checks map[int]*checking     // by pull request
}

func (r *watched) leave() { <-r.turn }

type watchedPhase struct {
	id    string
	mark  forge.Mark  // up to which the phase was given everything
	ready *forge.News // all that was found since then
	at    time.Time   // of the last look
	pull  forge.Pull  // as last read: a forge reports only changes, and a phase may ask again
}

// read is up to where the request was read.
func (p *watchedPhase) read() forge.Mark {
	if p.ready != nil {
		return p.ready.Mark
	}
	return p.mark
}

// Forget stops watching a phase that has ended.
func (w *Watcher) Forget(ctx context.Context, repo string, pr int) {
	if r, err := w.take(ctx, repo); err == nil {
		defer r.leave()
		delete(r.phases, pr)
		delete(r.checks, pr)
	}
}

// take waits until nobody looks at a repository, or the context ends: a forge may hang.
func (w *Watcher) take(ctx context.Context, repo string) (*watched, error) {
	r := w.repo(repo)
	select {
	case r.turn <- struct{}{}:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *Watcher) repo(name string) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repos == nil {
		w.repos, w.spare = map[string]*watched{}, rate.NewLimiter(spares/rate.Limit(time.Hour.Seconds()), spares)
	}
	if w.repos[name] == nil {
		w.repos[name] = &watched{turn: make(chan struct{}, 1), phases: map[int]*watchedPhase{}, tips: map[string]tip{},
			checks: map[int]*checking{}}
	}
	return w.repos[name]
}

const (
	// fresh is how old a look may be to count for another phase: many are due at the same time after a restart.
	fresh = time.Second
	// maxReady is how many comments are kept for a phase that does not look. One with more is read when it does.
	maxReady = 50
	// tipFor is how long it counts for all phases of a repository where a branch is.
	tipFor = 30 * time.Second
)

// look gives what is new for a phase since its mark.
func (w *Watcher) look(ctx context.Context, f Forge, in cruise.LookIn) (forge.News, error) {
	r, err := w.take(ctx, in.Repo)
	if err != nil {
		return forge.News{}, err
	}
	defer r.leave()
	p, mark := r.phases[in.PR], forge.Mark(in.Mark)
	switch {
	case p == nil || p.id != in.Phase:
		p = &watchedPhase{id: in.Phase, mark: mark}
		r.phases[in.PR] = p
	case p.mark != mark: // it has not taken in what it was given
		p.mark, p.ready, p.at = mark, nil, time.Time{}
	}
	// If the clock was set back, an old look must not count as new.
	since := w.Now().Sub(p.at)
	if in.Now || p.ready == nil && (since < 0 || since >= fresh) {
		if err := w.poll(ctx, f, r, in.PR); err != nil {
			return forge.News{}, err
		}
	}
	n := forge.News{Number: in.PR, Mark: p.mark}
	if p.ready != nil {
		n, p.mark, p.ready = *p.ready, p.ready.Mark, nil
	}
	n.Pull = p.pull
	return n, nil
}

// poll asks the forge for what is new on all requests, for the phase of one of them.
func (w *Watcher) poll(ctx context.Context, f Forge, r *watched, pr int) error {
	var all []forge.Watched
	for n, p := range r.phases {
		all = append(all, forge.Watched{Number: n, Since: p.read()})
	}
	news, err := f.Poll(ctx, all)
	if isGone(err) && len(all) > 1 {
		// A deleted request must not block looks at the others.
		all = []forge.Watched{{Number: pr, Since: r.phases[pr].read()}}
		news, err = f.Poll(ctx, all)
	}
	if err != nil {
		return err
	}
	at := w.Now()
	for _, a := range all {
		r.phases[a.Number].at = at
	}
	for _, n := range news {
		p := r.phases[n.Number]
		if p == nil {
			continue
		}
		if n.Pull.State != "" {
			p.pull = n.Pull
		}
		over := n.Pull.State == forge.Merged || n.Pull.State == forge.Closed
		said := slices.ContainsFunc(n.Comments, func(c forge.Comment) bool { return !c.Own })
		if n.Mark != p.read() || len(n.Comments) > 0 {
			if p.ready != nil {
				n.Comments = append(slices.Clone(p.ready.Comments), n.Comments...)
			}
			p.ready = &n
		}
		if n.Number != pr && len(n.Comments) > maxReady {
			delete(r.phases, n.Number)
		}
		if n.Number != pr && (over || said) && w.Wake != nil && forge.Fence(ctx) == nil {
			go w.Wake(p.id)
		}
	}
	return nil
}
