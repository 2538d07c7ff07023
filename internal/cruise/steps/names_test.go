package steps

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// names is a forge that is only asked for its branches.
type names struct {
	Forge
	branches []string
	err      error
}

func (n names) Repository(context.Context) (forge.Repository, error) {
	return forge.Repository{DefaultBranch: "main", CanPush: true}, nil
}

func (n names) Branch(_ context.Context, branch string) (string, error) {
	for _, b := range n.branches {
		if b == branch {
			return "1111111111111111111111111111111111111111", nil
		}
	}
	return "", n.err
}

func TestABranchIsOneThatNobodyHas(t *testing.T) {
	gittest.Home(t)
	repo := gittest.New(t)
	repo.Commit("first")
	repo.Git("branch", "add-a-flag")
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	rec, err := Record("00000001", cruise.State{Meta: cruise.Metadata{Branch: "add-a-flag-2"},
		Spec: cruise.Spec{Repo: repo.Dir}}, time.Unix(1, 0))
	if err == nil {
		err = db.SavePhase(t.Context(), rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := names{branches: []string{"add-a-flag-3"}}
	d := &Doer{
		Data: t.TempDir(), Now: time.Now, Store: db, Forge: func(context.Context, string) (Forge, error) { return f, nil },
		Ask: func(context.Context, cruise.Worker, string) (string, error) { return "", errors.New("no model") },
	}
	in := cruise.MetadataIn{Phase: "00000002", Spec: cruise.Spec{Task: "Add a flag", Repo: repo.Dir}}
	if m, err := d.Metadata(t.Context(), in); err != nil || m.Branch != "add-a-flag-4" {
		t.Errorf("%+v, %v", m, err)
	}
	// Guards against phases of one title that are started together and get one name.
	for n, want := range []string{"add-a-flag-5", "add-a-flag-6"} {
		other := in
		other.Phase = fmt.Sprintf("1000000%d", n)
		if m, err := d.Metadata(t.Context(), other); err != nil || m.Branch != want {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if m, err := d.Metadata(t.Context(), in); err != nil || m.Branch != "add-a-flag-4" {
		t.Errorf("asked again: %+v, %v", m, err)
	}
	log := must.Get(db.ReadLog(t.Context(), in.Phase, 0))(t)
	if len(log) < 2 || log[0].Text != "no model named the task, so the names are its own words: no model" ||
		log[1].Text != "branch add-a-flag is taken: it is add-a-flag-4" {
		t.Errorf("log %+v", log)
	}
	in.Spec.Task = "main"
	if m, err := d.Metadata(t.Context(), in); err != nil || m.Branch != "main-2" {
		t.Errorf("%+v, %v", m, err)
	}
	// Guards against a name that no branch can have, because another is its directory.
	d.Ask = func(context.Context, cruise.Worker, string) (string, error) {
		return `{"pr_title":"Flag it","branch_name":"add-a-flag-3/Now"}`, nil
	}
	if m, err := d.Metadata(t.Context(), in); err != nil || m != (cruise.Metadata{Title: "Flag it",
		Branch: "add-a-flag-3-now"}) {
		t.Errorf("%+v, %v", m, err)
	}
	f.err = &forge.UnavailableError{Host: "h"}
	_, err = d.Metadata(t.Context(), in)
	if _, ok := errors.AsType[*cruise.Temporary](err); !ok {
		t.Errorf("a forge that is down gives %v", err)
	}
}
