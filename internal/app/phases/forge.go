package phases

import (
	"cmp"
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

// Where says which repository on which forge is meant, if the git remote doesn't.
type Where struct {
	Forge  string // a kind, or with an address: "gitea=https://git.example.org"
	Repo   string // OWNER/NAME or HOST/OWNER/NAME
	Remote string // name of the git remote
	Branch string
}

// Forge is a forge with what commands need in addition to what phases need.
type Forge interface {
	steps.Forge
	Find(ctx context.Context, branch string) (forge.Pull, error)
	Reply(ctx context.Context, number int, to string, p forge.Post) (forge.Posted, error)
	Pull(ctx context.Context, number int) (forge.Pull, error)
	Us(ctx context.Context) ([]string, error)
	Limits() []forge.Limit
}

// Forge opens the forge of the repository that dir is in.
func (a *Phases) Forge(ctx context.Context, st *store.Store, dir string, w Where) (Forge, error) {
	remote, err := locate(ctx, dir, w)
	if err != nil {
		return nil, err
	}
	kind, base, _ := strings.Cut(w.Forge, "=")
	said := forge.Kind(cmp.Or(kind, a.Env("CCO_FORGE")))
	if base != "" {
		if remote, err = rebase(remote, said, base); err != nil {
			return nil, err
		}
	}
	// A token that is for no particular host goes only to a host that the user names.
	named := base != "" || forge.NamesHost(w.Repo, remote)
	c, err := a.client(ctx, remote, said)
	if err != nil {
		return nil, err
	}
	if base == "" {
		remote = c.Place(remote)
	}
	return c.open(a, ctx, st, remote, named)
}

// locate finds the repository by flag, or by the remote of the branch.
func locate(ctx context.Context, dir string, w Where) (forge.Remote, error) {
	remote, err := fromGit(ctx, dir, w)
	if w.Repo == "" {
		return remote, err
	}
	if ctx.Err() != nil {
		return remote, err
	}
	return forge.ParseRepo(w.Repo, remote)
}

func fromGit(ctx context.Context, dir string, w Where) (forge.Remote, error) {
	if strings.Contains(dir, "://") {
		return forge.ParseRemote(dir) // a phase that any machine may run knows its repository by its address
	}
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return forge.Remote{}, err
	}
	name := w.Remote
	if name == "" {
		if name, err = repo.Remote(ctx, w.Branch); err != nil {
			return forge.Remote{}, err
		}
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

// rebase puts a repository on the forge of a kind at another address.
func rebase(r forge.Remote, kind forge.Kind, base string) (forge.Remote, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return r, app.Usagef("--forge: %q is not an address", base)
	}
	for _, row := range forge.Rows() {
		if row.Kind == kind {
			r = row.Place(r)
		}
	}
	return r.Move(u.Scheme, u.Host, u.Path), nil
}

// client is a kind of forge that cco can talk to.
type client struct {
	forge.Row
	find finder
	open func(a *Phases, ctx context.Context, st *store.Store, r forge.Remote, named bool) (Forge, error)
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

// client finds the client for a host: by flag, by name, by the user's own settings, and last by asking the host.
func (a *Phases) client(ctx context.Context, r forge.Remote, said forge.Kind) (client, error) {
	all := clients()
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
