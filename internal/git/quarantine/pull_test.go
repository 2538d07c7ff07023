package quarantine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
)

// handOff is a user's repository and the clone that an agent has of it.
type handOff struct {
	t    *testing.T
	user *gittest.Repo
	repo *git.Repo
	box  *gittest.Repo
	base string

	limits quarantine.Limits
}

// within is the same hand-off with other limits.
func (h *handOff) within(l quarantine.Limits) *handOff {
	c := *h
	c.limits = l
	return &c
}

func newHandOff(t *testing.T, args ...string) *handOff {
	t.Helper()
	user := gittest.New(t, args...)
	user.Commit("first", "README", "hello\n", "dir/a", "a\n")
	return send(t, user)
}

// in is the same hand-off for a subtest. What is refused changes nothing, so many can share one.
func (h *handOff) in(t *testing.T) *handOff {
	c := *h
	c.t, c.user, c.box = t, h.user.For(t), h.box.For(t)
	return &c
}

// send clones what the user has at HEAD, through a bundle.
func send(t *testing.T, user *gittest.Repo) *handOff {
	t.Helper()
	repo := openRepo(t, user.Dir)
	head := must.Get(repo.Head(t.Context()))(t)
	bundle := filepath.Join(t.TempDir(), "in.bundle")
	must.Get(repo.Bundle(t.Context(), bundle,
		git.BundleRequest{Branch: head.Branch, Commit: head.Commit}))(t)
	box := gittest.At(t, t.TempDir())
	box.Git("clone", "-q", "-n", bundle, ".")
	// Some of the trees that tests make can't be checked out.
	_, _ = box.Try("", "reset", "-q", "--hard")
	return &handOff{t: t, user: user, repo: repo, box: box, base: head.Commit}
}

// publish makes the bundle that the box would make.
func (h *handOff) publish(tip string, more ...string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "output.bundle")
	h.box.Git("update-ref", quarantine.OutRef, tip)
	h.box.Git(append([]string{"bundle", "create", "-q", path, quarantine.OutRef, "^" + h.base}, more...)...)
	return path
}

// take unpacks and examines.
func (h *handOff) take(bundle string) (*quarantine.Repo, quarantine.Report, error) {
	h.t.Helper()
	q := must.Get(quarantine.New(h.t.Context(), h.repo, filepath.Join(h.t.TempDir(), "q"),
		quarantine.Options{Limits: h.limits}))(h.t)
	if _, err := q.Unpack(h.t.Context(), bundle, h.base); err != nil {
		return q, quarantine.Report{}, err
	}
	rep, err := q.Examine(h.t.Context())
	return q, rep, err
}

// taken takes a bundle in which nothing is wrong.
func (h *handOff) taken(bundle string) (*quarantine.Repo, quarantine.Report) {
	h.t.Helper()
	q, rep, err := h.take(bundle)
	must.Do(h.t, err)
	return q, rep
}

// Guards against names that alternates, git's arguments or a shell would read in another way.
func TestPullWithOddPathsAndNames(t *testing.T) {
	for _, name := range []string{"a b'c\"d $(touch x) é", "#hash", "-dash", `back\slash`, "new:colon", "[x]*?"} {
		t.Run(name, func(t *testing.T) {
			gittest.Home(t)
			user := gittest.Init(t, filepath.Join(t.TempDir(), name))
			user.Commit("first", "ü\"'$(x) y", "x\n")
			user.Git("update-ref", "refs/heads/-x$(y)é", "HEAD")
			user.Git("symbolic-ref", "HEAD", "refs/heads/-x$(y)é")
			h := send(t, user)
			tip := h.box.Commit("work", "ü\"'$(x) y", "y\n", "-dash", "x\n", `\"`, "x\n", ":(top)x", "x\n", "*", "x\n")
			q := must.Get(quarantine.New(t.Context(), h.repo, filepath.Join(t.TempDir(), name), quarantine.Options{}))(t)
			must.Get(q.Unpack(t.Context(), h.publish(tip), h.base))(t)
			must.Get(q.Examine(t.Context()))(t)
			must.Get(q.Import(t.Context(), "0123abcd"))(t)
			must.Get(h.repo.FastForward(t.Context(), "-x$(y)é", h.base, tip))(t)
			if user.Git("status", "--porcelain") != "" || user.Read("ü\"'$(x) y") != "y\n" {
				t.Error(user.Git("status", "--porcelain"))
			}
		})
	}
}

