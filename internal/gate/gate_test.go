package gate

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestAPolicyIsOnlyTightened(t *testing.T) {
	mine := Policy{Refuse: []Kind{"agents"}, Tell: []Kind{"install"}}
	for _, c := range []struct {
		theirs Policy
		want   map[Kind]Response
		milder []Kind
	}{
		{Policy{}, map[Kind]Response{"secrets": Refuse, "agents": Refuse, "install": Tell, "commit": Ask, "ci": Tell}, nil},
		{Policy{Refuse: []Kind{"ci"}}, map[Kind]Response{"ci": Refuse, "install": Tell}, nil},
		{Policy{Ask: []Kind{"install", "agents"}}, map[Kind]Response{"install": Ask, "agents": Refuse}, []Kind{"agents"}},
		{Policy{Tell: []Kind{"secrets", "ci"}}, map[Kind]Response{"secrets": Refuse, "ci": Tell}, []Kind{"secrets"}},
	} {
		got, milder := mine.Tighten(c.theirs)
		for k, want := range c.want {
			if r := got.Response(k); r != want {
				t.Errorf("%+v: %s is to %s, want %s", c.theirs, k, r, want)
			}
		}
		if d := cmp.Diff(c.milder, milder); d != "" {
			t.Errorf("%+v: %s", c.theirs, d)
		}
	}
}

func TestWhatIsHeldUp(t *testing.T) {
	r := Report{Groups: []Group{{Kind: "secrets"}, {Kind: "install"}, {Kind: "ci"}}}
	held := Policy{}.Judge(r, nil)
	if held == nil || held.Error() != "refused: secrets; needs your consent: install" ||
		held.Flag() != "--accept secrets,install" {
		t.Errorf("held %v", held)
	}
	if held := (Policy{}).Judge(r, []Kind{"secrets", "install"}); held != nil {
		t.Errorf("accepted, and held %v", held)
	}
}

