package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Kill ends a session's agent and waits until its work is kept.
func (s *Service) Kill(ctx context.Context, id string) error { return s.Stop(ctx, id, 0) }

// Stop is Kill of an agent that has some time to end by itself.
func (s *Service) Stop(ctx context.Context, id string, patience time.Duration) error {
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
	if patience > 0 {
		err = link.Stop()
		defer time.AfterFunc(patience, func() { _ = link.Kill() }).Stop()
	} else {
		err = link.Kill()
	}
	if err != nil {
		return fmt.Errorf("end session %s: %w", id, err)
	}
	if err := link.Follow(func(Event) error { return nil }); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	lock, err := s.LockSoon(ctx, id) // its keeper has hung up, and is about to exit
	if err != nil {
		return err
	}
	return lock.Close()
}

// OnTerminal says whether a session's agent has a terminal that a person can type into.
func (s *Service) OnTerminal(id string) bool {
	order, err := s.ReadOrder(id)
	return err == nil && order.Interactive
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

// Enter makes sure that a session's workspace can be looked into.
func (s *Service) Enter(ctx context.Context, id string) (store.Session, error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return rec, err
	}
	if _, err := os.Stat(s.OrderFile(id)); err != nil {
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

// Place makes sure that a session's place in its box is there. Where a pull has removed its exchange directory, leave
// does so again, unless something is in it by now.
func (s *Service) Place(ctx context.Context, b *box.Box, d box.Driver, id string) (p box.Place, leave func(),
	err error) {
	_, gone := os.Lstat(s.Exchange(id))
	p, err = d.Prepare(ctx, b, id)
	return p, func() {
		if errors.Is(gone, os.ErrNotExist) {
			_ = os.Remove(s.Exchange(id))
		}
	}, err
}

// maxReason bounds what an agent can make a record say.
const maxReason = 300

// FirstLine is the part of a text that goes into a record, safe to show.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return safetext.Line(safetext.Fit(s, maxReason))
}

// WorkspacePath is where a person finds a session's workspace on this machine. In a machine of its own it is the path
// that the agent sees.
func (s *Service) WorkspacePath(ctx context.Context, rec store.Session) string {
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if r, ok := d.(box.Reachable); err == nil && ok {
		return r.HostWorkspace(b, rec.ID)
	}
	return "/workspace/" + rec.ID
}

// Started finds a box and starts it if it is stopped.
func (s *Service) Started(ctx context.Context, name string) (b *box.Box, d box.Driver, now bool, err error) {
	if b, d, err = s.Boxes.Ready(ctx, name); !errors.Is(err, box.ErrNotRunning) {
		return b, d, false, err
	}
	if err = s.Boxes.Start(ctx, name, s.Report); err != nil {
		return nil, nil, false, err
	}
	b, d, err = s.Boxes.Ready(ctx, name)
	return b, d, true, err
}

// maxWords bounds what is kept of an agent's last words.
const maxWords = 256 << 10

// LastWords is what the agent said last, after its last tool, and how it says that it ended.
func (s Looking) LastWords(ctx context.Context, id string) (words string, last event.Finished, err error) {
	var said strings.Builder
	final := ""
	err = s.Events(ctx, id, false, func(e Event) error {
		switch {
		case e.Kind == KindAgent:
			said.Reset()
			final, last = "", event.Finished{}
		case e.Kind != KindEvent || e.Agent == nil || e.Agent.Parent != "":
		case e.Agent.Kind == event.KindToolCall:
			said.Reset()
		case e.Agent.Kind == event.KindText && !e.Agent.Aside && said.Len() < maxWords:
			said.WriteString(e.Agent.Text)
			said.WriteByte('\n')
		case e.Agent.Kind == event.KindFinished && e.Agent.Finished != nil:
			final, last = e.Agent.Finished.Text, *e.Agent.Finished
		}
		return nil
	})
	if final != "" && len(final) <= maxWords {
		return final, last, err
	}
	return said.String(), last, err
}
