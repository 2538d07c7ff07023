package cco_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// everything is how many lines of Go there may be without tests.
const everything = 113_100

// ceilings are how many lines a package may have without tests, and without the packages below it: those that it has,
// rounded up to the next hundred. A package of more than a thousand lines needs one. Who raises one says in the commit
// why what it is for can't be had for less; who has made a package smaller lowers it.
var ceilings = map[string]int{
	"internal/agent/agenttest":   1500,
	"internal/agent/event":       2200,
	"internal/app":               3200,
	"internal/app/phases":        2800,
	"internal/bench":             2000,
	"internal/box":               1100,
	"internal/box/boxtest":       1400,
	"internal/box/cage":          2400,
	"internal/box/container":     1400,
	"internal/box/host":          1100,
	"internal/box/native/jail":   2300,
	"internal/box/probe":         1700,
	"internal/box/remote":        1300,
	"internal/box/rooms":         1400,
	"internal/box/verify":        1100,
	"internal/broker":            4500,
	"internal/cli":               7100,
	"internal/cli/cruising":      1500,
	"internal/config":            2600,
	"internal/cruise":            4300,
	"internal/cruise/cruisetest": 1500,
	"internal/cruise/fleet":      1800,
	"internal/cruise/steps":      2300,
	"internal/editor":            1100,
	"internal/forge":             2000,
	"internal/forge/forgetest":   2500,
	"internal/forge/gitea":       1500,
	"internal/forge/github":      1600,
	"internal/forge/githubfake":  2600,
	"internal/gate":              3700,
	"internal/git":               4100,
	"internal/git/aside":         2000,
	"internal/git/quarantine":    2600,
	"internal/guard":             1800,
	"internal/guard/caged":       1400,
	"internal/guard/settings":    1300,
	"internal/inside":            1700,
	"internal/session":           4500,
	"internal/session/keep":      2200,
	"internal/session/keeping":   1500,
	"internal/store":             1400,
	"internal/view/api":          3600,
	"internal/vt":                1700,
}

func TestItStaysSmall(t *testing.T) {
	const free = 1000
	lines, all := goLines(t), 0
	for dir, n := range lines {
		all += n
		ceiling, has := ceilings[dir]
		if !has && n > free {
			t.Errorf("%s has %d lines: a package of more than %d needs a ceiling", dir, n, free)
		}
		if has && n > ceiling {
			t.Errorf("%s has %d lines, %d more than its ceiling of %d", dir, n, n-ceiling, ceiling)
		}
	}
	for dir, ceiling := range ceilings {
		if lines[dir] == 0 || ceiling%100 != 0 {
			t.Errorf("%s has %d lines and a ceiling of %d, which is to be of whole hundreds and of a package", dir, lines[dir],
				ceiling)
		}
	}
	if all > everything || everything%100 != 0 {
		t.Errorf("all packages have %d lines, and their ceiling is %d", all, everything)
	}
}

// goLines counts the lines of each directory's Go files that are no tests.
func goLines(t *testing.T) map[string]int {
	t.Helper()
	lines := map[string]int{}
	must.Do(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(name)
		lines[path.Dir(name)] += bytes.Count(data, []byte("\n"))
		return err
	}))
	return lines
}
