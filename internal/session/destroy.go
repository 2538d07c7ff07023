package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/store"
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
		b.WriteString("\npull it first, or use --force, which moves it to the graveyard")
	} else {
		b.WriteString("\nno pull brings it: use --force, which moves it to the graveyard")
	}
	return b.String()
}

// Destroyed is what was removed with a box or a workspace.
type Destroyed struct {
	Buried []string `json:"buried"` // directories of the graveyard
	Days   int      `json:"days"`   // for how long they stay
	// Disk is that of a machine which did not start, in the graveyard until a person removes it.
	Disk string `json:"disk,omitempty"`
}

// DestroyBox removes a box and moves the sessions in it to the graveyard. Work that exists nowhere else stops it unless
// force says so.
func (s Keeping) DestroyBox(ctx context.Context, name string, force bool) (gone Destroyed, err error) {
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
	in := &entrance{s: s.Service, name: name}
	all, err := s.HandOff().leftBy(ctx, list, in.open)
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
	disk, movable := d.(box.Disked)
	if _, afar := d.(box.Machine); afar {
		_, _, err = in.open(ctx, name) // its workspaces are packed in there
	}
	switch {
	case in.gone:
		err = nil
	case err != nil && force && movable && ctx.Err() == nil:
		gone.Disk, err = s.buryDisk(ctx, disk, b, err)
	case err == nil:
		gone.Buried, err = s.buryAll(ctx, list, all)
		if err == nil {
			err = s.keepStores(ctx, b, d)
		}
	}
	if err != nil {
		return gone, errors.Join(err, in.leave(ctx))
	}
	if s.Graves != nil {
		gone.Days = s.Graves.Days
	}
	return gone, errors.Join(s.removeBox(ctx, name, list), s.Expire(ctx))
}

// buryAll moves the workspaces of sessions that have one to the graveyard.
func (s Keeping) buryAll(ctx context.Context, list []store.Session, all []Left) (dirs []string, err error) {
	known, err := s.Store.Graves(ctx, "")
	if err != nil {
		return nil, err
	}
	more := s.soon(slice / 4)
	var graves []store.Grave
	for i, v := range list {
		b, d, err := s.Boxes.Find(v.Box)
		if !graveyard.Has(s.orderFile(v.ID)) || as[*box.NotFoundError](err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock, err := s.lockSoon(ctx, v.ID) // a keeper may still be finishing
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }()
		if o, err := s.ReadOrder(v.ID); v.Started.IsZero() || err == nil && o.View != "" {
			// No agent ever worked there, or it only looked at another's.
			if err := errors.Join(d.Discard(ctx, b, v.ID), s.clearRest(v.ID)); err != nil {
				return nil, err
			}
			continue
		}
		graves = append(graves, s.newGrave(b, d, v, all[i], more, known))
	}
	if err := s.bury(ctx, graves); err != nil {
		return nil, err
	}
	for _, g := range graves {
		if dir := s.yard().Grave(g.Name()); graveyard.Has(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// buryDisk moves the disk of a machine that does not start to the graveyard: nothing can be packed in it.
func (s Keeping) buryDisk(ctx context.Context, d box.Disked, b *box.Box, why error) (string, error) {
	from, err := d.Disk(ctx, b)
	if err != nil || from == "" || !graveyard.Has(from) {
		return "", errors.Join(why, err)
	}
	name := machineGrave + storeName(b.Name, b.Created.UnixMilli())
	to := s.yard().Grave(name)
	if err := errors.Join(s.yard().Open(), graveyard.Move(from, to), graveyard.Sync(s.yard().Dir,
		filepath.Dir(from))); err != nil {
		return "", errors.Join(why, fmt.Errorf("keep its disk: %w", err))
	}
	s.Warn("box %s does not start, so that its disk was moved to %s; it stays there until `cco box graveyard rm %s`: %v",
		b.Name, to, name, why)
	return to, nil
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

func (e *entrance) open(ctx context.Context, _ string) (*box.Box, box.Driver, error) {
	if e.asked {
		return e.b, e.d, e.err
	}
	e.asked = true
	e.b, e.d, e.started, e.err = e.s.started(ctx, e.name)
	stale, _ := errors.AsType[*box.StaleError](e.err)
	e.gone = stale != nil && stale.Gone
	return e.b, e.d, e.err
}

func (e *entrance) leave(ctx context.Context) error {
	if !e.started {
		return nil
	}
	return e.s.Boxes.Stop(context.WithoutCancel(ctx), e.name)
}

// endAll ends running sessions under force, and refuses without it.
func (s Keeping) endAll(ctx context.Context, list []store.Session, force bool) (err error) {
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

func (s Keeping) removeBox(ctx context.Context, name string, list []store.Session) error {
	if err := s.Boxes.Destroy(ctx, name); err != nil {
		return err
	}
	var errs []error
	for _, v := range list {
		if v.State != store.Pulled {
			s.dropBase(ctx, v)
		}
		errs = append(errs, s.clearRest(v.ID))
	}
	return errors.Join(append(errs, s.Store.ForgetSent(ctx, name, ""))...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
