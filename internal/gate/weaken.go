package gate

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// language is how tests look in one.
type language struct {
	ends  string // of names, in lower case
	files string // patterns of files with tests; "" for all
	test  string // an expression for the beginning of a test
	skip  string // for what keeps one from running
	check string // for an assertion
	empty string // for one that always holds
}

// languages is what is known of tests.
var languages = [...]language{
	{ends: ".go", files: "*_test.go", test: `^func (?:Test|Benchmark|Fuzz|Example)\w*\(|\b[tbf]\.Run\(`,
		skip: `\b\w+\.Skip(?:f|Now)?\(|//go:build ignore|//go:build (?:never|disabled|skip)`,
		check: `\b[tbf]\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|must|qt|c|g|gomega|Expect|Ω)\.\w+\(|\bExpect\(|` +
			`cmp\.Diff\(`,
		empty: `assert\.True\(t, true\)|if false\b`},
	{ends: ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte",
		files: `*.test.* *.spec.* *_test.* *-test.* *_spec.* test-*.* test_*.* test.* __tests__/ test/ tests/ spec/ e2e/
		cypress/ *.cy.* *.e2e.*`,
		test: `^\s*(?:it|test|describe|context|specify|suite|Deno\.test|bench)(?:\.\w+)*(?:\(|\x60)|^\s*x?f?(?:it|` +
			`describe)\(`,
		skip: `\b(?:it|test|describe|context|suite|specify)\.(?:skip|todo|only|fixme|failing|fails|skipIf)\b|\bx(?:it|` +
			`describe|test|context|specify)\b\(|` +
			`\bf(?:it|describe)\(|this\.skip\(|\bpending\(|\bt\.skip\(|skip:\s*true|ignore:\s*true|only:\s*true`,
		check: `\bexpect\(|\bassert\w*[.(]|\.should\b|\bt\.(?:is|not|deepEqual|true|false|throws|ok|equal|like|truthy|` +
			`snapshot)\w*\(|\bcy\.\w+.*should\(|expectTypeOf\(`,
		empty: `expect\((?:true|1)\)\.toBe(?:Truthy|\((?:true|1)\))|assert\(true\)|assert\.ok\(true\)|\.toBeDefined\(\)|` +
			`\.toBeTruthy\(\)|expect\.anything\(\)`},
	{ends: ".py .pyi", files: "test_*.py *_test.py tests.py tests/ test/ testing/ conftest.py *_tests.py",
		test: `^\s*(?:async )?def test\w*\(|^\s*class Test\w*`,
		skip: `pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b|unittest\.(?:skip\w*|expectedFailure)|` +
			`self\.skipTest\(|@(?:skip\w*|expectedFailure|xfail)\b|` +
			`raise (?:unittest\.)?SkipTest|__test__\s*=\s*False|collect_ignore|pytestmark\s*=.*skip`,
		check: `^\s*assert\b|self\.assert\w+\(|pytest\.(?:raises|warns|approx)\(|\.assert_\w+\(|self\.fail\(|` +
			`np\.testing\.|assert_\w+\(`,
		empty: `assert (?:True|1)\b|assertTrue\(True\)|assert .* or True\b`},
	{ends: ".rs", test: `^\s*#\[(?:\w+::)?(?:test|rstest|test_case|quickcheck|proptest)\b`,
		skip:  `^\s*#\[(?:ignore\b|cfg\(any\(\)\)|cfg_attr\(.*ignore)|#\[should_panic\]`,
		check: `\b(?:assert|assert_eq|assert_ne|assert_matches|prop_assert\w*|insta::assert\w*|panic|debug_assert\w*)!`,
		empty: `assert!\(true\)`},
	{ends: ".java .kt .kts .groovy .scala",
		files: "*test.* *tests.* *it.* *spec.* test*.* src/test/ androidtest/ src/it/ src/integrationtest/",
		test: `@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b|^\s*(?:public )?void test\w*\(|` +
			`\bfun test\w*\(|^\s*def "|\btest\("`,
		skip: `@(?:Disabled\w*|Ignore|EnabledIf\w*|EnabledOn\w*|Ignored|Pending)\b|\bassume(?:True|False|That)\(|` +
			`Assumptions\.|\bignore\("|enabled\s*=\s*false`,
		check: `\bassert\w*\s*\(|\bfail\(|\bverify\(|\bassertThat\b|\.isEqualTo\(|\bexpect\w*\(|\bshould\w*\b|` +
			`^\s*assert\b|andExpect\(`,
		empty: `assertTrue\(true\)|assertThat\(true\)`},
	{ends: ".sh .bash .bats .zsh",
		files: "*.bats *_test.sh test_*.sh *-test.sh *.test.sh test.sh tests.sh test/ tests/ t/ spec/ *_spec.sh",
		test:  `^\s*@test\b|^\s*(?:function\s+)?test_?\w*\s*\(\)|^\s*(?:It|Describe|Example) '|^\s*test_expect_\w+`,
		skip: `^\s*skip\b|\bstartSkipping\b|^\s*exit 0\s*$|^\s*return 0\s*$|\|\|\s*(?:true|:)\s*$|\bset \+e\b|` +
			`^\s*(?:Skip|Pending)\b|test_skip|^\s*xit\b`,
		check: `\|\|\s*(?:exit|fail|return|die|false)\b|\bassert\w*\b|^\s*\[\[? .*\]\]?\s*$|^\s*test .*|^\s*(?:diff|` +
			`cmp)\b|\bgrep -q|exit 1|set -e|\brefute\w*`,
		empty: `assert true`},
	{ends: ".rb", files: "*_spec.rb *_test.rb test_*.rb spec/ test/ features/",
		test: `^\s*(?:it|test|describe|context|scenario|specify)\b|^\s*def test_`,
		skip: `^\s*(?:x?it|xdescribe|xcontext|pending|skip)\b\s*(?:$|["'(])|\bskip:\s*true|^\s*f(?:it|describe|" +
		"context)\b|pending:`,
		check: `\bexpect\b|\bassert\w*\b|\brefute\w*|\.should\b|must_\w+`, empty: `assert true|expect\(true\)`},
	{ends: ".cs", files: "*test.cs *tests.cs test/ tests/ *.tests/ *.test/ *spec.cs *specs.cs",
		test:  `\[(?:Fact|Theory|Test|TestMethod|TestCase)\b`,
		skip:  `Skip\s*=\s*"|\[Ignore|\[Explicit|Assert\.(?:Ignore|Inconclusive)\(`,
		check: `\bAssert\.\w+|\.Should\(\)|\.Verify\(`, empty: `Assert\.(?:True|IsTrue)\(true\)`},
	{ends: ".php", files: "*test.php tests/ test/ *cest.php *spec.php",
		test:  `function test\w*\(|@test\b|#\[Test\]|\bit\('|\btest\('`,
		skip:  `markTest(?:Skipped|Incomplete)|->skip\(|->todo\(|->only\(`,
		check: `->assert\w+\(|self::assert\w+|expect\(|->should`, empty: `assertTrue\(true\)`},
	{ends: ".swift", files: "*tests.swift *test.swift tests/ *spec.swift", test: `func test\w*\(|@Test\b`,
		skip:  `XCTSkip|\.disabled\(`,
		check: `XCTAssert\w*|#expect|#require|XCTFail`, empty: `XCTAssertTrue\(true\)`},
	{ends: ".ex .exs", files: "*_test.exs test/", test: `^\s*(?:test|describe|property) "`,
		skip:  `@(?:module)?tag :skip|@tag skip`,
		check: `\b(?:assert|refute)\w*\b`, empty: `assert true`},
	{ends: ".c .cc .cpp .cxx .h .hpp", files: "*test.* *_test.* test_*.* *tests.* test/ tests/ *_unittest.*",
		test:  `\b(?:TEST|TEST_F|TEST_P|TEST_CASE|BOOST_AUTO_TEST_CASE)\(`,
		skip:  `GTEST_SKIP|DISABLED_\w+|\[\.\]|\[!mayfail\]`,
		check: `\b(?:ASSERT|EXPECT|CHECK|REQUIRE|BOOST_\w+|assert|TEST_ASSERT\w*|CU_ASSERT\w*|ck_assert\w*)\w*\s*\(`,
		empty: `ASSERT_TRUE\(true\)`},
	{ends: ".dart", files: "*_test.dart test/", test: `^\s*(?:test|testWidgets|group)\(`, skip: `skip:\s*(?:true|')`,
		check: `\bexpect\w*\(`, empty: `expect\(true, true\)`},
}

