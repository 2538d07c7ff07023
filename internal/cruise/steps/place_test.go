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
	const goTest = "package a\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n" +
		"\t\tt.Fatal()\n\t}\n}\n"
	write := func(files ...string) func(*gittest.Repo) {
		return func(g *gittest.Repo) { g.Commit("x", files...) }
	}
	git := func(args ...string) func(*gittest.Repo) {
		return func(g *gittest.Repo) { g.Git(args...); g.Git("commit", "-qm", "x") }
	}
	start := []string{"add.go", "package a\n", "add_test.go", goTest, "Makefile", "test:\n\tgo test ./...\n",
		"src/main/Calc.kt", "class Calc\n", "src/test/CalcTest.kt", "class CalcTest\n",
		"tests/test_add.py", "def test_add():\n    assert add(1, 2) == 3\n",
		"scripts/check", "#!/bin/sh\npytest\n", ".golangci.yml", "linters: {}\n",
		"package.json", `{"scripts":{"test":"jest"}}` + "\n", "docs/use.md", "Use it.\n", "lib/calc.rb", "x\n",
		"spec/calc_spec.rb", "it\n", "e2e/login.js", "x\n", "jest.config.js", "x\n", "tools/run.sh", "x\n"}
	for name, c := range map[string]struct {
		does func(g *gittest.Repo)
		want string // kinds
	}{
		"a repair":                     {write("add.go", "package a\n\nvar x = 1\n"), ""},
		"a script that is the product": {write("src/lib.sh", "add() { echo $(($1 + $2)); }\n"), ""},
		"a repair elsewhere":           {write("lib/calc.rb", "y\n", "src/main/Calc.kt", "y\n"), ""},
		"a new test":                   {write("more_test.go", goTest), ""},
		"its own test":                 {write("own_test.go", goTest+"\n"), ""},
		"words":                        {write("docs/use.md", "Use it well.\n"), ""},
		"an expected value":            {write("add_test.go", strings.Replace(goTest, "3", "4", 1)), "tests"},
		"a build tag":                  {write("add_test.go", "//go:build never\n\n"+goTest), "tests"},
		"a moved test":                 {git("mv", "add_test.go", "add.txt"), "tests"},
		"a test in Kotlin":             {git("rm", "-q", "src/test/CalcTest.kt"), "tests"},
		"a test in Ruby":               {write("spec/calc_spec.rb", "\n"), "tests"},
		"a test in a browser":          {write("e2e/login.js", "\n"), "tests"},
		"TestMain":                     {write("main_test.go", "package a\n\nfunc TestMain(m *M) {}\n"), "tests"},
		"load_tests":                   {write("tests/test_z.py", "def load_tests(*a):\n    return\n"), "tests"},
		"conftest":                     {write("conftest.py", "def pytest_runtest_call(item):\n    pass\n"), "tests"},
		"make":                         {write("Makefile", "test:\n\t@true\n"), "settings"},
		"a script":                     {write("scripts/check", "#!/bin/sh\nexit 0\n"), "settings"},
		"a shell script":               {write("tools/run.sh", "exit 0\n"), "settings"},
		"a linter":                     {write(".golangci.yml", "linters: {default: none}\n"), "settings"},
		"a runner":                     {write("package.json", `{"scripts":{"test":"true"}}`), "settings"},
		"where tests are":              {write("jest.config.js", "module.exports = {roots: []}\n"), "settings"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t)
			base := g.Commit("start", start...)
			since := g.Commit("work", "own_test.go", goTest)
			c.does(g)
			d := &Doer{Data: t.TempDir(), Sessions: workspace{tip: g.Git("rev-parse", "HEAD")}}
			p := must.Get(d.Publish(t.Context(), cruise.PublishIn{Where: cruise.Where{Phase: "a", Repo: g.Dir,
				Workspace: cruise.Workspace{Session: "feedbeef", Base: base}}, Since: since}))(t)
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
