package cruising

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// where says which repository on which forge is meant, where the git remote doesn't.
type where struct {
	forge  string // "github", "gitea", or with an address: "gitea=https://git.example.org"
	repo   string // OWNER/NAME or HOST/OWNER/NAME
	remote string // name of the git remote
	branch string
}

// connect opens the forge of the repository that dir is in.
func (t *tool) connect(ctx context.Context, st *store.Store, dir string, w where) (fullForge, error) {
	remote, err := t.locate(ctx, dir, w)
	if err != nil {
		return nil, err
	}
	kind, base, _ := strings.Cut(w.forge, "=")
	if base != "" {
		if remote, err = rebase(remote, base); err != nil {
			return nil, err
		}
	}
	if kind == "" {
		kind = t.Env("CCO_FORGE")
	}
	// Only a host that the user names is trusted with a token that is for no host in particular.
	named := base != "" || strings.Count(w.repo, "/") > 1
	switch k, err := t.kind(ctx, remote, forge.Kind(kind)); {
	case err != nil:
		return nil, err
	case k == forge.Gitea:
		return t.gitea(st, remote, named)
	default:
		return t.github(ctx, st, remote, named)
	}
}

// locate finds the repository by flag, or by the remote of the branch.
func (t *tool) locate(ctx context.Context, dir string, w where) (forge.Remote, error) {
	remote, err := t.fromGit(ctx, dir, w)
	if w.repo == "" {
		return remote, err
	}
	if ctx.Err() != nil {
		return remote, err
	}
	return forge.ParseRepo(w.repo, remote)
}

func (t *tool) fromGit(ctx context.Context, dir string, w where) (forge.Remote, error) {
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return forge.Remote{}, err
	}
	name := w.remote
	if name == "" {
		if name, err = repo.Remote(ctx, w.branch); err != nil {
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

// rebase puts a repository on the forge at another address.
func rebase(r forge.Remote, base string) (forge.Remote, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return r, app.Usagef("--forge: %q is not an address", base)
	}
	r.Scheme, r.Host, r.Prefix = u.Scheme, strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/")
	return r, nil
}

// kind says which forge a host is: by flag, by name, by the user's own settings, and at last by asking it.
func (t *tool) kind(ctx context.Context, r forge.Remote, said forge.Kind) (forge.Kind, error) {
	switch said {
	case forge.GitHub, forge.Gitea:
		return said, nil
	case "":
	default:
		return "", app.Usagef("no forge %q; there are %v", said, forge.Kinds())
	}
	if k, ok := forge.KindOf(r.Host); ok {
		return k, nil
	}
	if strings.EqualFold(t.Env("GH_HOST"), r.Host) {
		return forge.GitHub, nil
	}
	if u, err := url.Parse(t.Env("GITEA_SERVER_URL")); err == nil && strings.EqualFold(u.Host, r.Host) {
		return forge.Gitea, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for _, ask := range []struct {
		path string
		kind forge.Kind
	}{{"/api/v1/version", forge.Gitea}, {"/api/v3/meta", forge.GitHub}} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Base()+ask.path, nil)
		if err != nil {
			return "", err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			break
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || ask.kind == forge.GitHub && resp.Header.Get("X-GitHub-Media-Type") != "" {
			return ask.kind, nil
		}
	}
	return "", &forge.HostError{Host: r.Host}
}

func (t *tool) gitea(st *store.Store, remote forge.Remote, named bool) (fullForge, error) {
	id, err := gitea.Lookup{Env: t.Env, Read: os.ReadFile, Home: t.Home, Named: named}.Find(remote.Host)
	if err != nil {
		return nil, err
	}
	o := gitea.Options{Remote: remote, Author: id, Journal: st.Journal(), Clock: wire.Real(rand.Float64)}
	if token := t.Env("CCO_REVIEWER_TOKEN"); token != "" {
		o.Reviewer = &gitea.Identity{Source: "CCO_REVIEWER_TOKEN", Token: forge.Secret(token)}
	}
	return gitea.New(o)
}

// github connects as the user, or as an App where there is no user; where there are both, the App reviews.
func (t *tool) github(ctx context.Context, st *store.Store, remote forge.Remote, named bool) (fullForge, error) {
	o := github.Options{Remote: remote, Journal: st.Journal(), Clock: wire.Real(rand.Float64)}
	if remote.Scheme == "https" {
		o.Pace = time.Second // what GitHub asks for; plain http is a server on this machine
	}
	look := github.Lookup{Env: t.Env, Read: os.ReadFile, Home: t.Home, Named: named,
		Run: func(ctx context.Context, argv ...string) (string, error) {
			out, err := proc.Output(ctx, proc.Cmd{Argv: argv})
			return string(out), err
		}}
	app, err := t.app(ctx, remote, named, o.Clock)
	if err != nil {
		return nil, err
	}
	o.Author, err = look.Find(ctx, remote.Host)
	_, none := errors.AsType[*forge.NoTokenError](err)
	switch {
	case none && app != nil:
		o.Author, app = *app, nil
	case err != nil:
		return nil, err
	}
	o.Reviewer = app
	if token := t.Env("CCO_REVIEWER_TOKEN"); token != "" {
		id := github.Fixed("CCO_REVIEWER_TOKEN", forge.Secret(token))
		o.Reviewer = &id
	}
	return github.New(o)
}

// app gives the GitHub App that the user has set up, nil if there is none. What it signs is good for ten minutes, so it
// goes to no host but the one that it is for.
func (t *tool) app(ctx context.Context, remote forge.Remote, named bool, clock wire.Clock) (*github.Identity, error) {
	id, file := t.Env("CCO_GITHUB_APP_ID"), t.Env("CCO_GITHUB_APP_KEY")
	kind, known := forge.KindOf(remote.Host)
	ours := known && kind == forge.GitHub || named || strings.EqualFold(t.Env("GH_HOST"), remote.Host)
	if id == "" || !ours {
		return nil, nil
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of the GitHub App (CCO_GITHUB_APP_KEY names its file): %w", err)
	}
	a := github.App{ID: id, Key: key}
	if text := t.Env("CCO_GITHUB_APP_INSTALLATION"); text != "" {
		if a.Installation, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, app.Usagef("CCO_GITHUB_APP_INSTALLATION is not a number")
		}
	}
	who, err := a.Identity(ctx, remote, http.DefaultTransport, clock)
	if err != nil {
		return nil, err
	}
	return &who, nil
}
