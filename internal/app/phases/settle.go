package phases

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// settler makes phases of a shared database ready on this machine, and keeps what others need to do the same.
type settler struct {
	phases *Phases
	svc    *session.Service
	holder *lease.Holder
	forge  func(ctx context.Context, repo string) (steps.Forge, error)
	models []string
	pull   session.PullOptions
	kept   kept
	pushed func(phase string) error // notes that something of a phase may have been pushed just now

	cloning sync.Mutex // one clone after another: phases of one repository share it

	unsaved map[string]bool   // phases whose workspace here has work that nothing else has
	shown   map[string]string // the last commits of phases that were started here

	mu    sync.Mutex
	repos map[string]string // names of repositories that all machines use, by the clones here
}

// repoOf names a clone as all machines do: by the account that phases see it with, and its address.
func (s *settler) repoOf(clone string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[clone]
}

// cloneOf is the clone here of a repository that phases of this machine have, "" if none has it.
func (s *settler) cloneOf(repo string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for clone, name := range s.repos {
		if name == repo {
			return clone
		}
	}
	return ""
}

func (s *settler) known(clone, account, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repos == nil {
		s.repos = map[string]string{}
	}
	s.repos[clone] = account + " " + address
}

// settle makes a phase ready: it believes nothing of the row that this machine's settings and the forge don't confirm,
// and brings the phase's commits into a clone of this machine's own.
func (s *settler) settle(ctx context.Context, p store.Phase, h lease.Held) (st cruise.State, err error) {
	if len(p.State) > maxState {
		return st, &serve.UnfitError{Why: fmt.Sprintf("its state has %d bytes, more than %d", len(p.State), maxState)}
	}
	if err := json.Unmarshal(p.State, &st); err != nil {
		return st, &serve.UnfitError{Why: "its state can't be read: " + err.Error()}
	}
	if err := checkRow(p.ID, st, s.models, s.svc.Agents); err != nil {
		return st, err
	}
	account, err := s.holder.Account(ctx, p.ID)
	if err != nil {
		return st, err
	}
	remote, err := checkRemote(st.Spec.Remote, account)
	if err != nil {
		return st, err
	}
	repo, err := s.clone(ctx, remote, st.Spec)
	if err != nil {
		return st, err
	}
	s.known(repo.Top, account, address(remote))
	was := st.Life.Home
	if was != "" && was != s.holder.Worker.ID { // it may have pushed just now, and the forge not show that everywhere
		if err := s.pushed(p.ID); err != nil {
			return st, err
		}
	}
	st.Spec.Repo, st.Workspace.Path, st.Life.Home = repo.Top, "", s.holder.Worker.ID
	if err := s.canRun(ctx, st.Spec); err != nil {
		return st, err
	}
	if err := s.bring(ctx, repo, p.ID, &st); err != nil {
		return st, err
	}
	if was != st.Life.Home {
		err = s.reset(ctx, p.ID, st)
	}
	if id := st.Workspace.Session; id != "" { // where the next turn makes it, if it is not there
		st.Workspace.Path = s.svc.WorkspacePath(ctx, store.Session{ID: id, Box: st.Spec.Box})
	}
	return st, err
}

// canRun refuses a phase whose box or agents this machine lacks.
func (s *settler) canRun(ctx context.Context, spec cruise.Spec) error {
	err := s.svc.HandOff().CanRun(ctx, spec.Box, spec.Repo, spec.Agents())
	if err == nil || errors.Is(err, box.ErrNotRunning) { // it is started for the first turn
		return nil
	}
	return &serve.UnfitError{Why: err.Error()}
}

