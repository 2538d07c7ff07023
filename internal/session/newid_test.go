package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// drawing is a service that draws the given ids, over a repository with a box. Its keepers end before they have begun.
func drawing(t *testing.T, ids ...string) (*Service, *gittest.Repo, PushOptions) {
	t.Helper()
	user := gittest.New(t)
	user.Commit("start", "a.txt", "a")
	s := service(t)
	s.Boxes.Drivers = map[string]box.Driver{"worktree": worktree.New(worktree.Options{Tool: "/nowhere"})}
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	must.Get(s.Boxes.Create(t.Context(), "wt", "worktree", spec, func(string, ...any) {}))(t)
	s.Spawn = func(string, ...*os.File) error { return nil }
	s.NewID = func() string {
		id := ids[0]
		if len(ids) > 1 {
			ids = ids[1:]
		}
		return id
	}
	return s, user, PushOptions{Dir: user.Dir, Message: "do it", Box: "wt", Agent: "script"}
}

func snapshot(t *testing.T, s *Service, id string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{s.Dir(id), s.Exchange(id)} {
		entries := must.Get(os.ReadDir(dir))(t)
		for _, e := range entries {
			data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			files[filepath.Join(dir, e.Name())] = string(data)
		}
	}
	return files
}

// Guards against an id that is drawn twice: the second push failed on the record, and its undoing removed the first's.
func TestIDsAreEightHexDigitsAndDiffer(t *testing.T) {
	drawn := map[string]bool{}
	for range 1000 {
		id := NewID()
		if len(id) != 8 || strings.Trim(id, "0123456789abcdef") != "" || drawn[id] {
			t.Fatalf("%q after %d others", id, len(drawn))
		}
		drawn[id] = true
	}
}

func TestAnIDThatIsKnownIsDrawnAgain(t *testing.T) {
	s, _, o := drawing(t, "0badcafe", "0badcafe", "0badcafe", "12345678")
	first, err := s.HandOff().Push(t.Context(), o)
	if err != nil || first.ID != "0badcafe" {
		t.Fatalf("%s, %v", first.ID, err)
	}
	before := snapshot(t, s, first.ID)
	second, err := s.HandOff().Push(t.Context(), o)
	if err != nil || second.ID != "12345678" {
		t.Fatalf("%s, %v", second.ID, err)
	}
	if after := snapshot(t, s, first.ID); len(after) != len(before) {
		t.Errorf("before %v\nafter %v", before, after)
	}
	if v, err := s.Store.Session(t.Context(), first.ID); err != nil || v.ID != first.ID {
		t.Errorf("%+v, %v", v, err)
	}
}

// Guards against an id whose record is gone, and whose work is not.
func TestAnIDIsKnownByWhateverIsLeft(t *testing.T) {
	const id = "0badcafe"
	for name, leave := range map[string]func(*testing.T, *Service, *gittest.Repo) string{
		"directory": func(_ *testing.T, s *Service, _ *gittest.Repo) string { return s.Dir(id) },
		"exchange":  func(_ *testing.T, s *Service, _ *gittest.Repo) string { return s.Exchange(id) },
		"workspace": func(_ *testing.T, s *Service, _ *gittest.Repo) string {
			return filepath.Join(s.Boxes.Dir("wt"), "sessions", id)
		},
		"graveyard": func(_ *testing.T, s *Service, _ *gittest.Repo) string {
			return filepath.Join(s.Data, "graveyard", id+"-20260101T000000-output.bundle")
		},
		"ref": func(_ *testing.T, _ *Service, r *gittest.Repo) string {
			r.Git("update-ref", "refs/cco/"+id, "HEAD")
			return ""
		},
		"wip": func(_ *testing.T, _ *Service, r *gittest.Repo) string {
			r.Git("update-ref", "refs/cco/"+id+"-wip", "HEAD")
			return ""
		},
		"below": func(_ *testing.T, _ *Service, r *gittest.Repo) string {
			r.Git("update-ref", "refs/cco/"+id+"/heads/x", "HEAD")
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, user, o := drawing(t, id, "12345678")
			if dir := leave(t, s, user); dir != "" {
				must.Do(t, os.MkdirAll(dir, 0o700))
			}
			rec, err := s.HandOff().Push(t.Context(), o)
			if err != nil || rec.ID != "12345678" {
				t.Fatalf("%s, %v", rec.ID, err)
			}
		})
	}
}

// Guards against a push that fails for ever, and one that removes what it has not made.
func TestAPushUndoesOnlyItsOwn(t *testing.T) {
	s, _, o := drawing(t, "0badcafe", "12345678", "0badcafe")
	must.Get(s.HandOff().Push(t.Context(), o))(t)
	before := snapshot(t, s, "0badcafe")
	broken := errors.New("no keeper")
	spawn := s.Spawn
	s.Spawn = func(string, ...*os.File) error { return broken }
	if _, err := s.HandOff().Push(t.Context(), o); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	for _, dir := range []string{s.Dir("12345678"), s.Exchange("12345678")} {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	s.Spawn = spawn
	if _, err := s.HandOff().Push(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no free session id") {
		t.Errorf("only ids that are taken: %v", err)
	}
	if after := snapshot(t, s, "0badcafe"); len(after) != len(before) {
		t.Errorf("before %v\nafter %v", before, after)
	}
	list, err := s.Store.Sessions(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].ID != "0badcafe" {
		t.Errorf("%+v, %v", list, err)
	}
}
