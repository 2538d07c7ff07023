package phases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/turns"
	"github.com/cco-dev/cco/internal/store"
)

// settler makes phases of the service ready on this machine.
type settler struct {
	phases *Phases
	svc    *session.Service
	name   string // of this machine
	forge  func(ctx context.Context, repo string) (steps.Forge, error)
	models []string
	pull   session.PullOptions
	pushed func(phase string) error // notes that something of a phase may have been pushed just now

	cloning sync.Mutex      // one clone after another: phases of one repository share it
	over    map[string]bool // phases that have left and were tidied up
}

// canRun refuses a phase whose box or agents this machine lacks.
func (s *settler) canRun(ctx context.Context, spec cruise.Spec) error {
	err := s.svc.HandOff().CanRun(ctx, spec.Box, nil, spec.Repo, spec.Agents())
	if err == nil || errors.Is(err, box.ErrNotRunning) { // it is started for the first turn
		return nil
	}
	return &fleet.UnfitError{Why: err.Error()}
}

// clone opens this machine's clone of a phase's repository, with what the forge's default branch and those of the phase
// have: that is all that was pushed.
func (s *settler) clone(ctx context.Context, remote forge.Remote, st cruise.State) (*git.Repo, error) {
	s.cloning.Lock()
	defer s.cloning.Unlock()
	sum := sha256.Sum256([]byte(address(remote)))
	dir := filepath.Join(s.phases.Dirs.Data, "clones", remote.Name+"-"+hex.EncodeToString(sum[:8]))
	format := "sha1"
	if len(st.Spec.Base) == 64 {
		format = "sha256"
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	repo, err := git.OpenClone(ctx, dir, address(remote), format)
	if err != nil {
		return nil, err
	}
	f, err := s.forge(ctx, repo.Top)
	if _, none := errors.AsType[*forge.NoTokenError](err); none {
		return nil, &fleet.UnfitError{Why: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	about, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	for _, branch := range []string{about.DefaultBranch, st.Base.Branch, st.Meta.Branch} {
		if err := fetch(ctx, f, repo, branch); err != nil {
			return nil, err
		}
	}
	return repo, nil
}

// fetch brings a branch of the forge into a clone.
func fetch(ctx context.Context, f steps.Forge, repo *git.Repo, branch string) error {
	if branch == "" {
		return nil
	}
	at, err := f.Branch(ctx, branch)
	if err != nil || at == "" || repo.HasObject(ctx, at) {
		return err
	}
	commit, err := f.Fetch(ctx, repo.GitDir, branch)
	if err != nil {
		return err
	}
	return repo.SetRef(ctx, "refs/remotes/origin/"+branch, commit)
}

// left lists the phases that have had turns on this machine.
func (s *settler) left(ctx context.Context) (phases []string, err error) {
	list, err := s.svc.List(ctx, "")
	for _, rec := range list {
		if order, err := s.svc.ReadOrder(rec.ID); err == nil && order.Phase != "" {
			phases = append(phases, order.Phase)
		}
	}
	slices.Sort(phases)
	return slices.Compact(phases), err
}

// abandon ends the turns of a phase that has left this machine, and keeps their work at refs/cco in the clone.
func (s *settler) abandon(ctx context.Context, phase string) error {
	list, err := s.svc.List(ctx, "")
	if err != nil {
		return err
	}
	for _, rec := range list {
		order, err := s.svc.ReadOrder(rec.ID)
		if err != nil || order.Phase != phase || !rec.Live() {
			continue
		}
		if err := s.svc.Kill(ctx, rec.ID); err != nil {
			return err
		}
	}
	_, err = turns.Of(s.svc).Collect(ctx, steps.SessionOf(phase), "", s.pull)
	if _, none := errors.AsType[*store.NotFoundError](err); none {
		return nil
	}
	return err
}