func TestPullWithSHA256(t *testing.T) {
	h := newHandOff(t, "--object-format=sha256")
	tip := h.box.Commit("work", "new", "x\n")
	q, _ := h.taken(h.publish(tip))
	must.Get(q.Import(t.Context(), "0123abcd"))(t)
	must.Get(h.repo.FastForward(t.Context(), "main", h.base, tip))(t)
}

// The user's repository may borrow its objects from another, and keep its settings in odd ways.
func TestPullIntoARepositoryWithAlternates(t *testing.T) {
	origin := gittest.New(t)
	origin.Commit("first", "README", "hello\n", "dir/a", "a\n")
	origin.Git("config", "--global", "pack.indexVersion", "1")
	user := gittest.At(t, filepath.Join(t.TempDir(), "user"))
	origin.Git("clone", "-q", "--shared", origin.Dir, user.Dir)
	h := send(t, user)
	tip := h.box.Commit("work", "README", "hello again\n")
	q, _ := h.taken(h.publish(tip))
	must.Get(q.Import(t.Context(), "0123abcd"))(t)
	user.Git("fsck", "--strict")
}

func TestPullGoesRoundTrip(t *testing.T) {
	h := newHandOff(t)
	tip := h.box.Commit("work", "new/file", "x\n", "README", "hello again\n")
	q, rep := h.taken(h.publish(tip))
	if rep.Commits != 1 {
		t.Errorf("report = %+v", rep)
	}
	imp := must.Get(q.Import(t.Context(), "0123abcd"))(t)
	if got := h.user.Git("rev-parse", imp.Ref); got != tip {
		t.Errorf("%s is at %s", imp.Ref, got)
	}
	must.Do(t, q.Close())
	f := must.Get(h.repo.FastForward(t.Context(), "main", h.base, tip))(t)
	if !f.Moved || !f.Worktree || h.user.Read("new/file") != "x\n" || h.user.Git("status", "--porcelain") != "" {
		t.Errorf("forwarded = %+v, status %q", f, h.user.Git("status", "--porcelain"))
	}
	h.user.Git("fsck", "--strict", "--no-dangling")
	s := must.Get(h.repo.Summary(t.Context(), h.base, tip))(t)
	if len(s.Commits) != 1 || s.Commits[0].Subject != "work" || s.Added != 2 || s.Deleted != 1 || len(s.Files) != 2 {
		t.Errorf("summary = %+v", s)
	}
}

func openRepo(t *testing.T, dir string) *git.Repo {
	t.Helper()
	r := must.Get(git.Open(t.Context(), dir))(t)
	return r
}

// A clone that is shallow itself sends what it has, and takes back what builds on it.
func TestShallowHostClone(t *testing.T) {
	origin := gittest.New(t)
	for i := range 6 {
		origin.Commit("more", "f", strings.Repeat("x\n", i))
	}
	user := gittest.At(t, t.TempDir())
	user.Git("clone", "-q", "--depth=2", "file://"+origin.Dir, ".")
	r := openRepo(t, user.Dir)
	if !r.IsShallow() || openRepo(t, origin.Dir).IsShallow() {
		t.Error("IsShallow is wrong")
	}
	base := user.Git("rev-parse", "HEAD")
	dir := filepath.Join(t.TempDir(), "shallow")
	must.Do(t, r.Shallow(t.Context(), dir, git.ShallowRequest{Branch: "main", Commit: base}))
	box := gittest.At(t, t.TempDir())
	box.Git("clone", "-q", "file://"+dir, ".")
	if got := box.Git("rev-list", "--count", "HEAD"); got != "2" {
		t.Errorf("%s commits", got)
	}
	h := &handOff{t: t, user: user, repo: r, box: box, base: base}
	q, _ := h.taken(h.publish(box.Commit("work", "new", "x\n")))
	must.Get(q.Import(t.Context(), "0123abcd"))(t)
	must.Get(r.FastForward(t.Context(), "main", base, box.Git("rev-parse", "HEAD")))(t)
	user.Git("fsck")
}
