package canary_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against blaming an agent that worked for hours for what its user did meanwhile.
func TestTheUsersOwnWorkFreezesNothing(t *testing.T) {
	for name, do := range map[string]func(*scene){
		"commits": func(s *scene) { s.user.Commit("one", "u.txt", "1"); s.user.Commit("two", "u.txt", "2") },
		"amends": func(s *scene) {
			s.user.Commit("one", "u.txt", "1")
			s.user.Git("commit", "-q", "--amend",
				"-m", "uno")
		},
		"stages":         func(s *scene) { s.user.Write("u.txt", "1"); s.user.Git("add", "u.txt") },
		"switches":       func(s *scene) { s.user.Git("switch", "-q", "other"); s.user.Commit("one", "u.txt", "1") },
		"makes a branch": func(s *scene) { s.user.Git("switch", "-q", "-c", "feature"); s.user.Commit("one", "u.txt", "1") },
		"detaches":       func(s *scene) { s.user.Commit("one", "u.txt", "1"); s.user.Git("checkout", "-q", s.base) },
		"merges":         func(s *scene) { s.agent.Commit("w", "w.txt", "w"); s.user.Git("merge", "-q", "cco/"+id) },
		"rebases its own": func(s *scene) {
			s.user.Git("switch", "-q", "other")
			s.user.Commit("o", "o", "o")
			s.user.Git("rebase", "-q", "main")
		},
		"stashes":         func(s *scene) { s.user.Write("a.txt", "x"); s.user.Git("stash") },
		"works elsewhere": func(s *scene) { gittest.At(s.t, s.elsewhere()).Commit("one", "u.txt", "1") },
		"pulls another session": func(s *scene) {
			tip := s.agent.Git("commit-tree", "-m", "x", "-p", s.base, s.base+"^{tree}")
			s.user.Git("update-ref", "refs/heads/other", tip)
			s.user.Git("update-ref", "refs/cco/89abcdef", tip)
			s.own.Peers, s.own.Tips = []string{"89abcdef"}, []string{tip}
		},
		"starts another session": func(s *scene) {
			dir := filepath.Join(s.t.TempDir(), "89abcdef")
			s.user.Git("worktree", "add", "-q", "-b", "cco/89abcdef", dir)
			gittest.At(s.t, dir).Commit("x", "x", "x")
			s.own.Peers = []string{"89abcdef"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t, linked)
			do(s)
			found := s.compare()
			if len(found) == 0 || len(grave(found)) != 0 {
				t.Errorf("found:\n%s", words(found))
			}
		})
	}
}

// elsewhere is the user's second worktree.
func (s *scene) elsewhere() string {
	s.t.Helper()
	b := must.Get(os.ReadFile(s.gitPath("worktrees/linked/gitdir")))(s.t)
	return filepath.Dir(strings.TrimSpace(string(b)))
}

func TestFetchingIsOrdinaryAndTracking(t *testing.T) {
	var origin *gittest.Repo
	s := stage(t, func(s *scene) {
		origin = gittest.Init(s.t, filepath.Join(s.t.TempDir(), "origin"))
		s.user.Git("remote", "add", "origin", origin.Dir)
	})
	origin.Commit("theirs", "o.txt", "o")
	origin.Git("tag", "-a", "-m", "x", "v1")
	s.user.Git("fetch", "-q", "origin", "--tags")
	s.user.Git("branch", "-q", "--set-upstream-to=origin/main", "main")
	found := s.compare()
	if len(found) < 3 || len(grave(found)) != 0 {
		t.Errorf("found:\n%s", words(found))
	}
}

