package gate

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// language is how tests look in one.
type language struct {
	ends  string // of names, in lower case; "" for any
	files string // where tests are collected; "" for all files
	test  string // an expression for the beginning of a test
	skip  string // for what keeps one from running
	check string // for an assertion
	empty string // for one that always holds
	quiet string // for what silences a checker, in any file with these endings
}

// languages is what is known of tests.
var languages = [...]language{
	{ends: ".go", files: "*_test.go", quiet: `//\s*nolint|#nosec|//lint:(?:ignore|file-ignore)|//exhaustive:ignore`,
		test: `^func (?:Test|Benchmark|Fuzz|Example)\w*\(|\b[tbf]\.Run\(`,
		skip: `\b\w+\.Skip(?:f|Now)?\(|^//go:build|^// \+build`,
		check: `\b[tbf]\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|must|qt|c|g|gomega|Expect|Ω)\.\w+\(|\bExpect\(|` +
			`cmp\.Diff\(`,
		empty: `assert\.True\(t, true\)|if false\b`},
	{ends: ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte",
		files: `*.test.* *.spec.* *_test.* *-test.* *_spec.* test-*.* test_*.* test.* __tests__/ test/ tests/ spec/ e2e/
		cypress/ *.cy.* *.e2e.*`,
		quiet: `eslint-disable|@ts-(?:ignore|nocheck|expect-error)|prettier-ignore|istanbul ignore|c8 ignore|v8 ignore|` +
			`biome-ignore|oxlint-disable|tslint:disable|jshint ignore|stylelint-disable|\$FlowFixMe|\bas any\b`,
		test: `^\s*(?:it|test|describe|context|specify|suite|Deno\.test|bench)(?:\.\w+)*(?:\(|\x60)|^\s*x?f?(?:it|` +
			`describe)\(`,
		skip: `\b(?:it|test|describe|context|suite|specify)\.(?:skip|todo|only|fixme|failing|fails|skipIf)\b|\bx(?:it|` +
			`describe|test|context|specify)\b\(|` +
			`\bf(?:it|describe)\(|this\.skip\(|\bpending\(|\bt\.skip\(|skip:\s*true|ignore:\s*true|only:\s*true`,
		check: `\bexpect\(|\bassert\w*[.(]|\.should\b|\bt\.(?:is|not|deepEqual|true|false|throws|ok|equal|like|truthy|` +
			`snapshot)\w*\(|\bcy\.\w+.*should\(|expectTypeOf\(`,
		empty: `expect\((?:true|1)\)\.toBe(?:Truthy|\((?:true|1)\))|assert\(true\)|assert\.ok\(true\)|\.toBeDefined\(\)|` +
			`\.toBeTruthy\(\)|expect\.anything\(\)`},
	{ends: ".py .pyi .ipynb", files: "test_*.py *_test.py tests.py *_tests.py",
		quiet: `#\s*(?:noqa|nosec|type:\s*ignore|pyright:\s*ignore|pylint:\s*(?:disable|skip-file)|mypy:|flake8:|ruff:|` +
			`pragma:\s*no (?:cover|branch)|fmt:\s*(?:off|skip)|ty:\s*ignore|noinspection)|\bcast\(Any\b|@no_type_check`,
		test: `^\s*(?:async )?def test\w*\(|^\s*class Test\w*`,
		skip: `pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b|unittest\.(?:skip\w*|expectedFailure)|` +
			`self\.skipTest\(|@(?:skip\w*|expectedFailure|xfail)\b|` +
			`raise (?:unittest\.)?SkipTest|^\s+return\s*$|__test__\s*=\s*False|collect_ignore|pytestmark\s*=.*skip`,
		check: `^\s*assert\b|self\.assert\w+\(|pytest\.(?:raises|warns|approx)\(|\.assert_\w+\(|self\.fail\(|` +
			`np\.testing\.|assert_\w+\(`,
		empty: `assert (?:True|1)\b|assertTrue\(True\)|assert .* or True\b`},
	{ends: ".rs", quiet: `#!?\[(?:allow|cfg_attr\(.*allow|expect)\(|rustfmt::skip|tarpaulin::skip|coverage\(off\)`,
		test:  `^\s*#\[(?:\w+::)?(?:test|rstest|test_case|quickcheck|proptest)\b`,
		skip:  `^\s*#\[(?:ignore\b|cfg\(any\(\)\)|cfg_attr\(.*ignore)|#\[should_panic\]`,
		check: `\b(?:assert|assert_eq|assert_ne|assert_matches|prop_assert\w*|insta::assert\w*|panic|debug_assert\w*)!`,
		empty: `assert!\(true\)`},
	{ends: ".java .kt .kts .groovy .scala",
		quiet: `@SuppressWarnings|@Suppress\b|@SuppressFBWarnings|//\s*NOSONAR|//\s*NOPMD|CHECKSTYLE:OFF|noinspection|` +
			`@nowarn|` +
			`ktlint-disable|detekt:|scalastyle:off|@Generated\b`,
		files: "*test.* *tests.* *it.* *spec.* test*.* src/test/ androidtest/ src/it/ src/integrationtest/",
		test: `@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b|^\s*(?:public )?void test\w*\(|` +
			`\bfun test\w*\(|^\s*def "|\btest\("`,
		skip: `@(?:Disabled\w*|Ignore|EnabledIf\w*|EnabledOn\w*|Ignored|Pending)\b|\bassume(?:True|False|That)\(|` +
			`Assumptions\.|\bignore\("|enabled\s*=\s*false`,
		check: `\bassert\w*\s*\(|\bfail\(|\bverify\(|\bassertThat\b|\.isEqualTo\(|\bexpect\w*\(|\bshould\w*\b|` +
			`^\s*assert\b|andExpect\(`,
		empty: `assertTrue\(true\)|assertThat\(true\)`},
	{ends: ".sh .bash .bats .zsh", quiet: `shellcheck disable`,
		files: "*.bats *_test.sh test_*.sh *-test.sh *.test.sh test.sh tests.sh test/ tests/ t/ spec/ *_spec.sh",
		test:  `^\s*@test\b|^\s*(?:function\s+)?test_?\w*\s*\(\)|^\s*(?:It|Describe|Example) '|^\s*test_expect_\w+`,
		skip: `^\s*skip\b|\bstartSkipping\b|^\s*exit 0\s*$|^\s*return 0\s*$|\|\|\s*(?:true|:)\s*$|\bset \+e\b|` +
			`^\s*(?:Skip|Pending)\b|test_skip|^\s*xit\b`,
		check: `\|\|\s*(?:exit|fail|return|die|false)\b|\bassert\w*\b|^\s*\[\[? .*\]\]?\s*$|^\s*test .*|^\s*(?:diff|` +
			`cmp)\b|\bgrep -q|exit 1|set -e|\brefute\w*`,
		empty: `assert true`},
	{ends: ".rb", files: "*_spec.rb *_test.rb test_*.rb", quiet: `rubocop:(?:disable|todo)|:nocov:|reek:|` +
		`standard:disable|brakeman`,
		test: `^\s*(?:it|test|describe|context|scenario|specify)[ (]["':\w]|^\s*(?:RSpec\.)?(?:describe|context)\b|` +
			`^\s*def test_`,
		skip: `^\s*(?:xit|xdescribe|xcontext|xspecify)\b|^\s*(?:pending|skip)\b\s*(?:$|["'(])|\bskip:\s*(?:true|["'])|` +
			`^\s*f(?:it|describe|context)\b|pending:|^\s*it ["'][^"']*["']\s*$`,
		check: `\bexpect\b|\bassert\w*\b|\brefute\w*|\.should\b|must_\w+`, empty: `assert true|expect\(true\)`},
	{ends: ".cs", quiet: `#pragma warning disable|\[SuppressMessage|ReSharper disable|ExcludeFromCodeCoverage|` +
		`#nullable disable`, files: "*test.cs *tests.cs test/ tests/ *.tests/ *.test/ *spec.cs *specs.cs",
		test:  `\[(?:Fact|Theory|Test|TestMethod|TestCase)\b`,
		skip:  `Skip\s*=\s*"|\[Ignore|\[Explicit|Assert\.(?:Ignore|Inconclusive)\(`,
		check: `\bAssert\.\w+|\.Should\(\)|\.Verify\(`, empty: `Assert\.(?:True|IsTrue)\(true\)`},
	{ends: ".php", quiet: `phpcs:(?:ignore|disable)|@phpstan-ignore|@psalm-suppress|@codeCoverageIgnore|@phan-suppress|` +
		`@noinspection`, files: "*test.php tests/ test/ *cest.php *spec.php",
		test:  `function test\w*\(|@test\b|#\[Test\]|\bit\('|\btest\('`,
		skip:  `markTest(?:Skipped|Incomplete)|->skip\(|->todo\(|->only\(`,
		check: `->assert\w+\(|self::assert\w+|expect\(|->should`, empty: `assertTrue\(true\)`},
	{ends: ".swift", quiet: `swiftlint:disable|swift-format-ignore|periphery:ignore`,
		files: "*tests.swift *test.swift tests/ *spec.swift", test: `func test\w*\(|@Test\b`,
		skip:  `XCTSkip|\.disabled\(`,
		check: `XCTAssert\w*|#expect|#require|XCTFail`, empty: `XCTAssertTrue\(true\)`},
	{ends: ".ex .exs", quiet: `credo:disable|@dialyzer|coveralls-ignore|sobelow_skip`, files: "*_test.exs test/",
		test:  `^\s*(?:test|describe|property) "`,
		skip:  `@(?:module)?tag :skip|@tag skip`,
		check: `\b(?:assert|refute)\w*\b`, empty: `assert true`},
	{ends: ".c .cc .cpp .cxx .h .hpp",
		quiet: `NOLINT|clang-format off|#pragma (?:GCC|clang) diagnostic ignored|#pragma warning\s*\(\s*disable|` +
			`cppcheck-suppress|` +
			`GCOV_EXCL|LCOV_EXCL|no_sanitize`, files: "*test.* *_test.* test_*.* *tests.* test/ tests/ *_unittest.*",
		test:  `\b(?:TEST|TEST_F|TEST_P|TEST_CASE|BOOST_AUTO_TEST_CASE)\(`,
		skip:  `GTEST_SKIP|DISABLED_\w+|\[\.\]|\[!mayfail\]`,
		check: `\b(?:ASSERT|EXPECT|CHECK|REQUIRE|BOOST_\w+|assert|TEST_ASSERT\w*|CU_ASSERT\w*|ck_assert\w*)\w*\s*\(`,
		empty: `ASSERT_TRUE\(true\)`},
	{ends: ".dart", quiet: `//\s*ignore(?:_for_file)?:|coverage:ignore`, files: "*_test.dart test/",
		test: `^\s*(?:test|testWidgets|group)\(`, skip: `skip:\s*(?:true|')`,
		check: `\bexpect\w*\(`, empty: `expect\(true, true\)`},
	{files: ciFiles, test: ciChecks,
		skip: `(?i)continue-on-error: (?:true|\$)|allow_failures?:|soft_fail: true|failure: ignore|continueOnError: true|` +
			`\|\|\s*(?:true\b|:|exit 0|echo\b)|\bset \+e\b|\bif: (?:false|\$\{\{ *false)|when: (?:never|manual)|--no-verify\b|` +
			`-DskipTests|-Dmaven\.test\.skip|--passWithNoTests|--exit-zero\b|\bcatchError\b|ignore_failure|returnStatus: true|` +
			`--continue-on-collection-errors|ignoreErrors|ignore_errors: (?:true|yes)|-x test\b|fail_ci_if_error: false|` +
			`exit-code: 0|` +
			`^\s*-\w+:?.*;\s*true$|\bfail-fast: false.*#|allow-failure|--no-fail|--maxfail=0|&& exit 0|;\s*exit 0|;\s*true\b`},
	{files: "cmakelists.txt *.cmake", test: `(?i)\b(?:add_test|gtest_discover_tests|catch_discover_tests|` +
		`enable_testing)\b`},
	{files: ".eslintignore .stylelintignore .semgrepignore .trivyignore .gitleaksignore .pylintignore" +
		" .jshintignore .bandit",
		skip: `^\s*[^#\s]`},
	{files: "package.json composer.json deno.json", skip: `"(?:test|lint|check|typecheck|` +
		`build)(?::[\w-]+)?"\s*:\s*"(?:echo\b[^&|;]*|true|:|` +
		`exit 0|)"|--passWithNoTests|\|\|\s*(?:true|exit 0|:)|--no-verify|;\s*exit 0`},
	{files: "pytest.ini .pytest.ini tox.ini setup.cfg pyproject.toml", skip: `\baddopts\b.*(?:--ignore|--deselect|` +
		`\s-k[\s=]|\s-m[\s=]|` +
		`--maxfail|-p no:|--no-cov|not )|^\s*--(?:ignore|deselect)\b|ignore_outcome|collect_ignore|--exit-zero|` +
		`^\s*-\w.*=.*pytest`},
	{ends: ".tf .yml .yaml .hcl .dockerfile .css .scss .md", files: "-", quiet: `checkov:skip|tfsec:ignore|` +
		`trivy:ignore|hadolint ignore|` +
		`kics-scan|yamllint disable|stylelint-disable|markdownlint-disable|noqa:|nosemgrep`},
}

