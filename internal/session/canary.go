package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/guard/audit"
	"github.com/cco-dev/cco/internal/store"
)

// FoundWords sums up a canary's report in a line.
func FoundWords(r canary.Report) string {
	return fmt.Sprintf("it made %s: cco guard canary %s", canary.Count(len(r.Grave())), r.Session)
}

// maxRecorded bounds how much of one report goes into the log; all of it is in the report.
const maxRecorded = 100

// LogFindings puts what canaries have found into the guard's log.
func (s *Service) LogFindings(r canary.Report, rec store.Session) error {
	log := audit.Open(s.Data, s.Now)
	for _, f := range r.Findings[:min(maxRecorded, len(r.Findings))] {
		reason := f.Words
		if f.Ordinary {
			reason = "ordinary: " + reason
		}
		if f.Why != "" {
			reason += " (" + f.Why + ")"
		}
		if err := log.Add(audit.Entry{Session: rec.ID, Kind: audit.Canary, Agent: rec.Agent, Rule: string(f.Kind),
			Reason: reason, Path: f.What}); err != nil {
			return err
		}
	}
	return nil
}

// Peers adds what other sessions of the same repository may change.
func (s *Service) Peers(ctx context.Context, own canary.Own, rec store.Session) (canary.Own, error) {
	list, err := s.Store.Sessions(ctx, "")
	if err != nil {
		return own, err
	}
	for _, v := range list {
		if v.ID == rec.ID || v.RepoKey != rec.RepoKey {
			continue
		}
		own.Peers = append(own.Peers, v.ID)
		for _, tip := range []string{v.Tip, v.Wip} {
			if tip != "" {
				own.Tips = append(own.Tips, tip)
			}
		}
	}
	return own, nil
}

// finishComparing makes sure that what a session did was compared, also if its keeper died before that, and gives the
// report. It is nil if there is nothing to report. The caller holds the session's lock.
func (s *Service) finishComparing(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) (*canary.Report,
	error) {
	dir := canary.Dir(b.Dir, rec.ID)
	if !canary.Pending(dir) {
		return canary.ReadReport(dir)
	}
	if err := d.Halt(ctx, b, rec.ID); err != nil {
		return nil, err
	}
	own, err := s.Peers(ctx, canary.Own{ID: rec.ID}, rec)
	if err != nil {
		return nil, err
	}
	r, err := canary.Conclude(ctx, b.Spec.Repo, dir, own, s.Now())
	if err != nil {
		return nil, err
	}
	if err := s.LogFindings(r, rec); err != nil {
		s.Warn("the canary's findings are not logged: %v", err)
	}
	return &r, nil
}

// afterDeath compares for a keeper that is gone, and gives the reason for which its session failed.
func (s *Service) afterDeath(ctx context.Context, rec store.Session) string {
	const interrupted = string(store.Interrupted)
	b, d, err := s.Boxes.Find(rec.Box)
	if err != nil {
		return interrupted
	}
	if _, shared := d.(box.Sharer); !shared {
		return interrupted
	}
	r, err := s.finishComparing(ctx, b, d, rec)
	switch {
	case err != nil:
		s.Warn("session %s: your repository could not be compared with what it was before: %v", rec.ID, err)
	case r != nil && r.Frozen:
		return interrupted + "; " + FoundWords(*r)
	}
	return interrupted
}

// Thawed refuses a frozen box, after making sure that all comparisons are done.
func (s *Service) Thawed(ctx context.Context, b *box.Box, d box.Driver) error {
	if _, shared := d.(box.Sharer); !shared {
		return nil
	}
	if _, err := s.canaries(ctx, b, d); err != nil {
		return err
	}
	return canary.Check(b.Dir, b.Name)
}

// canaries gives every report of a box.
func (s *Service) canaries(ctx context.Context, b *box.Box, d box.Driver) ([]canary.Report, error) {
	ids, err := canary.Sessions(b.Dir)
	if err != nil {
		return nil, err
	}
	var list []canary.Report
	for _, id := range ids {
		r, err := s.reportOf(ctx, b, d, id)
		if err != nil {
			return nil, fmt.Errorf("compare after session %s: %w", id, err)
		}
		if r != nil {
			list = append(list, *r)
		}
	}
	return list, nil
}

// reportOf gives the report of one session, nil while it runs. One that can't be read is itself a finding.
func (s *Service) reportOf(ctx context.Context, b *box.Box, d box.Driver, id string) (*canary.Report, error) {
	if !validID(id) {
		return nil, nil
	}
	lock, err := s.keeperLock(id)
	if busy(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	rec, err := s.Store.Session(ctx, id)
	if err != nil {
		if _, forgotten := errors.AsType[*store.NotFoundError](err); !forgotten {
			return nil, err
		}
		rec = store.Session{ID: id}
	}
	r, err := s.finishComparing(ctx, b, d, rec)
	if err != nil && ctx.Err() == nil && !canary.Pending(canary.Dir(b.Dir, id)) {
		r, err = &canary.Report{Session: id, Frozen: true, Findings: []canary.Finding{canary.Unreadable(err)}}, nil
	}
	if r != nil {
		r.Session, r.Box = id, b.Name
	}
	return r, err
}

// compareThenCheck is frozenBy for a session that may not have been compared yet.
func (s *Service) compareThenCheck(ctx context.Context, rec store.Session) error {
	if b, d, err := s.Boxes.Find(rec.Box); err == nil {
		if _, err := s.reportOf(ctx, b, d, rec.ID); err != nil {
			return fmt.Errorf("compare after session %s: %w", rec.ID, err)
		}
	}
	return s.frozenBy(rec)
}

// frozenBy refuses to bring a session's work back before somebody has looked at what else it changed.
func (s *Service) frozenBy(rec store.Session) error {
	b, _, err := s.Boxes.Find(rec.Box)
	if err != nil {
		return nil // a box that is gone holds nothing back
	}
	list, err := canary.Frozen(b.Dir)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Session == rec.ID {
			return &canary.FrozenError{Box: b.Name, Reports: []canary.Report{r}}
		}
	}
	return nil
}
