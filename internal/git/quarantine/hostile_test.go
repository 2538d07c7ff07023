package quarantine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/safetext"
)

// refused takes a bundle and expects a refusal by this rule, with nothing of the user's touched.
func (h *handOff) refused(bundle string, rule quarantine.Rule) {
	h.t.Helper()
	before := gittest.Fingerprint(h.t, h.user.Dir)
	q, _, err := h.take(bundle)
	no, ok := errors.AsType[*quarantine.RefusedError](err)
	if !ok {
		h.t.Fatalf("err = %v, want a refusal by %s", err, rule)
	}
	if no.Rule != rule {
		h.t.Errorf("refused by %s (%v), want %s", no.Rule, err, rule)
	}
	if safetext.Line(err.Error()) != err.Error() {
		h.t.Errorf("message speaks to the terminal: %q", err.Error())
	}
	h.t.Log(err)
	if _, err := q.Import(h.t.Context(), "0123abcd"); err == nil {
		h.t.Error("imported what was refused")
	}
	if d := cmp.Diff(before, gittest.Fingerprint(h.t, h.user.Dir)); d != "" {
		h.t.Errorf("the user's repository changed:\n%s", d)
	}
}

// evil is the box's tree at HEAD with one more entry.
func (h *handOff) evil(e gittest.Entry) string {
	h.t.Helper()
	var entries []gittest.Entry
	placed := false
	key := func(mode, name string) string {
		if mode == "40000" || mode == "040000" {
			return name + "/"
		}
		return name
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(h.box.Git("ls-tree", "-z", "HEAD"), "\x00"), "\x00") {
		meta, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		f[0] = strings.TrimPrefix(f[0], "0")
		if !placed && key(e.Mode, e.Name) < key(f[0], name) {
			entries, placed = append(entries, e), true
		}
		if name != e.Name {
			entries = append(entries, gittest.Entry{Mode: f[0], Name: name, OID: f[2]})
		}
	}
	if !placed {
		entries = append(entries, e)
	}
	return h.box.Tree(entries...)
}

// commitWith gives a bundle of a commit with one more entry. Git's own commands won't walk some of these trees.
func (h *handOff) commitWith(e gittest.Entry) string {
	h.t.Helper()
	h.box.Git("config", "gc.auto", "0")
	tree := h.evil(e)
	commit := h.box.Object("commit", "tree "+tree+"\nparent "+h.base+
		"\nauthor A <a@example.org> 1700000000 +0000\ncommitter A <a@example.org> 1700000000 +0000\n\nevil\n")
	oids := []string{commit, tree, e.OID}
	if e.Mode == "40000" {
		oids = append(oids, h.box.Object("blob", "evil\n"))
	}
	return h.bundleOf([]string{h.base}, map[string]string{quarantine.OutRef: commit}, oids...)
}

// bundleOf writes a bundle by hand: any header, any objects.
func (h *handOff) bundleOf(before []string, refs map[string]string, oids ...string) string {
	h.t.Helper()
	var b strings.Builder
	b.WriteString("# v2 git bundle\n")
	for _, oid := range before {
		b.WriteString("-" + oid + " base\n")
	}
	for name, oid := range refs {
		b.WriteString(oid + " " + name + "\n")
	}
	pack := must.Get(h.box.Try(strings.Join(oids, "\n")+"\n", "pack-objects", "-q", "--stdout"))(h.t)
	return h.file(b.String() + "\n" + pack)
}