const ciFiles = `.github/workflows/ .gitlab-ci.yml .gitlab-ci.yaml .gitlab/ .circleci/ azure-pipelines*.yml
	.drone.yml .woodpecker/
	.woodpecker.yml .buildkite/ .travis.yml bitbucket-pipelines.yml jenkinsfile .ci/ .gitea/ .forgejo/ action.yml
		makefile *.mk
	justfile taskfile.yml .cirrus.yml appveyor.yml cloudbuild.yaml noxfile.py .pre-commit-config.yaml gnumakefile tox.ini
	azure-pipelines.yaml .teamcity/ .semaphore/ buildspec.yml lefthook.yml .husky/ .github/actions/ ci/ rakefile`

const ciChecks = `(?i)\b(?:tests?|lint|checks?|vet|clippy|pytest|jest|tox|audit|scan|coverage|type-?check|verify|` +
	`race|mypy|ruff|eslint|` +
	`golangci|fmt|codeql|trivy|snyk|unit|e2e|integration|spec|rspec|nox|vitest|playwright|cypress|phpunit|staticcheck|` +
	`govulncheck|` +
	`gitleaks|semgrep|bandit|safety|deny|miri|fuzz|sonar\w*|codecov|dependency-review|rubocop|brakeman|phpstan|psalm|` +
	`shellcheck|hadolint)\b`

