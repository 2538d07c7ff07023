package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// save puts what a removed workspace would lose into the graveyard: what is beside its branch and, under force, its
// work and, if a bundle can't hold everything, the workspace itself.
func (s *Service) save(ctx context.Context, b *box.Box, d box.Driver, v store.Session, k stake,
	limit int64) (files []string, err error) {
	if k.unsaved() {
		f, err := s.bury(ctx, v.ID, inside.RestBundle, k.Rest, limit)
		if err != nil && k.refusal() == "" {
			return nil, err // nobody has agreed to lose it
		}
		if err != nil {
			k.Failed = FirstLine(err.Error())
		} else {
			files = append(files, f)
		}
	}
	if k.refusal() == "" {
		return files, nil
	}
	if k.Bundle != nil && len(k.work()) > 0 {
		if f, err := s.bury(ctx, v.ID, inside.OutputBundle, k.Bundle, limit); err != nil {
			k.Failed = FirstLine(err.Error())
		} else {
			files = append(files, f)
		}
	}
	if k.Failed == "" && len(k.Lost) == 0 {
		return files, nil
	}
	more, err := s.buryWorkspace(ctx, b, d, v.ID)
	return append(files, more...), err
}

// bury copies a bundle of the exchange into the graveyard, if it is the one that was published.
func (s *Service) bury(ctx context.Context, id, name string, want *inside.Sum, limit int64) (string, error) {
	dst, err := s.grave(id, name)
	if err != nil {
		return "", err
	}
	got, err := quarantine.CopyOut(ctx, s.Exchange(id), name, dst, limit)
	if err == nil && got != want.SHA256 {
		err = otherSum(name)
	}
	if err == nil && name == inside.RestBundle {
		err = whole.Write(s.savedFile(id), []byte(got), 0o600)
	}
	if err != nil {
		_ = os.Remove(dst)
		return "", fmt.Errorf("save %s in the graveyard: %w", name, err)
	}
	return dst, nil
}

// savedFile has the sum of the last saved bundle of what is beside a session's branch.
func (s *Service) savedFile(id string) string { return filepath.Join(s.dir(id), "saved.sum") }

// grave is a new name in the graveyard, where cco never removes anything.
func (s *Service) grave(id, name string) (string, error) {
	dir := filepath.Join(s.Data, "graveyard")
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", id, s.Now().UTC().Format(graveTime), name)), os.MkdirAll(dir, 0o700)
}

// Grave is something in the graveyard.
type Grave struct {
	ID     string    `json:"id"`
	What   string    `json:"what"` // work, beside or workspace
	Buried time.Time `json:"buried"`
	Bytes  int64     `json:"bytes"`
	File   string    `json:"file"`
	Repo   string    `json:"repo,omitempty"`
	Branch string    `json:"branch,omitempty"`
	Title  string    `json:"title,omitempty"`
}

// graveKinds are the names of what is buried, in the order in which it is brought back: what is beside a branch builds
// on it.
func graveKinds() [][2]string {
	return [][2]string{{inside.OutputBundle, GraveWork}, {inside.RestBundle, GraveBeside}, {"workspace", GraveWorkspace},
		{"workspace.tar", GraveWorkspace}}
}

// What is in a grave.
const (
	GraveWork      = "work"      // commits and uncommitted work that were removed by force
	GraveBeside    = "beside"    // side branches, stashes and what else was beside the branch
	GraveWorkspace = "workspace" // all of it, as the agent left it: no bundle could be made
)

// Graveyard lists what is there of a session, or of all for "": by session, each in the order in which it is brought
// back.
func (s *Service) Graveyard(ctx context.Context, id string) ([]Grave, error) {
	dir := filepath.Join(s.Data, "graveyard")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	kinds, list := graveKinds(), []Grave{}
	for _, e := range entries {
		f := strings.SplitN(e.Name(), "-", 3)
		if len(f) != 3 || !validID(f[0]) || id != "" && f[0] != id {
			continue
		}
		at, err := time.Parse("20060102T150405", f[1])
		i := slices.IndexFunc(kinds, func(k [2]string) bool { return k[0] == f[2] })
		if err != nil || i < 0 {
			continue
		}
		g := Grave{ID: f[0], What: kinds[i][1], Buried: at, File: filepath.Join(dir, e.Name())}
		g.Bytes = size(g.File)
		if rec, err := s.Store.Session(ctx, f[0]); err == nil {
			g.Repo, g.Branch, g.Title = rec.Repo, rec.Branch, rec.Title
		}
		list = append(list, g)
	}
	rank := func(g Grave) int { return slices.IndexFunc(kinds, func(k [2]string) bool { return k[1] == g.What }) }
	slices.SortStableFunc(list, func(a, b Grave) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), rank(a)-rank(b), a.Buried.Compare(b.Buried))
	})
	return list, nil
}

