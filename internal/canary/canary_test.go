package canary_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// scene is a repository of the user's with an agent's linked worktree of it, and a picture taken.
type scene struct {
	t     *testing.T
	user  *gittest.Repo // the main worktree
	agent *gittest.Repo
	base  string
	dir   string // of the picture
}

// stage makes a scene; prepare changes the repository before the picture.
func stage(t *testing.T, prepare ...func(s *scene)) *scene {
	t.Helper()
	s := &scene{t: t, user: gittest.New(t), dir: filepath.Join(t.TempDir(), "canary")}
	s.base = s.user.Commit("start", "a.txt", "a\n")
	s.user.Git("branch", "other")
	for _, p := range prepare {
		p(s)
	}
	work := filepath.Join(t.TempDir(), "agent")
	s.user.Git("worktree", "add", "-q", "-b", "task", work)
	s.agent = gittest.At(t, work)
	repo := must.Get(git.Open(t.Context(), s.user.Dir))(t)
	own := canary.Own{Branch: "task", Admin: "agent"}
	must.Do(t, canary.Take(t.Context(), repo, s.dir, own, time.Unix(1, 0)))
	return s
}

func (s *scene) compare() []canary.Finding {
	s.t.Helper()
	return must.Get(canary.Compare(s.t.Context(), s.dir, time.Unix(2, 0)))(s.t).Findings
}

func (s *scene) gitPath(name string) string {
	return filepath.Join(s.user.Dir, ".git", filepath.FromSlash(name))
}

func (s *scene) put(name, content string, mode os.FileMode) {
	s.t.Helper()
	must.Do(s.t, os.MkdirAll(filepath.Dir(s.gitPath(name)), 0o755))
	must.Do(s.t, os.WriteFile(s.gitPath(name), []byte(content), mode))
	must.Do(s.t, os.Chmod(s.gitPath(name), mode))
}

// sh runs a line of shell in the user's .git, as an agent would.
func (s *scene) sh(line string) {
	s.t.Helper()
	c := proc.Cmd{Argv: []string{"sh", "-euc", line}, Dir: s.gitPath("")}
	if out, err := proc.Output(s.t.Context(), c); err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// state is everything that steers git, and all refs.
func (s *scene) state() string {
	s.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(s.user.Git("for-each-ref", "--format=%(refname) %(objectname) %(symref)")) {
		if !strings.HasPrefix(line, "refs/heads/task ") {
			b.WriteString(line)
		}
	}
	all := gittest.Fingerprint(s.t, s.gitPath(""))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first, rest, _ := strings.Cut(name, "/")
		if slices.Contains([]string{"config", "hooks", "info", "HEAD", "shallow"}, first) ||
			first == "worktrees" && strings.HasPrefix(rest, "linked") && !strings.Contains(rest, "/logs") {
			fmt.Fprintf(&b, "\n%s %s", name, all[name])
		}
	}
	return b.String()
}

func words(found []canary.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s new=%v: %s %q undo %q\n", f.Kind, f.New, f.Words, f.Detail, f.Undo)
	}
	return b.String()
}

// Guards against blaming an agent for its own work, and against noise from what git does by itself.
func TestTheAgentsOwnWorkIsNoFinding(t *testing.T) {
	s := stage(t, stashed, func(s *scene) {
		s.put("hooks/\xff", "x", 0o644) // a name that is no text stays itself
		s.put("refs/heads/\xfe", s.base, 0o644)
	})
	s.agent.Commit("work", "b.txt", "b\n")
	s.agent.Git("commit", "-q", "--amend", "-m", "again")
	s.user.Git("pack-refs", "--all")
	s.user.Git("gc", "-q")
	must.Do(t, os.Chtimes(s.user.Path("a.txt"), time.Unix(1, 0), time.Unix(1, 0)))
	s.user.Git("status") // writes a refreshed index
	if found := s.compare(); len(found) != 0 {
		t.Errorf("found:\n%s", words(found))
	}
}

// linked gives the user a second worktree.
func linked(s *scene) {
	s.user.Git("worktree", "add", "-q", "-b", "second", filepath.Join(s.t.TempDir(), "linked"))
}

func hook(s *scene) { s.put("hooks/pre-commit", "#!/bin/sh\necho mine\n", 0o755) }

func remote(s *scene) {
	s.user.Git("remote", "add", "origin", s.user.Dir)
	s.user.Git("update-ref", "refs/remotes/origin/main", s.base)
	s.user.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
}

func stashed(s *scene) {
	for _, text := range []string{"one\n", "two's\n"} {
		s.user.Write("a.txt", text)
		s.user.Git("stash", "push", "-q", "-m", "precious "+text)
	}
}

