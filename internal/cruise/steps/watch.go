package steps

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

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
	spare spare
}

// watched is one repository.
type watched struct {
	mu     sync.Mutex
	phases map[int]*watchedPhase // by pull request
	tips   map[string]tip        // of the branches that requests go into
	checks map[int]*checking     // by pull request
}

type watchedPhase struct {
	id    string
	mark  forge.Mark
	ready *forge.News // found by another's look, and not yet asked for
	at    time.Time   // of the last look
	pull  forge.Pull  // as last read: a forge reports only changes, and a phase may ask again
}

// Forget stops watching a phase that has ended.
func (w *Watcher) Forget(repo string, pr int) {
	r := w.repo(repo)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.phases, pr)
	delete(r.checks, pr)
}

func (w *Watcher) repo(name string) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repos == nil {
		w.repos = map[string]*watched{}
	}
	if w.repos[name] == nil {
		w.repos[name] = &watched{phases: map[int]*watchedPhase{}, checks: map[int]*checking{}}
	}
	return w.repos[name]
}

// fresh is how old a look may be to count for another phase: many are due at the same time after a restart.
const fresh = time.Second

// look gives what is new for a phase since its mark.
func (w *Watcher) look(ctx context.Context, f Forge, in cruise.LookIn) (forge.News, error) {
	r := w.repo(in.Repo)
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.phases[in.PR]
	if p == nil || p.id != in.Phase {
		p = &watchedPhase{id: in.Phase}
		r.phases[in.PR] = p
	}
	n, err := w.lookAt(ctx, f, r, p, in)
	n.Pull = p.pull
	return n, err
}

func (w *Watcher) lookAt(ctx context.Context, f Forge, r *watched, p *watchedPhase,
	in cruise.LookIn) (forge.News, error) {
	if n := p.ready; n != nil && p.mark == forge.Mark(in.Mark) {
		if p.ready, p.mark = nil, n.Mark; !in.Now {
			return *n, nil
		}
		// The forge is asked for what came after that, and not for all of it once more.
		more, err := w.poll(ctx, f, r, in)
		if err != nil {
			p.ready, p.mark = n, forge.Mark(in.Mark)
			return forge.News{}, err
		}
		more.Comments = append(slices.Clone(n.Comments), more.Comments...)
		return more, nil
	}
	// If the clock was set back, an old look must not count as new.
	if since := w.Now().Sub(p.at); p.mark == forge.Mark(in.Mark) && !in.Now && since >= 0 && since < fresh {
		return forge.News{Number: in.PR, Mark: p.mark}, nil
	}
	p.mark, p.ready = forge.Mark(in.Mark), nil
	return w.poll(ctx, f, r, in)
}

func (w *Watcher) poll(ctx context.Context, f Forge, r *watched, in cruise.LookIn) (forge.News, error) {
	var all []forge.Watched
	for n, p := range r.phases {
		if p.ready == nil {
			all = append(all, forge.Watched{Number: n, Since: p.mark})
		}
	}
	news, err := f.Poll(ctx, all)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone && len(all) > 1 {
		// A deleted request must not block looks at the others.
		news, err = f.Poll(ctx, []forge.Watched{{Number: in.PR, Since: r.phases[in.PR].mark}})
	}
	if err != nil {
		return forge.News{}, err
	}
	mine := forge.News{Number: in.PR, Mark: r.phases[in.PR].mark}
	at := w.Now()
	for _, p := range r.phases {
		p.at = at
	}
	for _, n := range news {
		p := r.phases[n.Number]
		if p != nil && n.Pull.State != "" {
			p.pull = n.Pull
		}
		switch {
		case n.Number == in.PR:
			mine = n
			p.mark = n.Mark
		case p != nil && p.ready == nil:
			// Its own next look takes the news from here, with its present mark.
			p.ready = &n
			if w.Wake != nil && worthWaking(n) && forge.Fence(ctx) == nil {
				go w.Wake(p.id)
			}
		}
	}
	return mine, nil
}

// worthWaking says whether the news are more than our own comments.
func worthWaking(n forge.News) bool {
	if n.Pull.State == forge.Merged || n.Pull.State == forge.Closed {
		return true
	}
	for _, c := range n.Comments {
		if !c.Own {
			return true
		}
	}
	return false
}