// A change that discards work, or that no reflog explains, is not ordinary even if a user might have made it.
func TestWhatNothingExplainsIsGrave(t *testing.T) {
	for name, do := range map[string]func(*scene){
		"reset": func(s *scene) {
			s.user.Commit("one", "u.txt", "1")
			s.user.Git("reset", "-q", "--hard", s.base+"^{commit}")
			s.reset()
		},
		"a branch moved beneath the user's commits": func(s *scene) {
			s.agent.Git("update-ref", "refs/heads/main", s.agent.Git("commit-tree", "-m", "x", "-p", s.base, s.base+"^{tree}"))
			s.user.Commit("on top", "u.txt", "1")
		},
		"a reflog that was forged away": func(s *scene) {
			s.user.Commit("one", "u.txt", "1")
			must.Do(s.t, os.Remove(s.gitPath("logs/HEAD")))
		},
		"the agent's fetch": func(s *scene) { s.agent.Git("update-ref", "-m", "fetch", "refs/remotes/origin/main", s.base) },
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			do(s)
			if found := s.compare(); len(grave(found)) == 0 {
				t.Errorf("found:\n%s", words(found))
			}
		})
	}
}

// reset moves main back behind where it was when the shot was taken.
func (s *scene) reset() {
	s.user.Git("reset", "-q", "--hard", s.user.Git("commit-tree", "-m", "orphan", s.base+"^{tree}"))
}

// Guards against the case that the canary is for: the agent went to the host's directory and committed there, which in
// the repository looks like its user's work.
func TestACommitByTheAgentInTheHostIsKnownByItsTrace(t *testing.T) {
	s := stage(t)
	s.own.Trace = filepath.Join(t.TempDir(), "trace")
	for _, kv := range canary.TraceEnv(s.own.Trace) {
		key, value, _ := strings.Cut(kv, "=")
		t.Setenv(key, value)
	}
	s.agent.Git("-C", s.user.Dir, "status")
	if found := s.compare(); len(found) != 0 {
		t.Fatalf("reading is no finding:\n%s", words(found))
	}
	s.user.Write("evil.txt", "x")
	s.agent.Git("-C", s.user.Dir, "add", "evil.txt")
	s.agent.Git("-C", s.user.Dir, "commit", "-q", "-m", "oops")
	found := s.compare()
	if len(grave(found)) != len(found) || len(found) < 2 || !strings.Contains(words(found), "the agent ran `git -C") {
		t.Fatalf("found:\n%s", words(found))
	}
	for _, o := range s.undo(found) {
		if !o.Done {
			t.Errorf("%s: %s", o.Finding.Words, o.Refused)
		}
	}
	if got := s.user.Git("rev-parse", "main"); got != s.base {
		t.Errorf("main is at %s", got)
	}
	if got := s.user.Read("evil.txt"); got != "x" {
		t.Errorf("a file of the worktree was touched: %q", got)
	}
	s.user.Git("rev-parse", "--verify", "refs/cco/"+id+"-undone/heads/main")
}

func TestUndoRefusesWhatHasChangedAgain(t *testing.T) {
	s := stage(t, hook)
	evil := s.agent.Commit("x")
	s.user.Git("update-ref", "refs/heads/main", evil)
	s.user.Git("update-ref", "refs/heads/other", evil)
	s.put("hooks/pre-commit", "evil", 0o755)
	s.put("hooks/new", "evil", 0o755)
	s.user.Git("config", "core.hooksPath", "x")
	found := s.compare()
	newer := s.agent.Commit("y")
	s.user.Git("update-ref", "refs/heads/main", newer)
	s.put("hooks/pre-commit", "mine again", 0o755)
	s.put("config.lock", "", 0o644)
	done := map[string]bool{}
	for _, o := range s.undo(found) {
		done[o.Finding.What] = o.Done
		if o.Done == (o.Refused != "") {
			t.Errorf("%+v", o)
		}
	}
	want := map[string]bool{"refs/heads/main": false, "refs/heads/other": true, "hooks/pre-commit": false,
		"hooks/new": true, "config": false}
	if fmt.Sprint(done) != fmt.Sprint(want) {
		t.Errorf("done: %v", done)
	}
	if s.user.Git("rev-parse", "main") != newer || s.user.Git("config", "core.hooksPath") != "x" {
		t.Error("something newer was lost")
	}
	if b, _ := os.ReadFile(s.gitPath("hooks/pre-commit")); string(b) != "mine again" {
		t.Errorf("hook: %q", b)
	}
}