// languageOf is how tests look in a file; nil if it has none.
func languageOf(p string) *language {
	p = strings.ToLower(p)
	ext := path.Ext(p)
	if ext == "" {
		return nil
	}
	for i := range languages {
		l := &languages[i]
		for _, e := range strings.Fields(l.ends) {
			if e == ext && (l.files == "" || within(p, l.files)) {
				return l
			}
		}
	}
	return nil
}

// weakened counts tests, assertions and what keeps tests from running.
func (x *examination) weakened(moved moves) {
	for _, c := range x.changes {
		if l := languageOf(c.path); l != nil && !within(strings.ToLower(c.path), fixtures) {
			x.tests(l, c, moved)
		}
		x.thresholds(c)
		x.steps(c, moved)
		x.expected(c)
	}
}

// tally is what two versions of a file have of something.
type tally struct {
	plus, minus int
	add, del    line // the first of each
}

func (x *examination) tally(c *change, expr string, moved moves) (t tally) {
	re := x.book.re(expr)
	for _, l := range c.added {
		if re.MatchString(l.text) && moved.removed["weakened"][strings.TrimSpace(l.text)] == 0 {
			if t.plus++; t.plus == 1 {
				t.add = l
			}
		}
	}
	for _, l := range c.removed {
		if re.MatchString(l.text) && moved.added["weakened"][strings.TrimSpace(l.text)] == 0 {
			if t.minus++; t.minus == 1 {
				t.del = l
			}
		}
	}
	return t
}

