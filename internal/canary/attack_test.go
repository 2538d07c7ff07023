package canary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against git's own habit of writing through links: a log of refs that is a link to ~/.bashrc, or a second name
// of it, takes a commit's subject there at the user's next `git stash`. It is told, first of all, and neither telling
// nor undoing writes there.
func TestLinksToTheUsersFilesAreToldAndNotFollowed(t *testing.T) {
	for name, plant := range map[string]string{
		"logs/refs/stash":            "ln -s $RC logs/refs/stash",
		"logs/refs/stash.lock":       "ln -s $RC logs/refs/stash.lock",
		"logs/refs/heads/main":       "rm logs/refs/heads/main; ln $RC logs/refs/heads/main",
		"logs/HEAD":                  "rm logs/HEAD; ln -s $RC logs/HEAD",
		"worktrees/agent/logs/HEAD":  "rm worktrees/agent/logs/HEAD; ln -s $RC worktrees/agent/logs/HEAD",
		"COMMIT_EDITMSG":             "rm COMMIT_EDITMSG; ln -s $RC COMMIT_EDITMSG",
		"logs/refs/heads/objects/no": "mkdir logs/refs/heads/objects; ln $RC logs/refs/heads/objects/no",
	} {
		t.Run(name, func(t *testing.T) {
			rc := filepath.Join(t.TempDir(), "bashrc")
			must.Do(t, os.WriteFile(rc, []byte("mine\n"), 0o600))
			t.Setenv("RC", rc)
			s := stage(t, stashed)
			evil := s.agent.Commit("x\n\n; evil", "x", "x")
			s.agent.Git("stash", "drop", "-q")
			s.user.Git("update-ref", "refs/heads/main", evil)
			s.sh("mkdir -p logs/refs; rm -f logs/refs/stash; " + plant)
			r, _, err := canary.Conclude(t.Context(), s.dir, time.Unix(2, 0))
			if err != nil || len(r.Findings) < 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			f := r.Findings[0]
			if f.Kind != canary.KindOdd || f.New || !strings.HasPrefix(f.Words, name+" is a ") ||
				!slices.Equal(f.Undo, []string{"rm -- " + s.gitPath(name)}) {
				t.Errorf("found:\n%s", words(r.Findings))
			}
			for _, f := range r.Findings {
				for _, line := range f.Undo {
					s.sh(line)
				}
			}
			s.user.Write("a.txt", "z")
			s.user.Git("stash")
			if b := must.Get(os.ReadFile(rc))(t); string(b) != "mine\n" {
				t.Errorf("the user's file is %q now", b)
			}
		})
	}
}

// Guards against waiting: FIFOs, sockets and links to either, wherever git keeps anything, are told and not opened.
func TestSpecialFilesDoNotHang(t *testing.T) {
	s := stage(t, stashed, hook, linked)
	names := []string{"config", "HEAD", "index", "packed-refs", "hooks/pre-commit", "hooks/new", "info/exclude",
		"objects/pack/x.pack", "objects/00", "objects/info/alternates", "refs/heads/main", "refs/heads/fifo",
		"refs/tags/fifo",
		"refs/stash", "logs/HEAD", "logs/refs/stash", "worktrees/linked/HEAD", "worktrees/linked/gitdir",
		"worktrees/linked/index", "modules", "FETCH_HEAD", "main"}
	for i, name := range names {
		must.Do(t, os.RemoveAll(s.gitPath(name)))
		must.Do(t, os.MkdirAll(filepath.Dir(s.gitPath(name)), 0o755))
		if i%2 == 0 {
			must.Do(t, syscall.Mkfifo(s.gitPath(name), 0o644))
			continue
		}
		fifo := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, syscall.Mkfifo(fifo, 0o644))
		must.Do(t, os.Symlink(fifo, s.gitPath(name)))
	}
	found := s.compare()
	for _, name := range names {
		if !slices.ContainsFunc(found, func(f canary.Finding) bool {
			return f.Kind == canary.KindOdd && strings.HasPrefix(f.Words, name+" is a ")
		}) {
			t.Errorf("%s is not told:\n%s", name, words(found))
		}
	}
}

