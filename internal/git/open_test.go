package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestOpenFindsTheRepository(t *testing.T) {
	gittest.Home(t)
	odd := filepath.Join(t.TempDir(), "a b 'q' \"d\" $(touch x) -é\\")
	user := gittest.Init(t, odd)
	user.Commit("first", "deep/er/file", "x\n")
	main := open(t, user.Path("deep/er"))
	if main.Top != user.Dir || main.GitDir != user.Path(".git") || main.CommonDir != main.GitDir ||
		main.ObjectFormat != "sha1" {
		t.Errorf("%+v", main)
	}
	if id := main.Identity(); id != (Identity{"Test", "test@example.org"}) {
		t.Errorf("identity %+v", id)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	user.Git("worktree", "add", "-q", linked)
	w := open(t, linked)
	if w.Top != linked || w.GitDir == main.GitDir || w.CommonDir != main.CommonDir || w.Key() != main.Key() {
		t.Errorf("%+v", w)
	}
	other := gittest.Init(t, filepath.Join(t.TempDir(), "other"), "--object-format=sha256")
	if o := open(t, other.Dir); o.Key() == main.Key() || len(o.Key()) != 16 || o.ObjectFormat != "sha256" {
		t.Errorf("%+v", o)
	}
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(user.Dir, link))
	if l := open(t, link); l.Key() != main.Key() {
		t.Error("the key depends on the way to the repository")
	}
}

func open(t *testing.T, dir string) *Repo {
	t.Helper()
	r := must.Get(Open(t.Context(), dir))(t)
	return r
}

func TestOpenRefuses(t *testing.T) {
	gittest.Home(t)
	user := gittest.Init(t, filepath.Join(t.TempDir(), "user"))
	bare := gittest.Init(t, filepath.Join(t.TempDir(), "bare"), "--bare")
	outside := t.TempDir()
	if _, err := Open(t.Context(), outside); !is[*NotRepositoryError](err) {
		t.Errorf("outside: %v", err)
	}
	if _, err := Open(t.Context(), bare.Dir); !is[*BareError](err) {
		t.Errorf("bare: %v", err)
	}
	if _, err := Open(t.Context(), user.Path(".git")); !is[*NotRepositoryError](err) {
		t.Errorf("inside .git: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(outside, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	// Git complains about the owner only as another user, or in this way.
	h := Host{dir: user.Dir, env: environment(hardening())}.With("GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
	err := (&Repo{}).locate(t.Context(), h)
	if e, ok := errors.AsType[*OwnershipError](err); !ok || e.Dir != user.Dir {
		t.Errorf("another owner: %v", err)
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestHeadAndDirty(t *testing.T) {
	user := gittest.New(t)
	r := open(t, user.Dir)
	if _, err := r.Head(t.Context()); !is[*UnbornError](err) {
		t.Errorf("unborn: %v", err)
	}
	c := user.Commit("first", "a", "x\n")
	for _, branch := range []string{"main", "-x", "--upload-pack=touch", "it's", "a\"b", "$(touch${IFS}x)", "größe/日本",
		"a;b", "refs/heads/x", "HEAD2"} {
		user.Git("update-ref", "refs/heads/"+branch, c)
		user.Git("symbolic-ref", "HEAD", "refs/heads/"+branch)
		h, err := r.Head(t.Context())
		if err != nil || h != (Head{branch, c}) {
			t.Errorf("%q: %+v, %v", branch, h, err)
		}
	}
	if dirty, err := r.Dirty(t.Context(), 0); err != nil || len(dirty) > 0 {
		t.Errorf("clean: %q, %v", dirty, err)
	}
	user.Write("a", "changed\n")
	user.Write("new dir/é", "x\n")
	if dirty, err := r.Dirty(t.Context(), 0); err != nil || strings.Join(dirty, ",") != "a,new dir/" {
		t.Errorf("dirty: %q, %v", dirty, err)
	}
	if dirty, _ := r.Dirty(t.Context(), 1); len(dirty) != 1 {
		t.Errorf("limit: %q", dirty)
	}
	user.Git("checkout", "-q", "-f", "--detach")
	if _, err := r.Head(t.Context()); !is[*DetachedError](err) {
		t.Errorf("detached: %v", err)
	}
}

func TestFileAt(t *testing.T) {
	user := gittest.New(t)
	c := user.Commit("first", "plan.md", "plan\n", "dir/[x]*.md", "odd\n", "changed.md", "1\n")
	user.Write("changed.md", "2\n")
	user.Write("new.md", "new\n")
	outside := filepath.Join(t.TempDir(), "outside.md")
	must.Do(t, os.WriteFile(outside, []byte("x"), 0o600))
	for link, to := range map[string]string{"in.md": "plan.md", "out.md": outside} {
		must.Do(t, os.Symlink(to, user.Path(link)))
	}
	r := open(t, user.Dir)
	for name, want := range map[string]File{
		"plan.md":       {State: FileCommitted, Path: "plan.md"},
		"dir/[x]*.md":   {State: FileCommitted, Path: "dir/[x]*.md"},
		"changed.md":    {State: FileModified, Path: "changed.md"},
		"new.md":        {State: FileUntracked, Path: "new.md"},
		"in.md":         {State: FileCommitted, Path: "plan.md"},
		"out.md":        {State: FileOutside},
		".git/config":   {State: FileOutside},
		"dir/../x.md":   {State: -1},
		"dir":           {State: -1},
		"../missing":    {State: -1},
		"dir/./[x]*.md": {State: FileCommitted, Path: "dir/[x]*.md"},
	} {
		got, err := r.FileAt(t.Context(), c, user.Dir+"/"+name)
		if want.State == -1 {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil || got.State != want.State || got.Path != want.Path {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestSurvey(t *testing.T) {
	user := gittest.New(t)
	c := user.Commit("first", "a", "x\n")
	r := open(t, user.Dir)
	if s, err := r.Survey(t.Context(), c); err != nil || s.LFS || s.Submodules != nil || s.Filters != nil {
		t.Errorf("%+v, %v", s, err)
	}
	user.Write(".gitattributes", "*.bin filter=lfs diff=lfs\n")
	user.Write("sub/.gitattributes", "secret filter=git-crypt\n")
	user.Git("add", "-A")
	user.Git("update-index", "--add", "--cacheinfo", "160000,"+c+",mod é")
	user.Git("commit", "-q", "-m", "second")
	s, err := r.Survey(t.Context(), user.Git("rev-parse", "HEAD"))
	if err != nil || !s.LFS || strings.Join(s.Submodules, ",") != "mod é" || strings.Join(s.Filters, ",") != "git-crypt" {
		t.Errorf("%+v, %v", s, err)
	}
}
