package session

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/store"
)

// Findings gives what the canaries found: of one session, or of all in a box.
func (s *Service) Findings(ctx context.Context, id, boxName string) ([]canary.Report, error) {
	if id != "" {
		rec, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		b, d, err := s.Boxes.Find(rec.Box)
		if err != nil {
			return nil, err
		}
		r, err := s.reportOf(ctx, b, d, id)
		if err != nil || r == nil {
			return nil, err
		}
		return []canary.Report{*r}, nil
	}
	if _, err := s.List(ctx, boxName); err != nil { // this corrects sessions whose keepers died
		return nil, err
	}
	b, d, err := s.Boxes.Find(boxName)
	if err != nil {
		return nil, err
	}
	return s.canaries(ctx, b, d)
}

// UndoFindings puts back what a session changed in the user's repository, and opens its box if nothing is left. With
// all, what looks like the user's own work is put back too.
func (s *Service) UndoFindings(ctx context.Context, id string, all bool) (out []canary.Outcome, err error) {
	err = s.onFindings(ctx, id, func(b *box.Box, rec store.Session) error {
		own, err := s.Peers(ctx, canary.Own{ID: id}, rec)
		if err != nil {
			return err
		}
		out, err = canary.Mend(ctx, b.Spec.Repo, canary.Dir(b.Dir, id), own, all)
		return err
	})
	return out, err
}

// AcceptFindings leaves everything as it is, and opens the box.
func (s *Service) AcceptFindings(ctx context.Context, id string) error {
	return s.onFindings(ctx, id, func(b *box.Box, _ store.Session) error {
		return canary.Thaw(b.Dir, id,
			canary.Accepted)
	})
}

// onFindings changes a session while its lock keeps anybody from running it.
func (s *Service) onFindings(ctx context.Context, id string, do func(*box.Box, store.Session) error) error {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	b, _, err := s.Boxes.Find(rec.Box)
	if err != nil {
		return err
	}
	lock, err := s.keeperLock(id)
	if busy(err) {
		return &BusyError{ID: id, What: "run"}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return do(b, rec)
}
