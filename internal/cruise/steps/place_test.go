package steps

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against checks that a fixer makes green by changing what they look at.
func TestWhatACheckLooksAtIsHeldByItsPlace(t *testing.T) {
	const goTest = "package a\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
	start := []string{"add.go", "package a\n", "add_test.go", goTest, "Makefile", "test:\n\tgo test ./...\n",
		"src/main/Calc.kt", "class Calc\n", "src/test/CalcTest.kt", "class CalcTest\n", "tests/test_add.py", "def test_add():\n" +
			"    assert add(1, 2) == 3\n", "scripts/check", "#!/bin/sh\npytest\n", ".golangci.yml", "linters: {}\n",
		"package.json", `{"scripts":{"test":"jest"}}` + "\n", "docs/use.md", "Use it.\n", "lib/calc.rb", "x\n",
		"spec/calc_spec.rb", "it\n", "e2e/login.js", "x\n", "jest.config.js", "x\n", "tools/run.sh", "x\n"}
	for name, c := range map[string]struct {
		does func(g *gittest.Repo)
		want string // kinds
	}{
		"a repair":            {func(g *gittest.Repo) { g.Commit("x", "add.go", "package a\n\nvar x = 1\n") }, ""},
		"a repair elsewhere":  {func(g *gittest.Repo) { g.Commit("x", "lib/calc.rb", "y\n", "src/main/Calc.kt", "y\n") }, ""},
		"a new test":          {func(g *gittest.Repo) { g.Commit("x", "more_test.go", goTest) }, ""},
		"its own test":        {func(g *gittest.Repo) { g.Commit("x", "own_test.go", goTest+"\n") }, ""},
		"words":               {func(g *gittest.Repo) { g.Commit("x", "docs/use.md", "Use it well.\n") }, ""},
		"an expected value":   {func(g *gittest.Repo) { g.Commit("x", "add_test.go", strings.Replace(goTest, "3", "4", 1)) }, "tests"},
		"a build tag":         {func(g *gittest.Repo) { g.Commit("x", "add_test.go", "//go:build never\n\n"+goTest) }, "tests"},
		"a moved test":        {func(g *gittest.Repo) { g.Git("mv", "add_test.go", "add.txt"); g.Git("commit", "-qm", "x") }, "tests"},
		"a test in Kotlin":    {func(g *gittest.Repo) { g.Git("rm", "-q", "src/test/CalcTest.kt"); g.Git("commit", "-qm", "x") }, "tests"},
		"a test in Ruby":      {func(g *gittest.Repo) { g.Commit("x", "spec/calc_spec.rb", "\n") }, "tests"},
		"a test in a browser": {func(g *gittest.Repo) { g.Commit("x", "e2e/login.js", "\n") }, "tests"},
		"TestMain":            {func(g *gittest.Repo) { g.Commit("x", "main_test.go", "package a\n\nfunc TestMain(m *M) {}\n") }, "tests"},
		"load_tests":          {func(g *gittest.Repo) { g.Commit("x", "tests/test_z.py", "def load_tests(*a):\n    return\n") }, "tests"},
		"conftest":            {func(g *gittest.Repo) { g.Commit("x", "conftest.py", "def pytest_runtest_call(item):\n    pass\n") }, "tests"},
		"make":                {func(g *gittest.Repo) { g.Commit("x", "Makefile", "test:\n\t@true\n") }, "settings"},
		"a script":            {func(g *gittest.Repo) { g.Commit("x", "scripts/check", "#!/bin/sh\nexit 0\n") }, "settings"},
		"a shell script":      {func(g *gittest.Repo) { g.Commit("x", "tools/run.sh", "exit 0\n") }, "settings"},
		"a linter":            {func(g *gittest.Repo) { g.Commit("x", ".golangci.yml", "linters: {default: none}\n") }, "settings"},
		"a runner":            {func(g *gittest.Repo) { g.Commit("x", "package.json", `{"scripts":{"test":"true"}}`) }, "settings"},
		"where tests are":     {func(g *gittest.Repo) { g.Commit("x", "jest.config.js", "module.exports = {roots: []}\n") }, "settings"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t)
			base := g.Commit("start", start...)
			since := g.Commit("work", "own_test.go", goTest)
			c.does(g)
			d := &Doer{Data: t.TempDir(), Sessions: workspace{tip: g.Git("rev-parse", "HEAD")}}
			p := must.Get(d.Publish(t.Context(), cruise.PublishIn{Phase: "a", Repo: g.Dir, Since: since,
				Workspace: cruise.Workspace{Session: "feedbeef", Base: base}}))(t)
			got := ""
			for _, h := range p.Holds {
				if h.Why == cruise.HoldRed {
					got = h.Kind
				}
			}
			if got != c.want {
				t.Errorf("held %q: %+v", got, p.Holds)
			}
		})
	}
}
