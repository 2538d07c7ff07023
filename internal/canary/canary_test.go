package canary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

const id = "0123abcd"

// scene is a repository of a user's with an agent's worktree of it, and a shot taken.
type scene struct {
	t     *testing.T
	user  *gittest.Repo // the main worktree
	agent *gittest.Repo
	base  string
	dir   string // of the shot
	own   canary.Own
	shot  *canary.Shot
}

// stage makes a scene; prepare changes the repository before the shot.
func stage(t *testing.T, prepare ...func(s *scene)) *scene {
	t.Helper()
	s := &scene{t: t, user: gittest.New(t), dir: filepath.Join(t.TempDir(), "canary")}
	s.base = s.user.Commit("start", "a.txt", "a\n")
	s.user.Git("branch", "other")
	for _, p := range prepare {
		p(s)
	}
	work := filepath.Join(t.TempDir(), id)
	s.user.Git("worktree", "add", "-q", "-b", "cco/"+id, work)
	s.agent = gittest.At(t, work)
	s.own = canary.Own{ID: id, Branch: "cco/" + id, Workspace: work, Stash: true}
	shot := must.Get(canary.Take(t.Context(), s.open(), s.dir, s.own))(t)
	s.shot = shot
	return s
}

func (s *scene) open() *git.Repo {
	s.t.Helper()
	repo := must.Get(git.Open(s.t.Context(), s.user.Dir))(s.t)
	return repo
}

func (s *scene) compare() []canary.Finding {
	s.t.Helper()
	found := must.Get(canary.Compare(s.t.Context(), s.open(), s.shot, s.own))(s.t)
	return found
}

func (s *scene) undo(found []canary.Finding) []canary.Outcome {
	s.t.Helper()
	out := must.Get(canary.Undo(s.t.Context(), s.open(), s.shot, found))(s.t)
	return out
}

func (s *scene) gitPath(name string) string {
	return filepath.Join(s.user.Dir, ".git", filepath.FromSlash(name))
}

func (s *scene) put(name, content string, mode os.FileMode) {
	s.t.Helper()
	must.Do(s.t, os.WriteFile(s.gitPath(name), []byte(content), mode))
	must.Do(s.t, os.Chmod(s.gitPath(name), mode))
}

// state is everything that an undo must bring back byte for byte.
func (s *scene) state() string {
	s.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(s.user.Git("for-each-ref", "--format=%(refname) %(objectname) %(symref)")) {
		if !strings.HasPrefix(line, "refs/cco/") && !strings.HasPrefix(line, "refs/heads/cco/") {
			b.WriteString(line)
		}
	}
	all := gittest.Fingerprint(s.t, filepath.Join(s.user.Dir, ".git"))
	var names []string
	for name := range all {
		first, _, _ := strings.Cut(name, "/")
		if slices.Contains([]string{"config", "hooks", "info", "HEAD", "index", "shallow"}, first) ||
			strings.HasPrefix(name, "worktrees/linked") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.Contains(name, "/logs") && !strings.HasSuffix(name, "ORIG_HEAD") {
			fmt.Fprintf(&b, "%s %s\n", name, all[name])
		}
	}
	return b.String()
}

func words(found []canary.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %v: %s (%s) %q\n", f.Kind, f.Ordinary, f.Words, f.Why, f.Detail)
	}
	return b.String()
}

func grave(found []canary.Finding) []canary.Finding {
	return canary.Report{Findings: found}.Grave()
}

func TestNothingButTheAgentsOwnIsNothing(t *testing.T) {
	s := stage(t)
	s.agent.Commit("work", "b.txt", "b\n")
	s.user.Git("update-ref", "refs/cco/"+id, s.base)
	s.user.Git("update-ref", "refs/cco/"+id+"-wip", s.base)
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
	s.user.Write("a.txt", "precious\n")
	s.user.Git("stash")
}

// change is something that an agent must not do.
type change struct {
	name    string
	prepare func(*scene)
	do      func(s *scene)
	kind    canary.Kind
	words   string
}

