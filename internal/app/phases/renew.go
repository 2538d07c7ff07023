package phases

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/broker"
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
	made, err := f.phases.Forge(ctx, f.store, repo)
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
// anew. Tokens that are known change nothing, and models' keys nothing about forges.
func (f *forges) renew(r serve.Renewal) {
	if len(r.Vars) > 0 {
		f.phases.given.lend(r.Vars)
		return
	}
	if r.Host != "" && !f.phases.given.take(r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = nil
}

// given are the tokens that commands gave to an engine, by host, and the variables with models' keys. They are in
// memory and nowhere else.
type given struct {
	mu   sync.Mutex
	all  map[string]tokens
	vars map[string]string
}

func (g *given) lend(vars map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.vars == nil {
		g.vars = map[string]string{}
	}
	maps.Copy(g.vars, vars)
}

// over is an environment with what was lent.
func (g *given) over(env func(string) string) func(string) string {
	return func(name string) string {
		g.mu.Lock()
		v, lent := g.vars[name]
		g.mu.Unlock()
		if lent {
			return v
		}
		return env(name)
	}
}

// lent lists what was lent, as programs get it.
func (g *given) lent() (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, v := range g.vars {
		list = append(list, name+"="+v)
	}
	return list
}

// borrow has this process use what commands lend to it, before anything of it is opened.
func (a *Phases) borrow() {
	own := *a.App
	own.Env, own.Lent = a.given.over(a.Env), a.given.lent
	a.App = &own
}

// lend gives an engine that runs the models' keys that this command's shell has. Without any, the engine keeps its own.
func (a *Phases) lend(ctx context.Context) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	vars := map[string]string{}
	for _, p := range broker.Providers() {
		// A key goes where its shell sends it, so that the address comes with it, also if it is none; and another
		// variable that the engine has for the same must not win over it.
		if group := append(slices.Clone(p.KeyVars), p.BaseVar); slices.ContainsFunc(p.KeyVars, a.has) {
			for _, name := range group {
				vars[name] = a.Env(name)
			}
		}
	}
	for _, k := range cfg.Keys {
		if k.Env != "" && a.has(k.Env) {
			vars[k.Env] = a.Env(k.Env)
		}
	}
	if len(vars) == 0 {
		return nil
	}
	return a.engine().Renew(ctx, serve.Renewal{Vars: vars})
}

func (a *Phases) has(name string) bool { return a.Env(name) != "" }

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
	remote, err := locate(ctx, repo)
	if err != nil {
		return nil //nolint:nilerr // the phase says what is wrong with its repository
	}
	c, err := a.client(ctx, remote)
	if err != nil {
		return nil //nolint:nilerr // it is down, or the engine knows more
	}
	t, err := a.tokens(ctx, c.find, remote.Host)
	if err != nil {
		return nil //nolint:nilerr // there is none here
	}
	return a.engine().Renew(ctx, serve.Renewal{Host: remote.Host, Token: t.author.Reveal(),
		Reviewer: t.reviewer.Reveal()})
}