// Guards against an undo that loses what it undoes.
func TestUndoKeepsWhatItTakesAway(t *testing.T) {
	s := stage(t)
	evil := s.agent.Commit("x", "x", "x")
	s.user.Git("update-ref", "refs/heads/main", evil)
	s.put("hooks/post-commit", "evil hook", 0o755)
	s.user.Write("a.txt", "y")
	s.user.Git("stash")
	stash := s.user.Git("rev-parse", "stash")
	for _, o := range s.undo(s.compare()) {
		if !o.Done || o.Kept == "" {
			t.Errorf("%+v", o)
		}
	}
	if got := s.user.Git("rev-parse", "refs/cco/"+id+"-undone/heads/main"); got != evil {
		t.Errorf("kept %s", got)
	}
	if got := s.user.Git("rev-parse", "refs/cco/"+id+"-undone/stash"); got != stash {
		t.Errorf("kept %s", got)
	}
	if b, _ := os.ReadFile(s.gitPath("cco-undone/" + id + "/1/hooks/post-commit")); string(b) != "evil hook" {
		t.Errorf("kept %q", b)
	}
}

// Guards against two sessions at once that saw the same change: undoing it for one undoes it for the other.
func TestUndoingTwice(t *testing.T) {
	s := stage(t, hook)
	s.user.Git("update-ref", "refs/heads/main", s.agent.Commit("x"))
	s.agent.Git("branch", "mine")
	s.put("hooks/pre-commit", "evil", 0o755)
	s.put("hooks/new", "evil", 0o755)
	found := s.compare()
	for range 2 {
		for _, o := range s.undo(found) {
			if !o.Done {
				t.Errorf("%s: %s", o.Finding.Words, o.Refused)
			}
		}
	}
	if again := s.compare(); len(again) != 0 {
		t.Errorf("found:\n%s", words(again))
	}
}

func TestAHugeHooksDirectory(t *testing.T) {
	s := stage(t, hook)
	before := s.state()
	for i := range 20010 {
		f := must.Get(os.Create(s.gitPath(fmt.Sprintf("hooks/%d", i))))(t)
		_ = f.Close()
	}
	must.Do(t, os.Truncate(s.gitPath("hooks/1"), 1<<40))
	found := s.compare()
	if len(found) != 1 || !strings.Contains(found[0].Words, "hooks has more than") {
		t.Fatalf("found:\n%s", words(found))
	}
	if out := s.undo(found); !out[0].Done {
		t.Fatalf("%+v", out)
	}
	s.run("rm", s.gitPath("cco-undone")) // a terabyte of nothing
	if s.state() != before {
		t.Error("not as before")
	}
}

func TestAFileTooLargeToKeep(t *testing.T) {
	s := stage(t, func(s *scene) { s.put("hooks/big", strings.Repeat("x", 5<<20), 0o755) })
	s.put("hooks/big", strings.Repeat("y", 5<<20), 0o755)
	s.put("hooks/vast", "", 0o755)
	must.Do(t, os.Truncate(s.gitPath("hooks/vast"), 1<<40))
	found := s.compare()
	if len(grave(found)) != 2 {
		t.Fatalf("found:\n%s", words(found))
	}
	for _, o := range s.undo(found) {
		if o.Done != (o.Finding.What == "hooks/vast") {
			t.Errorf("%s: %v %s", o.Finding.What, o.Done, o.Refused)
		}
	}
}

func TestHooksOutsideTheRepository(t *testing.T) {
	elsewhere := ""
	s := stage(t, func(s *scene) {
		elsewhere = filepath.Join(s.t.TempDir(), "h")
		s.run("rm", s.gitPath("hooks"))
		s.run("mkdir", elsewhere)
		s.run("ln", "-s", elsewhere, s.gitPath("hooks"))
		s.user.Git("config", "core.hooksPath", "githooks")
		s.user.Commit("hooks", "githooks/pre-push", "mine")
	})
	s.user.Write("githooks/pre-push", "evil")
	must.Do(t, os.WriteFile(filepath.Join(elsewhere, "post-merge"), []byte("evil"), 0o600))
	found := s.compare()
	if len(grave(found)) != 2 {
		t.Fatalf("found:\n%s", words(found))
	}
	for _, o := range s.undo(found) {
		if !o.Done {
			t.Errorf("%s: %s", o.Finding.Words, o.Refused)
		}
	}
	if got := s.user.Read("githooks/pre-push"); got != "mine" {
		t.Errorf("%q", got)
	}
}

