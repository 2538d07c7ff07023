package phases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// The repository in which a shared phase was started is only where refs/cco show what the phase has published. Its
// path is in a note of the machine that started it, and nowhere else.

const noteName = "started-in"

func (a *Phases) note(phase string) string {
	return filepath.Join(a.Dirs.Data, "phases", phase, noteName)
}

func (a *Phases) noteStart(phase, top string) error {
	if err := os.MkdirAll(filepath.Dir(a.note(phase)), 0o700); err != nil {
		return err
	}
	return whole.Write(a.note(phase), []byte(top), 0o600)
}

// startedIn is the repository of this machine in which a phase was started, "" if it was none.
func (a *Phases) startedIn(phase string) (string, error) {
	if !phaseID.MatchString(phase) {
		return "", nil // a row may name a path
	}
	top, err := os.ReadFile(a.note(phase))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(top), err
}

// ShowPublished shows what a phase has published, wherever it runs, in the repository in which it was started on this
// machine. It gives that repository and the ref, both "" if there are none.
func (a *Phases) ShowPublished(ctx context.Context, phase string) (top, ref string, err error) {
	if top, err = a.startedIn(phase); err != nil || top == "" {
		return "", "", err
	}
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return "", "", err
	}
	defer done()
	cfg, err := a.Config()
	if err != nil || !svc.Store.IsShared() {
		return "", "", err
	}
	s := &settler{phases: a, svc: svc, pull: pullOf(cfg), kept: keptIn(cfg)}
	if ref, err = s.show(ctx, phase, top); err != nil || ref == "" {
		return "", "", err
	}
	return top, ref, nil
}

// show brings the kept commits of a phase to refs/cco in a repository, and gives the ref, "" if there are none.
func (s *settler) show(ctx context.Context, phase, top string) (ref string, err error) {
	heads, err := s.svc.Store.BundleHeads(ctx, []string{phase})
	head := heads[phase]
	if err != nil || head == "" {
		return "", err
	}
	// One after another: a worker and commands may show them at once.
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lock := flock.New(s.phases.note(phase), flock.SetFlag(os.O_RDONLY))
	if _, err := lock.TryLockContext(soon, 20*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that shows them: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	repo, err := s.svc.Open(ctx, top)
	if err != nil {
		return "", err
	}
	if repo.Top != top {
		return "", fmt.Errorf("the repository in which it was started is no longer at %s", top)
	}
	if !git.IsOID(head, repo.OIDLen()) {
		return "", fmt.Errorf("what is kept of phase %s has no name", phase)
	}
	ref = "refs/cco/" + steps.SessionOf(phase)
	if repo.Has(ctx, head) {
		_, err = repo.SetRefs(ctx, []git.NamedRef{{Name: ref, OID: head}})
	} else {
		err = s.unbundle(ctx, repo, phase, store.BundleWork, steps.SessionOf(phase))
	}
	return ref, err
}

// showAll shows what has changed of the phases that were started here. What fails is tried again when there is more.
func (s *settler) showAll(ctx context.Context) error {
	notes, err := filepath.Glob(s.phases.note("*"))
	if err != nil || len(notes) == 0 {
		return err
	}
	var phases []string
	for _, n := range notes {
		phases = append(phases, filepath.Base(filepath.Dir(n)))
	}
	heads, err := s.svc.Store.BundleHeads(ctx, phases)
	if err != nil {
		return err
	}
	for _, phase := range slices.Sorted(maps.Keys(heads)) {
		if s.shown[phase] == heads[phase] {
			continue
		}
		s.shown[phase] = heads[phase]
		top, err := s.phases.startedIn(phase)
		if err == nil {
			_, err = s.show(ctx, phase, top)
		}
		if err != nil { // the repository may be gone
			s.phases.IO.Progress("what phase %s has published can't be shown in %s: %v", phase, top, err)
		}
	}
	return nil
}
