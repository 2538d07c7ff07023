package keeping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/store"
)

// storeName is where the stores of a box are kept that is gone.
func storeName(name string, made int64) string { return fmt.Sprintf("%s-%d", name, made) }

// keepStores moves the objects that graves of a box borrow to the graveyard, before the box goes.
func (s Keeping) keepStores(ctx context.Context, b *box.Box, d box.Driver) error {
	here, ok := d.(box.Reachable)
	graves, err := s.Store.Graves(ctx, "")
	if err != nil || !ok {
		return err
	}
	dir := s.yard().Store(storeName(b.Name, b.Created.UnixMilli()))
	for _, g := range graves {
		from, to := here.HostStore(b, g.RepoKey), filepath.Join(dir, g.RepoKey)
		if g.Box != b.Name || g.BoxMade.UnixMilli() != b.Created.UnixMilli() || !graveyard.Has(from) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if graveyard.Has(to) {
			err = graveyard.Link(from, to) // an earlier destroy was broken off, and the box used again
		} else {
			err = graveyard.Move(from, to)
		}
		if err = errors.Join(err, graveyard.Sync(dir, filepath.Dir(from))); err != nil {
			return fmt.Errorf("keep what its sessions borrow: %w", err)
		}
	}
	s.at(atStored)
	return nil
}

// lendStore gives a box the objects that a grave's workspace borrows, if they are in the graveyard.
func (s Keeping) lendStore(b *box.Box, d box.Driver, g store.Grave) error {
	here, ok := d.(box.Reachable)
	if !ok {
		return nil
	}
	from := filepath.Join(s.yard().Store(storeName(g.Box, g.BoxMade.UnixMilli())), g.RepoKey)
	if !graveyard.Has(from) {
		own, was, err := s.boxOf(g)
		other, reachable := was.(box.Reachable)
		if err != nil || !reachable || own.Name == b.Name {
			return err
		}
		from = other.HostStore(own, g.RepoKey)
	}
	if !graveyard.Has(from) {
		return nil
	}
	return graveyard.Link(from, here.HostStore(b, g.RepoKey))
}

// dropStores removes the stores of boxes that are gone, if no grave borrows from them any more.
func (s Keeping) dropStores(ctx context.Context) error {
	entries, err := os.ReadDir(s.yard().Store(""))
	if err != nil || len(entries) == 0 {
		return ignoreMissing(err)
	}
	graves, err := s.Store.Graves(ctx, "")
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, g := range graves {
		used[storeName(g.Box, g.BoxMade.UnixMilli())] = true
	}
	var errs []error
	for _, e := range entries {
		if !used[e.Name()] {
			errs = append(errs, s.yard().Throw(s.yard().Store(e.Name())))
		}
	}
	return errors.Join(errs...)
}
