package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
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
	rec, err := Record("00000001", cruise.State{Meta: reading.Metadata{Branch: "add-a-flag-2"},
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
	in.Phase, in.Spec.Task = "00000003", "main"
	if m, err := d.Metadata(t.Context(), in); err != nil || m.Branch != "main-2" {
		t.Errorf("%+v, %v", m, err)
	}
	in.Phase = "00000004"
	// Guards against a name that no branch can have, because another is its directory.
	d.Ask = func(context.Context, cruise.Worker, string) (string, error) {
		return `{"pr_title":"Flag it","branch_name":"add-a-flag-3/Now"}`, nil
	}
	if m, err := d.Metadata(t.Context(), in); err != nil || m != (reading.Metadata{Title: "Flag it",
		Branch: "add-a-flag-3-now"}) {
		t.Errorf("%+v, %v", m, err)
	}
	f.err = &forge.UnavailableError{Host: "h"}
	_, err = d.Metadata(t.Context(), in)
	if _, ok := errors.AsType[*cruise.Temporary](err); !ok {
		t.Errorf("a forge that is down gives %v", err)
	}
}

// Guards against a model that is asked again after every kill, and against one that is asked where its answer can't be
// kept.
func TestAModelNamesATaskOnce(t *testing.T) {
	gittest.Home(t)
	repo := gittest.New(t)
	repo.Commit("first")
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	asked := 0
	data := t.TempDir()
	doer := func() *Doer {
		return &Doer{Data: data, Now: time.Now, Store: db,
			Forge: func(context.Context, string) (Forge, error) { return names{}, nil },
			Ask: func(context.Context, cruise.Worker, string) (string, error) {
				asked++
				return fmt.Sprintf(`{"pr_title":"Flag it","branch_name":"flag-%d"}`, asked), nil
			}}
	}
	in := cruise.MetadataIn{Phase: "00000002", Spec: cruise.Spec{Task: "Add a flag", Repo: repo.Dir}}
	for range 2 { // processes
		if m, err := doer().Metadata(t.Context(), in); err != nil || m.Branch != "flag-1" || asked != 1 {
			t.Errorf("%+v, asked %d times: %v", m, asked, err)
		}
	}
	data = filepath.Join(data, "file")
	must.Do(t, os.WriteFile(data, nil, 0o600))
	if _, err := doer().Metadata(t.Context(), in); err == nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// clock is a forge that is only asked for the time.
type clock struct {
	Forge
	now time.Time
}

func (c *clock) Repository(context.Context) (forge.Repository, error) {
	c.now = c.now.Add(time.Minute)
	return forge.Repository{Now: c.now}, nil
}

// Guards against a word of a person that counts for nothing, because the push that it came after was repeated after a
// kill and is later now.
func TestTheTimeOfAPushDoesNotMove(t *testing.T) {
	f := &clock{now: time.Unix(1_700_000_000, 5)}
	data := t.TempDir()
	there := func(commit string) time.Time {
		return must.Get((&Doer{Data: data}).there(t.Context(), f, "a", commit))(t)
	}
	first := there("1111")
	if again := there("1111"); !again.Equal(first) {
		t.Errorf("%v, and then %v", first, again)
	}
	if next := there("2222"); !next.Equal(first.Add(time.Minute)) {
		t.Errorf("the next one at %v", next)
	}
}

// removed is a forge that takes a push to a repository that it does not find.
type removed struct{ Forge }

func (removed) Push(context.Context, forge.Push) error { return nil }

func (removed) Repository(context.Context) (forge.Repository, error) {
	return forge.Repository{}, &forge.NotFoundError{What: "repository"}
}

// Guards against a phase that pushes for ever to a repository that is gone, because each push is waited for anew.
func TestARepositoryThatIsGoneIsAskedAbout(t *testing.T) {
	gittest.Home(t)
	repo := gittest.New(t)
	in := cruise.PushIn{Where: cruise.Where{Phase: "a", Repo: repo.Dir, Branch: "b"}, New: repo.Commit("first")}
	open := func(context.Context, string) (Forge, error) { return removed{}, nil }
	d := &Doer{Data: t.TempDir(), Now: time.Now, Forge: open}
	for range 2 {
		_, err := d.Push(t.Context(), in)
		if _, waits := errors.AsType[*cruise.Temporary](err); waits || err == nil {
			t.Errorf("it is tried again: %v", err)
		}
	}
}