// file writes a file that stands for a bundle.
func (h *handOff) file(content string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "output.bundle")
	must.Do(h.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestHostileNamesAreRefused(t *testing.T) {
	h := newHandOff(t)
	for name, rule := range map[string]quarantine.Rule{
		".git":                          quarantine.RuleDotGit,
		".GIT":                          quarantine.RuleDotGit,
		".Git":                          quarantine.RuleDotGit,
		".git.":                         quarantine.RuleDotGit,
		".git ":                         quarantine.RuleDotGit,
		".git. . ":                      quarantine.RuleDotGit,
		".git::$INDEX_ALLOCATION":       quarantine.RuleDotGit,
		".git:stream":                   quarantine.RuleDotGit,
		"git~1":                         quarantine.RuleDotGit,
		"GIT~1":                         quarantine.RuleDotGit,
		"GIT~23":                        quarantine.RuleDotGit,
		".g\u200cit":                    quarantine.RuleDotGit,
		".\u200dg\u200ei\ufefft":        quarantine.RuleDotGit,
		`a\.git\config`:                 quarantine.RuleDotGit,
		`.git\config`:                   quarantine.RuleDotGit,
		".GITMODULES":                   quarantine.RuleDotGit,
		"GITMOD~1":                      quarantine.RuleDotGit,
		"gi7eba~1":                      quarantine.RuleDotGit,
		".gitmodules ":                  quarantine.RuleDotGit,
		"a\nb":                          quarantine.RuleName,
		"a\x1b[31mb":                    quarantine.RuleName,
		"a\x7fb":                        quarantine.RuleName,
		"a\u0085b":                      quarantine.RuleName,
		"a\u202eb":                      quarantine.RuleName,
		"tab\there":                     quarantine.RuleName,
		strings.Repeat("n", 256):        quarantine.RuleName,
		"..":                            quarantine.RulePack,
		".":                             quarantine.RulePack,
		"":                              quarantine.RulePack,
		"a/b":                           quarantine.RulePack,
		"../../../../home/user/.bashrc": quarantine.RulePack,
		"\u202e.git":                    quarantine.RuleDotGit,
		".git\u200d/../../x":            quarantine.RulePack,
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"file", "directory"} {
				h := h.in(t)
				e := gittest.Entry{Mode: "100644", Name: name, OID: h.box.Object("blob", "evil\n")}
				if kind == "directory" {
					e.Mode, e.OID = "40000", h.box.Tree(gittest.Entry{Mode: "100644", Name: "config", OID: e.OID})
				}
				if kind == "directory" && (strings.Contains(strings.ToLower(name), "gitmod") || name == "gi7eba~1") {
					rule = quarantine.RulePack
				}
				h.refused(h.commitWith(e), rule)
			}
		})
	}
}

// Guards against an empty directory hiding its name: a recursive listing doesn't show it.
func TestEmptyDotGitDirectoryIsRefused(t *testing.T) {
	h := newHandOff(t)
	tree := h.evil(gittest.Entry{Mode: "40000", Name: ".git", OID: h.box.Tree()})
	h.refused(h.publish(h.box.CommitTree(tree, h.base)), quarantine.RuleDotGit)
}

// Guards against looking at the end result alone: a bisect or a checkout of the middle would meet it.
func TestEvilIntermediateCommitIsRefused(t *testing.T) {
	h := newHandOff(t)
	evil := h.box.CommitTree(h.evil(gittest.Entry{Mode: "100644", Name: "GIT~1", OID: h.box.Object("blob", "x")}), h.base)
	good := h.box.CommitTree(h.box.Git("rev-parse", h.base+"^{tree}"), evil)
	h.refused(h.publish(good), quarantine.RuleDotGit)
}

func TestEvilMergeIsRefused(t *testing.T) {
	h := newHandOff(t)
	tree := h.evil(gittest.Entry{Mode: "100644", Name: ".git.", OID: h.box.Object("blob", "x")})
	clean := h.box.Git("rev-parse", h.base+"^{tree}")
	orphan := h.box.CommitTree(tree)
	for name, tip := range map[string]string{
		"in the merge itself": h.box.CommitTree(tree, h.box.CommitTree(clean, h.base), h.base),
		"in a side branch":    h.box.CommitTree(clean, h.base, h.box.CommitTree(tree, h.base)),
		"in an orphan":        h.box.CommitTree(clean, h.base, orphan),
	} {
		t.Run(name, func(t *testing.T) { h.refused(h.publish(tip), quarantine.RuleDotGit) })
	}
}

func TestOddModesAreRefused(t *testing.T) {
	h := newHandOff(t)
	for mode, rule := range map[string]quarantine.Rule{
		"100666": quarantine.RuleMode, "100664": quarantine.RuleMode, "104755": quarantine.RuleMode,
		"010644": quarantine.RuleMode, "0100644": quarantine.RuleMode, "20000": quarantine.RuleMode,
		"60000": quarantine.RuleMode, "140000": quarantine.RuleMode,
		"": quarantine.RulePack, "x": quarantine.RulePack,
	} {
		t.Run(mode, func(t *testing.T) {
			h := h.in(t)
			e := gittest.Entry{Mode: mode, Name: "z", OID: h.box.Object("blob", "x")}
			h.refused(h.commitWith(e), rule)
		})
	}
}

