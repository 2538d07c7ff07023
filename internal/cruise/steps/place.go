package steps

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/unit"
)

// A check is made green by a repair, or by changing what it looks at. While one is red, these places are asked about,
// whatever a change there does: tests that the base has, and what builds, runs and judges the project.

// testWords are words in the names of tests and of what they compare with.
var testWords = []string{"test", "tests", "testing", "testdata", "testcase", "testcases", "conftest", "spec", "specs",
	"e2e", "fixture", "fixtures", "golden", "snap", "snapshot", "snapshots", "expected", "mocks", "cypress", "bats", "t"}

// isTest says whether a path is one of tests, by the words in it.
func isTest(p string) bool {
	words := strings.FieldsFunc(strings.ToLower(camel.ReplaceAllString(p, "$1/$2")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(testWords, w) })
}

// camel is where a word begins within another.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// settingEnds are the ends of names of settings and scripts: outside of where the product's own code is, and at the
// root alone.
var (
	productDirs = []string{"src", "lib", "app", "pkg", "internal", "cmd"}
	settingEnds = []string{".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".mk", ".mak", ".cmake", ".gradle", ".kts",
		".bazel", ".bzl", ".sbt", ".nix", ".csproj", ".props", ".targets", ".sln"}
	rootEnds = []string{".toml", ".yaml", ".yml", ".json", ".jsonc", ".json5", ".cfg", ".ini", ".xml", ".conf",
		".properties", ".neon", ".dist"}
	configName = regexp.MustCompile(`(?i)\.(config|conf)\.|^(setup\.(py|cfg)|build\.(rs|zig|sc|xml)|cmakelists\.txt|` +
		`mix\.exs|package\.(json|swift)|pom\.xml|(make|docker|rake|gem|just|nox|fab|grunt|gulp|mage|pip)file\.\w+)$`)
)

// isSetting says whether a path is one of settings, by its place: hidden files, scripts, files without an end, and
// settings at the root.
func isSetting(p string) bool {
	ext := strings.ToLower(path.Ext(p))
	dir, _, deep := strings.Cut(p, "/")
	return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") || ext == "" && !cruise.Prose(p) ||
		slices.Contains(settingEnds, ext) && (!deep || !slices.Contains(productDirs, dir)) ||
		!deep && slices.Contains(rootEnds, ext) || configName.MatchString(path.Base(p))
}

// judgedByGate are kinds of the gate that decide how a project is built, run and judged.
var judgedByGate = []gate.Kind{"build", "test", "install", "environment", "packages", "executables", "unknown",
	"review", "commit", "editor", "links"}

// takesOver is what makes a new test file decide about all others.
var takesOver = regexp.MustCompile(`\bTestMain\b|\bload_tests\b|\bpytest_\w+\s*\(|\b_?exit\s*\(`)

// most bounds how many files are asked about by name, and how much of one is read.
const (
	mostHeld   = 50
	mostOfTest = 1 << 20
)

// holdPlaces finds what is asked about while a check is red, by its place.
func holdPlaces(ctx context.Context, repo *git.Repo, since, base string, fresh gate.Report,
	p *cruise.Published) error {
	changed, err := repo.Changed(ctx, since, p.Head)
	if err != nil {
		return err
	}
	before, err := repo.Changed(ctx, base, since)
	if err != nil {
		return err
	}
	ours := map[string]bool{} // what the base does not have
	for _, c := range append(changed, before...) {
		ours[c.Path] = c.New
	}
	held := map[string]bool{}
	for _, g := range fresh.Groups {
		for _, f := range g.Findings {
			held[f.Path] = held[f.Path] || holdWhy(g.Kind) == cruise.HoldCI // it is asked about anyway
		}
	}
	had := len(p.Holds)
	hold := func(kind, file, says string, gone bool) {
		if held[file] {
			return
		}
		held[file] = true
		h := cruise.Hold{Kind: kind, Why: cruise.HoldRed, File: file, Lines: []string{kind + ": " + file + " " + says}}
		if gone {
			h.File = "" // nobody consents to this for all times
		}
		p.Holds = append(p.Holds, h)
	}
	for _, c := range changed {
		switch test := isTest(c.Path); {
		case test && !ours[c.Path] && c.Gone:
			hold("tests", c.Path, "was removed or moved", true)
		case test && !ours[c.Path]:
			hold("tests", c.Path, "has changed", false)
		case test && !c.Gone:
			text, err := repo.TextAt(ctx, p.Head, c.Path, mostOfTest)
			if line := takesOver.FindString(text); err != nil || line != "" {
				hold("tests", c.Path, "is new and may decide about other tests: "+line, true)
			}
			p.Tests = append(p.Tests, c.Path)
		case isSetting(c.Path):
			hold("settings", c.Path, "has changed", false)
		}
	}
	for _, g := range fresh.Groups {
		for _, f := range g.Findings {
			if slices.Contains(judgedByGate, g.Kind) && !slices.Contains(p.Tests, f.Path) {
				hold("settings", f.Path, f.Words(), false)
			}
		}
	}
	if more := len(p.Holds) - had - mostHeld; more > 0 {
		p.Holds = append(p.Holds[:len(p.Holds)-more], cruise.Hold{Kind: "settings", Why: cruise.HoldRed,
			Lines: []string{"tests and settings: " + unit.Count(more, "more file")}})
	}
	p.Tests = p.Tests[:min(len(p.Tests), mostHeld)]
	return nil
}