// languageOf is how tests look in a file; nil if it has none.
func languageOf(p string) *language {
	p = fold(p)
	for i := range languages {
		l := &languages[i]
		if l.ends == "" && within(p, l.files) || l.ends != "" && path.Ext(p) != "" &&
			slices.Contains(strings.Fields(l.ends), path.Ext(p)) {
			return l
		}
	}
	return nil
}

// uncollected are directories that test runners leave out.
const uncollected = "testdata/ disabled/ skipped/ archive/ archived/ attic/ quarantine/ unused/ old/ deprecated/ " +
	"backup/ " +
	"node_modules/ vendor/ fixtures/ __fixtures__/ _disabled/ _archive/ _old/ .disabled/ .archive/ parked/ " +
	"graveyard/ legacy/"

// collects says whether a test runner finds tests in a file.
func (l *language) collects(p string) bool {
	p = fold(p)
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		if l.ends != "" && len(dir) > 1 && (dir[0] == '.' || dir[0] == '_' && dir[1] != '_') {
			return false
		}
	}
	return (l.files == "" || within(p, l.files)) && !within(p, uncollected)
}

// weakened looks for tests that went, don't run or check less, and for checkers that were switched off.
func (x *examination) weakened() {
	was, is := map[string]int{}, map[string]int{} // lines of tests, wherever they stand
	for _, c := range x.changes {
		if l := languageOf(c.path); l != nil && l.collects(c.path) {
			for _, line := range c.added {
				is[strings.TrimSpace(line.text)]++
			}
			for _, line := range c.removed {
				was[strings.TrimSpace(line.text)]++
			}
		}
	}
	for _, c := range x.changes {
		if l := languageOf(c.path); l != nil && !c.isLink() {
			if l.collects(c.path) {
				x.tests(l, c, was, is)
			}
			if t := x.tally(c, l.quiet, nil, nil); l.quiet != "" && t.plus > t.minus && !within(fold(c.path), fixtures) {
				x.weaker(c, t.add, "+", t.plus-t.minus, "a checker is silenced")
			}
		}
		x.thresholds(c)
		x.expected(c)
	}
}