func TestLinksThatLeaveTheTreeAreRefused(t *testing.T) {
	for name, links := range map[string]map[string]string{
		"absolute":            {"l": "/etc/passwd"},
		"upwards":             {"l": "../x"},
		"upwards from deep":   {"dir/l": "../../x"},
		"down and up":         {"l": "dir/../../x"},
		"up with dots":        {"l": "./.././x"},
		"into .git":           {"l": ".git/hooks"},
		"into .GIT":           {"l": "dir/../.GIT/config"},
		"drive letter":        {"l": `C:\Windows`},
		"backslash":           {"l": `\\server\share`},
		"empty":               {"l": ""},
		"control character":   {"l": "a\x1b[2Jb"},
		"through another":     {"up": "dir", "dir/up2": "..", "l": "dir/up2/../x"},
		"through two":         {"a": "dir", "dir/b": "..", "dir/c": "b/a/b", "l": "dir/c/../x"},
		"round and round":     {"a": "b", "b": "a"},
		"overlong":            {"l": strings.Repeat("a/", 3000)},
		".gitmodules":         {".gitmodules": "README"},
		".gitattributes":      {".gitattributes": "README"},
		".gitignore":          {".gitignore": "README"},
		".mailmap":            {".mailmap": "README"},
		".GitAttributes":      {".GitAttributes": "README"},
		"gitatt~1":            {"dir/gitatt~1": "../README"},
		"same name as a file": {"readme": "dir"},
		"same name as a dir":  {"DIR": "README"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandOff(t)
			for path, target := range links {
				h.box.Git("update-index", "--add", "--cacheinfo", "120000,"+h.box.Object("blob", target)+","+placeholder(path))
			}
			tip := h.box.CommitTree(respell(h, h.box.Git("write-tree"), links), h.base)
			h.refused(h.publish(tip), quarantine.RuleSymlink)
		})
	}
}

// placeholder is a name that git's index accepts for one that it doesn't. It sorts the same way.
func placeholder(path string) string {
	for _, bad := range []string{".gitmodules", ".gitattributes", ".gitignore", ".mailmap", ".GitAttributes", "gitatt~1"} {
		path = strings.ReplaceAll(path, bad, strings.ReplaceAll(bad, "it", "iT")+"0")
	}
	return path
}

// respell puts the real names back, in the root and in dir.
func respell(h *handOff, tree string, links map[string]string) string {
	for path := range links {
		if placeholder(path) == path {
			continue
		}
		oid := h.box.Git("rev-parse", tree+":"+placeholder(path))
		h.box.Git("read-tree", h.base)
		e := gittest.Entry{Mode: "120000", Name: filepath.Base(path), OID: oid}
		if dir := filepath.Dir(path); dir != "." {
			a := h.box.Git("rev-parse", h.base+":dir/a")
			e = gittest.Entry{Mode: "40000", Name: dir, OID: h.box.Tree(gittest.Entry{Mode: "100644", Name: "a", OID: a}, e)}
		}
		return h.evil(e)
	}
	return tree
}

// Guards against judging a link alone: a later link can turn an old, harmless one around.
func TestOldLinkTurnedAroundIsRefused(t *testing.T) {
	user := gittest.New(t)
	user.Write("p/q/file", "x\n")
	user.Write("README", "hello\n")
	must.Do(t, os.Symlink("p/q/../x", user.Path("l")))
	user.Commit("first")
	h := send(t, user)
	h.box.Git("rm", "-q", "-r", "p")
	must.Do(t, os.MkdirAll(h.box.Path("p"), 0o755))
	must.Do(t, os.Symlink("..", h.box.Path("p/q")))
	h.refused(h.publish(h.box.Commit("turn it around")), quarantine.RuleSymlink)
}

// Guards against a link that only stays inside because of another, which a directory replaces later.
func TestLinkThatLeansOnAnotherIsRefused(t *testing.T) {
	user := gittest.New(t)
	user.Write("a/b/file", "x\n")
	for path, target := range map[string]string{"s": ".", "t": "a/b", "l": "s/t/../../x"} {
		must.Do(t, os.Symlink(target, user.Path(path)))
	}
	user.Commit("first")
	h := send(t, user)
	for name, tip := range map[string]func(*gittest.Repo) string{
		"replaced at once": func(box *gittest.Repo) string {
			box.Git("rm", "-q", "t")
			return box.Commit("replaced", "t/file", "x\n")
		},
		"removed first": func(box *gittest.Repo) string {
			box.Git("rm", "-q", "t")
			box.Commit("removed", "other", "x\n")
			return box.Commit("replaced", "t/file", "x\n")
		},
		"leaves by itself": func(box *gittest.Repo) string {
			must.Do(t, os.Symlink("t/../../x", box.Path("m")))
			return box.Commit("inside as long as t is a link")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			h.box.Git("reset", "-q", "--hard", h.base)
			h.box.Git("clean", "-qfdx")
			h.refused(h.publish(tip(h.box)), quarantine.RuleSymlink)
		})
	}
}

