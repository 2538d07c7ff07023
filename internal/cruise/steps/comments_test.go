package steps

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against an agent that has the host tell bots, in the user's name, to merge or to approve.
func TestWordsOfAgentsAddressNobody(t *testing.T) {
	const w = "\u200b"
	for said, want := range map[string]string{
		"@dependabot merge":           "@" + w + "dependabot merge",
		"ask @acme/owners, (@ada)":    "ask @" + w + "acme/owners, (@" + w + "ada)",
		"fine\n/approve\n  /lgtm":     "fine\n" + w + "/approve\n  " + w + "/lgtm",
		"mail a@example.org, 3 @ 4":   "mail a@example.org, 3 @ 4",
		"see a/b and and/or, `x/y`":   "see a/b and and/or, `x/y`",
		"> quoted\n// a comment\n/ 2": "> quoted\n// a comment\n/ 2",
	} {
		if got := unaddressed(said); got != want {
			t.Errorf("%q becomes %q", said, got)
		}
	}
}

// Guards against the second of two changes that were made in one second.
func TestEachChangeOfACommentIsNew(t *testing.T) {
	one := forge.Comment{ID: "comment-7", Body: "a", Edited: true, Updated: time.Unix(100, 0)}
	two := one
	two.Body = "b"
	if a, b := CommentOf(one).ID, CommentOf(two).ID; a == b || CommentOf(one).ID != a {
		t.Errorf("%s and %s", a, b)
	}
}

// gone is a forge on which somebody deleted a line comment.
type gone struct {
	Forge
	said []forge.Post
}

func (g *gone) Threads(context.Context, int) (forge.Threads, error) { return goneThreads{}, nil }

type goneThreads struct{ forge.Threads }

func (goneThreads) Reply(context.Context, string, forge.Post) (forge.Posted, error) {
	return forge.Posted{}, &forge.NotFoundError{What: "line-1"}
}

func (g *gone) Comment(_ context.Context, _ int, p forge.Post) (forge.Posted, error) {
	g.said = append(g.said, p)
	return forge.Posted{}, nil
}

// Guards against a phase that is stuck for good because somebody deleted what it was to answer.
func TestAnAnswerToWhatWasDeletedGoesBelowOrNowhere(t *testing.T) {
	g := &gone{}
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	d := &Doer{Store: db, Now: time.Now, Forge: func(context.Context, string) (Forge, error) { return g, nil }}
	err := d.Answer(t.Context(), cruise.AnswerIn{Where: cruise.Where{Phase: "aaaaaaaa", PR: 1}, Round: 1,
		Answers: []cruise.Reply{
			{Finding: "f1", Comment: "line-1", Text: "Done in c1", Resolve: true, Commit: true},
			{Finding: "f2", Comment: "line-2~7", Text: "Declined: no", Resolve: true},
		}})
	if err != nil || len(g.said) != 1 || !strings.Contains(g.said[0].Body, "Done in c1") ||
		!strings.Contains(g.said[0].Body, "f1") {
		t.Errorf("%+v: %v", g.said, err)
	}
	lines, err := db.ReadLog(t.Context(), "aaaaaaaa", 0)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0].Text, "f2") {
		t.Errorf("%+v: %v", lines, err)
	}
}

// The same finding in the same round of another kind is another answer.
func TestAnAnswerHasTheNameOfItsKind(t *testing.T) {
	g := &gone{}
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	d := &Doer{Store: db, Now: time.Now, Forge: func(context.Context, string) (Forge, error) { return g, nil }}
	for _, kind := range []cruise.Kind{"", cruise.Building} {
		must.Do(t, d.Answer(t.Context(), cruise.AnswerIn{Where: cruise.Where{Phase: "a", PR: 1}, Round: 1, Kind: kind,
			Answers: []cruise.Reply{{Finding: "f1", Comment: "comment-1", Text: "x"}}}))
	}
	if g.said[0].Key == g.said[1].Key {
		t.Errorf("both are %q", g.said[0].Key)
	}
}

// twice is a forge on which two machines said the same, and on which a person has quoted it.
type twice struct {
	Forge
	asked []string
}

func (w *twice) Poll(context.Context, []forge.Watched) ([]forge.News, error) {
	return []forge.News{{Number: 1, Comments: []forge.Comment{
		{ID: "comment-1", Author: "ada", Own: true}, {ID: "comment-2", Author: "ada", Twin: "comment-1"},
		{ID: "comment-3", Author: "ada", Twin: "comment-1", Body: "> quoted"},
	}}}, nil
}

func (w *twice) Withdraw(_ context.Context, c forge.Comment) (bool, error) {
	w.asked = append(w.asked, c.ID)
	return c.Body == "", nil
}

func (w *twice) Access(context.Context, string) (forge.Access, error) { return forge.AccessWrite, nil }

// Guards against words of our own that count as a person's because they stand twice.
func TestALookRemovesWhatWasSaidTwice(t *testing.T) {
	w := &twice{}
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	d := &Doer{Store: db, Now: time.Now, Forge: func(context.Context, string) (Forge, error) { return w, nil },
		Watch: &Watcher{Now: time.Now}}
	news, err := d.Look(t.Context(), cruise.LookIn{Where: cruise.Where{Phase: "a", Repo: "r", PR: 1}})
	var left []string
	for _, c := range news.Comments {
		left = append(left, c.ID)
	}
	if err != nil || !slices.Equal(w.asked, []string{"comment-2", "comment-3"}) ||
		!slices.Equal(left, []string{"comment-1", "comment-3"}) {
		t.Errorf("asked for %v, left %v: %v", w.asked, left, err)
	}
}