// Guards against content that looks like a header of a patch, and against names that git quotes.
func TestHostilePatches(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("base", "a", "a\n")
	tip := r.Commit("work", "a", "diff --git a/x b/x\n+++ b/Makefile\n@@ -0,0 +1 @@\n+++ b/CODEOWNERS\n",
		"tab\there", "x\n", `quo"te`, "x\n", "Makefile b", "x\n", "empty", "", "docs/Makefile", "all:\n")
	x := look(t, r, Range{Base: base, Tip: tip})
	var got []string
	for _, c := range x.changes {
		got = append(got, c.path)
	}
	slices.Sort(got)
	want := []string{"Makefile b", "a", "docs/Makefile", "empty", `quo"te`, "tab\there"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if f := files(x, "build"); len(f) != 1 || f[0] != "docs/Makefile" {
		t.Errorf("build: %v", f)
	}
	if f := files(x, "review"); len(f) != 0 {
		t.Errorf("review: %v", f)
	}
}

// Guards against what runs by itself in a form whose lines nobody reads: a link, one NUL, a repository of its own.
func TestWhatCanNotBeReadAsksForConsent(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(r *gittest.Repo)
		kind  Kind
		files []string
	}{
		{"a link as a manifest", func(r *gittest.Repo) {
			r.Write("scripts.json", `{"scripts":{"postinstall":"id"}}`)
			must.Do(t, os.Symlink("scripts.json", filepath.Join(r.Dir, "package.json")))
		}, "install", []string{"package.json"}},
		{"a link in place of a directory", func(r *gittest.Repo) {
			r.Write("tools/pre-commit", "#!/bin/sh\n")
			must.Do(t, os.Symlink("tools", filepath.Join(r.Dir, ".husky")))
		}, "commit", []string{".husky"}},
		{"one NUL", func(r *gittest.Repo) {
			r.Write(".gitattributes", "*.txt working-tree-encoding=IBM037\n*.md filter=lfs\n#\x00\n")
		}, "commit", []string{".gitattributes"}},
		{"a repository of its own", func(r *gittest.Repo) {
			r.Write("docs/HEAD", "ref: refs/heads/main\n")
			r.Write("docs/config", "[core]\n\tfsmonitor = \"touch x\"\n")
			r.Write("docs/objects/.keep", "")
			r.Write("docs/refs/.keep", "")
		}, "commit", []string{"docs/HEAD"}},
		{"settings of one that is there", func(r *gittest.Repo) {
			r.Commit("more", "fixture/HEAD", "ref: refs/heads/main\n", "fixture/objects/.keep", "", "fixture/refs/.keep", "")
			r.Write("fixture/config", "[core]\n\tfsmonitor = \"touch x\"\n")
		}, "commit", []string{"fixture/config"}},
		{"more lines than are kept", func(r *gittest.Repo) {
			r.Write("setup.py", strings.Repeat("# nothing\n", maxKept)+"import os\n")
		}, "install", []string{"setup.py"}},
		{"a line that ends before git's does", func(r *gittest.Repo) {
			r.Write("setup.py", "# nothing\rimport os\n")
		}, "install", []string{"setup.py"}},
		{"nothing of that", func(r *gittest.Repo) {
			r.Write("HEAD.md", "x\n")
			r.Write("src/config", "x\n")
			r.Write("logo.png", "\x89PNG\r\n\x1a\n\x00")
			must.Do(t, os.Symlink("HEAD.md", filepath.Join(r.Dir, "README.md")))
		}, "commit", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := gittest.New(t)
			r.Commit("base", "a", "a\n")
			c.make(r)
			tip := r.Commit("work")
			x := look(t, r, Range{Base: r.Git("rev-parse", tip+"~"), Tip: tip})
			if d := cmp.Diff(c.files, files(x, c.kind)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Guards against a secret that hides between two commits, in a message or in a merge.
func TestHistoryCountsForSecrets(t *testing.T) {
	key := "ghp" + "_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO"
	for name, make := range map[string]func(r *gittest.Repo){
		"removed again": func(r *gittest.Repo) {
			r.Commit("add", "key.txt", key+"\n")
			r.Git("rm", "-q", "key.txt")
			r.Git("commit", "-q", "-m", "remove")
		},
		"in a message": func(r *gittest.Repo) { r.Commit("use "+key, "b", "b\n") },
		"in a merge": func(r *gittest.Repo) {
			r.Git("checkout", "-q", "-b", "side")
			r.Commit("side", "b", "b\n")
			r.Git("checkout", "-q", "-")
			r.Commit("main", "c", "c\n")
			r.Git("merge", "-q", "--no-commit", "side")
			r.Write("key.txt", key+"\n")
			r.Git("add", "-A")
			r.Git("commit", "-q", "-m", "merge")
			r.Git("rm", "-q", "key.txt")
			r.Git("commit", "-q", "-m", "remove")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			base := r.Commit("base", "a", "a\n")
			make(r)
			repo := must.Get(git.Open(t.Context(), r.Dir))(t)
			report := must.Get(Examine(t.Context(), repo, Range{Base: base, Tip: r.Git("rev-parse", "HEAD")}))(t)
			if d := cmp.Diff([]Kind{"secrets"}, report.Kinds()); d != "" {
				t.Fatal(d)
			}
			if f := report.Groups[0].Findings[0]; f.Commit == "" || strings.Contains(f.Words(), key) ||
				strings.Contains(report.Mask("a "+key), key) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Guards against binary files that hold a pull up, and against silence about those that were not searched.
func TestLargeBinaryFilesAreNotSearched(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("base", "a", "a\n")
	tip := r.Commit("work", "large", "\x00"+strings.Repeat("ab\n", maxBinary), "small", "\x00token "+
		"ghp"+"_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO")
	x := look(t, r, Range{Base: base, Tip: tip})
	if !slices.ContainsFunc(x.findings, func(f Finding) bool { return f.Kind == "secrets" && f.Path == "small" }) {
		t.Errorf("the small file was not searched: %v", x.findings)
	}
	if want := "not looked at: secrets in binary files that are large or many"; !slices.Contains(x.notes, want) {
		t.Errorf("%q is not among %q", want, x.notes)
	}
}

// Guards against keys in files whose lines git does not show, and against calling one new that was there.
func TestSecretsInWhatGitTakesForBinary(t *testing.T) {
	key := "ghp" + "_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO"
	wide := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			b.WriteString(string([]byte{byte(r), 0}))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		was, is string
		want    []string
	}{
		"UTF-16":                {"", "\xff\xfe" + wide("one\r\ntoken "+key+"\r\n"), []string{"f:2"}},
		"UTF-16 without a mark": {"", wide("one\ntoken " + key + "\n"), []string{"f:2"}},
		"UTF-16, big end first": {"", "\xfe\xff\x00" + strings.TrimSuffix(wide("token "+key+"\n"), "\x00"), []string{"f:1"}},
		"one NUL":               {"", "token " + key + "\n\x00", []string{"f:1"}},
		"there before":          {"\xff\xfe" + wide("token "+key+"\n"), "\xff\xfe" + wide("token "+key+"\nmore\n"), nil},
		"nothing but a program": {"", "\x7fELF\x00\x00token\x00key\x00", nil},
		"an attribute hides it": {"f -diff\n", "token " + key + "\n", []string{"f:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			if base := "f"; strings.HasSuffix(c.was, "-diff\n") {
				r.Commit("base", ".gitattributes", c.was)
			} else {
				r.Commit("base", base, c.was)
			}
			tip := r.Commit("work", "f", c.is)
			x := look(t, r, Range{Base: r.Git("rev-parse", tip+"~"), Tip: tip})
			var got []string
			for _, f := range x.findings {
				if f.Kind == "secrets" {
					got = append(got, fmt.Sprintf("%s:%d", f.Path, f.Line))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Guards against calling something new that was there: a key that moves to another file.
func TestASecretThatMovesIsNotNew(t *testing.T) {
	key := "ghp" + "_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO"
	r := gittest.New(t)
	base := r.Commit("base", "a", key+"\n")
	r.Write("a", "gone\n")
	r.Write("b", key+"\n")
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "move")
	if x := look(t, r, Range{Base: base, Tip: r.Git("rev-parse", "HEAD")}); len(files(x, "secrets")) > 0 {
		t.Errorf("%+v", x.findings)
	}
}

// Guards against a merge that is blamed for what others did on the other side, and against one that hides something of
// its own between the two.
func TestAMergeIsJudgedByWhatGitWouldNotHaveMade(t *testing.T) {
	key := "ghp" + "_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO"
	for name, evil := range map[string]bool{"plain": false, "evil": true} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			r.Commit("base", "a", "a\n")
			r.Git("checkout", "-q", "-b", "main-moved")
			others := r.Commit("others", "theirs.txt", key+"\n", ".github/workflows/ci.yml", "on: push\n")
			r.Git("checkout", "-q", "-")
			ours := r.Commit("ours", "b", "b\n")
			r.Git("merge", "-q", "--no-commit", others)
			if evil {
				r.Write("key.txt", "ghp"+"_zY1xW2vU3tS4rQ5pO6nM7lK8jI9hG0fEdCbA\n")
				r.Git("add", "-A")
			}
			r.Git("commit", "-q", "-m", "merge")
			if evil { // it came and went
				r.Git("rm", "-q", "key.txt")
				r.Git("commit", "-q", "-m", "remove")
			}
			repo := must.Get(git.Open(t.Context(), r.Dir))(t)
			auto := must.Get(repo.Automerge(t.Context(), ours, others))(t)
			base := must.Get(repo.Join(t.Context(), git.Join{Ours: ours, Theirs: others, Tree: auto.Tree, Message: "m",
				By: git.Identity{Name: "a", Email: "a@b"}}))(t)
			report := must.Get(Examine(t.Context(), repo, Range{Base: base, Tip: r.Git("rev-parse", "HEAD"),
				Remerge: true}))(t)
			var want []Kind
			if evil {
				want = []Kind{"secrets"}
			}
			if d := cmp.Diff(want, report.Kinds()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Guards against a reader that a hostile file breaks.
func FuzzReaders(f *testing.F) {
	f.Add(`{"a": {"b": [1, "x", {"c": null}]}, /* d */ "e": "f\"g" // h` + "\n}")
	f.Add("[a.\"b.c\"]\nd = [\n \"e\", { f = 1 }, # g\n]\nh = 'i'\n")
	f.Add("repos:\n- repo: a\n  rev: &x 1\n")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, read := range []reader{readJSON, readJSONC, readTOML, readYAML, readINI, readGoMod, readGemfile,
			readLines("attributes"), readLines("requirements"), readLines("versions")} {
			all, err := read.all(text)
			if err != nil {
				continue
			}
			(&change{}).requirements(changed(nil, all), "+", all)
		}
	})
}

type nowhere struct{}

func (nowhere) file(*change)                    {}
func (nowhere) line(*change, bool, int, []byte) {}
func (nowhere) end(*change)                     {}

func FuzzPatch(f *testing.F) {
	f.Add("diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@ x\n-a\n+b\n+c\n\\ No newline\n")
	f.Add("\x00abc\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100755\nBinary files differ\n")
	f.Fuzz(func(_ *testing.T, text string) {
		_ = (&patchReader{in: bufio.NewReader(strings.NewReader(text)), to: nowhere{}}).all()
	})
}