func (x *examination) weaker(c *change, l line, sign string, n int, says string) {
	x.add(Finding{Kind: "weakened", Path: c.path, Line: l.no, Text: show(sign, l.text), Count: n, Says: says})
}

// tally is what two versions of a file have of something.
type tally struct {
	plus, minus int
	add, del    line // the first of each
}

// tally counts lines that have not only moved.
func (x *examination) tally(c *change, expr string, was, is map[string]int) (t tally) {
	if expr == "" {
		return t
	}
	re := x.re(expr)
	for _, l := range c.added {
		if re.MatchString(l.text) && was[strings.TrimSpace(l.text)] == 0 {
			if t.plus++; t.plus == 1 {
				t.add = l
			}
		}
	}
	for _, l := range c.removed {
		if re.MatchString(l.text) && is[strings.TrimSpace(l.text)] == 0 {
			if t.minus++; t.minus == 1 {
				t.del = l
			}
		}
	}
	return t
}

func (x *examination) tests(l *language, c *change, was, is map[string]int) {
	skips := x.tally(c, l.skip, was, is)
	if n := skips.plus - skips.minus; n > 0 && (!c.fresh() || l.ends == "") {
		x.weaker(c, skips.add, "+", n, map[bool]string{true: number(n, "test does", "tests do") + " not run, or may fail now",
			false: "a check may fail now, or does nothing"}[l.ends != ""])
	}
	if c.fresh() {
		return
	}
	tests, checks, empty := x.tally(c, l.test, was, is), x.tally(c, l.check, was, is), x.tally(c, l.empty, was, is)
	switch missing := checks.minus - checks.plus; {
	case tests.minus > tests.plus && l.ends == "":
		x.weaker(c, tests.del, "-", tests.minus-tests.plus, "CI checks less than before")
	case c.gone() && tests.minus > 0:
		x.weaker(c, tests.del, "-", tests.minus, number(tests.minus, "test",
			"tests")+" removed, or moved where nothing runs them")
	case tests.minus > tests.plus && skips.plus <= skips.minus:
		n := tests.minus - tests.plus
		x.weaker(c, tests.del, "-", n, number(n, "test", "tests")+" removed")
	case missing > 0 && (l.files != "" || within(fold(c.path), "tests/ *_test.rs tests.rs test.rs *_tests.rs")):
		x.weaker(c, checks.del, "-", missing, number(missing, "assertion", "assertions")+" fewer")
	case empty.plus > empty.minus && checks.minus > 0:
		n := empty.plus - empty.minus
		x.weaker(c, empty.add, "+", n, number(n, "assertion", "assertions")+" that nearly always hold")
	default:
		x.values(l, c)
	}
}

