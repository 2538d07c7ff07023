package canary

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against something that moved without a word: refs of every kind, HEAD, and settings wherever they stand.
func TestWhatMovedIsTold(t *testing.T) {
	user := gittest.New(t)
	first := user.Commit("start", "a.txt", "a")
	user.Git("branch", "other")
	user.Git("branch", "gone")
	user.Git("config", "--add", "some.list", "one")
	second := user.Commit("more", "a.txt", "b")
	take := func() Picture {
		return must.Get(Take(t.Context(), must.Get(git.Open(t.Context(), user.Dir))(t)))(t)
	}
	was := take()
	if moved := Compare(was, take()); len(moved) != 0 {
		t.Fatalf("nothing moved: %+v", moved)
	}
	for _, args := range [][]string{{"branch", "-f", "other", second}, {"branch", "-D", "gone"}, {"branch", "idea"},
		{"tag", "new"}, {"update-ref", "refs/main", first}, {"symbolic-ref", "HEAD", "refs/heads/idea"},
		{"config", "core.fsmonitor", "evil"}, {"config", "--add", "some.list", "two\x1b[2J"},
		{"config", "empty.value", ""}} {
		user.Git(args...)
	}
	want := []string{
		"! HEAD moved from refs/heads/main to refs/heads/idea", "! config core.fsmonitor was changed",
		"! config empty.value was changed", "! config some.list was changed",
		"! refs/heads/gone is gone; it was at " + first[:10], "+ refs/heads/idea is new, at " + second[:10],
		"! refs/heads/other moved from " + first[:10] + " to " + second[:10],
		"! refs/main is new, at " + first[:10], "+ refs/tags/new is new, at " + second[:10],
	}
	r := Report{Session: "0badcafe", Moved: Compare(was, take())}
	var got []string
	for _, m := range r.Moved {
		mark := "! "
		if m.New() {
			mark = "+ "
		}
		got = append(got, mark+m.Words())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Count() != "7 moved, 2 new in your repository" {
		t.Error(r.Count())
	}
	file := t.TempDir() + "/canary/r.json"
	must.Do(t, r.Keep(file))
	if again := must.Get(Read(file))(t); len(again.Moved) != len(want) || again.Session != r.Session {
		t.Errorf("%+v", again)
	}
}