// Guards against a repository that git can't even open: that is not a reason to see nothing.
func TestABrokenConfigurationIsMended(t *testing.T) {
	s := stage(t)
	before := s.state()
	s.user.Git("update-ref", "refs/heads/main", s.agent.Commit("x"))
	s.put("config", "[core\n", 0o644)
	r, err := canary.Conclude(t.Context(), s.user.Dir, s.dir, s.own, time.Unix(1, 0))
	if err != nil || !r.Frozen || !slices.ContainsFunc(r.Findings,
		func(f canary.Finding) bool { return f.Kind == canary.KindUnreadable }) {
		t.Fatalf("%+v, %v", r, err)
	}
	out, err := canary.Mend(t.Context(), s.user.Dir, s.dir, s.own, false)
	if err != nil || len(out) != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	if s.state() != before {
		t.Errorf("not as before: %s", s.state())
	}
	if r, err := canary.ReadReport(s.dir); err != nil || r.Frozen || r.Resolved != canary.Undone {
		t.Errorf("%+v, %v", r, err)
	}
}

// Guards against a watcher's death: the shot on disk says as much as the one in memory.
func TestConcludeAfterADeath(t *testing.T) {
	s := stage(t)
	if !canary.Pending(s.dir) {
		t.Fatal("not pending")
	}
	s.put("hooks/\xff", "x", 0o755)
	r, err := canary.Conclude(t.Context(), s.user.Dir, s.dir, canary.Own{ID: id}, time.Unix(1, 0))
	if err != nil || !r.Frozen || len(r.Findings) != 1 || canary.Pending(s.dir) {
		t.Fatalf("%+v, %v", r, err)
	}
	if out, err := canary.Mend(t.Context(), s.user.Dir, s.dir, s.own, false); err != nil || len(out) != 1 || !out[0].Done {
		t.Fatalf("%+v, %v", out, err)
	}
	// And one whose shot was damaged: nothing can be said, so it freezes.
	s = stage(t)
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "shot.json"), []byte("{"), 0o600))
	if r, err := canary.Conclude(t.Context(), s.user.Dir, s.dir, canary.Own{ID: id}, time.Unix(1, 0)); err != nil ||
		!r.Frozen {
		t.Errorf("%+v, %v", r, err)
	}
	// Nothing found leaves nothing behind.
	s = stage(t)
	if r, err := canary.Conclude(t.Context(), s.user.Dir, s.dir, s.own, time.Unix(1, 0)); err != nil || r.Frozen {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}

func TestFreezing(t *testing.T) {
	box := t.TempDir()
	must.Do(t, canary.Check(box, "wt"))
	report := filepath.Join(canary.Dir(box, id), "report.json")
	must.Do(t, os.MkdirAll(filepath.Dir(report), 0o700))
	must.Do(t, os.WriteFile(report, []byte(`{"session":"`+id+`","frozen":true,`+
		`"findings":[{"words":"x"},{"words":"y","ordinary":true}]}`), 0o600))
	var frozen *canary.FrozenError
	if err := canary.Check(box, "wt"); !errors.As(err, &frozen) ||
		!strings.Contains(err.Error(), "session "+id+": 1 change") ||
		!strings.Contains(err.Error(), "cco guard canary "+id) {
		t.Fatal(err)
	}
	// A report that can't be read keeps a box closed.
	must.Do(t, os.WriteFile(report, []byte("nonsense"), 0o600))
	if err := canary.Check(box, "wt"); !errors.As(err, &frozen) {
		t.Fatal(err)
	}
	must.Do(t, canary.Thaw(box, id, canary.Accepted))
	must.Do(t, canary.Check(box, "wt"))
}
