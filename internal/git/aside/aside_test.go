package aside_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestCommitsComeOver(t *testing.T) {
	for _, kind := range kinds {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(kind+" "+format, func(t *testing.T) {
				r := newRig(t, kind, "--object-format="+format)
				before := gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git"))
				if r.git("status", "--porcelain") != "" || r.git("symbolic-ref", "--short", "HEAD") != r.branch() {
					t.Fatal("the agent doesn't find what the user has")
				}
				r.commit("new", "x\n")
				r.user.Write("staged", "y\n")
				r.git("add", "staged")
				r.user.Write("a", "changed\n")
				tip := r.git("rev-parse", "HEAD")
				for name, sum := range gittest.Fingerprint(t, filepath.Join(r.main.Dir, ".git")) {
					if before[name] != sum {
						t.Errorf("the agent's git changed .git/%s", name)
					}
				}
				rep := r.end()
				if len(rep.Moved) != 1 || rep.Moved[0].Branch != r.branch() || rep.Moved[0].To != tip || rep.Index != 2 {
					t.Errorf("report %+v", rep)
				}
				r.at(r.branch(), tip)
				r.status(" M a\nA  staged")
				if again := r.end(); len(again.Moved)+len(again.Kept)+again.Index != 0 {
					t.Errorf("something came twice: %+v", again)
				}
			})
		}
	}
}

// Guards against git commands that fail in the private repository, or reach the user's.
func TestGitWorksInside(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			b := r.branch()
			first := r.commit("one", "1\n")
			r.git("commit", "-q", "--amend", "-m", "amended")
			amended := r.git("rev-parse", "HEAD")
			r.git("switch", "-q", "-c", "topic", "HEAD~1")
			picked := r.commit("two", "2\n")
			r.git("switch", "-q", b)
			r.git("cherry-pick", picked)
			r.git("switch", "-q", "topic")
			r.commit("three", "3\n")
			r.git("rebase", "-q", b)
			r.git("tag", "mine")
			r.git("tag", "-a", "-m", "words", "annotated")
			r.git("notes", "add", "-m", "a note")
			r.user.Write("a", "stashed\n")
			r.git("stash")
			r.git("stash", "pop", "-q")
			r.git("stash")
			r.git("bisect", "start", "-q", "HEAD", "HEAD~3")
			r.git("bisect", "reset")
			r.git("gc", "-q", "--prune=now")
			r.git("repack", "-q", "-a", "-d")
			r.git("pack-refs", "--all")
			r.git("fsck")
			wt := filepath.Join(t.TempDir(), "wt")
			r.git("worktree", "add", "-q", wt, "-b", "third")
			r.git("worktree", "remove", "--force", wt)
			topic, tip := r.git("rev-parse", "topic"), r.git("rev-parse", b)
			rep := r.end()
			if len(rep.Kept)+len(rep.Refused)+len(rep.IndexLeft) > 0 || rep.Head != "topic" {
				t.Errorf("report %+v", rep)
			}
			r.at("topic", topic)
			r.at(b, tip)
			r.at("third", topic)
			r.at("mine", "")
			r.at("refs/stash", "")
			r.at("refs/notes/commits", "")
			if r.user.Git("symbolic-ref", "--short", "HEAD") != "topic" || amended == first {
				t.Error("HEAD did not follow")
			}
			r.status("")
			must.Do(t, r.repo.Refresh(t.Context()))
			if r.git("rev-parse", "mine") != topic || !strings.Contains(r.git("stash", "list"), "stash@{0}") ||
				r.git("notes", "show") != "a note" {
				t.Error("something of the agent's own is gone")
			}
			r.git("stash", "pop", "-q")
			r.git("fsck")
		})
	}
}

