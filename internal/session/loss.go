package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Unsaved is work that exists in a box and nowhere else.
type Unsaved struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// UnsavedError refuses to remove work that exists nowhere else.
type UnsavedError struct {
	Box  string
	Work []Unsaved
}

func (e *UnsavedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "box %s holds work that exists nowhere else:", e.Box)
	for _, w := range e.Work {
		fmt.Fprintf(&b, "\n  session %s: %s", w.ID, w.Why)
	}
	b.WriteString("\npull it first, or use --force, which leaves it in the graveyard")
	return b.String()
}

// DestroyBox removes a box and the sessions in it. Work that exists nowhere else stops it, or with force is saved in the
// graveyard, whose files it returns.
func (s *Service) DestroyBox(ctx context.Context, name string, force bool, limit int64) (buried []string, err error) {
	b, d, err := s.Boxes.Find(name)
	if err != nil {
		return nil, err
	}
	list, err := s.List(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := s.idle(list, force); err != nil {
		return nil, err
	}
	if err := s.Thawed(ctx, b, d); err != nil && !force {
		return nil, err // what is needed to undo goes with the box
	}
	// A stopped box has to be entered once more to see what is in it.
	gone := false
	if len(list) > 0 {
		err := s.Boxes.Start(ctx, name, s.Report)
		stale, _ := errors.AsType[*box.StaleError](err)
		if gone = stale != nil && stale.Gone; err != nil && !gone && !force {
			return nil, err
		}
	}
	work, err := s.unsaved(ctx, b, d, list)
	if err != nil {
		return nil, err
	}
	if len(work) > 0 && !force {
		return nil, &UnsavedError{Box: name, Work: work}
	}
	for _, w := range work {
		files, err := s.buryAll(ctx, b, d, w.ID, limit)
		if err != nil && !gone {
			return buried, fmt.Errorf("save session %s: %w", w.ID, err)
		}
		buried = append(buried, files...)
	}
	return buried, s.removeBox(ctx, name, list)
}

// idle ends running sessions when it is forced to.
func (s *Service) idle(list []store.Session, force bool) error {
	for _, v := range list {
		if v.Live() && !force {
			return &StateError{ID: v.ID, State: v.State, Why: "end it with `cco box kill " + v.ID + "`, or use --force"}
		}
	}
	return nil
}

func (s *Service) removeBox(ctx context.Context, name string, list []store.Session) error {
	if err := s.Boxes.Destroy(ctx, name); err != nil {
		return err
	}
	var errs []error
	for _, v := range list {
		errs = append(errs, tree.Remove(s.exchange(v.ID)), tree.Remove(filepath.Join(s.dir(v.ID), "quarantine")),
			ignoreMissing(os.Remove(s.orderFile(v.ID))))
	}
	return errors.Join(append(errs, s.Store.ForgetSent(ctx, name, ""))...)
}

// unsaved publishes every session of a box once more and compares it with what the user's repositories have.
func (s *Service) unsaved(ctx context.Context, b *box.Box, d box.Driver, list []store.Session) ([]Unsaved, error) {
	var work []Unsaved
	for _, v := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := os.Stat(s.orderFile(v.ID)); err != nil || v.Started.IsZero() {
			continue // no agent ever worked there, or it was removed already
		}
		if why := s.atStake(ctx, b, d, v); why != "" {
			work = append(work, Unsaved{ID: v.ID, Why: why})
		}
	}
	return work, nil
}

// atStake says what of a session would be lost with its workspace; "" if nothing.
func (s *Service) atStake(ctx context.Context, b *box.Box, d box.Driver, v store.Session) string {
	if v.Live() {
		if err := s.Kill(ctx, v.ID); err != nil {
			return "still at work, and can't be ended: " + err.Error()
		}
	}
	if err := s.publish(ctx, b, d, v); err != nil {
		return "its workspace can't be read: " + err.Error()
	}
	r, err := s.readResult(v)
	if err != nil {
		return err.Error()
	}
	repo, err := git.Open(ctx, v.Repo)
	var lost []string
	for _, c := range []struct{ what, sha string }{{"commits up to ", r.Head}, {"uncommitted work, kept as ", r.Wip}} {
		if c.sha == "" || c.sha == v.Base {
			continue
		}
		if err != nil || !repo.Has(ctx, c.sha) {
			lost = append(lost, c.what+c.sha[:min(10, len(c.sha))])
		}
	}
	if len(r.Others) > 0 && v.State != store.Pulled {
		lost = append(lost, "branches "+git.Clean(strings.Join(r.Others, ", ")))
	}
	return strings.Join(lost, "; ")
}

// buryAll saves what a session has published, or its workspace as it is where nothing could be published.
func (s *Service) buryAll(ctx context.Context, b *box.Box, d box.Driver, id string, limit int64) ([]string, error) {
	if _, err := s.readOut(id, inside.ResultFile, maxResult); err != nil {
		return s.buryWorkspace(ctx, b, d, id)
	}
	var files []string
	for _, name := range []string{inside.OutputBundle, inside.RestBundle} {
		if _, err := os.Lstat(filepath.Join(s.exchange(id), name)); err != nil {
			continue
		}
		f, err := s.bury(ctx, id, name, limit)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// buryWorkspace moves a workspace that nobody could make a bundle of. Nothing in it is read.
func (s *Service) buryWorkspace(ctx context.Context, b *box.Box, d box.Driver, id string) ([]string, error) {
	to, err := s.grave(id, "workspace")
	if err != nil {
		return nil, err
	}
	for _, from := range []string{filepath.Join(b.Dir, "sessions", id, "workspace"), filepath.Join(b.Dir, "worktrees", id)} {
		err := os.Rename(from, to)
		if err == nil {
			return []string{to}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if _, afar := d.(box.Machine); afar {
		return s.fetchWorkspace(ctx, b, d, id)
	}
	return nil, nil // there is none any more
}

// fetchWorkspace saves one that is in another machine. What can't be saved keeps the box from being destroyed.
func (s *Service) fetchWorkspace(ctx context.Context, b *box.Box, d box.Driver, id string) (_ []string, err error) {
	to, err := s.grave(id, "workspace.tar")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	words := &proc.Tail{Max: 1 << 10}
	err = d.Run(ctx, b, box.Exec{Session: id, Own: true, Argv: []string{"tar", "-cf", "-", "."}, Stdout: f, Stderr: words})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("fetch its workspace: %w: %s", err, git.Clean(words.String())), os.Remove(to))
	}
	return []string{to}, nil
}

// grave is a new name in the graveyard, from where nothing is ever removed by itself.
func (s *Service) grave(id, name string) (string, error) {
	dir := filepath.Join(s.Data, "graveyard")
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", id, s.Now().UTC().Format("20060102T150405"), name)), os.MkdirAll(dir, 0o700)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