var literal = expr(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\x60[^\x60]*\x60|-?\b\d[\w.]*\b|\b(?:true|false|True|False|` +
	`nil|null|None)\b`)

// values tells of assertions that differ from what they were in nothing but a value.
func (x *examination) values(l *language, c *change) {
	if l.check == "" {
		return
	}
	// What stands before an assertion, such as a test's title, is no value.
	check, title, old := x.re(l.check), x.re(l.test), map[string]string{}
	part := func(s string) string {
		if at := check.FindStringIndex(s); at != nil {
			s = s[at[0]:]
		} else if title.MatchString(s) || strings.HasPrefix(strings.TrimSpace(s), "//") ||
			strings.HasPrefix(strings.TrimSpace(s), "#") {
			return ""
		}
		return strings.TrimSpace(s)
	}
	for _, r := range c.removed {
		old[strconv.Itoa(r.hunk)+literal().ReplaceAllString(part(r.text), "#")] = part(r.text)
	}
	for _, a := range c.added {
		was := old[strconv.Itoa(a.hunk)+literal().ReplaceAllString(part(a.text), "#")]
		if was != "" && was != part(a.text) {
			x.add(Finding{Kind: "weakened", Danger: Low, Path: c.path, Line: a.no, Text: show("+", a.text),
				Says: "an expected value has changed, was: " + show("", was)})
			return
		}
	}
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
	{files: "phpstan.neon phpstan.neon.dist phpstan.dist.neon", line: `^\s*level:`},
	{files: "psalm.xml psalm.xml.dist", line: `errorLevel=`, less: true},
}

// thresholds looks for numbers that were lowered, in lines that are alike but for them.
func (x *examination) thresholds(c *change) {
	if c.fresh() || c.gone() || len(c.removed) == 0 {
		return
	}
	digits := x.re(`\d+(?:\.\d+)?`)
	p := fold(c.path)
	for i := len(limitRows) - 1; i >= 0; i-- {
		r := &limitRows[i]
		if !within(p, r.files) {
			continue
		}
		re := x.re(r.line)
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
			x.weaker(c, l, "+", 1, "a limit that checks must keep is weaker, was: "+show("", old))
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

const snapshots = `*.snap *.snap.* *.golden *.approved.* *.ambr *.snapshot *.verified.* *.expected *.want __snapshots__/
	__image_snapshots__/ golden/ goldens/ snapshots/ expected/ approvals/ testdata/**.out testdata/**.stdout
		testdata/**.stderr
	testdata/***expected* testdata/***golden* fixtures/***expected*`

// expected tells of rewritten output that tests compare with.
func (x *examination) expected(c *change) {
	if c.fresh() || c.wasOID == c.isOID || c.gone() && x.arrived[c.wasOID] || !within(fold(c.path),
		strings.ReplaceAll(snapshots, "**.", "***.")) {
		return
	}
	f := Finding{Kind: "weakened", Danger: Low, Path: c.path, Says: "expected output was rewritten"}
	if c.gone() {
		f.Danger, f.Says = Medium, "expected output was removed"
	}
	x.add(f)
}

// checkers are settings of programs that check code.
const checkers = `.eslintrc .eslintrc.json .eslintrc.yml .eslintrc.yaml tsconfig.json tsconfig.*.json tslint.json
	biome.json biome.jsonc
	.golangci.yml .golangci.yaml .golangci.toml .golangci.json ruff.toml .ruff.toml .flake8 mypy.ini .mypy.ini
		.pylintrc pylintrc
	setup.cfg tox.ini pyproject.toml .rubocop.yml .rubocop_todo.yml .swiftlint.yml detekt.yml codecov.yml .codecov.yml
		codecov.yaml
	.coveragerc .nycrc .nycrc.json .c8rc.json analysis_options.yaml .stylelintrc.json .yamllint .markdownlint.json
		.hadolint.yaml
	.semgrep.yml .ansible-lint .tflint.hcl phpstan.neon .pre-commit-config.yaml deny.toml .gitleaks.toml pytest.ini
	.oxlintrc.json .credo.exs clippy.toml cargo.toml package.json .trivy.yaml trivy.yaml sonar-project.properties
		.mega-linter.yml
	.github/codeql/codeql-config.yml osv-scanner.toml audit.toml`

var (
	leavesOut = expr(`(?i)(?:^|/)[^/]*(?:disable|ignore|exclu|omit|skip|suppress|allow_|allowed|waive|bypass)[^/]*(?:/|$)`)
	wants     = expr(`(?i)(?:^|/)[^/]*(?:enable|select|fail_under|fail_on)[^/]*(?:/|$)|(?:^|/)hooks/`)
	loosened  = expr(`(?i)informational|allow_?fail|soft_?fail|continue_?on|ignore|skip`)
	switched  = expr(`(?i)^(?:off|0|false|warn|warning|allow|info|none|disabled|no|null)$`)
	rule      = expr(`(?i)rules/|strict|lints/|clippy|check|disallow|warn_|noimplicit|nounused|nounchecked|` +
		`noFallthrough|enabled|require_|` +
		`severity|level|isolatedmodules|forceconsistent|treat_?warnings|denywarnings|branch$|thresholds?/|informational|` +
		`fail|allowjs|skiplibcheck|bandit|vulnerabilit`)
)

// checks looks at settings of checkers by their keys: what is left out now, or switched off.
func (x *examination) checks() error {
	for _, c := range x.changes {
		if c.fresh() || c.gone() || c.isLink() || c.wasOID == c.isOID || !within(fold(c.path), checkers) {
			continue
		}
		read := map[string]reader{".json": readJSONC, ".jsonc": readJSONC, ".yml": readYAML, ".yaml": readYAML,
			".toml":     readTOML,
			".eslintrc": readJSONC, ".nycrc": readJSONC, ".yamllint": readYAML,
			".ansible-lint": readYAML}[path.Ext(fold(c.path))]
		if read == nil {
			read = readINI
		}
		was, is, wrong, err := x.both(c, read)
		if err != nil {
			return err
		}
		if wrong != nil {
			continue
		}
		for _, at := range changed(was, is) {
			old, had := was[at]
			now, has := is[at]
			says := ""
			switch {
			case strings.Contains(fold(c.path), "package.json") && !strings.HasPrefix(at, "eslintConfig/") &&
				!strings.HasPrefix(at, "jest/"),
				strings.Contains(fold(c.path), "cargo.toml") && !strings.Contains(at, "lints/"):
			case has && leavesOut().MatchString(at) && !slices.Contains(values(was, at), now) && now != "false" &&
				now != "[]" && now != "0":
				says = "a checker leaves something out"
			case has && rule().MatchString(at) && switched().MatchString(now) && !switched().MatchString(old):
				says = "a check is switched off, was: " + show("", old)
			case has && loosened().MatchString(at) && now == "true" && old != "true":
				says = "a check may fail now"
			case had && wants().MatchString(at) && !slices.Contains(values(is, at), old) && (!has || values(is, at) != nil):
				says, has = "a check was taken out", false
			case had && !has && rule().MatchString(at) && !switched().MatchString(old) && !slices.Contains(values(is, at), old):
				says = "a check was taken out"
			}
			if says != "" {
				sign, value := "+", now
				if !has {
					sign, value = "-", old
				}
				x.weaker(c, line{no: c.lineOf(sign, at), text: at + ": " + value}, sign, 1, says)
				break
			}
		}
	}
	return nil
}

// values are those of one list: what only changed its place in it is not new.
func values(l leaves, at string) (all []string) {
	dir := path.Dir(at)
	if _, err := strconv.Atoi(path.Base(at)); err != nil {
		return nil
	}
	for k, v := range l {
		if path.Dir(k) == dir {
			all = append(all, v)
		}
	}
	return all
}
