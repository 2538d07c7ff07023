package cco_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

var (
	pathInDocs = regexp.MustCompile("`((?:cmd|internal|docs|scripts|testdata|\\.ci)/[A-Za-z0-9_./*-]+)`")
	makeInDocs = regexp.MustCompile("`make ([a-z-]+)")
	linkInDocs = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	ccoInDocs  = regexp.MustCompile("(?m)(?:`|^\\$ |^    )(cco(?: [a-z]+)+)")
)

func docs(t *testing.T) map[string]string {
	t.Helper()
	files := must.Get(filepath.Glob("docs/*.md"))(t)
	texts := map[string]string{}
	for _, f := range append(files, "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		data := must.Get(os.ReadFile(f))(t)
		texts[f] = string(data)
	}
	return texts
}

// Guards against docs that describe files which are no longer there.
func TestDocsNameFilesThatExist(t *testing.T) {
	for name, text := range docs(t) {
		for _, m := range pathInDocs.FindAllStringSubmatch(text, -1) {
			if found, _ := filepath.Glob(strings.TrimSuffix(m[1], "/")); len(found) == 0 {
				t.Errorf("%s names %s, which isn't there", name, m[1])
			}
		}
		for _, m := range linkInDocs.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which isn't there", name, m[1])
			}
		}
	}
}

func TestDocsNameMakeTargetsThatExist(t *testing.T) {
	makefile := must.Get(os.ReadFile("Makefile"))(t)
	for name, text := range docs(t) {
		for _, m := range makeInDocs.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
				t.Errorf("%s names `make %s`, which the Makefile doesn't have", name, m[1])
			}
		}
	}
}

// Guards against docs that name commands which cco doesn't have. cco itself is asked.
func TestDocsNameCommandsThatExist(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "cco")
	must.Do(t, programs.Build(t.Context(), dir, "cco", "cco-cruise"))
	asked := map[string]bool{}
	for name, text := range docs(t) {
		for _, m := range ccoInDocs.FindAllStringSubmatch(text, -1) {
			if asked[m[1]] {
				continue
			}
			asked[m[1]] = true
			words := strings.Fields(m[1])
			if !knows(t, bin, words[1:]) {
				t.Errorf("%s names `%s`, which cco doesn't know", name, m[1])
			}
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %d commands were found in the docs: is the pattern still right?", len(asked))
	}
}

// Guards against commands on boxes that the reference leaves out.
func TestTheReferenceHasEveryCommandOfBox(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, programs.Build(t.Context(), dir, "cco"))
	out := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{filepath.Join(dir, "cco"), "box", "--help"}}))(t)
	_, list, _ := strings.Cut(string(out), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	commands := strings.Split(list, "\n")
	if len(commands) < 15 {
		t.Fatalf("only %d commands: is the pattern still right?\n%s", len(commands), out)
	}
	reference := docs(t)["docs/reference.md"]
	for _, line := range commands {
		name := strings.Fields(line)[0]
		if !regexp.MustCompile("(?m)^\\|.*`cco box " + name + "`").MatchString(reference) {
			t.Errorf("the reference lacks `cco box %s`", name)
		}
	}
}

// knows asks for the help of ever shorter commands: what follows a command may be its arguments.
func knows(t *testing.T, bin string, words []string) bool {
	t.Helper()
	for n := len(words); n > 0; n-- {
		out, err := proc.Output(t.Context(), proc.Cmd{Argv: append(append([]string{bin}, words[:n]...), "--help")})
		if err != nil {
			continue
		}
		usage := "Usage:\n  cco " + strings.Join(words[:n], " ")
		if strings.Contains(string(out), usage) {
			// A group takes no arguments, so a word behind one is a command that isn't there.
			return n == len(words) || !strings.Contains(string(out), "Available Commands:")
		}
	}
	return false
}