func TestTheUsersMovesStay(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			b := r.branch()
			agents := r.commit("new", "x\n")
			base := r.user.Git("rev-parse", "HEAD")
			users := r.user.Git("commit-tree", "-m", "the user's", "-p", "HEAD", "HEAD^{tree}")
			r.user.Git("update-ref", "refs/heads/"+b, users)
			rep := r.take()
			if len(rep.Kept) != 1 || rep.Kept[0].Commit != agents || len(rep.Moved) != 0 || len(rep.IndexLeft) != 1 {
				t.Errorf("report %+v", rep)
			}
			r.at(b, users)
			r.at(rep.Kept[0].Ref, agents)
			if !strings.HasSuffix(rep.Kept[0].Ref, "/"+b) || !strings.HasPrefix(rep.Kept[0].Ref, "refs/cco/guard/") {
				t.Errorf("kept at %s", rep.Kept[0].Ref)
			}
			// Guards against a second Take that takes the user's new commit for what was there before.
			r.git("commit", "-q", "--amend", "-m", "again")
			agents = r.git("rev-parse", "HEAD")
			rep = r.end()
			r.at(b, users)
			r.at(rep.Kept[0].Ref, agents)
			if n := len(strings.Fields(r.user.Git("for-each-ref", "--format=%(refname)", "refs/cco"))); n != 1 {
				t.Errorf("%d refs of cco's", n)
			}
			must.Do(t, r.repo.Refresh(t.Context()))
			if r.git("rev-parse", "HEAD") != users || r.git("rev-parse", rep.Kept[0].Ref) != agents || base == users {
				t.Error("the agent doesn't see what the user has now")
			}
		})
	}
}

func TestBranchesOfOthers(t *testing.T) {
	r := newRig(t, "linked")
	mains, others := r.user.Git("rev-parse", "main"), r.user.Git("rev-parse", "other")
	agents := r.commit("new", "x\n")
	r.git("update-ref", "refs/heads/main", agents)
	r.git("update-ref", "refs/heads/other", agents)
	r.user.Git("branch", "doomed")
	// One that the agent makes and the user checks out elsewhere meanwhile, and one of a name that can't be beside it.
	r.git("branch", "fresh")
	r.git("branch", "deep/er")
	r.user.Git("branch", "deep")
	rep := r.take()
	r.at("main", mains)
	r.at("other", others)
	r.at("fresh", agents)
	r.at("work", agents)
	if len(rep.Kept) != 3 || len(rep.Moved) != 2 {
		t.Errorf("report %+v", rep)
	}
	for _, k := range rep.Kept {
		r.at(k.Ref, agents)
	}
	r.main.Git("worktree", "add", "-q", filepath.Join(t.TempDir(), "elsewhere"), "fresh")
	r.commit("more", "x\n")
	r.git("update-ref", "refs/heads/fresh", "HEAD")
	r.git("update-ref", "-d", "refs/heads/other")
	rep = r.end()
	r.at("fresh", agents)
	r.at("other", others)
	r.at("work", r.git("rev-parse", "HEAD"))
	if strings.Join(rep.Deleted, " ") != "other" {
		t.Errorf("report %+v", rep)
	}
	must.Do(t, r.repo.Refresh(t.Context()))
	if r.git("rev-parse", "other") != others || r.git("rev-parse", "doomed") != mains {
		t.Error("the user's branches are not there again")
	}
}

// A branch that the agent made in this run is its own to move until the run is over.
func TestOwnBranchesMoveAgain(t *testing.T) {
	r := newRig(t, "main")
	r.git("switch", "-q", "-c", "topic")
	r.commit("one", "x\n")
	if rep := r.take(); rep.Head != "topic" {
		t.Errorf("report %+v", rep)
	}
	r.git("commit", "-q", "--amend", "-m", "again")
	r.commit("two", "x\n")
	tip := r.git("rev-parse", "HEAD")
	if rep := r.end(); len(rep.Moved) != 1 || len(rep.Kept) != 0 {
		t.Errorf("report %+v", rep)
	}
	r.at("topic", tip)
	r.status("")
}

