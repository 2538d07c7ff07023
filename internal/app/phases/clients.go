package phases

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
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

// journal is the record of what cco said on forges, with the key of this data directory.
func (a *Phases) journal(st *store.Store) (forge.Journal, error) {
	key, err := forge.OpenKey(a.Dirs.Data)
	own := forge.Keyed{Log: st.Journal(), Key: key}
	if err != nil {
		return own, err
	}
	c, err := a.cluster()
	if c != nil {
		return forge.Everywhere{Keyed: own}, err
	}
	return own, err
}

// tokens are the secrets for a host.
type tokens struct {
	author   forge.Secret
	source   string // of the author's, for messages
	reviewer forge.Secret
}

// finder finds the user's token for a host.
type finder func(a *Phases, ctx context.Context, host string) (source string, token forge.Secret, err error)

// tokens finds the tokens for a host: those that a command gave, or those of the environment.
func (a *Phases) tokens(ctx context.Context, find finder, host string) (tokens, error) {
	if t, ok := a.given.of(host); ok {
		return t, nil
	}
	source, token, err := find(a, ctx, host)
	return tokens{author: token, source: source, reviewer: forge.Secret(a.Env("CCO_REVIEWER_TOKEN"))}, err
}

func (a *Phases) giteaToken(_ context.Context, host string) (string, forge.Secret, error) {
	id, err := gitea.Lookup{Env: a.Env, Read: os.ReadFile, Home: a.Home}.Find(host)
	return id.Source, id.Token, err
}

func (a *Phases) gitea(ctx context.Context, st *store.Store, remote forge.Remote) (Forge, error) {
	t, err := a.tokens(ctx, (*Phases).giteaToken, remote.Host)
	if err != nil {
		return nil, err
	}
	journal, err := a.journal(st)
	if err != nil {
		return nil, err
	}
	o := gitea.Options{Remote: remote, Author: gitea.Identity{Source: t.source, Token: t.author}, Journal: journal,
		Clock: wire.Real(rand.Float64)}
	if t.reviewer != "" {
		o.Reviewer = &gitea.Identity{Source: "CCO_REVIEWER_TOKEN", Token: t.reviewer}
	}
	return gitea.New(o)
}

func (a *Phases) githubToken(ctx context.Context, host string) (string, forge.Secret, error) {
	id, err := github.Lookup{Env: a.Env, Read: os.ReadFile, Home: a.Home,
		Run: func(ctx context.Context, argv ...string) (string, error) {
			// gh takes a variable's token for any Enterprise server that it is asked for: only its logins are for one host.
			out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Env: slices.DeleteFunc(os.Environ(), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return slices.Contains(forge.TokenVars(), name)
			})})
			return string(out), err
		}}.Find(ctx, host)
	if err != nil {
		return "", "", err
	}
	token, err := id.Token(ctx)
	return id.Source, token, err
}

// github connects as the user, or as an App if there is no user; if there are both, the App reviews.
func (a *Phases) github(ctx context.Context, st *store.Store, remote forge.Remote) (Forge, error) {
	journal, err := a.journal(st)
	if err != nil {
		return nil, err
	}
	o := github.Options{Remote: remote, Journal: journal, Clock: wire.Real(rand.Float64)}
	if remote.Scheme == "https" {
		o.Pace = time.Second // what GitHub asks for; plain http is a server on this machine
	}
	app, err := a.app(ctx, remote, o.Clock)
	if err != nil {
		return nil, err
	}
	t, err := a.tokens(ctx, (*Phases).githubToken, remote.Host)
	o.Author = github.Fixed(t.source, t.author)
	_, none := errors.AsType[*forge.NoTokenError](err)
	switch {
	case none && app != nil:
		o.Author, app = *app, nil
	case err != nil:
		return nil, err
	}
	o.Reviewer = app
	if t.reviewer != "" {
		id := github.Fixed("CCO_REVIEWER_TOKEN", t.reviewer)
		o.Reviewer = &id
	}
	return github.New(o)
}

// app gives the GitHub App that the user has set up, nil if there is none. What it signs is valid for ten minutes, so
// it goes only to the host that it is for.
func (a *Phases) app(ctx context.Context, remote forge.Remote, clock wire.Clock) (*github.Identity, error) {
	id, file := a.Env("CCO_GITHUB_APP_ID"), a.Env("CCO_GITHUB_APP_KEY")
	kind, known := forge.KindOf(remote.Host)
	ours := known && kind == forge.GitHub || strings.EqualFold(a.Env("GH_HOST"), remote.Host)
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