func changes() []change {
	return []change{
		{"a branch moved", nil, func(s *scene) { s.agent.Git("update-ref", "refs/heads/main", s.agent.Commit("x")) },
			canary.KindRef, "refs/heads/main moved from "},
		{"moved from the host by hand", nil, func(s *scene) {
			s.user.Git("update-ref", "refs/heads/main", s.agent.Commit("x"))
		}, canary.KindRef, "refs/heads/main moved from "},
		{"thrown back", nil, func(s *scene) {
			s.user.Git("update-ref", "refs/heads/other", s.agent.Git("commit-tree", "-m", "x", s.base+"^{tree}"))
		},
			canary.KindRef, "refs/heads/other moved from "},
		{"deleted", nil, func(s *scene) { s.agent.Git("branch", "-D", "other") }, canary.KindRef,
			"refs/heads/other was deleted; it was at "},
		{"added", nil, func(s *scene) { s.agent.Git("branch", "mine") }, canary.KindRef, "refs/heads/mine was added at "},
		{"in the way", nil, func(s *scene) { s.agent.Git("branch", "-D", "other"); s.agent.Git("branch", "other/sub") },
			canary.KindRef, "refs/heads/other was deleted"},
		{"checked out by the agent", nil, func(s *scene) {
			s.agent.Git("checkout", "-q", "other")
			s.agent.Commit("x",
				"x", "x")
		},
			canary.KindRef, "refs/heads/other moved"},
		{"tag", nil, func(s *scene) { s.agent.Git("tag", "v1") }, canary.KindRef, "refs/tags/v1 was added"},
		{"replaced object", nil, func(s *scene) { s.agent.Git("replace", s.base, s.agent.Commit("x")) }, canary.KindRef,
			"refs/replace/"},
		{"symbolic", nil, func(s *scene) { s.agent.Git("symbolic-ref", "refs/heads/other", "refs/heads/main") },
			canary.KindRef, "refs/heads/other moved from "},
		{"own branch made a way to main", nil,
			func(s *scene) { s.agent.Git("symbolic-ref", "refs/heads/cco/"+id, "refs/heads/main") },
			canary.KindRef, "symbolic ref to refs/heads/main"},
		{"remote's HEAD", remote, func(s *scene) {
			s.agent.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/evil")
			s.agent.Git("update-ref", "refs/remotes/origin/evil", s.base)
		}, canary.KindRef, "refs/remotes/origin/HEAD moved"},
		{"stashes dropped", stashed, func(s *scene) { s.agent.Git("stash", "clear") }, canary.KindRef,
			"refs/stash was deleted"},
		{"HEAD", nil, func(s *scene) { s.put("HEAD", "ref: refs/heads/other\n", 0o644) }, canary.KindHead,
			"HEAD of the main worktree was refs/heads/main and is refs/heads/other now"},
		{"HEAD of another worktree", linked, func(s *scene) { s.put("worktrees/linked/HEAD", s.base+"\n", 0o644) },
			canary.KindHead, "was refs/heads/second"},
		{"config", nil, func(s *scene) { s.agent.Git("config", "core.hooksPath", "/tmp/evil") }, canary.KindConfig,
			"config: core.hookspath is now /tmp/evil; it was not set"},
		{"branch follows elsewhere", remote, func(s *scene) { s.agent.Git("config", "branch.main.remote", "/tmp/evil") },
			canary.KindConfig, "branch.main.remote is now"},
		{"a hook", nil, func(s *scene) { s.put("hooks/post-commit", "#!/bin/sh\nevil\n", 0o755) }, canary.KindHook,
			"hooks/post-commit was added"},
		{"a changed hook", hook, func(s *scene) { s.put("hooks/pre-commit", "#!/bin/sh\nevil\n", 0o755) }, canary.KindHook,
			"hooks/pre-commit was changed"},
		{"a hook's mode", hook, func(s *scene) { s.put("hooks/pre-commit", "#!/bin/sh\necho mine\n", 0o644) },
			canary.KindHook,
			"hooks/pre-commit has mode 0644 now; it had 0755"},
		{"no hooks", hook, func(s *scene) { s.run("rm", "-r", s.gitPath("hooks")) }, canary.KindHook,
			"hooks/pre-commit was removed"},
		{"hooks elsewhere", hook, func(s *scene) {
			s.run("mv", s.gitPath("hooks"), s.agent.Path("h"))
			s.run("ln", "-s", s.agent.Path("h"), s.gitPath("hooks"))
		}, canary.KindHook, "hooks was a dir and is now a link"},
		{"a FIFO for a hook", hook, func(s *scene) {
			s.run("rm", s.gitPath("hooks/pre-commit"))
			s.run("mkfifo", s.gitPath("hooks/pre-commit"))
		},
			canary.KindHook, "hooks/pre-commit was a file and is now a FIFO"},
		{"a directory of hooks", nil, func(s *scene) { s.run("mkdir", s.gitPath("hooks/d")); s.put("hooks/d/x", "x", 0o644) },
			canary.KindHook, "hooks/d/x was added"},
		{"a name that is no text", nil, func(s *scene) { s.put("hooks/\x1b[31m\xff\n", "x", 0o755) }, canary.KindHook,
			"was added"},
		{"info", nil, func(s *scene) { s.put("info/attributes", "* filter=evil\n", 0o644) }, canary.KindInfo,
			"info/attributes was added"},
		{"alternates", nil, func(s *scene) { s.put("objects/info/alternates", "/tmp/evil\n", 0o644) }, canary.KindFile,
			"objects/info/alternates was added"},
		{"an object that is another", nil, func(s *scene) {
			oid := s.user.Object("blob", "the user's, made meanwhile\n")
			s.run("rm", "-f", s.gitPath("objects/"+oid[:2]+"/"+oid[2:])) // git makes them read-only
			s.put("objects/"+oid[:2]+"/"+oid[2:], "evil", 0o644)
		}, canary.KindFile, " is not the object that its name says"},
		{"a hidden file", nil, func(s *scene) { s.user.Git("update-index", "--skip-worktree", "a.txt") }, canary.KindIndex,
			"the index of the main worktree was changed"},
		{"a broken index", nil, func(s *scene) { s.put("index", "DIRC", 0o644) }, canary.KindIndex,
			"the index of the main worktree was changed"},
		{"no index", nil, func(s *scene) { s.run("rm", s.gitPath("index")) }, canary.KindIndex, "index was removed"},
		{"a worktree", nil, func(s *scene) {
			s.agent.Git("worktree", "add", "-q", "--detach",
				filepath.Join(s.t.TempDir(), "mine"))
		},
			canary.KindWorktree, "was added as worktrees/mine"},
		{"a worktree led elsewhere", linked, func(s *scene) { s.put("worktrees/linked/gitdir", "/tmp/evil/.git\n", 0o644) },
			canary.KindWorktree, "worktrees/linked/gitdir was changed"},
		{"a worktree gone", linked, func(s *scene) { s.run("rm", "-r", s.gitPath("worktrees/linked")) }, canary.KindWorktree,
			"worktrees/linked/gitdir was removed"},
	}
}

