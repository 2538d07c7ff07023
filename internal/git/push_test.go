package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a token that everyone on the machine can read in the list of processes, or that stays in a file.
func TestPushKeepsThePasswordOutOfArgumentsAndFiles(t *testing.T) {
	home := gittest.Home(t)
	const password = "ghp_pushedWithThisVeryToken"
	s := must.Get(githubfake.New(t.Context(), t.TempDir(), nil))(t)
	defer s.Close()
	s.AddUser("ada", password)
	must.Do(t, s.AddRepo(t.Context(), "acme", "demo", "ada"))
	r := gittest.New(t)
	commit := r.Commit("first", "a.txt", "one\n")
	dir := filepath.Join(t.TempDir(), "bare.git")
	r.Git("clone", "-q", "--bare", r.Dir, dir)
	// The user's own settings would send it elsewhere, through a helper, to a program.
	config := "[url \"git@github.com:\"]\n\tinsteadOf = " + s.URL() + "/\n\tpushInsteadOf = " + s.URL() +
		"/\n[credential]\n\thelper = \"!touch " + filepath.Join(home, "asked") + ";\"\n[core]\n\tsshCommand = touch " +
		filepath.Join(home, "asked") + "\n"
	must.Do(t, os.WriteFile(filepath.Join(home, "more"), []byte(config), 0o600))
	r.Git("config", "--global", "include.path", filepath.Join(home, "more"))
	log := logArguments(t)

	o := git.PushOptions{Dir: dir, URL: s.URL() + "/acme/demo.git", User: "x-access-token", Password: password,
		Branch: "topic", Commit: commit}
	must.Do(t, git.Push(t.Context(), o))
	if at := gittest.At(t, s.Dir("acme", "demo")).Git("rev-parse", "refs/heads/topic"); strings.TrimSpace(at) != commit {
		t.Errorf("the branch is at %s", at)
	}
	o.Password, o.Branch = "wrong"+password, "other"
	if err := git.Push(t.Context(), o); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("with a wrong password: %v", err)
	}
	argv, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(argv), "--force-with-lease=refs/heads/topic:") ||
		strings.Contains(string(argv), " --force ") {
		t.Errorf("arguments: %s %v", argv, err)
	}
	if strings.Contains(string(argv), password) || strings.Contains(string(argv), "Basic") {
		t.Error("the password is in the arguments")
	}
	if _, err := os.Stat(filepath.Join(home, "asked")); err == nil {
		t.Error("a helper of the user's was asked")
	}
	for _, place := range []string{dir, home} {
		_ = filepath.WalkDir(place, func(path string, e os.DirEntry, err error) error {
			if data, _ := os.ReadFile(path); err == nil && !e.IsDir() && strings.Contains(string(data), password) {
				t.Errorf("the password is in %s", path)
			}
			return nil
		})
	}
}

// Guards against a push by a machine that has lost its right to it while it prepared the push.
func TestPushAsksRightBeforeItMovesTheBranch(t *testing.T) {
	gittest.Home(t)
	s := must.Get(githubfake.New(t.Context(), t.TempDir(), nil))(t)
	defer s.Close()
	s.AddUser("ada", "token")
	must.Do(t, s.AddRepo(t.Context(), "acme", "demo", "ada"))
	r := gittest.New(t)
	commit := r.Commit("first", "a.txt", "one\n")
	dir := filepath.Join(t.TempDir(), "bare.git")
	r.Git("clone", "-q", "--bare", r.Dir, dir)
	no := errors.New("no longer here")
	o := git.PushOptions{Dir: dir, URL: s.URL() + "/acme/demo.git", User: "x-access-token", Password: "token",
		Branch: "topic", Commit: commit, Before: func(context.Context) error { return no }}
	if err := git.Push(t.Context(), o); !errors.Is(err, no) {
		t.Errorf("pushed: %v", err)
	}
	if refs := gittest.At(t, s.Dir("acme", "demo")).Git("for-each-ref", "refs/heads/topic"); refs != "" {
		t.Errorf("the branch is there: %s", refs)
	}
	o.Before = func(context.Context) error { return nil }
	must.Do(t, git.Push(t.Context(), o))
}

// logArguments puts a git first on PATH that notes its arguments.
func logArguments(t *testing.T) (log string) {
	t.Helper()
	real := must.Get(proc.LookPath("git"))(t)
	bin := t.TempDir()
	log = filepath.Join(bin, "log")
	script := "#!/bin/sh\necho \"$0 $*\" >> " + log + "\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return log
}

func TestPushWantsPlainAddressesAndFullIDs(t *testing.T) {
	oid := strings.Repeat("1", 40)
	for _, o := range []git.PushOptions{
		{URL: "git@github.com:a/b", Commit: oid}, {URL: "file:///tmp/x", Commit: oid},
		{URL: "https://u:p@example.org/a/b", Commit: oid},
		{URL: "https://example.org/a/b", Commit: "HEAD"}, {URL: "https://example.org/a/b", Commit: "--all"},
		{URL: "https://example.org/a/b"},
		{URL: "https://example.org/a/b", Commit: oid, Lease: "main"},
	} {
		o.Dir, o.Branch = t.TempDir(), "topic"
		if err := git.Push(t.Context(), o); err == nil {
			t.Errorf("%+v was pushed", o)
		}
	}
	err := git.Push(t.Context(), git.PushOptions{Dir: t.TempDir(), URL: "https://example.org/a/b", Branch: "a..b",
		Commit: oid})
	if _, ok := errors.AsType[*git.BranchNameError](err); !ok {
		t.Errorf("a bad name gives %v", err)
	}
}

func TestRemotesAreFound(t *testing.T) {
	gittest.Home(t)
	r := gittest.New(t)
	r.Commit("first", "a.txt", "one\n")
	open := func() *git.Repo {
		repo := must.Get(git.Open(t.Context(), r.Dir))(t)
		return repo
	}
	if name, err := open().Remote(t.Context(), "main"); err != nil || name != "" {
		t.Errorf("without remotes: %q %v", name, err)
	}
	r.Git("remote", "add", "upstream", "gh:acme/demo")
	r.Git("config", "url.https://github.com/.insteadOf", "gh:")
	if name, err := open().Remote(t.Context(), "main"); err != nil || name != "upstream" {
		t.Errorf("the only one: %q %v", name, err)
	}
	r.Git("remote", "add", "origin", "https://github.com/ada/demo")
	r.Git("config", "branch.topic.remote", "upstream")
	for branch, want := range map[string]string{"main": "origin", "topic": "upstream"} {
		if name, err := open().Remote(t.Context(), branch); err != nil || name != want {
			t.Errorf("%s: %q %v", branch, name, err)
		}
	}
	if url, err := open().RemoteURL(t.Context(), "upstream"); err != nil || url != "https://github.com/acme/demo" {
		t.Errorf("%q %v", url, err)
	}
}
