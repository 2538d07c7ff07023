package keeping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
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

// Graveyard lists what is there of a session, or of all for "": by name, which is the order in which it is brought
// back.
func (s Keeping) Graveyard(ctx context.Context, id string) ([]Grave, error) {
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
		if g.What != GraveSession {
			g.Bytes, _ = graveyard.Size(g.File, soon(slice))
		}
		if rec, err := s.Store.Session(ctx, g.ID); err == nil {
			g.Repo, g.Branch, g.Title = rec.Repo, rec.Branch, rec.Title
		}
		list = append(list, g)
	}
	return list, nil
}

// graveAt says what is at a name in the graveyard.
func (s Keeping) graveAt(name string, rows []store.Grave) (g Grave, ok bool) {
	file := s.yard().Grave(name)
	for _, r := range rows {
		if r.Name() != name {
			continue
		}
		g = Grave{ID: r.Session, Name: name, What: GraveSession, State: string(r.State), Held: r.Held, Buried: r.Buried,
			Bytes: r.Bytes, File: file, row: r}
		if s.Graves != nil {
			g.Goes = r.Buried.Add(time.Duration(s.Graves.Days) * 24 * time.Hour)
		}
		return g, true
	}
	id, rest, earlier := strings.Cut(name, "-")
	info, err := os.Lstat(file)
	if err != nil || !earlier && !info.IsDir() {
		return g, false
	}
	g = Grave{ID: id, Name: name, What: GraveWorkspace, State: string(store.Buried), Buried: info.ModTime(), File: file}
	switch {
	case !earlier: // its record was lost: what is in it stays until a person removes it
		n := ""
		g.ID, n, _ = strings.Cut(name, ".")
		return g, session.ValidID(g.ID) && strings.Trim(n, "0123456789") == ""
	case strings.HasPrefix(name, machineGrave):
		g.ID, g.What = name, GraveMachine
		return g, info.IsDir()
	}
	at, kind, _ := strings.Cut(rest, "-")
	g.Buried, err = time.Parse("20060102T150405", at)
	g.What = map[string]string{inside.OutputBundle: GraveWork, inside.RestBundle: GraveBeside,
		"workspace": GraveWorkspace, gravePack: GraveWorkspace}[kind]
	return g, err == nil && session.ValidID(id) && g.What != ""
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
		return &session.UsageError{Msg: "there are several of it, name one: " + strings.Join(names, ", ")}
	}
	g := found[0]
	if g.What != GraveSession {
		err = s.yard().Throw(g.File)
	} else if err = s.dropGrave(ctx, g.row); err == nil && graveyard.Has(g.File) {
		err = &session.BusyError{ID: g.ID, What: "restore"}
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