func TestHeadOnNoBranch(t *testing.T) {
	r := newRig(t, "linked")
	b := r.branch()
	before := r.user.Git("rev-parse", "HEAD")
	r.git("switch", "-q", "--detach", "HEAD~1")
	if rep := r.take(); rep.HeadLeft == "" || len(rep.Kept) != 0 {
		t.Errorf("report %+v", rep)
	}
	tip := r.commit("new", "x\n")
	rep := r.end()
	if len(rep.Kept) != 1 || rep.Kept[0].Branch != "HEAD" {
		t.Errorf("report %+v", rep)
	}
	r.at(rep.Kept[0].Ref, tip)
	r.at("HEAD", before)
	// The agent finds itself where it was, until the user goes elsewhere.
	must.Do(t, r.repo.Refresh(t.Context()))
	if r.git("rev-parse", "HEAD") != tip {
		t.Error("HEAD inside is lost")
	}
	r.end()
	r.user.Git("switch", "-q", "-f", "-c", "elsewhere")
	must.Do(t, r.repo.Refresh(t.Context()))
	if r.git("symbolic-ref", "--short", "HEAD") != "elsewhere" || b == "elsewhere" {
		t.Error("HEAD inside is not the user's")
	}
}

func TestTheUsersHeadStays(t *testing.T) {
	r := newRig(t, "linked")
	r.git("switch", "-q", "-c", "topic")
	tip := r.commit("new", "x\n")
	r.user.Git("symbolic-ref", "HEAD", "refs/heads/other")
	rep := r.end()
	if rep.HeadLeft == "" || rep.Head != "" || len(rep.IndexLeft) != 1 {
		t.Errorf("report %+v", rep)
	}
	r.at("topic", tip)
	if r.user.Git("symbolic-ref", "HEAD") != "refs/heads/other" {
		t.Error("HEAD moved")
	}
}

func TestIndexes(t *testing.T) {
	r := newRig(t, "linked")
	r.user.Write("a", "the agent's\n")
	r.git("add", "a")
	r.git("rm", "-q", "--cached", "dir/b")
	r.user.Write("odd \xff\"name", "x")
	r.git("add", "odd \xff\"name")
	r.user.Write("announced", "x")
	r.git("add", "-N", "announced")
	r.user.Write("empty", "")
	r.git("add", "empty")
	rep := r.take()
	if rep.Index != 4 || len(rep.IndexLeft) != 0 {
		t.Errorf("report %+v", rep)
	}
	if got, want := r.user.Git("ls-files", "-s", "-z"), r.git("ls-files", "-s", "-z"); strings.Replace(want,
		"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\tannounced\x00", "", 1) != got {
		t.Errorf("the user has\n%q, the agent\n%q", got, want)
	}
	// What would not come as a commit does not come staged either: then the index is what is committed.
	r.user.Write("odd\nname", "x")
	r.git("add", "odd\nname")
	r.git("commit", "-q", "-m", "most", "--", "empty")
	if rep = r.take(); rep.Index != 3 || len(rep.IndexLeft) == 0 || len(rep.Moved) != 1 {
		t.Errorf("report %+v", rep)
	}
	r.status(" M a\n?? announced\n?? \"odd\\nname\"\n?? \"odd \\377\\\"name\"")
	r.git("rm", "-q", "--cached", "odd\nname")
	r.take()
	// What the user stages meanwhile stays; the rest follows.
	r.user.Write("a", "the user's\n")
	r.user.Git("add", "a")
	r.user.Write("a", "the agent's again\n")
	r.git("add", "a")
	r.user.Write("c", "c\n")
	r.git("add", "c")
	rep = r.end()
	if rep.Index != 1 || len(rep.IndexLeft) != 1 || rep.IndexLeft[0].Path != "a" {
		t.Errorf("report %+v", rep)
	}
	if r.user.Git("show", ":a") != "the user's" || r.user.Git("show", ":c") != "c" {
		t.Error("the index is wrong")
	}
}

func TestConflictsInTheIndex(t *testing.T) {
	r := newRig(t, "main")
	r.git("switch", "-q", "-c", "side", "HEAD~1")
	r.commit("a", "other\n")
	r.git("switch", "-q", "main")
	if _, err := r.try("merge", "side"); err == nil {
		t.Fatal("no conflict")
	}
	if rep := r.take(); rep.Index != 0 || len(rep.IndexLeft) != 1 {
		t.Errorf("report %+v", rep)
	}
	r.status(" M a")
	r.user.Write("a", "solved\n")
	r.git("commit", "-q", "-a", "-m", "merged")
	r.end()
	r.status("")
}