// change is something that an agent could do, and how it is told.
type change struct {
	name    string
	prepare func(*scene)
	do      func(s *scene)
	kind    canary.Kind
	words   string
	byHand  bool // no command undoes it
}

func changes() []change {
	return []change{
		{"a branch moved", nil, func(s *scene) { s.agent.Git("update-ref", "refs/heads/main", s.agent.Commit("x")) },
			canary.KindRef, "refs/heads/main moved from ", false},
		{"a packed branch moved", func(s *scene) { s.user.Git("pack-refs", "--all") }, func(s *scene) {
			s.agent.Git("update-ref", "refs/heads/other", s.agent.Commit("x"))
		}, canary.KindRef, "refs/heads/other moved from ", false},
		{"deleted", nil, func(s *scene) { s.agent.Git("branch", "-D", "other") }, canary.KindRef,
			"refs/heads/other was deleted; it was at ", false},
		{"symbolic", nil, func(s *scene) { s.agent.Git("symbolic-ref", "refs/heads/other", "refs/heads/main") },
			canary.KindRef, "refs/heads/other moved from ", false},
		{"own branch made a way to main", nil,
			func(s *scene) { s.agent.Git("symbolic-ref", "refs/heads/task", "refs/heads/main") },
			canary.KindRef, "symbolic ref to refs/heads/main", false},
		{"remote's HEAD", remote, func(s *scene) {
			s.agent.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/other")
		}, canary.KindRef, "refs/remotes/origin/HEAD moved", false},
		{"replaced object", nil, func(s *scene) { s.agent.Git("replace", s.base, s.agent.Commit("x")) }, canary.KindRef,
			"refs/replace/", false},
		{"stashes dropped", stashed, func(s *scene) { s.agent.Git("stash", "clear") }, canary.KindStash,
			"a stash is gone: On main: precious two's", false},
		{"HEAD", nil, func(s *scene) { s.put("HEAD", "ref: refs/heads/other\n", 0o644) }, canary.KindHead,
			"HEAD was ref: refs/heads/main and is ref: refs/heads/other now", false},
		{"HEAD of another worktree", linked, func(s *scene) { s.put("worktrees/linked/HEAD", s.base+"\n", 0o644) },
			canary.KindHead, "worktrees/linked/HEAD was ref: refs/heads/second", false},
		{"config", nil, func(s *scene) { s.agent.Git("config", "core.hooksPath", "/tmp/evil") }, canary.KindConfig,
			`config: core.hookspath is ["/tmp/evil"]; it was not set`, false},
		{"config that was set", remote, func(s *scene) { s.agent.Git("config", "remote.origin.url", "/tmp/evil's") },
			canary.KindConfig, `config: remote.origin.url is ["/tmp/evil's"]; it was [`, false},
		{"a broken config", nil, func(s *scene) { s.put("config", "[core\n", 0o644) }, canary.KindConfig,
			"config was changed", false},
		{"its own worktree's config", nil, func(s *scene) { s.put("worktrees/agent/config.worktree", "[core]\n", 0o644) },
			canary.KindConfig, "worktrees/agent/config.worktree was added", false},
		{"a hook", nil, func(s *scene) { s.put("hooks/post-commit", "#!/bin/sh\nevil\n", 0o755) }, canary.KindHook,
			"hooks/post-commit was added", false},
		{"a changed hook", hook, func(s *scene) { s.put("hooks/pre-commit", "#!/bin/sh\nevil\n", 0o755) }, canary.KindHook,
			"hooks/pre-commit was changed", false},
		{"a hook's mode", hook, func(s *scene) { s.put("hooks/pre-commit", "#!/bin/sh\necho mine\n", 0o644) },
			canary.KindHook, "hooks/pre-commit has mode 0644 now; it had 0755", false},
		{"a hook gone", hook, func(s *scene) { s.sh("rm hooks/pre-commit") }, canary.KindHook,
			"hooks/pre-commit was removed", false},
		{"a submodule's hook", nil, func(s *scene) { s.put("modules/lib/objects/hooks/pre-push", "x", 0o755) },
			canary.KindHook, "modules/lib/objects/hooks/pre-push was added", true},
		{"a name that is no text", nil, func(s *scene) { s.put("hooks/\x1b[31m\xff\n", "x", 0o755) }, canary.KindHook,
			"was added", true},
		{"info", nil, func(s *scene) { s.put("info/attributes", "* filter=evil\n", 0o644) }, canary.KindFile,
			"info/attributes was added", false},
		{"alternates", nil, func(s *scene) { s.put("objects/info/alternates", "/tmp/evil\n", 0o644) }, canary.KindFile,
			"objects/info/alternates was added", false},
		{"a merge to be concluded", nil, func(s *scene) { s.put("MERGE_HEAD", s.base+"\n", 0o644) }, canary.KindFile,
			"MERGE_HEAD was added", false},
		{"a lock left behind", nil, func(s *scene) { s.put("index.lock", "", 0o644) }, canary.KindLock,
			"index.lock is a lock that was not there before", false},
		{"a hidden file", nil, func(s *scene) { s.user.Git("update-index", "--skip-worktree", "a.txt") }, canary.KindIndex,
			"index was changed", false},
		{"a broken index", nil, func(s *scene) { s.put("index", "DIRC", 0o644) }, canary.KindIndex,
			"index was changed and can't be read", true},
		{"no index", nil, func(s *scene) { s.sh("rm index") }, canary.KindIndex, "index was removed", true},
		{"a worktree led elsewhere", linked, func(s *scene) { s.put("worktrees/linked/gitdir", "/tmp/evil/.git\n", 0o644) },
			canary.KindWorktree, "worktrees/linked/gitdir was changed", false},
		{"a worktree gone", linked, func(s *scene) { s.sh("rm -r worktrees/linked") }, canary.KindWorktree,
			"worktrees/linked/gitdir was removed", true},
	}
}

