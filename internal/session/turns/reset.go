package turns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Reset makes a workspace again at a commit of the user's repository, for work that goes on from somebody else's. What
// it holds and the commit does not contain is kept at the ref that it gives, "" if there is none. It can be repeated.
func (s Turns) Reset(ctx context.Context, id, commit string, o session.PullOptions) (kept string, err error) {
	rec, err := s.AtRest(ctx, id)
	if err != nil {
		return "", err
	}
	b, d, err := s.readyBox(ctx, rec.Box)
	if err != nil {
		return "", err
	}
	at := s.workspaceHead(ctx, b, d, rec)
	if at != "" && at != commit {
		got, err := s.Collect(ctx, id, "", o)
		if err != nil {
			return "", err
		}
		if kept, err = s.keepOurs(ctx, rec, got.Tip, commit); err != nil {
			return "", err
		}
	}
	if at != commit {
		rec.Base = commit
		if _, err := s.fillWorkspace(ctx, b, d, rec); err != nil {
			return kept, err
		}
	}
	_, err = s.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.Base, v.Tip, v.Wip = commit, commit, ""
		return nil
	})
	return kept, errors.Join(err, s.clearPublished(id))
}

// keepOurs writes a ref for work that a commit does not contain.
func (s Turns) keepOurs(ctx context.Context, rec store.Session, ours, commit string) (string, error) {
	repo, err := s.Repository(ctx, rec, session.Where{})
	if err != nil {
		return "", err
	}
	if in, err := repo.IsAncestor(ctx, ours, commit); err != nil || in {
		return "", err
	}
	ref := "refs/cco/" + rec.ID + "-ours"
	_, err = repo.SetRefs(ctx, []git.NamedRef{{Name: ref, OID: ours}})
	return ref, err
}

// workspaceHead is the commit that a workspace is at, "" if there is none.
func (s Turns) workspaceHead(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) string {
	var out bytes.Buffer
	if rec.Started.IsZero() || s.Forget(rec.ID) != nil ||
		d.Run(ctx, b, box.Exec{Session: rec.ID, Own: true, Argv: []string{"git", "rev-parse", "--verify", "--quiet", "HEAD"},
			Repo: rec.RepoKey, Stdout: &out}) != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// Lend makes a commit of the user's repository known in a workspace, so that an agent can merge it.
func (s Turns) Lend(ctx context.Context, id, commit string) error {
	rec, err := s.AtRest(ctx, id)
	if err != nil {
		return err
	}
	b, d, err := s.readyBox(ctx, rec.Box)
	if err != nil {
		return err
	}
	lock, err := s.KeeperLock(id)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.Repository(ctx, rec, session.Where{})
	if err != nil {
		return err
	}
	if err := errors.Join(d.Halt(ctx, b, id), os.MkdirAll(s.Exchange(id), 0o700),
		s.Clear(id, inside.InputBundle)); err != nil {
		return err
	}
	rec.Base = commit
	if err := s.SendBase(ctx, b, d, repo, rec); err != nil {
		return fmt.Errorf("send %s to the box: %w", git.Short(commit), err)
	}
	return s.Store.MarkSent(ctx, rec.Box, rec.RepoKey, commit, s.Now())
}
