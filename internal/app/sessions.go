package app

import (
	"context"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Which says which sessions are listed.
type Which struct {
	All    bool     // not only those of the command's repository; outside of one all are listed anyway
	Box    string   // only those of one box
	States []string // only those in one of these
	Most   int      // only so many, the newest; 0 is all
}

// ListSessions lists sessions, newest first, and says how many others there are of other repositories.
func (a *App) ListSessions(ctx context.Context, w Which) (list []store.Session, others int, err error) {
	for _, name := range w.States {
		if !slices.Contains(store.States(), store.State(name)) {
			return nil, 0, Usagef("no state %q; there are %s", name, strings.Join(StateNames(), ", "))
		}
	}
	if w.Most < 0 {
		return nil, 0, Usagef("-n %d: it can't be negative", w.Most)
	}
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if w.Box != "" {
		if _, err := s.Boxes.Record(w.Box); err != nil {
			return nil, 0, err
		}
	}
	all, err := s.List(ctx, w.Box)
	if err != nil {
		return nil, 0, err
	}
	key := ""
	if !w.All {
		key = a.repoKey(ctx)
	}
	for _, v := range all {
		switch {
		case key != "" && v.RepoKey != key:
			others++
		case len(w.States) > 0 && !slices.Contains(w.States, string(v.State)):
		case w.Most == 0 || len(list) < w.Most:
			list = append(list, v)
		}
	}
	return list, others, nil
}

// OpenRepo opens a repository of the user's, unless git would wait there.
func (a *App) OpenRepo(ctx context.Context, dir string) (*git.Repo, error) {
	s := session.Service{Data: a.Dirs.Data}
	return s.Open(ctx, dir)
}

// repoKey identifies the repository that the command is in, "" if it is in none.
func (a *App) repoKey(ctx context.Context) string {
	repo, err := a.OpenRepo(ctx, a.Dir)
	if err != nil {
		return "" // more is listed than was asked for
	}
	return repo.Key()
}

// StateNames lists the states that a session can have.
func StateNames() (names []string) {
	for _, s := range store.States() {
		names = append(names, string(s))
	}
	return names
}