// Each change is found, told in words that are safe to show, and undone by the commands that are given for it.
func TestEachChangeIsToldAndCanBeUndone(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			var prepare []func(*scene)
			if c.prepare != nil {
				prepare = append(prepare, c.prepare)
			}
			s := stage(t, prepare...)
			before := s.state()
			c.do(s)
			found := s.compare()
			if !slices.ContainsFunc(found, func(f canary.Finding) bool {
				return f.Kind == c.kind && !f.New && strings.Contains(f.Words, c.words)
			}) {
				t.Fatalf("found:\n%s", words(found))
			}
			if all := words(found); strings.ContainsFunc(all, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("control characters: %q", all)
			}
			if c.byHand {
				return
			}
			for _, f := range found {
				for _, line := range f.Undo {
					s.sh(line)
				}
			}
			if again := s.compare(); len(again) != 0 {
				t.Errorf("after %s\nfound:\n%s", words(found), words(again))
			}
			if after := s.state(); after != before && c.kind != canary.KindStash && c.kind != canary.KindConfig {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// What is only new is named as new, not as damage.
func TestWhatIsNewIsNamedAsNew(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(s *scene)
		words string
	}{
		"a branch": {func(s *scene) { s.agent.Git("switch", "-q", "-c", "idea"); s.agent.Commit("x", "x", "x") },
			"refs/heads/idea is new, at "},
		"a tag":       {func(s *scene) { s.user.Git("tag", "v1") }, "refs/tags/v1 is new, at "},
		"kept by cco": {func(s *scene) { s.user.Git("update-ref", "refs/cco/0123abcd", s.base) }, "refs/cco/0123abcd is new"},
		"a stash": {func(s *scene) { s.agent.Write("a.txt", "x"); s.agent.Git("stash") },
			"a stash is new: WIP on task"},
		"a worktree": {func(s *scene) {
			s.agent.Git("worktree", "add", "-q", "--detach", filepath.Join(s.t.TempDir(), "mine"))
		}, "worktrees/mine is a new worktree"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t)
			c.do(s)
			found := s.compare()
			if len(found) != 1 || !found[0].New || !strings.Contains(found[0].Words, c.words) {
				t.Errorf("found:\n%s", words(found))
			}
		})
	}
}

// Guards against a name that is found before the user's: `git merge main` would take the agent's commit for main.
func TestShadowsAreNoNews(t *testing.T) {
	for name, hidden := range map[string]string{
		"refs/main": "refs/heads/main", "refs/heads/main2": "", "refs/tags/main": "refs/heads/main",
		"refs/heads/origin/main": "refs/remotes/origin/main", "refs/heads/origin": "refs/remotes/origin/HEAD",
		"refs/heads/refs/heads/main": "", "refs/origin": "refs/remotes/origin/HEAD", "refs/odd/place": "",
	} {
		s := stage(t, remote)
		s.put(name, s.base+"\n", 0o644)
		found := s.compare()
		news := hidden == "" && strings.HasPrefix(name, "refs/heads/")
		if len(found) != 1 || found[0].New != news ||
			strings.Contains(found[0].Words, "git takes it for") != (hidden != "") || !strings.Contains(found[0].Words, hidden) {
			t.Errorf("%s:\n%s", name, words(found))
		}
	}
	for _, name := range []string{"main", "heads/main"} {
		s := stage(t)
		s.put(name, s.base+"\n", 0o644)
		if found := s.compare(); len(found) != 1 || found[0].New ||
			!strings.Contains(found[0].Words, "git takes it for refs/heads/main") {
			t.Errorf("%s:\n%s", name, words(found))
		}
	}
}