func (x *examination) tests(l *language, c *change, moved moves) {
	f := Finding{Kind: "weakened", Path: c.path}
	if c.fresh() || c.gone() && moved.blob(c.wasOID) {
		return
	}
	tests, skips, checks,
		empty := x.tally(c, l.test, moved), x.tally(c, l.skip, moved), x.tally(c, l.check, moved), x.tally(c, l.empty, moved)
	if n := skips.plus - skips.minus; n > 0 {
		f.Line, f.Text, f.Count = skips.add.no, show("+", skips.add.text), n
		f.Says = number(n, "test does", "tests do") + " not run, or may fail now"
		x.add(f)
	}
	switch missing := checks.minus - checks.plus; {
	case tests.minus > tests.plus && skips.plus <= skips.minus:
		n := tests.minus - tests.plus
		f.Line, f.Text, f.Count, f.Says = tests.del.no, show("-", tests.del.text), n, number(n, "test", "tests")+" removed"
		x.add(f)
	case missing > 0 && l.files != "" || missing > 0 && inTests(c):
		f.Line, f.Text, f.Count, f.Says = checks.del.no, show("-", checks.del.text), missing, number(missing,
			"assertion", "assertions")+" fewer"
		x.add(f)
	case empty.plus > empty.minus && checks.minus > 0:
		n := empty.plus - empty.minus
		f.Line, f.Text, f.Count, f.Says = empty.add.no, show("+",
			empty.add.text), n, number(n, "assertion", "assertions")+" that nearly always hold"
		x.add(f)
	}
}

// inTests says whether a file of a language with tests among its code looks like tests.
func inTests(c *change) bool {
	return within(strings.ToLower(c.path), "tests/ *_test.rs tests.rs test.rs *_tests.rs")
}

// limitRow is a number that checks must reach.
type limitRow struct {
	files string
	line  string
	less  bool // less of it is stricter
}

var limitRows = [...]limitRow{
	{files: `jest.config.* vitest.config.* package.json .nycrc .nycrc.* .c8rc .c8rc.* nyc.config.js karma.conf.*
		codecov.yml .codecov.yml codecov.yaml
		.codecov.yaml .coveragerc pyproject.toml setup.cfg tox.ini pytest.ini *.gradle *.gradle.kts pom.xml makefile *.mk
		.github/workflows/ .gitlab-ci.yml
		.gitlab-ci.yaml .circleci/ .coveralls.yml tarpaulin.toml .tarpaulin.toml phpunit.xml phpunit.xml.dist .simplecov
		.testcoverage.yml sonar-project.properties
		justfile taskfile.yml *.sh stryker.conf.* .ci/ noxfile.py vite.config.* azure-pipelines.yml jenkinsfile`,
		line: `(?i)fail[_-]under|\b(?:lines|branches|functions|statements|target|minimum|min[_-]?coverage|coverage\w*|` +
			`threshold\w*|limit|perFile|minScore|break|high|low)\b`},
	{files: `package.json .eslintrc* codecov.yml .codecov.yml codecov.yaml makefile .github/workflows/ .gitlab-ci.yml
	jest.config.* vitest.config.* pytest.ini pyproject.toml`,
		line: `(?i)max[_-]?warnings|\b(?:retries|reruns|retry|flaky\w*|max[_-]?complexity|max[_-]?failures)\b`, less: true},
	{files: `codecov.yml .codecov.yml codecov.yaml .codecov.yaml`, line: `(?i)\bthreshold\b`, less: true},
}

