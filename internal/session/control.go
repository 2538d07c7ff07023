package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Kill ends a session's agent and waits until its work is kept.
func (s *Service) Kill(ctx context.Context, id string) error {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if !rec.Live() {
		return &StateError{ID: id, State: rec.State, Why: "nothing of it is running"}
	}
	link, err := s.Dial(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = link.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	if err := link.Kill(); err != nil {
		return fmt.Errorf("kill session %s: %w", id, err)
	}
	if err := link.Follow(func(Event) error { return nil }); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return s.gone(ctx, id)
}

// OnTerminal says whether a session's agent has a terminal that a person can type into.
func (s *Service) OnTerminal(id string) bool {
	order, err := s.ReadOrder(id)
	return err == nil && order.Interactive
}

// gone waits until a keeper that has hung up has exited, so that its lock is free.
func (s *Service) gone(ctx context.Context, id string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := s.keeperLock(id)
		if err == nil {
			return lock.Close()
		}
		if !busy(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Events calls each for the events of a session, and with follow goes on until it ends.
func (s *Service) Events(ctx context.Context, id string, follow bool, each func(Event) error) error {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if follow && rec.Live() {
		if link, err := s.Dial(ctx, id); err == nil {
			defer func() { _ = link.Close() }()
			stop := context.AfterFunc(ctx, func() { _ = link.Close() })
			defer stop()
			err := link.Follow(each)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
	f, err := os.Open(s.TranscriptFile(id))
	if errors.Is(err, os.ErrNotExist) {
		if !rec.Started.IsZero() {
			s.Warn("the transcript of session %s was pruned", id)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return ReadEvents(f, each)
}

// Changed is what a session changed: the range of its commits, and what a person must know of it.
type Changed struct {
	Base    string
	Tip     string
	Wip     string // what was left uncommitted, as a commit
	Pulled  bool
	Summary git.Summary
	Gate    gate.Report
}

// Seen names what was shown, for PullOptions.Seen.
func (c Changed) Seen() string { return PullResult{head: c.Tip, wip: c.Wip}.Seen() }

// Look opens what a session changed: in quarantine, if it has not been pulled.
func (s *Service) Look(ctx context.Context, id string, o PullOptions, read func(*git.Repo, Changed) error) error {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if rec.Live() {
		return &StateError{ID: id, State: rec.State, Why: "its work can be seen when it has ended"}
	}
	repo, err := s.repository(ctx, rec, o.where())
	if err != nil {
		return err
	}
	if rec.State == store.Pulled {
		c := Changed{Base: rec.Origin, Tip: rec.Tip, Pulled: true}
		if c.Summary, err = repo.Summary(ctx, c.Base, c.Tip); err != nil {
			return err
		}
		if c.Gate, err = gate.Examine(ctx, repo, gate.Range{Base: c.Base, Tip: c.Tip}); err != nil {
			return err
		}
		return read(repo, c)
	}
	lock, err := s.lock(id, pullLock)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	pub, err := s.published(ctx, rec, false)
	if err != nil {
		return err
	}
	q, err := s.quarantine(ctx, repo, rec, pub, o)
	if err != nil {
		return err
	}
	if q == nil {
		return read(repo, Changed{Base: rec.Base, Tip: rec.Base})
	}
	defer func() { _ = q.Close() }()
	r := PullResult{Base: rec.Base, head: pub.Head, wip: pub.Wip}
	if r.Summary, err = q.Summary(ctx); err == nil {
		err = s.look(ctx, q, &r)
	}
	if err != nil {
		return err
	}
	return read(q.Inside(), Changed{Base: rec.Base, Tip: pub.Head, Wip: pub.Wip, Summary: r.Summary, Gate: r.Gate})
}

// Diff writes what a session changed, as a patch, and says what of it a person must know.
func (s *Service) Diff(ctx context.Context, w io.Writer, id string, style git.DiffStyle, o PullOptions) (r gate.Report,
	err error) {
	err = s.Look(ctx, id, o, func(repo *git.Repo, c Changed) error {
		r = c.Gate
		if c.Base == c.Tip && c.Wip == "" {
			return nil
		}
		return repo.Diff(ctx, w, c.Base, c.Tip, style)
	})
	return r, err
}

// CleanLines makes text from a box safe to show and short enough to read.
func CleanLines(text string) string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if len(out) == 20 {
			out = append(out, "…")
			break
		}
		out = append(out, safetext.Line(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(out, "\n")
}

// writeNew puts a complete file into a directory that an agent can write to, and never follows a link of the agent's.
func writeNew(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, ".cco-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Enter makes sure that a session's workspace can be looked into.
func (s *Service) Enter(ctx context.Context, id string) (store.Session, error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return rec, err
	}
	if _, err := os.Stat(s.orderFile(id)); err != nil {
		return rec, &StateError{ID: id, State: rec.State, Why: "its workspace was removed"}
	}
	if rec.Live() {
		return rec, nil
	}
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return rec, err
	}
	// Its exchange directory went with the pull.
	if _, err := d.Prepare(ctx, b, id); err != nil {
		return rec, err
	}
	// The user may change something in there, so what was published before may be out of date.
	return rec, errors.Join(s.Forget(id), tree.Remove(filepath.Join(s.Exchange(id), inside.ResultFile)))
}

// maxReason bounds what an agent can make a record say.
const maxReason = 300

// FirstLine is the part of a text that goes into a record, safe to show.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return safetext.Line(safetext.Fit(s, maxReason))
}
