package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Unsaved is work that exists in a box and nowhere else.
type Unsaved struct {
	ID  string `json:"id"`
	Why string `json:"why"`

	pull bool // some of it can be pulled
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
	if slices.ContainsFunc(e.Work, func(w Unsaved) bool { return w.pull }) {
		b.WriteString("\npull it first, or use --force, which leaves it in the graveyard")
	} else {
		b.WriteString("\nno pull brings it: use --force, which leaves it in the graveyard")
	}
	return b.String()
}

// Destroyed is what was removed with a box or a workspace.
type Destroyed struct {
	Buried  []string       `json:"buried"`  // files of the graveyard
	Ignored inside.Ignored `json:"ignored"` // what is never saved
}

// DestroyBox removes a box and the sessions in it. Work that exists nowhere else, or can't be saved, stops it; with
// force it is saved in the graveyard as far as possible. What is beside the sessions' branches is always saved.
func (s *Service) DestroyBox(ctx context.Context, name string, force bool, limit int64) (gone Destroyed, err error) {
	b, d, err := s.Boxes.Find(name)
	if err != nil {
		return gone, err
	}
	list, err := s.List(ctx, name)
	if err != nil {
		return gone, err
	}
	if err := s.endAll(ctx, list, force); err != nil {
		return gone, err
	}
	if b.Spec.Repo != "" {
		return gone, s.destroyOld(ctx, b, list, force)
	}
	in := &entrance{s: s, name: name}
	all, err := s.stakes(ctx, list, func(string) (*box.Box, box.Driver, error) { return in.open(ctx) })
	if err != nil {
		return gone, errors.Join(err, in.leave(ctx))
	}
	var work []Unsaved
	for i, v := range list {
		if why := all[i].refusal(); why != "" {
			work = append(work, Unsaved{ID: v.ID, Why: why, pull: len(all[i].work()) > 0})
		}
	}
	if len(work) > 0 && !force {
		return gone, errors.Join(&UnsavedError{Box: name, Work: work}, in.leave(ctx))
	}
	for i, v := range list {
		files, err := s.save(ctx, b, d, v, all[i], limit)
		if err != nil && !in.gone {
			return gone, errors.Join(fmt.Errorf("save session %s: %w", v.ID, err), in.leave(ctx))
		}
		gone.Buried = append(gone.Buried, files...)
		gone.Ignored = gone.Ignored.Plus(all[i].Ignored)
	}
	return gone, s.removeBox(ctx, name, list)
}

// entrance starts a stopped box that has to be inspected, and stops it again afterwards.
type entrance struct {
	s       *Service
	name    string
	asked   bool
	started bool
	gone    bool // the box and its contents are gone
	b       *box.Box
	d       box.Driver
	err     error
}

func (e *entrance) open(ctx context.Context) (*box.Box, box.Driver, error) {
	if e.asked {
		return e.b, e.d, e.err
	}
	e.asked = true
	if e.b, e.d, e.err = e.s.Boxes.Ready(ctx, e.name); !errors.Is(e.err, box.ErrNotRunning) {
		return e.b, e.d, e.err
	}
	if e.err = e.s.Boxes.Start(ctx, e.name, e.s.Report); e.err != nil {
		stale, _ := errors.AsType[*box.StaleError](e.err)
		e.gone = stale != nil && stale.Gone
		return nil, nil, e.err
	}
	e.started = true
	e.b, e.d, e.err = e.s.Boxes.Ready(ctx, e.name)
	return e.b, e.d, e.err
}

func (e *entrance) leave(ctx context.Context) error {
	if !e.started {
		return nil
	}
	return e.s.Boxes.Stop(context.WithoutCancel(ctx), e.name)
}

// endAll ends running sessions under force, and refuses without it.
func (s *Service) endAll(ctx context.Context, list []store.Session, force bool) (err error) {
	for i, v := range list {
		if !v.Live() {
			continue
		}
		if !force {
			return &StateError{ID: v.ID, State: v.State, Why: "end it with `cco box kill " + v.ID + "`, or use --force"}
		}
		if err := s.Kill(ctx, v.ID); err != nil {
			return fmt.Errorf("end session %s: %w", v.ID, err)
		}
		if list[i], err = s.Get(ctx, v.ID); err != nil {
			return err
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
		if v.State != store.Pulled {
			s.dropBase(ctx, v)
		}
		errs = append(errs, tree.Remove(s.Exchange(v.ID)), tree.Remove(s.quarantineDir(v.ID)),
			s.Forget(v.ID),
			ignoreMissing(os.Remove(s.orderFile(v.ID))))
	}
	return errors.Join(append(errs, s.Store.ForgetSent(ctx, name, ""))...)
}

// buryWorkspace moves a workspace that could not be bundled. It reads nothing in it.
func (s *Service) buryWorkspace(ctx context.Context, b *box.Box, d box.Driver, id string) ([]string, error) {
	to, err := s.grave(id, "workspace")
	if err != nil {
		return nil, err
	}
	err = os.Rename(filepath.Join(b.Dir, "sessions", id, "workspace"), to)
	if err == nil {
		return []string{to}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
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
		return nil, errors.Join(fmt.Errorf("fetch its workspace: %w: %s", err, safetext.Line(words.String())), os.Remove(to))
	}
	return []string{to}, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