func TestRefreshWaitsForTheEnd(t *testing.T) {
	r := newRig(t, "linked")
	tip := r.commit("new", "x\n")
	r.take()
	later := r.commit("later", "x\n")
	r.open() // as after kill -9
	if err := r.repo.Refresh(t.Context()); !errors.Is(err, aside.ErrPending) {
		t.Fatalf("Refresh: %v", err)
	}
	if pending, err := r.repo.Pending(); !pending || err != nil {
		t.Errorf("pending %v, %v", pending, err)
	}
	r.at("work", tip)
	r.end()
	r.at("work", later)
	must.Do(t, r.repo.Refresh(t.Context()))
	// A git that was killed inside left its lock.
	must.Do(t, os.WriteFile(r.private("index.lock"), nil, 0o600))
	r.end()
	must.Do(t, r.repo.Refresh(t.Context()))
}

func TestRefreshFollowsTheUser(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			r.commit("new", "x\n")
			r.end()
			tip := r.user.Commit("the user's", "mine", "x\n")
			r.user.Git("tag", "v1")
			r.user.Git("branch", "-D", "other")
			r.user.Git("update-ref", "refs/remotes/origin/main", "HEAD")
			r.user.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
			r.user.Write("staged", "x")
			r.user.Git("add", "staged")
			must.Do(t, r.repo.Refresh(t.Context()))
			if r.git("rev-parse", "HEAD") != tip || r.git("rev-parse", "v1") != tip || r.git("rev-parse", "origin/HEAD") != tip {
				t.Error("refs are wrong")
			}
			if _, err := r.try("rev-parse", "-q", "--verify", "other"); err == nil {
				t.Error("a branch that the user removed is there")
			}
			if got := r.git("status", "--porcelain"); got != "A  staged" {
				t.Errorf("status %q", got)
			}
		})
	}
}

func TestOddRepositories(t *testing.T) {
	t.Run("no commit", func(t *testing.T) {
		r := &rig{t: t, main: gittest.New(t), dir: filepath.Join(t.TempDir(), "data")}
		r.user = r.main
		r.open()
		must.Do(t, r.repo.Refresh(t.Context()))
		r.take()
		tip := r.commit("first", "x\n")
		r.end()
		r.at("main", tip)
		r.status("")
	})
	t.Run("shallow", func(t *testing.T) {
		origin := gittest.New(t)
		for range 4 {
			origin.Commit("commit", "a", "x\n")
		}
		r := &rig{t: t, main: gittest.At(t, t.TempDir()), dir: filepath.Join(t.TempDir(), "data")}
		r.main.Git("clone", "-q", "--depth=2", "file://"+origin.Dir, ".")
		r.user = r.main
		r.open()
		must.Do(t, r.repo.Refresh(t.Context()))
		if r.git("rev-list", "--count", "HEAD") != "2" {
			t.Error("not shallow inside")
		}
		tip := r.commit("new", "x\n")
		r.end()
		r.at("main", tip)
		r.status("")
	})
	t.Run("partial", func(t *testing.T) {
		r := newRig(t, "main")
		r.end()
		r.main.Git("config", "extensions.partialClone", "origin")
		r.open()
		if err := r.repo.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "partial clone") {
			t.Errorf("Refresh: %v", err)
		}
	})
	t.Run("split index, relative alternates", func(t *testing.T) {
		lender := gittest.New(t)
		lender.Commit("one", "a", "x\n")
		borrower := filepath.Join(filepath.Dir(lender.Dir), "borrower")
		r := &rig{t: t, main: gittest.At(t, borrower), dir: filepath.Join(t.TempDir(), "data")}
		lender.Git("clone", "-q", "-s", lender.Dir, r.main.Dir)
		must.Do(t, os.WriteFile(r.main.Path(".git/objects/info/alternates"), []byte("../../../repo/.git/objects\n"), 0o600))
		r.main.Git("update-index", "--split-index")
		r.user = r.main
		r.open()
		must.Do(t, r.repo.Refresh(t.Context()))
		tip := r.commit("new", "x\n")
		r.end()
		r.at("main", tip)
		r.status("")
	})
}

