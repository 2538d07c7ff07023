package phases

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
)

// Forge is a forge with what it takes to take a request up, in addition to what phases need.
type Forge interface {
	steps.Forge
	Find(ctx context.Context, branch string) (forge.Pull, error)
}

// Forge opens the forge of the repository that dir is in.
func (a *Phases) Forge(ctx context.Context, st *store.Store, dir string) (Forge, error) {
	remote, err := locate(ctx, dir)
	if err != nil {
		return nil, err
	}
	c, err := a.client(ctx, remote)
	if err != nil {
		return nil, err
	}
	return c.open(a, ctx, st, c.Place(remote))
}

// locate finds the repository by its remote.
func locate(ctx context.Context, dir string) (forge.Remote, error) {
	if strings.Contains(dir, "://") {
		return forge.ParseRemote(dir) // a phase that any machine may run knows its repository by its address
	}
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return forge.Remote{}, err
	}
	name, err := repo.Remote(ctx, "")
	if err != nil {
		return forge.Remote{}, err
	}
	if name == "" {
		return forge.Remote{}, &forge.RemoteError{Remote: "origin", Why: "the repository has no remote"}
	}
	raw, err := repo.RemoteURL(ctx, name)
	if err != nil {
		return forge.Remote{}, err
	}
	return forge.ParseRemote(raw)
}

// client is a kind of forge that cco can talk to.
type client struct {
	forge.Row
	find finder
	open func(a *Phases, ctx context.Context, st *store.Store, r forge.Remote) (Forge, error)
}

// clients are all kinds, with how each is opened.
func clients() (list []client) {
	open := map[forge.Kind]client{
		forge.Gitea:  {find: (*Phases).giteaToken, open: (*Phases).gitea},
		forge.GitHub: {find: (*Phases).githubToken, open: (*Phases).github},
	}
	for _, r := range forge.Rows() {
		c := open[r.Kind]
		c.Row = r
		list = append(list, c)
	}
	return list
}

// client finds the client for a host: by CCO_FORGE, by name, by the user's own settings, and last by asking the host.
func (a *Phases) client(ctx context.Context, r forge.Remote) (client, error) {
	all, said := clients(), forge.Kind(a.Env("CCO_FORGE"))
	kind := said
	if kind == "" {
		kind, _ = forge.KindOf(r.Host)
	}
	if i := slices.IndexFunc(all, func(c client) bool { return c.Kind == kind }); i >= 0 {
		return all[i], nil
	}
	if said != "" {
		return client{}, app.Usagef("no forge %q; there are %v", said, forge.Kinds())
	}
	if i := slices.IndexFunc(all, func(c client) bool { return names(a.Env(c.HostVar), r.Host) }); i >= 0 {
		return all[i], nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for _, c := range all {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Place(r).Base()+c.Ask, nil)
		if err != nil {
			return c, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			break
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || c.Header != "" && resp.Header.Get(c.Header) != "" {
			return c, nil
		}
	}
	return client{}, &forge.HostError{Host: r.Host}
}

// names says whether a setting is a host, or an address at it.
func names(setting, host string) bool {
	u, err := url.Parse(setting)
	return strings.EqualFold(setting, host) || err == nil && strings.EqualFold(u.Host, host)
}
