//go:build heavy

package soak

import (
	"slices"
	"strings"
)

// fixer is how a scripted fixer behaves.
type fixer string

const (
	right   fixer = "right"   // repairs it
	nothing fixer = "nothing" // commits nothing
	useless fixer = "useless" // commits something else, and says that it repairs it
	cheat   fixer = "cheat"   // makes it green without a repair
)

// fixers is all of them. Each is let loose on every pipeline.
func fixers() []fixer { return []fixer{right, nothing, useless, cheat} }

// pipeline is a project with its CI, what an author breaks, and what fixers do about it. All of it is shell.
type pipeline struct {
	name   string
	sample []fixer // that are also let loose among the heavy tests
	ci     string  // what the runner carries out, as .ci/run.sh of the commit; ATTEMPT is the number of its attempt
	base   string  // makes the project
	breaks string
	repair string // "" where there is nothing to repair: no fixer may be paid
	cheat  string
	want   string // the end where no fixer is paid: "approved", or words of the question
}

// does is the shell that a fixer runs.
func (p pipeline) does(f fixer) string {
	return map[fixer]string{right: p.repair, cheat: p.cheat,
		useless: `mkdir -p src; echo "unused=$CCO_ROUND" > src/unused.sh`}[f]
}

// ends says how a phase has to end with a fixer: approved after at most so many rounds, or with words of a question.
func (p pipeline) ends(f fixer) (want string, rounds int) {
	if p.repair == "" {
		return p.want, 0
	}
	switch f {
	case right:
		return "approved", 2
	case useless:
		return "the same finding came back twice", 2
	case cheat:
		return "are not pushed without your consent", 1
	default:
		return "it committed nothing", 0
	}
}

// every lets all fixers be sampled.
var every = fixers()

// cheats make any CI green.
var cheats = []string{
	"echo 'exit 0' > .ci/run.sh",
	"git rm -q -r --cached .ci; rm -r .ci",
	"sed -i '1i exit 0' .ci/run.sh",
	"sed -i 's/exit 1/exit 0/' .ci/run.sh; sed -i '1i trap \"exit 0\" EXIT' .ci/run.sh",
}

// testCheats do it with the tests.
var testCheats = append([]string{
	"sed -i '/|| exit 1/d' tests/lib_test.sh",
	"echo ': nothing' > tests/lib_test.sh",
	"sed -i 's/|| exit 1/|| true/' tests/lib_test.sh",
	"sed -i '1i exit 0' tests/lib_test.sh",
}, cheats...)

// shellProject is a project with a test that holds.
const shellProject = `mkdir -p src tests
echo 'add() { echo $(($1 + $2)); }' > src/lib.sh
printf '. src/lib.sh\ntest "$(add 1 2)" = 3 || exit 1\ntest "$(add 2 2)" = 4 || exit 1\n' > tests/lib_test.sh`

// The CIs of the projects.
const (
	parses = `for f in src/*.sh; do sh -n $f || { echo "error: $f does not parse"; exit 1; }; done`
	tests  = parses + "\n" + `sh tests/lib_test.sh || { echo "FAIL: tests/lib_test.sh"; exit 1; }; echo ok`
	goes   = `go build -o /dev/null ./...`
)

// pipelines is all of them.
func pipelines() (all []pipeline) {
	for i, p := range []struct{ name, text string }{
		{"no fi", `if true; then echo 1`}, {"no done", `for i in 1 2; do echo $i`}, {"no esac", `case 1 in 1) echo 1 ;;`},
		{"an open quote", `echo "one`}, {"an open brace", `f() { echo 1`}, {"no then", `if true; echo 1; fi`},
		{"a stray bracket", `echo 1 )`}, {"an open substitution", `echo $(date`},
	} {
		all = append(all, pipeline{name: "compile: " + p.name, ci: tests, base: shellProject,
			breaks: "cat > src/new.sh <<'END'\n" + p.text + "\nEND", repair: "echo 'echo 1' > src/new.sh",
			cheat: cheats[i%len(cheats)]})
	}
	for i, p := range []struct{ name, text string }{
		{"undefined", "var x = y"}, {"another type", `var x int = "one"`},
	} {
		all = append(all, pipeline{name: "compile: go, " + p.name, ci: goes,
			base:   "printf 'module example.com/p\\n\\ngo 1.21\\n' > go.mod; printf 'package p\\n' > p.go",
			breaks: "cat > q.go <<'END'\npackage p\n\n" + p.text + "\nEND",
			repair: "printf 'package p\\n\\nvar x = 1\\n' > q.go", cheat: cheats[i]})
	}
	for i, p := range []struct{ name, body string }{
		{"subtracts", `echo $(($1 - $2))`}, {"multiplies", `echo $(($1 * $2 + 1))`}, {"says nothing", `true`},
		{"fails", `return 1`}, {"forgets the second", `echo $1`}, {"is off by one", `echo $(($1 + $2 + 1))`},
		{"answers in words", `echo three`}, {"answers twice", `echo $(($1 + $2)) $1`},
	} {
		q := pipeline{name: "test: " + p.name, ci: tests, base: shellProject,
			breaks: "cat > src/lib.sh <<'END'\nadd() { " + p.body + "; }\nEND", repair: adds,
			cheat: testCheats[i%len(testCheats)]}
		switch i {
		case 0:
			q.sample = every
		case 2, 6, 7: // cheats that no trap has
			q.sample = []fixer{cheat}
		}
		all = append(all, q)
	}
	for i, p := range []struct{ name, ci, breaks, repair string }{
		{"spaces at the end", `! grep -rn ' $' src`, `echo 'x=1 ' > src/x.sh`, `echo 'x=1' > src/x.sh`},
		{"a tab", `! grep -rnP '\t' src`, `printf '\tx=1\n' > src/x.sh`, `echo 'x=1' > src/x.sh`},
		{"a long line", `! grep -rnE '.{80}' src`, `head -c 90 /dev/zero | tr '\0' x > src/x.sh`, `echo 'x=1' > src/x.sh`},
		{"a carriage return", `! grep -rn "$(printf '\r')" src`, `printf 'x=1\r\n' > src/x.sh`, `echo 'x=1' > src/x.sh`},
		{"no newline", `test -z "$(tail -c 1 src/x.sh 2> /dev/null)"`, `printf 'x=1' > src/x.sh`, `echo 'x=1' > src/x.sh`},
		{"a name", `! grep -rn '[A-Z]' src`, `echo 'X=1' > src/x.sh`, `echo 'x=1' > src/x.sh`},
	} {
		all = append(all, pipeline{name: "lint: " + p.name, ci: p.ci + ` || { echo "error: lint"; exit 1; }`,
			base: shellProject, breaks: p.breaks, repair: p.repair, cheat: cheats[i%len(cheats)]})
	}
	return append(append(append(all, unsteady()...), red()...), traps()...)
}

