package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
)

// pictures has a file for each run of which a canary has something to tell. It outlasts workspaces and boxes.
func (s *Service) pictures() string { return filepath.Join(s.Data, "canary") }

// NewPicture is the place for that of a run which begins now.
func (s *Service) NewPicture(id string) string {
	return filepath.Join(s.pictures(), fmt.Sprintf("%s-%d.json", id, s.Now().UnixMilli()))
}

// Open opens a repository of the user's. Where agents have run that nothing but the guard kept from it, git could be
// made to wait there for ever.
func (s *Service) Open(ctx context.Context, dir string) (*git.Repo, error) {
	_, boxed := os.Lstat(s.pictures())
	if _, guarded := os.Lstat(filepath.Join(s.Data, "guard")); boxed == nil || guarded == nil {
		if err := git.Passable(ctx, dir); err != nil {
			return nil, err
		}
	}
	return git.Open(ctx, dir)
}

// maxRecorded bounds how much of one report goes into the log; all of it is in the report.
const maxRecorded = 100

// Concluded gives what moved in the user's repository while a session ran; nil if nothing did. If that was not compared
// yet, because its keeper died, it is now. The caller holds the session's lock.
func (s *Service) Concluded(ctx context.Context, rec store.Session, picture string) (*canary.Report, error) {
	r, err := canary.Read(picture)
	switch {
	case err != nil:
		return nil, ignoreMissing(err) // another has seen that nothing moved
	case r.Before == nil:
		return &r, nil
	}
	if b, d, err := s.Boxes.Find(rec.Box); err == nil && b.Spec.NoKernel() {
		if err := s.halt(ctx, b, d, rec.ID); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(r.Repo); errors.Is(err, os.ErrNotExist) {
		return nil, os.Remove(picture) // you have removed it
	}
	repo, err := s.Open(ctx, r.Repo)
	if err != nil {
		return nil, err
	}
	now, err := canary.Take(ctx, repo)
	if err != nil {
		return nil, err
	}
	if r.Moved, r.Before, r.Time = canary.Compare(r.Before, now), nil, s.Now(); len(r.Moved) == 0 {
		return nil, os.Remove(picture)
	}
	log := audit.Open(s.Data, s.Now)
	for _, m := range r.Moved[:min(maxRecorded, len(r.Moved))] {
		err = errors.Join(err, log.Add(audit.Entry{Session: rec.ID, Kind: audit.Canary, Agent: rec.Agent,
			Reason: m.Words(), Path: m.What}))
	}
	if err != nil {
		s.Warn("what the canary found is not logged: %v", err)
	}
	return &r, r.Keep(picture)
}

// Findings gives what canaries have to tell: of one session, of all in a box, or of all. A session that runs has
// nothing yet. What is forgotten is not told again. What can't be compared keeps nothing else from being told.
func (s *Service) Findings(ctx context.Context, id, boxName string, forget bool) (list []canary.Report, err error) {
	entries, err := os.ReadDir(s.pictures())
	err = ignoreMissing(err)
	for _, e := range entries {
		of, _, _ := strings.Cut(e.Name(), "-")
		rec, unknown := s.Get(ctx, of)
		if _, pruned := errors.AsType[*store.NotFoundError](unknown); unknown != nil && !pruned {
			return nil, unknown
		}
		if rec.ID = of; id != "" && id != of || boxName != "" && boxName != rec.Box {
			continue
		}
		r, failed := s.reportOf(ctx, rec, filepath.Join(s.pictures(), e.Name()), forget)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("compare after session %s: %w", of, failed))
		} else if r != nil {
			list = append(list, *r)
		}
	}
	if err == nil && id != "" && len(list) == 0 {
		_, err = s.Get(ctx, id) // there may be no such session
	}
	return list, err
}

// reportOf gives the report of one run, nil if there is none yet.
func (s *Service) reportOf(ctx context.Context, rec store.Session, picture string, forget bool) (*canary.Report,
	error) {
	lock, err := s.KeeperLock(rec.ID)
	if busy(err) && !forget { // its keeper runs, or has reported and is about to end
		r, err := canary.Read(picture)
		if err != nil || r.Before != nil {
			return nil, ignoreMissing(err)
		}
		return &r, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	r, err := s.Concluded(ctx, rec, picture)
	if forget {
		err = ignoreMissing(os.Remove(picture))
	}
	return r, err
}

// tellFindings says, where a session's work comes back, that there is more to look at.
func (s *Service) tellFindings(ctx context.Context, rec store.Session) {
	reports, err := s.Findings(ctx, rec.ID, "", false)
	if err != nil {
		s.Warn("your repository could not be compared with what it was before session %s: %v", rec.ID, err)
	}
	for _, r := range reports {
		s.Warn("%s", FoundWords(r))
	}
}

// FoundWords sums up a canary's report in a line.
func FoundWords(r canary.Report) string {
	return fmt.Sprintf("%s while session %s ran: look with `cco guard canary %s`", r.Count(), r.Session, r.Session)
}
