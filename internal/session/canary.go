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

// pictures has a directory for each run of which a canary has something to tell. It outlasts workspaces and boxes.
func (s *Service) pictures() string { return filepath.Join(s.Data, "canary") }

// NewPicture is the place for that of a run which begins now.
func (s *Service) NewPicture(id string) string {
	return filepath.Join(s.pictures(), fmt.Sprintf("%s-%d", id, s.Now().UnixMilli()))
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

// Concluded gives what changed in the user's repository while a session ran; nil if there is nothing to tell. If that
// was not compared yet, because its keeper died, it is now. The caller holds the session's lock.
func (s *Service) Concluded(ctx context.Context, rec store.Session, picture string) (*canary.Report, error) {
	told, _ := canary.ReadReport(picture)
	if b, d, err := s.Boxes.Find(rec.Box); err == nil && told == nil && b.Spec.NoKernel() {
		if err := s.halt(ctx, b, d, rec.ID); err != nil {
			return nil, err
		}
	}
	r, first, err := canary.Conclude(ctx, picture, s.Now())
	if err != nil || r == nil || !first {
		return r, err
	}
	log := audit.Open(s.Data, s.Now)
	for _, f := range r.Findings[:min(maxRecorded, len(r.Findings))] {
		err = errors.Join(err, log.Add(audit.Entry{Session: rec.ID, Kind: audit.Canary, Agent: rec.Agent,
			Rule: string(f.Kind), Reason: f.Words, Path: f.What}))
	}
	if err != nil {
		s.Warn("the canary's findings are not logged: %v", err)
	}
	return r, nil
}

// Findings gives what canaries have to tell: of one session, of all in a box, or of all. A session that runs has
// nothing yet. What is dismissed is not told again.
func (s *Service) Findings(ctx context.Context, id, boxName string, dismiss bool) (list []canary.Report, err error) {
	entries, err := os.ReadDir(s.pictures())
	for _, e := range entries {
		of, _, _ := strings.Cut(e.Name(), "-")
		rec, err := s.Get(ctx, of)
		if _, forgotten := errors.AsType[*store.NotFoundError](err); err != nil && !forgotten {
			return nil, err
		}
		if rec.ID = of; id != "" && id != of || boxName != "" && boxName != rec.Box {
			continue
		}
		r, err := s.reportOf(ctx, rec, filepath.Join(s.pictures(), e.Name()), dismiss)
		if err != nil {
			return nil, fmt.Errorf("compare after session %s: %w", of, err)
		}
		if r != nil {
			list = append(list, *r)
		}
	}
	if err = ignoreMissing(err); err == nil && id != "" && len(list) == 0 {
		_, err = s.Get(ctx, id) // there may be no such session
	}
	return list, err
}

// reportOf gives the report of one run, nil if there is none yet.
func (s *Service) reportOf(ctx context.Context, rec store.Session, picture string, dismiss bool) (*canary.Report,
	error) {
	lock, err := s.keeperLock(rec.ID)
	if busy(err) && !dismiss { // its keeper runs, or has reported and is about to end
		return canary.ReadReport(picture)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	r, err := s.Concluded(ctx, rec, picture)
	if dismiss && err == nil {
		err = canary.Drop(picture)
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
	return fmt.Sprintf("%s while session %s ran: look with `cco guard canary %s`", canary.Count(r), r.Session, r.Session)
}