func hasLimits(p string) bool {
	p = strings.ToLower(p)
	return slices.ContainsFunc(limitRows[:], func(r limitRow) bool { return within(p, r.files) })
}

// thresholds looks for numbers that were lowered, in lines that are alike but for them.
func (x *examination) thresholds(c *change) {
	if c.fresh() || c.gone() || len(c.removed) == 0 {
		return
	}
	digits := x.book.re(`\d+(?:\.\d+)?`)
	p := strings.ToLower(c.path)
	for i := len(limitRows) - 1; i >= 0; i-- {
		r := &limitRows[i]
		if !within(p, r.files) {
			continue
		}
		re := x.book.re(r.line)
		was := map[string]string{}
		for _, l := range c.removed {
			if re.MatchString(l.text) {
				was[strings.TrimSpace(digits.ReplaceAllString(l.text, "#"))] = l.text
			}
		}
		for _, l := range c.added {
			old, ok := was[strings.TrimSpace(digits.ReplaceAllString(l.text, "#"))]
			if !ok || !re.MatchString(l.text) || !lowered(digits, old, l.text, r.less) {
				continue
			}
			x.add(Finding{Kind: "weakened", Path: c.path, Line: l.no, Text: show("+", l.text),
				Says: "a limit that checks must keep is weaker, was: " + show("", old)})
			return
		}
		if r.less && len(was) > 0 {
			return
		}
	}
}

func lowered(digits *regexp.Regexp, old, text string, less bool) bool {
	a, b := digits.FindAllString(old, -1), digits.FindAllString(text, -1)
	for i := range min(len(a), len(b)) {
		was, err := strconv.ParseFloat(a[i], 64)
		is, err2 := strconv.ParseFloat(b[i], 64)
		if err == nil && err2 == nil && (is < was) != less && is != was {
			return true
		}
	}
	return false
}

// steps counts what CI checks.
func (x *examination) steps(c *change, moved moves) {
	p := strings.ToLower(c.path)
	isCI := false
	for _, r := range x.book.rowsOf(c.path) {
		isCI = isCI || r.kind == "ci" && r.has == ""
	}
	if !isCI || within(p, fixtures) || c.is == git.ModeLink {
		return
	}
	re := x.book.re(`(?i)\b(?:test|tests|lint|check|checks|vet|clippy|pytest|jest|tox|audit|scan|coverage|typecheck|` +
		`type-check|verify|race|mypy|ruff|eslint|` +
		`golangci|fmt|codeql|trivy|snyk|unit|e2e|integration|spec|rspec|nox|vitest|playwright|cypress|phpunit|staticcheck|` +
		`govulncheck|gitleaks|semgrep|bandit|safety|deny|miri|fuzz)\b`)
	plus, minus := 0, 0
	var first line
	for _, l := range c.added {
		t := strings.TrimSpace(l.text)
		if re.MatchString(t) && !strings.HasPrefix(t, "#") && moved.removed["ci"][t] == 0 {
			plus++
		}
	}
	for _, l := range c.removed {
		t := strings.TrimSpace(l.text)
		if re.MatchString(t) && !strings.HasPrefix(t, "#") && moved.added["ci"][t] == 0 {
			if minus++; minus == 1 {
				first = l
			}
		}
	}
	if n := minus - plus; n > 0 && (!c.gone() || !moved.blob(c.wasOID)) {
		x.add(Finding{Kind: "weakened", Path: c.path, Line: first.no, Text: show("-", first.text), Count: n,
			Says: "CI checks less than before"})
	}
}

// expected tells of rewritten output in testdata: files that were there and that no tool runs.
func (x *examination) expected(c *change) {
	p := strings.ToLower(c.path)
	if c.fresh() || c.gone() || c.wasOID == c.isOID || len(x.book.rowsOf(c.path)) > 0 || !within(p, `testdata/
		__fixtures__/
		fixtures/ golden/ goldens/ snapshots/ expected/ approvals/`) || !within(p, `*.golden *.out *.expected *.want *.snap
		*expected* *golden* *.stdout *.stderr golden/ goldens/ snapshots/ expected/ approvals/ *.approved.*`) {
		return
	}
	x.add(Finding{Kind: "weakened", Path: c.path, Says: "expected output was rewritten"})
}