func TestHarmlessLinksPass(t *testing.T) {
	h := newHandOff(t)
	for path, target := range map[string]string{"l": "README", "dir/l": "../README", "dir/m": "l", "up": "dir/..",
		"dangling": "nowhere/at/all"} {
		must.Do(t, os.Symlink(target, h.box.Path(path)))
	}
	h.taken(h.publish(h.box.Commit("links")))
}

func TestHostileSubmodulesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"url like an option":       "[submodule \"a\"]\n\tpath = a\n\turl = --upload-pack=touch\n",
		"ext transport":            "[submodule \"a\"]\n\tpath = a\n\turl = \"ext::sh -c id\"\n",
		"unknown transport":        "[submodule \"a\"]\n\tpath = a\n\turl = fd::17\n",
		"file url":                 "[submodule \"a\"]\n\tpath = a\n\turl = file:///etc\n",
		"local path":               "[submodule \"a\"]\n\tpath = a\n\turl = /home/user/secret\n",
		"newline in url":           "[submodule \"a\"]\n\tpath = a\n\turl = \"https://host/a\\nb\"\n",
		"encoded newline in url":   "[submodule \"a\"]\n\tpath = a\n\turl = https://host%0ahost=evil/a\n",
		"empty host":               "[submodule \"a\"]\n\tpath = a\n\turl = https:///a\n",
		"relative that takes over": "[submodule \"a\"]\n\tpath = a\n\turl = ../../../:evil.com/x\n",
		"host like an option":      "[submodule \"a\"]\n\tpath = a\n\turl = ssh://-oProxyCommand=id/a\n",
		"scp host like an option":  "[submodule \"a\"]\n\tpath = a\n\turl = git@-oProxyCommand=id:a\n",
		"path like an option":      "[submodule \"a\"]\n\tpath = -a\n\turl = https://host/a\n",
		"path leaves":              "[submodule \"a\"]\n\tpath = ../a\n\turl = https://host/a\n",
		"path absolute":            "[submodule \"a\"]\n\tpath = /a\n\turl = https://host/a\n",
		"path into .git":           "[submodule \"a\"]\n\tpath = .git/a\n\turl = https://host/a\n",
		"path with CR":             "[submodule \"a\"]\n\tpath = \"a\\\r\"\n\turl = https://host/a\n",
		"path ends in a CR":        "[submodule \"a\"]\n\tpath = \"a\r\"\n\turl = https://host/a\n",
		"path behind a link":       "[submodule \"a\"]\n\tpath = link/a\n\turl = https://host/a\n",
		"name leaves":              "[submodule \"../../a\"]\n\tpath = a\n\turl = https://host/a\n",
		"name leaves, backslash":   "[submodule \"..\\\\a\"]\n\tpath = a\n\turl = https://host/a\n",
		"name in another": "[submodule \"a\"]\n\tpath = a\n\turl = https://host/a\n[submodule " +
			"\"a/hooks\"]\n\tpath = b\n\turl = https://host/b\n",
		"name is .git":      "[submodule \".GIT\"]\n\tpath = a\n\turl = https://host/a\n",
		"command to update": "[submodule \"a\"]\n\tpath = a\n\turl = https://host/a\n\tupdate = !touch evil\n",
		"unreadable":        "[submodule \"a\n\tpath = a\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandOff(t)
			must.Do(t, os.Symlink("dir", h.box.Path("link")))
			h.box.Git("update-index", "--add", "--cacheinfo", "160000,"+h.base+",sub")
			h.box.Git("update-index", "--add", "--cacheinfo", "100644,"+h.box.Object("blob", text)+",.gitmodules")
			h.box.Git("add", "link")
			h.refused(h.publish(h.box.CommitTree(h.box.Git("write-tree"), h.base)), quarantine.RuleSubmodule)
		})
	}
}

func TestOrdinarySubmodulesPass(t *testing.T) {
	h := newHandOff(t)
	h.box.Write(".gitmodules", `[submodule "a"]
	path = a
	url = https://example.org/a.git
[submodule "b"]
	path = deep/b
	url = ../b.git
	branch = main
	update = rebase
[submodule "c"]
	path = c
	url = git@example.org:team/c.git
[submodule "d"]
	path = d
	url = ssh://git@example.org:2222/d
`)
	h.box.Git("add", ".gitmodules")
	h.box.Git("update-index", "--add", "--cacheinfo", "160000,"+h.base+",a")
	h.taken(h.publish(h.box.CommitTree(h.box.Git("write-tree"), h.base)))
}