// Guards against an index that names a blob which did not come, where there is nothing else to bring.
func TestEmptyFileAlone(t *testing.T) {
	r := newRig(t, "main")
	r.user.Write("empty", "")
	r.git("add", "empty")
	if rep := r.end(); rep.Index != 1 {
		t.Errorf("report %+v", rep)
	}
	r.status("A  empty")
	r.user.Git("commit", "-q", "-m", "empty")
	r.whole()
}

// Guards against what the user has staged being put out of the way by what the agent has.
func TestFilesAndDirectoriesInTheIndex(t *testing.T) {
	r := newRig(t, "main")
	for _, name := range []string{"x", "y/z"} {
		r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("rev-parse", "HEAD:a")+","+name)
	}
	r.user.Write("other", "the user's\n")
	oid := r.user.Git("hash-object", "-w", r.user.Path("other"))
	for _, name := range []string{"x/below", "y"} {
		r.user.Git("update-index", "--add", "--cacheinfo", "100644,"+oid+","+name)
	}
	if rep := r.end(); rep.Index != 0 || len(rep.IndexLeft) != 2 {
		t.Errorf("report %+v", rep)
	}
	if got := r.user.Git("ls-files"); got != "a\ndir/b\nx/below\ny" {
		t.Errorf("the index has\n%s", got)
	}
}

// A gitlink of the user's that the agent merges is not a new one.
func TestGitlinksOfTheUsers(t *testing.T) {
	r := newRig(t, "linked")
	r.end()
	r.main.Git("update-index", "--add", "--cacheinfo", "160000,"+r.main.Git("rev-parse", "HEAD")+",lib")
	r.main.Git("commit", "-q", "-m", "a submodule")
	must.Do(t, r.repo.Refresh(t.Context()))
	r.commit("mine", "x\n")
	r.git("merge", "-q", "-m", "merged", "main")
	r.git("branch", "from-main", "main")
	rep := r.end()
	if len(rep.Moved) != 2 || len(rep.Kept)+len(rep.IndexLeft) != 0 {
		t.Errorf("report %+v", rep)
	}
	r.at("work", r.git("rev-parse", "HEAD"))
	if got := r.user.Git("diff", "--cached", "--name-only"); got != "" {
		t.Errorf("staged: %s", got)
	}
}

// A branch that another worktree will come back to stays, as one that it has checked out.
func TestBranchesThatAreRebasedElsewhere(t *testing.T) {
	r := newRig(t, "main")
	r.git("switch", "-q", "-c", "topic", "HEAD~1")
	tip := r.commit("a", "conflict\n")
	r.git("switch", "-q", "main")
	r.take()
	r.at("topic", tip)
	elsewhere := gittest.At(t, filepath.Join(t.TempDir(), "elsewhere"))
	r.main.Git("worktree", "add", "-q", elsewhere.Dir, "topic")
	if _, err := elsewhere.Try("", "rebase", "main"); err == nil {
		t.Fatal("no conflict")
	}
	r.git("update-ref", "refs/heads/topic", "HEAD")
	rep := r.end()
	if len(rep.Kept) != 1 || !strings.Contains(rep.Kept[0].Why, "being rebased") {
		t.Errorf("report %+v", rep)
	}
	r.at("topic", tip)
}

// Names of branches are bytes: one of the user's that is no text must not look like a new one.
func TestNamesThatAreNoText(t *testing.T) {
	r := newRig(t, "main")
	r.end()
	r.user.Git("branch", "caf\xe9")
	must.Do(t, r.repo.Refresh(t.Context()))
	r.git("branch", "th\xe9")
	rep := r.end()
	if len(rep.Moved) != 1 || len(rep.Kept)+len(rep.Deleted) != 0 {
		t.Errorf("report %+v", rep)
	}
	r.at("th\xe9", r.git("rev-parse", "HEAD"))
}
