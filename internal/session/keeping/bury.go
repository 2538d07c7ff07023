// Package keeping removes what sessions have on disk, so that nothing is lost, and restores it.
package keeping

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Keeping removes and restores over the sessions of a service.
type Keeping struct{ *session.Service }

// Of removes and restores.
func Of(s *session.Service) Keeping { return Keeping{s} }

// The parts of a grave.
const (
	graveWork  = "workspace"
	graveHome  = "home"
	gravePack  = "workspace.tar" // of a workspace in a machine of its own
	graveOrder = "order.json"
)

// These are the points at which a removal or a return can be broken off: everything after them is done by the next
// start, and nothing is lost. Tests break it off at each.
const (
	atRecorded = "recorded"
	atDead     = "dead"
	atMoved    = "moved"
	atWiped    = "wiped"
	atOrdered  = "ordered"
	atSynced   = "synced"
	atCleared  = "cleared"
	atStored   = "stored"
	atRaised   = "raised"
	atOut      = "published"
	atHome     = "home"
)

func (s Keeping) at(step string) {
	if s.Fault != nil {
		s.Fault(step)
	}
}

func (s Keeping) yard() graveyard.Yard {
	return graveyard.Yard{Dir: filepath.Join(s.Data, "graveyard")}
}

// Bury moves what sessions have in their boxes to the graveyard, and says where it is. Whoever calls it has their
// locks.
func (s Keeping) Bury(ctx context.Context, list []session.Holding) (dirs []string, err error) {
	known, err := s.Store.Graves(ctx, "")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var graves []store.Grave
	more := soon(slice / 4)
	for _, h := range list {
		b, d, err := s.Boxes.Find(h.Box)
		if err != nil {
			return nil, err
		}
		g := store.Grave{Session: h.ID, N: 1, State: store.Removing, Box: b.Name, BoxMade: b.Created, RepoKey: h.RepoKey,
			Held: h.NowhereElse(), Buried: s.Now()}
		if here, ok := d.(box.Reachable); ok {
			g.Bytes, _ = graveyard.Size(here.HostWorkspace(b, h.ID), more)
		}
		g.Arrived = g.Held == ""
		for graveyard.Has(s.yard().Grave(g.Name())) ||
			slices.ContainsFunc(known, func(o store.Grave) bool { return o.Session == g.Session && o.N == g.N }) {
			g.N++
		}
		graves = append(graves, g)
	}
	err = errors.Join(s.yard().Open(), s.room(ctx, graves))
	if err == nil {
		err = s.Store.AddGraves(ctx, graves...)
	}
	if err != nil {
		return nil, err
	}
	s.at(atRecorded)
	if err := s.finishRemoving(ctx, graves); err != nil {
		return nil, err
	}
	for _, g := range graves {
		if dir := s.yard().Grave(g.Name()); graveyard.Has(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// finishRemoving does what is left of removals: from the beginning, or from where they were broken off.
func (s Keeping) finishRemoving(ctx context.Context, list []store.Grave) error {
	var errs []error
	var done, empty []store.Grave
	dirs := []string{s.yard().Dir}
	for _, g := range list {
		from, err := s.take(ctx, g)
		if err != nil {
			errs = append(errs, fmt.Errorf("session %s stays: %w", g.Session, err))
			continue
		}
		dir := s.yard().Grave(g.Name())
		if !slices.ContainsFunc([]string{graveWork, graveHome, gravePack}, func(name string) bool {
			return graveyard.Has(filepath.Join(dir, name))
		}) {
			empty = append(empty, g) // there was none any more
			continue
		}
		done, dirs = append(done, g), append(dirs, dir)
		if from != "" && graveyard.Has(from) {
			dirs = append(dirs, from)
		}
	}
	if err := graveyard.Sync(dirs...); err != nil {
		return errors.Join(append(errs, err)...)
	}
	s.at(atSynced)
	for _, g := range slices.Concat(done, empty) {
		errs = append(errs, s.clearBox(ctx, g))
	}
	for _, g := range empty {
		errs = append(errs, s.yard().Throw(s.yard().Grave(g.Name())))
	}
	s.at(atCleared)
	return errors.Join(append(errs, s.Store.SetGraves(ctx, store.Buried, done...),
		s.Store.RemoveGraves(ctx, empty...))...)
}

// boxOf finds the box that a grave's session was in; nil if it is gone, even if another has its name now.
func (s Keeping) boxOf(g store.Grave) (*box.Box, box.Driver, error) {
	b, d, err := s.Boxes.Find(g.Box)
	if errors.As(err, new(*box.NotFoundError)) || err == nil && b.Created.UnixMilli() != g.BoxMade.UnixMilli() {
		return nil, nil, nil
	}
	return b, d, err
}

// take moves a session's workspace and what stays of its home to its grave, and gives the directory where they were.
func (s Keeping) take(ctx context.Context, g store.Grave) (from string, err error) {
	dir := s.yard().Grave(g.Name())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	b, d, err := s.boxOf(g)
	if err != nil {
		return "", err
	}
	if b != nil {
		if err := d.Halt(ctx, b, g.Session); err != nil {
			return "", err
		}
		s.at(atDead)
		here, ok := d.(box.Reachable)
		if !ok {
			err = s.pack(ctx, b, d, g, dir)
		} else {
			from = here.HostSession(b, g.Session)
			err = s.moveParts(from, dir)
		}
		if err != nil {
			return from, err
		}
	}
	if err := s.yard().Wipe(filepath.Join(dir, graveHome), roster.Private(), credentials()); err != nil {
		return from, err
	}
	s.at(atWiped)
	if err := ignoreMissing(graveyard.MoveFile(s.OrderFile(g.Session), filepath.Join(dir, graveOrder))); err != nil {
		return from, err
	}
	s.at(atOrdered)
	return from, nil
}

func (s Keeping) moveParts(from, dir string) error {
	for _, name := range []string{graveWork, graveHome} {
		to := filepath.Join(dir, name)
		remade := name == graveHome && (graveyard.Has(to) || graveyard.Has(to+".kept"))
		if remade || !graveyard.Has(filepath.Join(from, name)) {
			continue // nothing is there, or only what a return has made anew
		}
		if err := graveyard.Move(filepath.Join(from, name), to); err != nil {
			return err
		}
		s.at(atMoved)
	}
	return nil
}

// credentials are what of agents never stays.
func credentials() (names []string) {
	for _, r := range roster.All() {
		names = append(names, r.Logins...)
	}
	return names
}

// pack fetches a workspace from another machine.
func (s Keeping) pack(ctx context.Context, b *box.Box, d box.Driver, g store.Grave, dir string) error {
	to := filepath.Join(dir, gravePack)
	if graveyard.Has(to) {
		return nil // it was packed before
	}
	if running, err := d.Running(ctx, b); err != nil || !running {
		return errors.Join(err, &box.NotRunningError{Name: b.Name})
	}
	f, err := os.CreateTemp(dir, "half-")
	if err != nil {
		return err
	}
	words := &proc.Tail{Max: 1 << 10}
	err = d.Run(ctx, b, box.Exec{Session: g.Session, Own: true, Argv: []string{"tar", "-cf", "-", "."}, Stdout: f,
		Stderr: words})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("fetch its workspace: %w: %s", err, safetext.Line(words.String())),
			os.Remove(f.Name()))
	}
	err = os.Rename(f.Name(), to)
	s.at(atMoved)
	return err
}

// clearBox removes what a session has beside its grave.
func (s Keeping) clearBox(ctx context.Context, g store.Grave) error {
	b, d, err := s.boxOf(g)
	if b != nil {
		err = d.Discard(ctx, b, g.Session)
	}
	return errors.Join(err, s.clearRest(g.Session))
}

// clearRest removes what a session without a workspace has on disk, but for its transcript.
func (s Keeping) clearRest(id string) error {
	return errors.Join(tree.Remove(s.Exchange(id)), tree.Remove(s.QuarantineDir(id)), s.Forget(id),
		ignoreMissing(os.Remove(s.Socket(id))), ignoreMissing(os.Remove(s.OrderFile(id))))
}

// Settle finishes what was broken off: removals, and returns from the graveyard. It leaves alone what another process
// is about, and tells of what it can't do.
func (s Keeping) Settle(ctx context.Context) {
	list, err := s.Store.Graves(ctx, store.Buried)
	if err != nil {
		s.Warn("the graveyard can't be read: %v", err)
		return
	}
	for _, g := range list {
		if err := s.settle(ctx, g); err != nil {
			s.Warn("the removal of session %s was broken off and can't be finished: %v", g.Session, err)
		}
	}
}

func (s Keeping) settle(ctx context.Context, g store.Grave) error {
	lock, err := s.KeeperLock(g.Session)
	if err != nil {
		return nil //nolint:nilerr // another process is about it
	}
	defer func() { _ = lock.Close() }()
	now, err := s.graveNow(ctx, g)
	switch {
	case err != nil || now == nil: // it was finished since
	case now.State == store.Raised:
		err = s.finishRaising(ctx, *now)
	case now.State == store.Removing:
		err = s.finishRemoving(ctx, []store.Grave{*now})
	}
	return err
}

func (s Keeping) graveNow(ctx context.Context, g store.Grave) (*store.Grave, error) {
	list, err := s.Store.Graves(ctx, "")
	for _, now := range list {
		if now.Session == g.Session && now.N == g.N {
			return &now, err
		}
	}
	return nil, err
}

// room refuses removals for which the graveyard has no room: what is nowhere else is never removed for its size.
func (s Keeping) room(ctx context.Context, list []store.Grave) error {
	if s.Graves == nil {
		return nil
	}
	there, err := s.byAge(ctx)
	if err != nil {
		return err
	}
	want, adds, oldest := int64(0), false, ""
	for i, g := range slices.Concat(list, there) {
		switch {
		case g.Arrived:
			continue
		case i < len(list):
			adds = true
		case oldest == "":
			oldest = ", or remove what you don't need for good with `cco box graveyard rm " + g.Name() + "`"
		}
		want += g.Bytes
	}
	if !adds || want <= s.Graves.Size {
		return nil
	}
	return &session.StateError{Why: fmt.Sprintf("the graveyard would hold %d KiB of work that exists nowhere else, and "+
		"graveyard.size is %d KiB\nnothing was removed: pull that work, raise graveyard.size%s", (want+1023)>>10,
		s.Graves.Size>>10, oldest)}
}

// byAge lists what is in the graveyard, the oldest first.
func (s Keeping) byAge(ctx context.Context) ([]store.Grave, error) {
	list, err := s.Store.Graves(ctx, "")
	slices.SortStableFunc(list, func(a, b store.Grave) int { return a.Buried.Compare(b.Buried) })
	return list, err
}

// slice is how long a command removes or measures what nobody waits for.
const slice = time.Second

func soon(d time.Duration) (more func() bool) {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

// Expire removes graves whose time is over and, if they take too much room, those whose work has arrived, the oldest
// first. It works for a second, and goes on the next time.
func (s Keeping) Expire(ctx context.Context) error {
	if s.Graves == nil {
		return nil
	}
	list, err := s.byAge(ctx)
	if err != nil {
		return err
	}
	var all int64
	for _, g := range list {
		all += g.Bytes
	}
	var errs []error
	for _, g := range list {
		old := s.Now().Sub(g.Buried) >= time.Duration(s.Graves.Days)*24*time.Hour
		if g.State != store.Buried || !old && (!g.Arrived || all <= s.Graves.Size) {
			continue
		}
		all -= g.Bytes
		errs = append(errs, s.dropGrave(ctx, g))
	}
	errs = append(errs, s.dropStores(ctx))
	_, err = s.yard().Sweep(soon(slice))
	return errors.Join(append(errs, err)...)
}

// dropGrave removes a grave. Its directory is out of sight first: a record without one says nothing.
func (s Keeping) dropGrave(ctx context.Context, g store.Grave) error {
	lock, err := s.KeeperLock(g.Session)
	if errors.As(err, new(*session.BusyError)) {
		return nil // something is done with it: the next time
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if now, err := s.graveNow(ctx, g); err != nil || now == nil || now.State != store.Buried {
		return err // it was restored since, or some of it is still in a box
	}
	if err := errors.Join(s.yard().Throw(s.yard().Grave(g.Name())), s.Store.RemoveGraves(ctx, g)); err != nil {
		return err
	}
	if rec, err := s.Store.Session(ctx, g.Session); err == nil && !graveyard.Has(s.OrderFile(g.Session)) {
		s.DropBase(ctx, rec)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
