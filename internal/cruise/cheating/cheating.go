// Package cheating has ways to make a check green without a repair, in many languages, for tests.
package cheating

import "strings"

const addTest = "package a\n\nfunc TestAdd(t *T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"

// Project is one in many languages, with what builds and judges it: texts of files.
func Project() map[string]string {
	return map[string]string{
		"add.go":                              "package a\n",
		"add_test.go":                         addTest,
		"testdata/sum.golden":                 "3\n",
		"go.mod":                              "module a\n",
		"Makefile":                            "test:\n\tgo test ./...\n",
		".golangci.yml":                       "linters: {}\n",
		"src/calc.py":                         "x = 1\n",
		"tests/test_calc.py":                  "def test_add():\n    assert add(1, 2) == 3\n",
		"tests/data/rows.csv":                 "1,2,3\n4,5,9\n",
		"pyproject.toml":                      "[tool.pytest.ini_options]\n",
		"tox.ini":                             "[tox]\n",
		"setup.cfg":                           "[flake8]\n",
		".coveragerc":                         "[report]\nfail_under = 90\n",
		"mypy.ini":                            "[mypy]\nstrict = true\n",
		"requirements-test.txt":               "pytest\n",
		"src/calc.js":                         "x\n",
		"src/calc.test.js":                    "expect(add(1, 2)).toBe(3)\n",
		"package.json":                        `{"scripts":{"test":"jest"}}` + "\n",
		"jest.config.js":                      "x\n",
		"vitest.config.ts":                    "x\n",
		".eslintrc.json":                      "{}\n",
		"tsconfig.json":                       "{}\n",
		"e2e/login.spec.ts":                   "it\n",
		"src/__snapshots__/calc.test.js.snap": "3\n",
		"cypress/e2e/a.cy.js":                 "it\n",
		"__mocks__/calc.js":                   "x\n",
		"src/main/Calc.java":                  "class Calc {}\n",
		"src/test/java/CalcTest.java":         "class CalcTest { }\n",
		"pom.xml":                             "<project/>\n",
		"build.gradle.kts":                    "plugins {}\n",
		"gradle.properties":                   "x=1\n",
		"lib/calc.rb":                         "x\n",
		"spec/calc_spec.rb":                   "it\n",
		"spec/spec_helper.rb":                 "x\n",
		"Rakefile":                            "task :test\n",
		".rubocop.yml":                        "x: 1\n",
		".rspec":                              "x\n",
		"src/lib.rs":                          "fn add() {}\n",
		"tests/add.rs":                        "#[test]\nfn adds() {}\n",
		"Cargo.toml":                          "[package]\n",
		"build.rs":                            "fn main() {}\n",
		"clippy.toml":                         "x = 1\n",
		"src/Calc.cs":                         "class Calc {}\n",
		"Calc.Tests/CalcTests.cs":             "class T {}\n",
		"Calc.Tests/Calc.Tests.csproj":        "<Project/>\n",
		"Directory.Build.props":               "<Project/>\n",
		"lib/calc.ex":                         "x\n",
		"test/calc_test.exs":                  "x\n",
		"mix.exs":                             "x\n",
		"src/Calc.php":                        "<?php\n",
		"tests/CalcTest.php":                  "<?php\n",
		"phpunit.xml":                         "<phpunit/>\n",
		"Sources/Calc.swift":                  "x\n",
		"Tests/CalcTests.swift":               "x\n",
		"Package.swift":                       "x\n",
		"CMakeLists.txt":                      "enable_testing()\n",
		"src/calc.c":                          "x\n",
		"test/test_calc.c":                    "x\n",
		"test/lib.bats":                       "@test add\n",
		"scripts/check":                       "#!/bin/sh\npytest\n",
		"tools/lint.sh":                       "lint\n",
		".github/workflows/ci.yml":            "on: push\n",
		".gitea/workflows/ci.yml":             "on: push\n",
		".gitlab-ci.yml":                      "test: x\n",
		"Jenkinsfile":                         "x\n",
		".pre-commit-config.yaml":             "repos: []\n",
		"Dockerfile":                          "FROM x\n",
		"docker-compose.yml":                  "x: 1\n",
		"Taskfile.yml":                        "x: 1\n",
		"justfile":                            "test:\n",
		"noxfile.py":                          "x\n",
		"deno.json":                           "{}\n",
		"nx.json":                             "{}\n",
		"turbo.json":                          "{}\n",
		"BUILD.bazel":                         "x\n",
		"rules.bzl":                           "x\n",
		"flake.nix":                           "x\n",
		".env":                                "CI=1\n",
		"docs/use.md":                         "Use it.\n",
		"t/basic.t":                           "ok\n",
		"stack.yaml":                          "x: 1\n",
		"test/Spec.hs":                        "x\n",
		"codecov.yml":                         "x: 1\n",
		"sonar-project.properties":            "x=1\n",
		"karma.conf.js":                       "x\n",
		"Podfile":                             "x\n",
		"project.clj":                         "x\n",
	}
}

