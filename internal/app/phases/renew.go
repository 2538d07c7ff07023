package phases

import (
	"context"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/store"
)

// SetKey replaces the key of what cco says on forges, also for an engine that runs.
func (a *Phases) SetKey(ctx context.Context, k forge.Key) error {
	if err := forge.SetKey(a.Dirs.Data, k); err != nil {
		return err
	}
	return a.engine().Renew(ctx, serve.Renewal{})
}

// forges opens each repository's forge once, because the forge remembers what it has read and the rest of its limits.
type forges struct {
	phases *Phases
	store  *store.Store

	mu   sync.Mutex
	open map[string]steps.Forge
}

// of gives the forge of a repository.
func (f *forges) of(ctx context.Context, repo string) (steps.Forge, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.open[repo]; known != nil {
		return known, nil
	}
	made, err := f.phases.Forge(ctx, f.store, repo, Where{})
	if err != nil {
		return nil, err
	}
	if f.open == nil {
		f.open = map[string]steps.Forge{}
	}
	f.open[repo] = made
	return made, nil
}

// renew takes new tokens for a host, and forgets the forges that are open, so that the next use takes key and tokens
// anew. Tokens that are known change nothing.
func (f *forges) renew(r serve.Renewal) {
	if r.Host != "" && !f.phases.given.take(r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = nil
}

// given are the tokens that commands gave to an engine, by host. They are in memory and nowhere else.
type given struct {
	mu  sync.Mutex
	all map[string]tokens
}

func (g *given) of(host string) (tokens, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.all[strings.ToLower(host)]
	return t, ok
}

// take keeps tokens, and says whether they are new.
func (g *given) take(r serve.Renewal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := tokens{author: forge.Secret(r.Token), source: "the last `cco cruise resume`", reviewer: forge.Secret(r.Reviewer)}
	if g.all == nil {
		g.all = map[string]tokens{}
	}
	host := strings.ToLower(r.Host)
	if g.all[host] == t {
		return false
	}
	g.all[host] = t
	return true
}

// offer gives an engine that runs the tokens that this command finds for a repository's host. Without any, the engine
// keeps its own.
func (a *Phases) offer(ctx context.Context, repo string) error {
	remote, err := locate(ctx, repo, Where{})
	if err != nil {
		return nil //nolint:nilerr // the phase says what is wrong with its repository
	}
	c, err := a.client(ctx, remote, forge.Kind(a.Env("CCO_FORGE")))
	if err != nil {
		return nil //nolint:nilerr // it is down, or the engine knows more
	}
	t, err := a.tokens(ctx, c.find, remote.Host, false)
	if err != nil {
		return nil //nolint:nilerr // there is none here
	}
	return a.engine().Renew(ctx, serve.Renewal{Host: remote.Host, Token: t.author.Reveal(),
		Reviewer: t.reviewer.Reveal()})
}