// clone opens this machine's clone of a repository, with what is on the forge's default branch.
func (s *settler) clone(ctx context.Context, remote forge.Remote, spec cruise.Spec) (*git.Repo, error) {
	s.cloning.Lock()
	defer s.cloning.Unlock()
	sum := sha256.Sum256([]byte(address(remote)))
	dir := filepath.Join(s.phases.Dirs.Data, "clones", remote.Name+"-"+hex.EncodeToString(sum[:8]))
	format := "sha1"
	if len(spec.Base) == 64 {
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
		return nil, &serve.UnfitError{Why: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	about, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	return repo, fetch(ctx, f, repo, about.DefaultBranch)
}

// fetchAlone fetches while nobody else does: phases of one repository share a clone.
func (s *settler) fetchAlone(ctx context.Context, f steps.Forge, repo *git.Repo, branch string) error {
	s.cloning.Lock()
	defer s.cloning.Unlock()
	return fetch(ctx, f, repo, branch)
}

// fetch brings a branch of the forge into a clone.
func fetch(ctx context.Context, f steps.Forge, repo *git.Repo, branch string) error {
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

// bring brings a phase's commits into a clone: from the forge's branch, and from the bundles of its earlier homes.
func (s *settler) bring(ctx context.Context, repo *git.Repo, phase string, st *cruise.State) error {
	f, err := s.forge(ctx, repo.Top)
	if err != nil {
		return err
	}
	for _, branch := range []string{st.Base.Branch, st.Meta.Branch} {
		if branch == "" {
			continue
		}
		if err := s.fetchAlone(ctx, f, repo, branch); err != nil {
			return err
		}
	}
	session := steps.SessionOf(phase)
	if err := s.unbundle(ctx, repo, phase, store.BundleStart, session+store.BundleStart); err != nil {
		return err
	}
	if err := s.unbundle(ctx, repo, phase, store.BundleWork, session+store.BundleWork); err != nil {
		return err
	}
	for _, oid := range []string{st.Spec.Base, st.Head.Commit, st.Ours(), st.Workspace.Base} {
		if oid != "" && !repo.Has(ctx, oid) {
			return fmt.Errorf("commit %s is neither on the forge nor kept for this phase", git.Short(oid))
		}
	}
	return s.ownPush(ctx, f, repo, phase, st)
}

// ownPush goes on from a head that an earlier home pushed, if that home died before it could say so. Any other head is
// somebody else's, and the phase finds that out by itself.
func (s *settler) ownPush(ctx context.Context, f steps.Forge, repo *git.Repo, phase string, st *cruise.State) error {
	if st.Head.Commit == "" || st.Outbox.Published != nil || st.Meta.Branch == "" {
		return nil
	}
	at, err := f.Branch(ctx, st.Meta.Branch)
	if err != nil || at == "" || at == st.Head.Commit || at == st.Head.Before || !repo.Has(ctx, at) {
		return err
	}
	ours, err := s.svc.Store.PushedHead(ctx, phase, at)
	if err != nil || !ours {
		return err
	}
	later, err := repo.IsAncestor(ctx, st.Head.Commit, at)
	if err == nil && later {
		st.Head.Before, st.Head.Commit = st.Head.Commit, at
	}
	return err
}

// forOthers lets another machine try that has other settings: with these it would be tried in vain for ever.
func forOthers(err error) error {
	_, row := errors.AsType[*store.LargeError](err)
	_, file := errors.AsType[*LargeBundleError](err)
	if row || file || errors.Is(err, fs.ErrNotExist) {
		return &serve.UnfitError{Why: err.Error()}
	}
	return err
}

// unbundle brings a bundle through quarantine into a repository, to a name below refs/cco.
func (s *settler) unbundle(ctx context.Context, repo *git.Repo, phase, name, as string) (err error) {
	b, ok, err := s.svc.Store.Bundle(ctx, phase, name, s.kept.most)
	if err == nil && (!ok || repo.Has(ctx, b.Head)) {
		return nil
	}
	if err == nil {
		err = s.kept.get(&b)
	}
	if err != nil {
		return forOthers(err)
	}
	dir := filepath.Join(s.phases.Dirs.Data, "phases", phase, "unbundle-"+as) // a command may bring it elsewhere meanwhile
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "bundle")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.WriteFile(file, b.Data, 0o600)); err != nil {
		return err
	}
	q, err := quarantine.New(ctx, repo, filepath.Join(dir, "quarantine"), quarantine.Options{Limits: s.pull.Limits})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	found, err := q.Unpack(ctx, file, b.Base)
	if err != nil {
		return err
	}
	if found.Tip != b.Head {
		return &serve.UnfitError{Why: "its kept commits are not those that are recorded"}
	}
	if _, err := q.Examine(ctx); err != nil {
		return err
	}
	_, err = q.Import(ctx, as)
	return err
}

// reset puts a workspace that this machine has from an earlier home where the phase is now, and keeps what it held.
func (s *settler) reset(ctx context.Context, phase string, st cruise.State) error {
	id := steps.SessionOf(phase)
	if _, err := s.svc.Get(ctx, id); err != nil {
		if _, none := errors.AsType[*store.NotFoundError](err); none {
			return nil
		}
		return err
	}
	if err := s.abandon(ctx, phase); err != nil {
		return err
	}
	at := cmp.Or(st.Ours(), st.Workspace.Base, st.Spec.Base) // what is not pushed yet too
	if at == "" {
		return nil
	}
	_, err := s.svc.HandOff().Reset(ctx, id, at, s.pull)
	return err
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
	_, err = s.svc.HandOff().Collect(ctx, steps.SessionOf(phase), "", s.pull)
	if _, none := errors.AsType[*store.NotFoundError](err); none {
		return nil
	}
	return err
}

// tidy removes the workspace of a phase that has ended on another machine, if there is one here: its commits are at
// refs/cco in the clone by now. Work that exists nowhere else keeps it. It is called when no phase can be taken.
func (s *settler) tidy(ctx context.Context, here []string) error {
	held := s.holder.Held()
	here = slices.DeleteFunc(here, func(phase string) bool {
		_, holds := held[phase]
		return holds || s.unsaved[phase]
	})
	over, err := s.holder.EndedElsewhere(ctx, here)
	if err != nil || len(over) == 0 {
		return err
	}
	phase := over[0] // one after another: more important things wait meanwhile
	if err := s.abandon(ctx, phase); err != nil {
		return err
	}
	_, err = s.svc.Keeping().RemoveWorkspace(ctx, steps.SessionOf(phase), false)
	if _, unsaved := errors.AsType[*session.UnsavedError](err); unsaved {
		s.unsaved[phase], err = true, nil
	}
	return err
}

// Published keeps commits for other machines before anybody relies on them.
func (s *settler) Published(ctx context.Context, phase string, repo *git.Repo, base, head string) (err error) {
	if base == "" || base == head {
		return nil
	}
	b, err := bundle(ctx, repo, filepath.Join(s.phases.Dirs.Data, "phases", phase), head, base, s.kept.most)
	if err != nil {
		return err
	}
	b.Phase, b.Name, b.Epoch = phase, store.BundleWork, s.holder.Held()[phase]
	old, err := s.kept.files(phase, b.Name)
	if err != nil {
		return err
	}
	if err := s.kept.put(&b); err != nil {
		return err
	}
	if err := s.svc.Store.KeepBundle(ctx, b); err != nil {
		return err // the file of a home that the phase has left is removed with the next one
	}
	return s.kept.remove(old, s.kept.file(phase, b.Name, b.Head))
}

// Pushing records a head before it is pushed.
func (s *settler) Pushing(ctx context.Context, phase, head string) error {
	return s.svc.Store.KeepHead(ctx, phase, head, s.holder.Held()[phase])
}

// Closed forgets what was kept for other machines.
func (s *settler) Closed(ctx context.Context, phase string) error {
	var old []string
	for _, name := range []string{store.BundleStart, store.BundleWork} {
		files, err := s.kept.files(phase, name)
		if err != nil {
			return err
		}
		old = append(old, files...)
	}
	if err := s.svc.Store.DropBundles(ctx, phase); err != nil {
		return err
	}
	return s.kept.remove(old, "")
}