// Each change is found, told in words, not taken for ordinary, and undone byte for byte.
func TestEachChangeIsFoundAndUndone(t *testing.T) {
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
			if !slices.ContainsFunc(grave(found), func(f canary.Finding) bool {
				return f.Kind == c.kind &&
					strings.Contains(f.Words, c.words)
			}) {
				t.Fatalf("found:\n%s", words(found))
			}
			if all := words(found); strings.ContainsFunc(all, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("control characters: %q", all)
			}
			for _, o := range s.undo(found) {
				if !o.Done || o.Refused != "" {
					t.Errorf("%s: %s", o.Finding.Words, o.Refused)
				}
			}
			if after := s.state(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if again := s.compare(); len(again) != 0 {
				t.Errorf("after the undo:\n%s", words(again))
			}
		})
	}
}

func (s *scene) run(argv ...string) {
	s.t.Helper()
	var err error
	switch argv[0] {
	case "rm":
		err = os.RemoveAll(argv[len(argv)-1])
	case "mkdir":
		err = os.Mkdir(argv[1], 0o755)
	case "mkfifo":
		err = syscall.Mkfifo(argv[1], 0o644)
	case "mv":
		err = os.Rename(argv[1], argv[2])
	case "ln":
		err = os.Symlink(argv[2], argv[3])
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
