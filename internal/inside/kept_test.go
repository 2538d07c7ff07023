package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// got fetches both bundles into the host's repository and returns the refs that came.
func (f *fixture) got() string {
	f.t.Helper()
	for _, name := range []string{OutputBundle, RestBundle} {
		if path := filepath.Join(f.job.Exchange, name); exists(path) {
			f.git(f.host, "fetch", "-q", path, "+refs/cco/*:refs/got/*")
		}
	}
	return f.git(f.host, "for-each-ref", "--format=%(refname)", "refs/got")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// has says whether some ref that came leads to a commit with this file and this text.
func (f *fixture) has(file, text string) bool {
	f.t.Helper()
	for _, ref := range strings.Fields(f.got()) {
		for _, oid := range strings.Fields(f.git(f.host, "rev-list", ref, "^"+f.job.Base)) {
			names := strings.Split(f.git(f.host, "ls-tree", "-r", "--name-only", oid), "\n")
			if slices.Contains(names, file) && f.git(f.host, "cat-file", "-p", oid+":"+file) == text {
				return true
			}
		}
	}
	return false
}

// Guards against stashes, branches and uncommitted work that are in a workspace and can't be brought.
func TestPublishBringsWhatIsBesideTheBranch(t *testing.T) {
	stash := func(f *fixture, w, text string) {
		f.write(w, "a.txt", text)
		f.git(w, "stash", "-q")
	}
	for _, c := range []struct {
		name  string
		agent func(*fixture, string)
		file  string
		text  []string
	}{
		{"all stashes", func(f *fixture, w string) {
			for _, text := range []string{"one", "two", "three"} {
				stash(f, w, text)
			}
		}, "a.txt", []string{"one", "two", "three"}},
		{"a stash that no reflog knows", func(f *fixture, w string) {
			stash(f, w, "one")
			f.git(w, "reflog", "expire", "--expire=now", "--all")
		}, "a.txt", []string{"one"}},
		{"what was staged or untracked in a stash", func(f *fixture, w string) {
			f.write(w, "new.txt", "untracked")
			f.git(w, "stash", "-q", "-u")
			stash(f, w, "another")
		}, "new.txt", []string{"untracked"}},
		{"refs outside heads and tags", func(f *fixture, w string) {
			f.write(w, "wip.txt", "wip")
			f.commit(w, "wip")
			f.git(w, "update-ref", "refs/wip/one", "HEAD")
			f.git(w, "reset", "-q", "--hard", "HEAD~1")
			f.git(w, "reflog", "expire", "--expire=now", "--all")
		}, "wip.txt", []string{"wip"}},
		{"an annotated tag", func(f *fixture, w string) {
			f.write(w, "tagged.txt", "tagged")
			f.commit(w, "tagged")
			f.git(w, "tag", "-a", "-m", "v1", "v1")
			f.git(w, "reset", "-q", "--hard", "HEAD~1")
			f.git(w, "reflog", "expire", "--expire=now", "--all")
		}, "tagged.txt", []string{"tagged"}},
		{"a change behind assume-unchanged", func(f *fixture, w string) {
			f.git(w, "update-index", "--assume-unchanged", "a.txt")
			f.write(w, "a.txt", "hidden")
		}, "a.txt", []string{"hidden"}},
		{"a change behind skip-worktree", func(f *fixture, w string) {
			f.git(w, "update-index", "--skip-worktree", "a.txt")
			f.write(w, "a.txt", "hidden")
		}, "a.txt", []string{"hidden"}},
		{"a new file outside a sparse checkout", func(f *fixture, w string) {
			f.git(w, "sparse-checkout", "set", "--no-cone", "only")
			f.write(w, "outside.txt", "outside")
		}, "outside.txt", []string{"outside"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			c.agent(f, f.job.Workspace)
			f.job.All = true
			for _, round := range []string{"once", "again"} { // it can be repeated
				r := f.publish()
				for _, text := range c.text {
					if !f.has(c.file, text) {
						t.Errorf("%s: %s with %q did not come: %+v\n%s", round, c.file, text, r, f.got())
					}
				}
				if len(r.Lost) > 0 {
					t.Errorf("%s: lost %q", round, r.Lost)
				}
			}
		})
	}
}

// Guards against taking files that a sparse checkout leaves out for deleted ones.
func TestPublishLeavesOutWhatIsSparse(t *testing.T) {
	f := newFixture(t)
	f.write(f.host, "only", "in")
	f.job.Base = f.commit(f.host, "more")
	f.send()
	f.receive()
	f.git(f.job.Workspace, "sparse-checkout", "set", "--no-cone", "only")
	if r := f.publish(); r.Wip != "" || r.Bundle != nil || r.Rest != nil {
		t.Errorf("%+v", r)
	}
}

// Guards against naming what the branch has anyway.
func TestPublishBringsNothingTwice(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	w := f.job.Workspace
	f.write(w, "b.txt", "b")
	f.commit(w, "work")
	f.git(w, "branch", "same")
	f.git(w, "tag", "-a", "-m", "here", "here")
	f.git(w, "update-ref", "refs/wip/here", "HEAD~1")
	if r := f.publish(); r.Rest != nil || r.Count != 0 || len(r.Names) != 0 || len(r.Lost) != 0 {
		t.Errorf("%+v", r)
	}
}

// Guards against not reporting what can't be brought.
func TestPublishNamesWhatItCannotBring(t *testing.T) {
	side := func(f *fixture, w, file string) string {
		f.git(w, "checkout", "-q", "-b", "side-"+file)
		f.write(w, file, file)
		oid := f.commit(w, file)
		f.git(w, "checkout", "-q", "main")
		return oid
	}
	for _, c := range []struct {
		name  string
		agent func(*fixture, string)
		lost  string
		saved []string // files that are still saved
	}{
		{"a repository inside", func(f *fixture, w string) {
			inner := filepath.Join(w, "inner")
			must.Do(f.t, os.Mkdir(inner, 0o700))
			f.git(inner, "init", "-q")
			f.write(inner, "x", "x")
			f.commit(inner, "x")
			side(f, w, "good.txt")
		}, "inner", []string{"good.txt"}},
		{"files in what the index calls a submodule", func(f *fixture, w string) {
			side(f, w, "good.txt")
			must.Do(f.t, os.Mkdir(filepath.Join(w, "data"), 0o700))
			f.write(w, "data/un", "un")
			f.git(w, "update-index", "--add", "--cacheinfo", "160000,"+f.job.Base+",data")
		}, "data", []string{"good.txt"}},
		{"a repository inside without a commit", func(f *fixture, w string) {
			inner := filepath.Join(w, "inner")
			must.Do(f.t, os.Mkdir(inner, 0o700))
			f.git(inner, "init", "-q")
			f.write(inner, "x", "x")
			f.write(w, "z.txt", "z.txt")
		}, "inner", []string{"z.txt"}},
		{"a branch with a broken object", func(f *fixture, w string) {
			side(f, w, "good.txt")
			side(f, w, "bad.txt")
			oid := f.git(w, "rev-parse", "side-bad.txt:bad.txt")
			path := filepath.Join(w, ".git/objects", oid[:2], oid[2:])
			must.Do(f.t, os.Chmod(path, 0o600))
			f.write(filepath.Dir(path), oid[2:], "broken")
		}, "side-bad.txt", []string{"good.txt"}},
		{"a branch with a missing commit", func(f *fixture, w string) {
			side(f, w, "good.txt")
			oid := side(f, w, "bad.txt")
			must.Do(f.t, os.Remove(filepath.Join(w, ".git/objects", oid[:2], oid[2:])))
		}, "side-bad.txt", []string{"good.txt"}},
		{"a branch that was fetched without its history", func(f *fixture, w string) {
			side(f, w, "good.txt")
			f.write(f.host, "far.txt", "far")
			f.commit(f.host, "far")
			f.write(f.host, "far.txt", "farther")
			f.commit(f.host, "farther")
			f.git(w, "fetch", "-q", "--depth=1", "file://"+f.host, "main:far")
		}, "refs/heads/far", []string{"good.txt"}},
		{"too many branches", func(f *fixture, w string) {
			var in strings.Builder
			for i := range maxKept + 10 {
				_, _ = fmt.Fprintf(&in, "commit refs/heads/b%d\ncommitter T <t@example.org> %d +0000\ndata 0\nfrom %s\n", i,
					i, f.job.Base)
			}
			f.write(w, ".git/in", in.String())
			f.git(w, "-c", "core.logAllRefUpdates=false", "config", "x.y", "z")
			file := must.Get(os.Open(filepath.Join(w, ".git/in")))(f.t)
			defer func() { _ = file.Close() }()
			f.feed(w, file, "fast-import", "--quiet")
		}, "10 more", nil},
		{"a file whose name git does not take", func(f *fixture, w string) {
			f.write(w, "git~1", "x")
			f.write(w, "good.txt", "good.txt")
		}, "git~1", []string{"good.txt"}},
		{"a file that nobody may read", func(f *fixture, w string) {
			f.write(w, "closed", "closed")
			f.write(w, "good.txt", "good.txt")
			must.Do(f.t, os.Chmod(filepath.Join(w, "closed"), 0))
			if os.Getuid() == 0 { // root may: a repository inside stands in for it
				_ = os.Remove(filepath.Join(w, "closed"))
				_ = os.Mkdir(filepath.Join(w, "closed"), 0o700)
				f.git(filepath.Join(w, "closed"), "init", "-q")
			}
		}, "closed", []string{"good.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			c.agent(f, f.job.Workspace)
			f.job.All = true
			r := f.publish()
			if !strings.Contains(strings.Join(r.Lost, "\n"), c.lost) {
				t.Errorf("lost %q, want %q", r.Lost, c.lost)
			}
			for _, file := range c.saved {
				if !f.has(file, file) {
					t.Errorf("%s did not come: %+v", file, r)
				}
			}
			if data, err := os.ReadFile(filepath.Join(f.job.Exchange, ResultFile)); err != nil || len(data) > 32<<10 {
				t.Errorf("a result of %d bytes, %v", len(data), err)
			}
		})
	}
}

// Guards against a publisher that waits for what an agent has put in the places of git's files and that it needs not.
func TestPublishDoesNotWaitForPipes(t *testing.T) {
	for _, name := range []string{"logs/refs/heads/main", "logs/pipe", "info/sparse-checkout", "info/attributes",
		"info/exclude", "ORIG_HEAD", "HEAD", "config", "config.worktree", "index", "hooks/pre-commit", "commondir"} {
		t.Run(name, func(t *testing.T) {
			f, w, head := workedIn(t)
			path := filepath.Join(w, ".git", name)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must.Do(t, fifo(path))
			f.write(w, "left.txt", "left")
			if r := f.publish(); r.Head != head || len(r.Lost) > 0 || !f.has("left.txt", "left") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against a FIFO that git reads among the files, or among other refs, and that keeps the commits from coming.
func TestAPipeCostsWhatIsBehindItAlone(t *testing.T) {
	for name, lost := range map[string]string{".gitignore": "uncommitted", "deep/.gitignore": "uncommitted",
		".git/refs/heads/pipe": "refs", ".git/refs/stash": "refs"} {
		t.Run(name, func(t *testing.T) {
			f, w, head := workedIn(t)
			f.job.leftTime, f.job.lookTime = 2*time.Second, 2*time.Second
			must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(w, name)), 0o700))
			f.write(w, "left.txt", "left")
			must.Do(t, fifo(filepath.Join(w, name)))
			if r := f.publish(); r.Head != head || r.Bundle == nil || !strings.Contains(strings.Join(r.Lost, "\n"), lost) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func fifo(path string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) }

// Guards against a publisher that writes refs of its own into a workspace, or moves the agent's out of sight.
func TestPublishLeavesRefsAsTheyAre(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	w := f.job.Workspace
	f.git(w, "checkout", "-q", "-b", "side")
	f.write(w, "side.txt", "side")
	oid := f.commit(w, "side")
	f.git(w, "checkout", "-q", "main")
	f.git(w, "branch", "-q", "-D", "side")
	f.git(w, "update-ref", "refs/cco/out/of/the/way", oid) // where bundles have cco's own
	for _, all := range []bool{false, true, false} {
		f.job.All = all
		r := f.publish()
		if r.Count != 1 || (r.Rest != nil) != all || len(r.Lost) > 0 || all && !f.has("side.txt", "side") {
			t.Errorf("%+v", r)
		}
		if got := f.git(w, "for-each-ref", "--format=%(refname)"); got != "refs/cco/out/of/the/way\nrefs/heads/main" {
			t.Errorf("refs: %q", got)
		}
	}
}

// Guards against one name that git takes and the host doesn't, which would keep all else from coming.
func TestNamesThatTheHostRefusesBecomeOthers(t *testing.T) {
	f, w, head := workedIn(t)
	tree := f.git(w, "rev-parse", "HEAD^{tree}")
	names := []string{"refs/heads/-x", "refs/heads/@", "refs/heads/x.LOCK", "refs/heads/v1./x"}
	for _, name := range names {
		f.git(w, "update-ref", name, f.git(w, "commit-tree", tree, "-p", head, "-m", name))
	}
	f.job.All = true
	f.publish()
	if got := f.got(); strings.Count(got, "refs/got/kept/other/") != len(names) || strings.Contains(got, "kept/heads") {
		t.Errorf("got %q", got)
	}
}

// Guards against packed refs that no repository can have beside each other, and that would keep all else from coming.
func TestRefsBelowEachOtherAreBrought(t *testing.T) {
	f, w, head := workedIn(t)
	tree := f.git(w, "rev-parse", "HEAD^{tree}")
	packed := "# pack-refs with: sorted\n"
	for _, name := range []string{"refs/heads/a", "refs/heads/a/b", "refs/heads/a/b/c", "refs/heads/main"} {
		oid := head
		if name != "refs/heads/main" {
			oid = f.git(w, "commit-tree", tree, "-p", head, "-m", name)
		}
		packed += oid + " " + name + "\n"
	}
	must.Do(t, os.RemoveAll(filepath.Join(w, ".git/refs/heads/main")))
	f.write(w, ".git/packed-refs", packed)
	f.job.All = true
	if r := f.publish(); r.Count != 3 || len(r.Lost) > 0 {
		t.Errorf("%+v", r)
	}
	if got := f.got(); strings.Count(got, "refs/got/kept/") != 3 || !strings.Contains(got, "kept/heads/a") {
		t.Errorf("got %q", got)
	}
}

// Guards against losing sight of files that an agent put into a worktree outside its workspace, which nothing moves.
func TestPublishNamesWorktreesOutside(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	w := f.job.Workspace
	f.git(w, "worktree", "add", "-q", "--detach", "inner")
	f.git(w, "worktree", "add", "-q", "--detach", filepath.Join(filepath.Dir(w), "out"))
	r := f.publish()
	lost := strings.Join(r.Lost, "\n")
	if len(r.Lost) != 2 || !strings.Contains(lost, "/out, which is outside the workspace") ||
		!strings.Contains(lost, "the repository in inner") {
		t.Errorf("lost %q", r.Lost)
	}
}
