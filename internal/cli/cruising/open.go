package cruising

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// forge opens the forge of a repository on this machine, found by its remote.
func (t *tool) forge(ctx context.Context, st *store.Store, dir string) (fullForge, error) {
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	raw, err := repo.RemoteURL(ctx, "origin")
	if err != nil {
		return nil, err
	}
	remote, err := forge.ParseRemote(raw)
	if err != nil {
		return nil, err
	}
	kind, known := forge.KindOf(remote.Host)
	if k := t.Env("CCO_FORGE"); k != "" {
		kind, known = forge.Kind(k), true
	}
	if !known {
		return nil, &forge.HostError{Host: remote.Host}
	}
	if kind == forge.Gitea {
		id, err := gitea.Lookup{Env: t.Env, Read: os.ReadFile, Home: t.Home()}.Find(remote.Host)
		if err != nil {
			return nil, err
		}
		return gitea.New(gitea.Options{Remote: remote, Author: id, Journal: &forge.Memory{}, Clock: wire.Real(rand.Float64), Base: http.DefaultTransport})
	}
	look := github.Lookup{Env: t.Env, Read: os.ReadFile, Home: t.Home(), Run: func(ctx context.Context, argv ...string) (string, error) {
		out, err := proc.Output(ctx, proc.Cmd{Argv: argv})
		return string(out), err
	}}
	id, err := look.Find(ctx, remote.Host)
	if err != nil {
		return nil, err
	}
	return github.New(github.Options{Remote: remote, Author: id, Journal: &forge.Memory{}, Clock: wire.Real(rand.Float64), Base: http.DefaultTransport})
}
