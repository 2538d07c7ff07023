package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Restored is what came back from the graveyard.
type Restored struct {
	ID         string      `json:"id"`
	Refs       []string    `json:"refs"`
	Kept       []string    `json:"kept,omitempty"` // refs that now hold what others held before
	Gate       gate.Report `json:"gate"`
	Workspaces []string    `json:"workspaces,omitempty"` // what can't be brought back as commits
	Lost       []string    `json:"lost,omitempty"`       // what is in a grave and could not be brought
	Box        string      `json:"box,omitempty"`        // where the session itself is again
	Files      string      `json:"files,omitempty"`      // where its plain files are
}

// CopyPublished publishes everything that a raised workspace has, and copies it out of its reach.
func (s HandOff) CopyPublished(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, o PullOptions,
	dir string, r *Restored) error {
	if err := s.PublishAs(ctx, b, d, rec, inside.What{All: true}); err != nil {
		return err
	}
	pub, err := s.readResult(rec)
	if err != nil {
		return err
	}
	r.Lost = append(r.Lost, cleanList(pub.Lost)...)
	for name, sum := range map[string]*inside.Sum{inside.OutputBundle: pub.Bundle, inside.RestBundle: pub.Rest} {
		if sum == nil {
			continue
		}
		got, err := quarantine.CopyOut(ctx, s.Exchange(rec.ID), name, filepath.Join(dir, name), o.Bundle)
		if err == nil && got != sum.SHA256 {
			err = otherSum(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ExhumeAll lets publish fill a directory with bundles of all that a session has left, and brings back those with
// names.
func (s HandOff) ExhumeAll(ctx context.Context, repo *git.Repo, rec store.Session, o PullOptions, r *Restored,
	publish func(dir string) error, names ...string) error {
	dir, err := os.MkdirTemp(s.Dir(rec.ID), "restore-")
	if err != nil {
		return err
	}
	defer func() { _ = tree.Remove(dir) }()
	if err := publish(dir); err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if file := filepath.Join(dir, name); graveyard.Has(file) {
			errs = append(errs, s.Exhume(ctx, repo, rec, file, s.QuarantineDir(rec.ID), o, r))
		}
	}
	return errors.Join(errs...)
}

// Exhume brings one bundle back, unpacked in a new directory. Where something in it is refused, the rest comes part by
// part.
func (s HandOff) Exhume(ctx context.Context, repo *git.Repo, rec store.Session, file, dir string, o PullOptions,
	r *Restored) error {
	refs, err := repo.Refs(ctx)
	if err != nil {
		return err
	}
	prefix := "refs/cco/" + rec.ID + "-kept" // not below the ref of a pull, which can have none below it
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
				err = s.Exhume(ctx, repo, rec, dir+".bundle", dir+".part", whole, r)
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
	patch := PullResult{Base: found.Base, offer: offer{found.Tip, found.Wip, found.Tip}}.patch(ctx, q)
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
func (s HandOff) removed(ctx context.Context, rec store.Session) error {
	if graveyard.Has(s.OrderFile(rec.ID)) {
		return nil
	}
	there, err := s.buried(rec.ID)
	if err != nil {
		return err
	}
	why := "its workspace was removed"
	if there {
		why = "its workspace is in the graveyard: `cco box restore " + rec.ID + "` brings its commits, with --session the " +
			"session itself into a box again"
	}
	return &StateError{ID: rec.ID, State: rec.State, Why: why}
}
