package quarantine_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// mined is a repository in which everything that git can be made to run leaves a mark.
type mined struct {
	*gittest.Repo
	t    *testing.T
	mark string
	trap string // a program that leaves a mark with its name
}

func newMined(t *testing.T) *mined {
	t.Helper()
	user := gittest.New(t)
	m := &mined{Repo: user, t: t, mark: filepath.Join(t.TempDir(), "mark")}
	m.trap = filepath.Join(t.TempDir(), "trap")
	m.program(m.trap)
	user.Commit("first", "README", "hello\n", "data.bin", "1\n", "hooks/README", "x\n", ".gitattributes",
		"*.bin filter=evil diff=evil\n")
	for key, value := range map[string]string{
		"core.hooksPath":               "hooks",
		"core.fsmonitor":               m.trap,
		"core.pager":                   m.trap,
		"core.editor":                  m.trap,
		"core.askPass":                 m.trap,
		"core.sshCommand":              m.trap,
		"credential.helper":            "!" + m.trap,
		"diff.external":                m.trap,
		"diff.evil.command":            m.trap,
		"diff.evil.textconv":           m.trap,
		"filter.evil.clean":            m.trap,
		"filter.evil.smudge":           m.trap,
		"filter.evil.required":         "true",
		"filter.a=b.c.process":         m.trap,
		"gpg.program":                  m.trap,
		"commit.gpgSign":               "true",
		"submodule.recurse":            "true",
		"interactive.diffFilter":       m.trap,
		"uploadpack.packObjectsHook":   m.trap,
		"core.alternateRefsCommand":    m.trap,
		"protocol.ext.allow":           "always",
		"remote.origin.url":            "ext::" + m.trap,
		"remote.origin.promisor":       "true",
		"extensions.partialClone":      "origin",
		"core.repositoryFormatVersion": "1",
		"log.showSignature":            "true",
		"merge.evil.driver":            m.trap,
	} {
		m.Git("config", key, value)
	}
	for _, hook := range []string{"post-checkout", "post-merge", "pre-commit", "reference-transaction",
		"post-index-change", "post-commit",
		"fsmonitor-watchman", "pre-auto-gc", "post-rewrite", "update", "pre-push"} {
		m.program(m.Path("hooks/" + hook))
		m.program(m.Path(".git/hooks/" + hook))
	}
	return m
}

func (m *mined) program(path string) {
	m.t.Helper()
	text := "#!/bin/sh\necho \"$0\" >> " + m.mark + "\ncat\n"
	must.Do(m.t, os.WriteFile(path, []byte(text), 0o755))
}

// sprung tells which mines went off since the last time.
func (m *mined) sprung() string {
	b, _ := os.ReadFile(m.mark)
	_ = os.Remove(m.mark)
	return string(b)
}

// Guards against every way by which a repository, or a tree that an agent has just written, makes host git run
// something.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	m := newMined(t)
	for _, v := range []string{"GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND",
		"GIT_PROXY_COMMAND", "PAGER", "EDITOR", "SSH_ASKPASS"} {
		t.Setenv(v, m.trap)
	}
	t.Setenv("GIT_DIR", t.TempDir())
	repo := openRepo(t, m.Dir)
	for _, v := range []string{"GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND",
		"GIT_PROXY_COMMAND", "PAGER", "EDITOR", "SSH_ASKPASS"} {
		must.Do(t, os.Unsetenv(v))
	}
	head := must.Get(repo.Head(t.Context()))(t)
	bundle := filepath.Join(t.TempDir(), "in.bundle")
	must.Get(repo.Bundle(t.Context(), bundle, git.BundleRequest{Branch: "main", Commit: head.Commit}))(t)
	box := gittest.At(t, t.TempDir())
	box.Git("clone", "-q", bundle, ".")
	box.Commit("evil", "data.bin", "2\n", "more.bin", "3\n", ".gitattributes",
		"*.bin filter=evil diff=evil merge=evil\nx filter=a=b.c\n")
	must.Do(t, os.MkdirAll(box.Path("hooks"), 0o755))
	for _, hook := range []string{"post-merge", "post-checkout", "reference-transaction", "post-index-change"} {
		m.program(box.Path("hooks/" + hook))
	}
	tip := box.Commit("evil hooks", "x", "x\n")
	_ = m.sprung()
	// The hooks stand in the user's worktree, untracked. They would be in the way.
	must.Do(t, os.RemoveAll(m.Path("hooks")))
	m.Write("hooks/README", "x\n")
	_ = m.sprung()

	h := &handOff{t: t, user: m.Repo, repo: repo, box: box, base: head.Commit}
	published := h.publish(tip)
	_ = m.sprung()
	m.exercise(h, published, tip)
	if got := m.sprung(); got != "" {
		t.Errorf("host git ran:\n%s", got)
	}
	// The same by hand: the mines are real.
	m.Write("data.bin", "4\n")
	_, _ = m.Try("", "diff")
	_, _ = m.Try("", "commit", "-q", "-a", "-m", "x", "--no-gpg-sign")
	if got := m.sprung(); !strings.Contains(got, "hooks/") || !strings.Contains(got, "trap") {
		t.Errorf("the mines are duds:\n%s", got)
	}
}

// exercise calls everything that starts git.
func (m *mined) exercise(h *handOff, bundle, tip string) {
	t, repo := m.t, h.repo
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	_, err := repo.Dirty(t.Context(), 0)
	check(err)
	_, err = repo.Survey(t.Context(), h.base)
	check(err)
	_, err = repo.FileAt(t.Context(), h.base, m.Path("data.bin"))
	check(err)
	check(repo.CheckComplete(t.Context(), h.base, 0))
	check(repo.Shallow(t.Context(), filepath.Join(t.TempDir(), "s"),
		git.ShallowRequest{Branch: "main", Commit: h.base, Depth: 1}))
	q, _, err := h.take(bundle)
	check(err)
	_, err = q.Summary(t.Context())
	check(err)
	check(q.Diff(t.Context(), io.Discard, git.DiffRaw))
	_, err = q.Import(t.Context(), "0123abcd")
	check(err)
	_, err = repo.Summary(t.Context(), h.base, tip)
	check(err)
	check(repo.Diff(t.Context(), io.Discard, h.base, tip, git.DiffColour))
	f, err := repo.FastForward(t.Context(), "main", h.base, tip)
	check(err)
	if d := cmp.Diff([]string{"data.bin", "more.bin", "x"}, f.Raw); d != "" {
		t.Errorf("files without their filter: %s", d)
	}
	if m.Read("data.bin") != "2\n" || m.Read("more.bin") != "3\n" {
		t.Error("content went through a filter")
	}
	_, err = repo.CreateBranch(t.Context(), "new", tip)
	check(err)
}