// Restored is what came back from the graveyard.
type Restored struct {
	ID         string      `json:"id"`
	Refs       []string    `json:"refs"`
	Kept       []string    `json:"kept,omitempty"` // refs that now hold what others held before
	Gate       gate.Report `json:"gate"`
	Workspaces []string    `json:"workspaces,omitempty"` // what can't be brought back as commits
}

// Restore brings what is in the graveyard of a session to refs below refs/cco/<id>/ of its repository, through the same
// examination as everything that comes from a box. No branch moves, and the graveyard keeps what it has.
func (s *Service) Restore(ctx context.Context, id string, o PullOptions) (r Restored, err error) {
	r.ID = id
	rec, err := s.Get(ctx, id)
	if err != nil {
		return r, err
	}
	graves, err := s.Graveyard(ctx, id)
	if err != nil {
		return r, err
	}
	if len(graves) == 0 {
		return r, &StateError{ID: id, State: rec.State, Why: "nothing of it is in the graveyard, see `cco box graveyard`"}
	}
	lock, err := s.lock(id, pullLock)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.repository(ctx, rec, o.where())
	if err != nil {
		return r, err
	}
	var errs []error
	for _, g := range graves {
		if g.What == GraveWorkspace {
			r.Workspaces = append(r.Workspaces, g.File)
		} else if err := s.exhume(ctx, repo, rec, g.File, s.quarantineDir(id), o, &r); err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", g.File, err))
		}
	}
	return r, errors.Join(errs...)
}

// exhume brings one bundle back, unpacked in a new directory. Where something in it is refused, the rest comes part by
// part.
func (s *Service) exhume(ctx context.Context, repo *git.Repo, rec store.Session, file, dir string, o PullOptions,
	r *Restored) error {
	refs, err := repo.Refs(ctx)
	if err != nil {
		return err
	}
	// A ref can't be below another: where the work was pulled, the rest is beside it.
	prefix := "refs/cco/" + rec.ID
	if _, taken := refs[prefix]; taken {
		prefix += "-kept"
	}
	var own []string
	for name, ref := range refs {
		if strings.HasPrefix(name, "refs/cco/"+rec.ID) {
			own = append(own, ref.OID)
		}
	}
	if err := tree.Remove(dir); err != nil {
		return err
	}
	q, err := quarantine.New(ctx, repo, dir, quarantine.Options{Limits: o.Limits, Progress: s.gitProgress(),
		Kept: true, Also: own})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	found, err := q.Unpack(ctx, file, rec.Base)
	if err != nil {
		return err
	}
	parts, all := found.Parts(o.Side), len(found.Parts(""))
	if len(parts) == all {
		_, err = q.Examine(ctx)
	}
	if all > 1 && (len(parts) < all || as[*quarantine.RefusedError](err)) {
		var errs []error
		for _, part := range parts {
			err := q.Part(ctx, part, dir+".bundle")
			if err == nil {
				whole := o
				whole.Side = ""
				err = s.exhume(ctx, repo, rec, dir+".bundle", dir+".part", whole, r)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", part.Name, err))
			}
		}
		return errors.Join(append(errs, tree.Remove(dir+".bundle"))...)
	}
	if err != nil || len(parts) == 0 {
		return err
	}
	report, err := lookBeside(ctx, q, found, own)
	if err != nil {
		return err
	}
	r.Gate = r.Gate.Merge(report)
	if o.Gate.Show != nil {
		o.Gate.Show(PullResult{Session: rec, Gate: report})
	}
	if o.DryRun {
		o.Gate.Ask = nil
	}
	patch := PullResult{Base: found.Base, target: found.Tip, head: found.Tip, wip: found.Wip}.patch(ctx, q)
	if err := s.consent(rec.ID, found.Tip, report, o.Gate, o.Dir, patch); err != nil || o.DryRun {
		return err
	}
	came, kept, err := q.ImportBelow(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range came {
		if !slices.Contains(r.Refs, name) {
			r.Refs = append(r.Refs, name)
		}
	}
	r.Kept = append(r.Kept, kept...)
	return nil
}

// removed says where the work of a session without a workspace is; nil if the workspace is there.
func (s *Service) removed(ctx context.Context, rec store.Session) error {
	if _, err := os.Stat(s.orderFile(rec.ID)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	graves, err := s.Graveyard(ctx, rec.ID)
	if err != nil {
		return err
	}
	why := "its workspace was removed, and nothing of it had to be saved"
	if len(graves) > 0 {
		why = "its workspace was removed, and what was saved of it is in the graveyard: bring it back with `cco box " +
			"restore " + rec.ID + "`"
	}
	return &StateError{ID: rec.ID, State: rec.State, Why: why}
}

// graveTime is when something was buried, in the name of its file.
const graveTime = "20060102T150405.000"