// Guards against a race that was lost once: a directory that is a link to the user's own at the moment of reading.
func TestDirectoriesThatAreSwappedWhileReading(t *testing.T) {
	s := stage(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for i := range 50 {
		name := filepath.Join(elsewhere, fmt.Sprintf("leak%d", i))
		must.Do(t, os.MkdirAll(elsewhere, 0o755))
		must.Do(t, os.WriteFile(name, []byte(s.base+"\n"), 0o644))
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	for _, name := range []string{"refs/heads", "hooks", "info"} {
		swapping.Add(1)
		go func() {
			defer swapping.Done()
			dir := s.gitPath(name)
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Rename(dir, dir+"-away")
				_ = os.Symlink(elsewhere, dir)
				_ = os.Remove(dir)
				_ = os.Rename(dir+"-away", dir)
			}
		}()
	}
	for range 60 {
		// What is away at the moment is missing, and a link is told; nothing is read through one.
		if all := words(s.compare()); strings.Contains(all, "leak") {
			t.Fatalf("read through a link:\n%s", all)
		}
	}
	close(stop)
	swapping.Wait()
	if left := must.Get(os.ReadDir(elsewhere))(t); len(left) != 50 {
		t.Errorf("%d files are left of the user's", len(left))
	}
}

// Guards against a repository that is made too large, too deep or another to be compared: that is told.
func TestWhatCannotBeComparedIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(s *scene)
		words string
	}{
		"deep": {func(s *scene) { s.sh("d=refs/heads; for i in $(seq 80); do d=$d/d; done; mkdir -p $d") },
			"not everything could be compared: "},
		"vast files": {func(s *scene) { s.sh("truncate -s 1T hooks/vast; truncate -s 1T packed-refs") },
			"hooks/vast was added"},
		"many files": {func(s *scene) { s.sh("mkdir hooks/many; cd hooks/many; seq 100010 | xargs touch") },
			"there are too many files"},
		"gone": {func(s *scene) { s.sh("mv ../.git ../away") }, "not everything could be compared: "},
		"another": {func(s *scene) { s.sh("cp -a ../.git ../copy; mv ../.git ../away; mv ../copy ../.git") },
			"another directory"},
		"behind a link": {func(s *scene) { s.sh("mv ../.git ../away; ln -s away ../.git") }, "not everything could be"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t, hook)
			c.do(s)
			if found := s.compare(); !slices.ContainsFunc(found, func(f canary.Finding) bool {
				return !f.New && strings.Contains(f.Words, c.words)
			}) {
				t.Errorf("found:\n%s", words(found))
			}
		})
	}
}

// Hooks that core.hooksPath names, and a worktree's own .git file, are outside .git.
func TestWhatSteersGitFromOutside(t *testing.T) {
	s := stage(t, func(s *scene) {
		elsewhere := filepath.Join(s.t.TempDir(), "h")
		s.sh("mv hooks " + elsewhere + "; ln -s " + elsewhere + " hooks")
		s.user.Git("config", "core.hooksPath", "githooks")
		s.user.Commit("hooks", "githooks/pre-push", "mine\n")
	})
	s.user.Write("githooks/pre-push", "evil\n")
	must.Do(t, os.WriteFile(s.gitPath("hooks/post-merge"), []byte("evil"), 0o600))
	found := s.compare()
	if len(found) != 2 || found[0].Kind != canary.KindHook || found[1].Kind != canary.KindHook {
		t.Fatalf("found:\n%s", words(found))
	}
	for _, f := range found {
		for _, line := range f.Undo {
			s.sh(line)
		}
	}
	if found := s.compare(); len(found) != 0 || s.user.Read("githooks/pre-push") != "mine\n" {
		t.Errorf("found:\n%s", words(found))
	}
}

// Guards against a proposal that costs the user the settings: a second name is no reason to remove the first.
func TestASecondNameOfTheConfigurationIsUndone(t *testing.T) {
	s := stage(t)
	before := s.user.Git("config", "--local", "--list")
	s.sh("ln config config2")
	found := s.compare()
	for _, f := range found {
		for _, line := range f.Undo {
			s.sh(line)
		}
	}
	if after := s.user.Git("config", "--local", "--list"); after != before {
		t.Errorf("after\n%s\nthe settings are\n%s", words(found), after)
	}
	if again := s.compare(); len(again) != 0 {
		t.Errorf("still found:\n%s", words(again))
	}
}