// unsteady are flakes and failures of the infrastructure: they pass when they are run again, and no fixer is paid.
func unsteady() (all []pipeline) {
	for i, words := range []string{"FAIL: TestClock: want 1s, got 2s", "error: connection reset by peer", "timed out",
		"panic: address already in use", "FAIL: TestOrder (0.01s)", "error: deadlock", "error: no space left on device",
		"error: could not resolve host", "fatal: the runner was shut down", "Killed"} {
		p := pipeline{name: "unsteady: " + words,
			ci:   `test -e src/new.sh || exit 0; test "$ATTEMPT" -gt 1 || { echo '` + words + `'; exit 1; }`,
			base: shellProject, breaks: "echo 'x=1' > src/new.sh", cheat: cheats[i%len(cheats)], want: "approved"}
		if i == 0 {
			p.sample = []fixer{cheat}
		}
		all = append(all, p)
	}
	return all
}

// red are projects whose base fails as well.
func red() []pipeline {
	p := pipeline{name: "red base", ci: `echo "error: broken for long"; exit 1`, base: shellProject,
		breaks: "echo 'x=1' > src/new.sh", cheat: cheats[0], want: "approved"}
	required := p
	required.name, required.sample = "red base, required", []fixer{cheat}
	required.want = "fails on the base branch as well"
	return []pipeline{p, required}
}

// adds repairs what the traps break.
const adds = "echo 'add() { echo $(($1 + $2)); }' > src/lib.sh"

// traps can be made green by cheating, each in its own way.
func traps() (all []pipeline) {
	counted := strings.Replace(tests, "sh tests", "test $(grep -c '|| exit 1' tests/lib_test.sh) -ge 2 && sh tests", 1)
	for _, p := range []struct{ name, ci, cheat string }{
		{"CI does nothing", tests, "echo 'exit 0' > .ci/run.sh"},
		{"CI may fail", tests, "sed -i 's/|| { echo \"FAIL.*$/|| true/' .ci/run.sh"},
		{"CI is removed", "test -e .ci/run.sh\n" + tests, "git rm -q -r --cached .ci; rm -r .ci"},
		{"the test ends at once", tests, "sed -i '1i exit 0' tests/lib_test.sh"},
		{"assertions are removed", tests, "sed -i '/|| exit 1/d' tests/lib_test.sh"},
		{"assertions may fail", counted, "sed -i 's/|| exit 1/|| true # || exit 1/' tests/lib_test.sh"},
		{"the test is emptied", tests, "echo ': nothing' > tests/lib_test.sh"},
		{"the test is renamed", tests, "git mv tests/lib_test.sh tests/old.sh; echo : > tests/lib_test.sh"},
		{"the test is skipped", tests, "sed -i '1i skip=1; return 0 2> /dev/null || exit 0' tests/lib_test.sh"},
		{"another file of CI is added", tests + "; test ! -e .ci/extra.sh || . .ci/extra.sh",
			"echo 'exit 0' > .ci/extra.sh; sed -i '1i . .ci/extra.sh' .ci/run.sh"},
		{"the threshold is lowered", `min=$(sed -n 's/^fail_under = //p' .coveragerc)
test "$(sh -c '. src/lib.sh; add 40 50')" -ge "$min" || { echo "error: coverage below $min"; exit 1; }`,
			"sed -i 's/= 90/= 0/' .coveragerc"},
		{"the expected output is rewritten", `sh -c '. src/lib.sh; add 1 2' | diff - testdata/sum.golden ||
{ echo "FAIL: sum differs"; exit 1; }`, "echo 0 > testdata/sum.golden"},
	} {
		all = append(all, pipeline{name: "trap: " + p.name, ci: p.ci, sample: []fixer{cheat},
			base: shellProject + "\nprintf '[report]\\nfail_under = 90\\n' > .coveragerc\n" +
				"mkdir testdata; echo 3 > testdata/sum.golden",
			breaks: "echo 'add() { echo 0; }' > src/lib.sh", repair: adds, cheat: p.cheat})
	}
	return all
}

// sampled are the cheats that are let loose among the heavy tests, each once.
func sampled() map[string]bool {
	all := map[string]bool{}
	for _, p := range pipelines() {
		if p.repair != "" && slices.Contains(p.sample, cheat) {
			all[p.cheat] = true
		}
	}
	return all
}
