package phases

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against commits that are recorded and can't be found, and against rows that name files.
func TestCommitsAreKeptInADirectory(t *testing.T) {
	k := kept{dir: t.TempDir(), most: 100}
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	for _, head := range []string{one, two} {
		b := store.Bundle{Phase: "00c0ffee", Name: store.BundleWork, Head: head, Data: []byte("commits of " + head)}
		must.Do(t, k.put(&b))
		if len(b.Data) > 0 || b.Data == nil {
			t.Errorf("the row gets %q", b.Data)
		}
		must.Do(t, k.get(&b))
		if want := "commits of " + head; string(b.Data) != want {
			t.Errorf("got %q", b.Data)
		}
	}
	other := store.Bundle{Phase: "0ddba115", Name: store.BundleWork, Head: one, Data: []byte("x")}
	must.Do(t, k.put(&other))
	// A machine is stopped after it kept two; the next home keeps three before the first removes what is old.
	old := must.Get(k.files("00c0ffee", store.BundleWork))(t)
	next := store.Bundle{Phase: "00c0ffee", Name: store.BundleWork, Head: strings.Repeat("3", 40), Data: []byte("3")}
	must.Do(t, k.put(&next))
	must.Do(t, k.remove(old, k.file("00c0ffee", store.BundleWork, two)))
	must.Do(t, k.get(&next))
	must.Do(t, k.remove([]string{k.file("00c0ffee", store.BundleWork, next.Head)}, ""))
	if files := must.Get(filepath.Glob(k.dir + "/*"))(t); len(files) != 2 {
		t.Errorf("left: %v", files)
	}
	gone := store.Bundle{Phase: "00c0ffee", Name: store.BundleWork, Head: one}
	if err := k.get(&gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an older one: %v", err)
	}
	must.Do(t, errors.Join(k.remove(old, ""), k.remove(old, ""))) // again, after a crash

	for name, c := range map[string]struct {
		at   kept
		head string
	}{"no directory here": {kept{most: 100}, one}, "a path in the row": {k, "../../" + one}} {
		_, unfit := errors.AsType[*serve.UnfitError](c.at.get(&store.Bundle{Phase: "0ddba115", Name: store.BundleWork,
			Head: c.head}))
		if !unfit {
			t.Errorf("%s: not refused", name)
		}
	}
	small := kept{dir: k.dir, most: 0}
	if _, large := errors.AsType[*LargeBundleError](small.get(&store.Bundle{Phase: "0ddba115", Name: store.BundleWork,
		Head: one})); !large {
		t.Error("a file over the limit was read")
	}
}

// Guards against a phase that goes on although nobody else could, and a user who does not learn what to do.
func TestCommitsOverTheLimitAreRefusedAndStay(t *testing.T) {
	g := gittest.Init(t, t.TempDir(), "-b", "main")
	g.Commit("start", "a", "a")
	base := g.Git("rev-parse", "HEAD")
	noise := bytes.Repeat([]byte("0123456789abcdef"), 10)
	g.Commit("more", "b", string(noise))
	head := g.Git("rev-parse", "HEAD")
	repo := must.Get(git.Open(t.Context(), g.Dir))(t)
	dir := t.TempDir()
	_, err := bundle(t.Context(), repo, dir, head, base, 100)
	large, ok := errors.AsType[*LargeBundleError](err)
	if !ok || large.Size <= 100 || !strings.Contains(err.Error(), "engine.bundle_max") ||
		!strings.Contains(err.Error(), "cco cruise resume") {
		t.Errorf("wrong: %v", err)
	}
	b := must.Get(bundle(t.Context(), repo, dir, head, base, 1<<20))(t)
	if b.Head != head || b.Base != base || len(b.Data) == 0 {
		t.Errorf("wrong: %+v", b)
	}
	if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