// Guards against a watcher's death: another process concludes, once, and finds the same.
func TestConcludingOnce(t *testing.T) {
	s := stage(t)
	s.put("hooks/\xff", "x", 0o755)
	r, first, err := canary.Conclude(t.Context(), s.dir, time.Unix(2, 0))
	if err != nil || !first || len(r.Findings) != 1 || len(r.Changed()) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	s.put("hooks/later", "x", 0o755)
	again, first, err := canary.Conclude(t.Context(), s.dir, time.Unix(3, 0))
	if err != nil || first || len(again.Findings) != 1 || !again.Time.Equal(r.Time) {
		t.Fatalf("%+v, %v", again, err)
	}
	// Nothing found leaves nothing behind.
	s = stage(t)
	if r, first, err := canary.Conclude(t.Context(), s.dir, time.Unix(2, 0)); r != nil || !first || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
	if r, first, err := canary.Conclude(t.Context(), s.dir, time.Unix(2, 0)); r != nil || first || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// Guards against locks that stop the user's git for good without a word: wherever git makes them, those that were not
// there before are told. One that was there is the user's own, and so is one that goes while the rest is compared.
func TestLocksLeftBehindAreTold(t *testing.T) {
	names := []string{"index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "gc.pid",
		"refs/heads/x.lock", "refs/heads/\xff.lock", "refs/stash.lock", "logs/HEAD.lock", "objects/maintenance.lock",
		"objects/pack/multi-pack-index.lock", "objects/info/commit-graph.lock", "worktrees/agent/index.lock",
		"worktrees/linked/HEAD.lock", "modules/a/b/index.lock", "modules/lib/gc.pid", "info/sparse-checkout.lock"}
	s := stage(t, linked, func(s *scene) { s.put("config.worktree.lock", "", 0o644); s.put("refs/tags.lock", "", 0o644) })
	must.Do(t, os.Remove(s.gitPath("refs/tags.lock")))
	s.put("config.worktree.lock", "changed", 0o600)
	if found := s.compare(); len(found) != 0 {
		t.Errorf("found:\n%s", words(found))
	}
	for _, name := range names {
		s.put(name, "", 0o644)
	}
	found := s.compare()
	locks := slices.DeleteFunc(slices.Clone(found), func(f canary.Finding) bool {
		return f.Kind != canary.KindLock || f.New || len(f.Undo) != 1
	})
	if len(locks) != len(names) || len(found) != len(names) {
		t.Errorf("%d of %d locks are told:\n%s", len(locks), len(names), words(found))
	}
}

// Guards against forgetting: what was told is told again for as long as it is there, and no longer.
func TestWhatWasToldIsToldWhileItIsThere(t *testing.T) {
	s := stage(t, stashed)
	conclude := func() string {
		t.Helper()
		r, _, err := canary.Conclude(t.Context(), s.dir, time.Unix(2, 0))
		must.Do(t, err)
		if r == nil {
			return ""
		}
		var list []string
		for _, f := range r.Findings {
			list = append(list, f.What)
		}
		return strings.Join(list, " ")
	}
	s.agent.Git("update-ref", "refs/heads/main", s.agent.Commit("x"))
	s.user.Git("config", "core.fsmonitor", "evil")
	s.agent.Git("stash", "drop", "-q")
	s.put("hooks/post-commit", "evil", 0o755)
	s.put("index.lock", "", 0o644)
	if got := conclude(); got != "hooks/post-commit config index.lock refs/heads/main refs/stash" {
		t.Fatalf("told: %s", got)
	}
	s.sh("rm index.lock")
	s.user.Git("config", "user.signingKey", "mine")                       // evil is still there
	s.agent.Git("update-ref", "refs/heads/main", s.agent.Commit("again")) // and this is another matter
	s.put("hooks/later", "mine", 0o755)
	if got := conclude(); got != "hooks/post-commit config refs/stash" {
		t.Errorf("still told: %s", got)
	}
	s.sh("mv ../.git ../away") // what can't be seen is not gone
	if got := conclude(); got != "hooks/post-commit config refs/stash" {
		t.Errorf("told of a repository that is away: %s", got)
	}
	must.Do(t, os.RemoveAll(s.user.Dir)) // by the user
	if got := conclude(); got != "" {
		t.Errorf("told of a repository that is gone: %s", got)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}