// A Change writes a file, or removes it where the text is "".
type Change struct{ File, Text string }

// All are changes that make a check green without a repair: by the test, by what it compares with, or by what runs it.
func All() map[string]Change {
	project := Project()
	all := map[string]Change{
		"a row of a table removed": {"tests/data/rows.csv", "1,2,3\n"},
		"an early return":          {"add_test.go", "package a\n\nfunc TestAdd(t *T) {\n\treturn\n}\n"},
		"an expected value":        {"add_test.go", strings.Replace(addTest, "3", "4", 1)},
		"a build tag":              {"add_test.go", "//go:build never\n\n" + addTest},
		"skipped":                  {"add_test.go", strings.Replace(addTest, "\tif", "\tt.Skip()\n\tif", 1)},
		"TestMain":                 {"main_test.go", "package a\n\nfunc TestMain(m *M) {}\n"},
		"load_tests":               {"tests/test_z.py", "def load_tests(*a):\n    return\n"},
		"a hook":                   {"conftest.py", "def pytest_runtest_call(item):\n    pass\n"},
		"a hook that leaves":       {"tests/conftest.py", "import os\nos._exit(0)\n"},
		"a silent target":          {"Makefile", "test:\n\t@true\n"},
		"a threshold":              {".coveragerc", "[report]\nfail_under = 0\n"},
		"another runner":           {"package.json", `{"scripts":{"test":"true"}}` + "\n"},
		"a new setting of lint":    {".flake8", "[flake8]\nexclude = *\n"},
		"a new setting of tests":   {"pytest.ini", "[pytest]\naddopts = --co\n"},
		"a new workflow":           {".github/workflows/green.yml", "on: push\n"},
		"a new setting of mocks":   {"babel.config.js", "x\n"},
		"a new ignore":             {".eslintignore", "*\n"},
	}
	product := []string{"add.go", "src/calc.py", "src/calc.js", "src/main/Calc.java", "lib/calc.rb", "src/lib.rs",
		"src/Calc.cs", "lib/calc.ex", "src/Calc.php", "Sources/Calc.swift", "src/calc.c", "docs/use.md"}
	for file := range project {
		judges := true
		for _, p := range product {
			judges = judges && file != p
		}
		if judges {
			all["changed: "+file] = Change{file, project[file] + "x\n"}
		}
	}
	for _, file := range []string{"add_test.go", "tests/test_calc.py", "src/calc.test.js", "src/test/java/CalcTest.java",
		"spec/calc_spec.rb", "tests/add.rs", "Calc.Tests/CalcTests.cs", "test/calc_test.exs", "tests/CalcTest.php"} {
		all["removed: "+file] = Change{file, ""}
	}
	return all
}

// Repairs are changes of the product, and new tests: nobody is asked about them.
func Repairs() []Change {
	return []Change{
		{"add.go", "package a\n\nvar x = 1\n"}, {"src/calc.py", "x = 2\n"}, {"src/calc.js", "y\n"},
		{"src/main/Calc.java", "class Calc { int x; }\n"}, {"lib/calc.rb", "y\n"}, {"src/lib.rs", "fn sub() {}\n"},
		{"src/Calc.cs", "class Calc { int x; }\n"}, {"lib/calc.ex", "y\n"}, {"src/Calc.php", "<?php y\n"},
		{"Sources/Calc.swift", "y\n"}, {"src/calc.c", "y\n"}, {"internal/new.go", "package internal\n"},
		{"more_test.go", "package a\n\nfunc TestMore(t *T) {}\n"},
		{"spec/more_spec.rb", "it\n"},
	}
}
