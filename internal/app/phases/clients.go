package phases

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

func (a *Phases) gitea(_ context.Context, st *store.Store, remote forge.Remote, named bool) (Forge, error) {
	id, err := gitea.Lookup{Env: a.Env, Read: os.ReadFile, Home: a.Home, Named: named}.Find(remote.Host)
	if err != nil {
		return nil, err
	}
	o := gitea.Options{Remote: remote, Author: id, Journal: st.Journal(), Clock: wire.Real(rand.Float64)}
	if token := a.Env("CCO_REVIEWER_TOKEN"); token != "" {
		o.Reviewer = &gitea.Identity{Source: "CCO_REVIEWER_TOKEN", Token: forge.Secret(token)}
	}
	return gitea.New(o)
}

// github connects as the user, or as an App if there is no user; if there are both, the App reviews.
func (a *Phases) github(ctx context.Context, st *store.Store, remote forge.Remote, named bool) (Forge, error) {
	o := github.Options{Remote: remote, Journal: st.Journal(), Clock: wire.Real(rand.Float64)}
	if remote.Scheme == "https" {
		o.Pace = time.Second // what GitHub asks for; plain http is a server on this machine
	}
	look := github.Lookup{Env: a.Env, Read: os.ReadFile, Home: a.Home, Named: named,
		Run: func(ctx context.Context, argv ...string) (string, error) {
			out, err := proc.Output(ctx, proc.Cmd{Argv: argv})
			return string(out), err
		}}
	app, err := a.app(ctx, remote, named, o.Clock)
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
	if token := a.Env("CCO_REVIEWER_TOKEN"); token != "" {
		id := github.Fixed("CCO_REVIEWER_TOKEN", forge.Secret(token))
		o.Reviewer = &id
	}
	return github.New(o)
}

// app gives the GitHub App that the user has set up, nil if there is none. What it signs is valid for ten minutes, so
// it goes only to the host that it is for.
func (a *Phases) app(ctx context.Context, remote forge.Remote, named bool, clock wire.Clock) (*github.Identity, error) {
	id, file := a.Env("CCO_GITHUB_APP_ID"), a.Env("CCO_GITHUB_APP_KEY")
	kind, known := forge.KindOf(remote.Host)
	ours := known && kind == forge.GitHub || named || strings.EqualFold(a.Env("GH_HOST"), remote.Host)
	if id == "" || !ours {
		return nil, nil
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of the GitHub App (CCO_GITHUB_APP_KEY names its file): %w", err)
	}
	signer := github.App{ID: id, Key: key}
	if text := a.Env("CCO_GITHUB_APP_INSTALLATION"); text != "" {
		if signer.Installation, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, app.Usagef("CCO_GITHUB_APP_INSTALLATION is not a number")
		}
	}
	who, err := signer.Identity(ctx, remote, http.DefaultTransport, clock)
	if err != nil {
		return nil, err
	}
	return &who, nil
}
