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

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Grave is something in the graveyard.
type Grave struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`           // of the grave, if a session has several
	What   string    `json:"what"`           // session or machine; of earlier versions work, beside or workspace
	State  string    `json:"state"`          // buried, or on its way
	Held   string    `json:"held,omitempty"` // what existed nowhere else when it was removed
	Buried time.Time `json:"buried"`
	Goes   time.Time `json:"goes,omitzero"` // when its time is over
	Bytes  int64     `json:"bytes"`
	File   string    `json:"file"`
	Repo   string    `json:"repo,omitempty"`
	Branch string    `json:"branch,omitempty"`
	Title  string    `json:"title,omitempty"`

	row store.Grave
}

// graveKinds are the names of what earlier versions have buried, in the order in which it is brought back: what is
// beside a branch builds on it.
func graveKinds() [][2]string {
	return [][2]string{{inside.OutputBundle, GraveWork}, {inside.RestBundle, GraveBeside}, {"workspace", GraveWorkspace},
		{"workspace.tar", GraveWorkspace}}
}

// What is in a grave.
const (
	GraveSession   = "session"   // a session's workspace as it was
	GraveMachine   = "machine"   // the disk of a machine that did not start
	GraveWork      = "work"      // a bundle of commits and uncommitted work
	GraveBeside    = "beside"    // a bundle of what was beside the branch
	GraveWorkspace = "workspace" // a workspace as the agent left it, of which no bundle could be made
)

// machineGrave begins the names of disks.
const machineGrave = "machine-"

// Graveyard lists what is there of a session, or of all for "": by session, each in the order in which it is brought
// back.
func (s *Service) Graveyard(ctx context.Context, id string) ([]Grave, error) {
	rows, err := s.Store.Graves(ctx, "")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.yard().Dir)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	list := []Grave{}
	for _, e := range entries {
		g, ok := s.graveAt(e.Name(), rows)
		if !ok || id != "" && g.ID != id {
			continue
		}
		g.File = s.yard().Grave(e.Name())
		if rec, err := s.Store.Session(ctx, g.ID); err == nil {
			g.Repo, g.Branch, g.Title = rec.Repo, rec.Branch, rec.Title
		}
		list = append(list, g)
	}
	rank := func(g Grave) int {
		return slices.IndexFunc(graveKinds(), func(k [2]string) bool { return k[1] == g.What })
	}
	slices.SortStableFunc(list, func(a, b Grave) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), rank(a)-rank(b), a.Buried.Compare(b.Buried))
	})
	return list, nil
}

// graveAt says what is at a name in the graveyard.
func (s *Service) graveAt(name string, rows []store.Grave) (g Grave, ok bool) {
	if i := slices.IndexFunc(rows, func(r store.Grave) bool { return r.Name() == name }); i >= 0 {
		r := rows[i]
		g = Grave{ID: r.Session, Name: name, What: GraveSession, State: string(r.State), Held: r.Held, Buried: r.Buried,
			Bytes: r.Bytes, row: r}
		if s.Graves != nil {
			g.Goes = r.Buried.Add(time.Duration(s.Graves.Days) * 24 * time.Hour)
		}
		return g, true
	}
	file := filepath.Join(s.yard().Dir, name)
	if info, err := os.Lstat(file); err == nil && info.IsDir() && strings.HasPrefix(name, machineGrave) {
		bytes, _ := graveyard.Size(file, s.soon(slice))
		return Grave{ID: name, Name: name, What: GraveMachine, State: string(store.Buried), Buried: info.ModTime(),
			Bytes: bytes}, true
	}
	f := strings.SplitN(name, "-", 3)
	if len(f) == 3 && validID(f[0]) {
		at, err := time.Parse("20060102T150405", f[1])
		i := slices.IndexFunc(graveKinds(), func(k [2]string) bool { return k[0] == f[2] })
		bytes, _ := graveyard.Size(file, s.soon(slice))
		return Grave{ID: f[0], Name: name, What: graveKinds()[max(0, i)][1], State: string(store.Buried), Buried: at,
			Bytes: bytes}, err == nil && i >= 0
	}
	id, n, numbered := strings.Cut(name, ".")
	if !validID(id) || numbered && strings.Trim(n, "0123456789") != "" {
		return g, false
	}
	// Its record was lost. What is in it stays until a person removes it.
	info, err := os.Lstat(file)
	if err != nil || !info.IsDir() {
		return g, false
	}
	return Grave{ID: id, Name: name, What: GraveWorkspace, State: string(store.Buried), Buried: info.ModTime()}, true
}

// RemoveGrave removes a grave for good, by its name, and waits until it is gone.
func (s Keeping) RemoveGrave(ctx context.Context, name string) error {
	list, err := s.Graveyard(ctx, "")
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(list, func(g Grave) bool { return g.Name != name && g.ID != name })
	if len(found) == 0 {
		return &NoGraveError{Name: name}
	}
	if len(found) > 1 && found[0].Name != name {
		var names []string
		for _, g := range found {
			names = append(names, g.Name)
		}
		return &UsageError{Msg: "there are several of it, name one: " + strings.Join(names, ", ")}
	}
	g := found[0]
	if g.What != GraveSession {
		err = s.yard().Throw(g.File)
	} else if err = s.dropGrave(ctx, g.row); err == nil && graveyard.Has(g.File) {
		err = &BusyError{ID: g.ID, What: "restore"}
	}
	if err != nil {
		return err
	}
	stores := s.dropStores(ctx)
	_, err = s.yard().Sweep(func() bool { return ctx.Err() == nil })
	return errors.Join(stores, err, ctx.Err())
}

// NoGraveError names a grave that there is none of.
type NoGraveError struct{ Name string }

func (e *NoGraveError) Error() string {
	return fmt.Sprintf("no grave %q, see `cco box graveyard`", e.Name)
}

// exhume brings one bundle back, unpacked in a new directory. Where something in it is refused, the rest comes part by
// part.
func (s HandOff) exhume(ctx context.Context, repo *git.Repo, rec store.Session, file, dir string, o PullOptions,
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
	if _, err := os.Stat(s.orderFile(rec.ID)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	graves, err := s.Graveyard(ctx, rec.ID)
	if err != nil {
		return err
	}
	why := "its workspace was removed"
	if len(graves) > 0 {
		why = "its workspace is in the graveyard: `cco box restore " + rec.ID + "` brings its commits, with --session the " +
			"session itself into a box again"
	}
	return &StateError{ID: rec.ID, State: rec.State, Why: why}
}
