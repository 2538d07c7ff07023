package keeping

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// UnsavedError refuses to remove work that exists nowhere else.
type UnsavedError struct{ words string }

func (e *UnsavedError) Error() string { return e.words }

// Unsaved refuses to remove what exists in a box and nowhere else.
func Unsaved(name string, all []session.Holding) error {
	words, pull := "", false
	for _, h := range all {
		if why := h.Refusal(); why != "" {
			words += "\n  session " + h.ID + ": " + why
			pull = pull || len(h.Work()) > 0
		}
	}
	switch {
	case words == "":
		return nil
	case pull:
		words += "\npull it first, or use --force, which moves it to the graveyard"
	default:
		words += "\nno pull brings it: use --force, which moves it to the graveyard"
	}
	return &UnsavedError{"box " + name + " holds work that exists nowhere else:" + words}
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
	if err := s.EndAll(ctx, list, force); err != nil {
		return gone, err
	}
	var started bool
	var shut error // why it does not start, which is tried once
	enter := func(ctx context.Context, name string) (b *box.Box, d box.Driver, err error) {
		if err = shut; err == nil {
			var now bool
			b, d, now, err = s.Started(ctx, name)
			started, shut = started || now, err
		}
		return b, d, err
	}
	defer func() {
		if err != nil && started {
			err = errors.Join(err, s.Boxes.Stop(context.WithoutCancel(ctx), name))
		}
	}()
	all, err := s.HandOff().LeftBy(ctx, list, enter)
	if err == nil && !force {
		err = Unsaved(name, all)
	}
	if err != nil {
		return gone, err
	}
	disk, movable := d.(box.Disked)
	if _, afar := d.(box.Machine); afar {
		_, _, err = enter(ctx, name) // its workspaces are packed in there
	}
	stale, _ := errors.AsType[*box.StaleError](shut)
	switch {
	case stale != nil && stale.Gone:
		err = nil // its contents are gone
	case err != nil && force && movable && ctx.Err() == nil:
		gone.Disk, err = s.buryDisk(ctx, disk, b, err)
	case err == nil:
		gone.Buried, err = s.BuryAll(ctx, all)
		if err == nil {
			err = s.keepStores(ctx, b, d)
		}
	}
	if err != nil {
		return gone, err
	}
	started = false
	if s.Graves != nil {
		gone.Days = s.Graves.Days
	}
	return gone, errors.Join(s.removeBox(ctx, name, list), s.Expire(ctx))
}

// BuryAll moves the workspaces of sessions that have one to the graveyard, and says where they are.
func (s Keeping) BuryAll(ctx context.Context, all []session.Holding) (dirs []string, err error) {
	var list []session.Holding
	for _, h := range all {
		b, d, err := s.Boxes.Find(h.Box)
		if !graveyard.Has(s.OrderFile(h.ID)) || errors.As(err, new(*box.NotFoundError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock, err := s.LockSoon(ctx, h.ID) // a keeper may still be finishing
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }()
		if o, err := s.ReadOrder(h.ID); h.Started.IsZero() || err == nil && o.View != "" {
			// No agent ever worked there, or it only looked at another's.
			if err := errors.Join(d.Discard(ctx, b, h.ID), s.clearRest(h.ID)); err != nil {
				return nil, err
			}
			continue
		}
		list = append(list, h)
	}
	return s.Bury(ctx, list)
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

// EndAll ends running sessions under force, and refuses without it.
func (s Keeping) EndAll(ctx context.Context, list []store.Session, force bool) (err error) {
	for i, v := range list {
		if !v.Live() {
			continue
		}
		if !force {
			return &session.StateError{ID: v.ID, State: v.State, Why: "end it with `cco box kill " + v.ID + "`, or use --force"}
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
			s.DropBase(ctx, v)
		}
		errs = append(errs, s.clearRest(v.ID))
	}
	return errors.Join(append(errs, s.Store.ForgetSent(ctx, name, ""))...)
}
