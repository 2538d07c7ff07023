package gate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/unit"
)

// language is how tests look in one, or in files of a name.
type language struct {
	Ends  string     // of names, in lower case; "" for any
	Files string     // where tests are collected; "" for all files
	Test  expression // for the beginning of a test
	Skip  expression // for what keeps one from running
	Check expression // for an assertion
	Empty expression // for one that always holds
	Quiet expression // for what silences a checker, in any file with these endings
}

var languages = table[language]("languages")

// languageOf is how tests look in a file; nil if it has none.
func languageOf(p string) *language {
	p = fold(p)
	return first(languages(), func(l *language) bool {
		return l.Ends == "" && within(p, l.Files) || path.Ext(p) != "" && slices.Contains(strings.Fields(l.Ends), path.Ext(p))
	})
}

// collects says whether a test runner finds tests in a file.
func (l *language) collects(p string) bool {
	p = fold(p)
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		if l.Ends != "" && len(dir) > 1 && (dir[0] == '.' || dir[0] == '_' && dir[1] != '_') {
			return false
		}
	}
	return (l.Files == "" || within(p, l.Files)) && !within(p, listed("uncollected"))
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
			if t := c.tally(l.Quiet, nil, nil); t.more > 0 && !isFixture(c.path) {
				x.weaker(c, t.add, t.more, "a checker is silenced")
			}
		}
		x.thresholds(c)
		x.expected(c)
	}
}

func (x *examination) weaker(c *change, l line, n int, says string) {
	x.add(Finding{Kind: "weakened", Path: c.path, Line: l.no, Text: show(l.sign, l.text), Count: n, Says: says})
}

// tally is how much more a file has of something, or less, with the first line that came and that went.
type tally struct {
	more     int
	add, del line
}

// tally counts lines that have not only moved: those that are nowhere among the others.
func (c *change) tally(of expression, was, is map[string]int) (t tally) {
	for _, l := range slices.Backward(c.added) {
		if of.match(l.text) && was[strings.TrimSpace(l.text)] == 0 {
			t.more, t.add = t.more+1, l
		}
	}
	for _, l := range slices.Backward(c.removed) {
		if of.match(l.text) && is[strings.TrimSpace(l.text)] == 0 {
			t.more, t.del = t.more-1, l
		}
	}
	return t
}

func (x *examination) tests(l *language, c *change, was, is map[string]int) {
	skips := c.tally(l.Skip, was, is)
	switch n := skips.more; {
	case n <= 0:
	case l.Ends == "":
		x.weaker(c, skips.add, n, "a check may fail now, or does nothing")
	case !c.fresh():
		x.weaker(c, skips.add, n, unit.Count(n, "test")+" skipped, or allowed to fail")
	}
	if c.fresh() {
		return
	}
	tests, checks, empty := c.tally(l.Test, was, is), c.tally(l.Check, was, is), c.tally(l.Empty, was, is)
	switch gone, missing := -tests.more, -checks.more; {
	case gone > 0 && l.Ends == "":
		x.weaker(c, tests.del, gone, "CI checks less than before")
	case gone > 0 && c.gone():
		x.weaker(c, tests.del, gone, unit.Count(gone, "test")+" removed, or moved where nothing runs them")
	case gone > 0 && skips.more <= 0:
		x.weaker(c, tests.del, gone, unit.Count(gone, "test")+" removed")
	case missing > 0 && (l.Files != "" || within(fold(c.path), "tests/ *_test.rs tests.rs test.rs *_tests.rs")):
		x.weaker(c, checks.del, missing, unit.Count(missing, "assertion")+" fewer")
	case empty.more > 0 && checks.del.text != "":
		x.weaker(c, empty.add, empty.more, unit.Count(empty.more, "assertion")+" that nearly always hold")
	default:
		x.values(l, c)
	}
}

var literal = named("literal")

// values tells of assertions that differ from what they were in nothing but a value.
func (x *examination) values(l *language, c *change) {
	if l.Check == nil {
		return
	}
	// What stands before an assertion, such as a test's title, is no value.
	part := func(s string) string {
		s = strings.TrimSpace(s)
		if at := l.Check().FindStringIndex(s); at != nil {
			return s[at[0]:]
		}
		if l.Test.match(s) || strings.HasPrefix(s, "//") || strings.HasPrefix(s, "#") {
			return ""
		}
		return s
	}
	bare := func(l line) string { return strconv.Itoa(l.hunk) + literal().ReplaceAllString(part(l.text), "#") }
	old := map[string]string{}
	for _, r := range c.removed {
		old[bare(r)] = part(r.text)
	}
	for _, a := range c.added {
		if was := old[bare(a)]; was != "" && was != part(a.text) {
			x.tell(c, "weakened", Low, a, "an expected value has changed, was: "+show("", was))
			return
		}
	}
}

// limit is a number that checks must reach.
type limit struct {
	Files string
	Line  expression
	Less  bool // less of it is stricter
}

var limits = table[limit]("limits")

var digits = expr(`\d+(?:\.\d+)?`)

// thresholds looks for numbers that were lowered, in lines that are alike but for them.
func (x *examination) thresholds(c *change) {
	if c.fresh() || c.gone() || len(c.removed) == 0 {
		return
	}
	bare := func(l line) string { return strings.TrimSpace(digits().ReplaceAllString(l.text, "#")) }
	for _, r := range slices.Backward(limits()) {
		if !within(fold(c.path), r.Files) {
			continue
		}
		was := map[string]string{}
		for _, l := range c.removed {
			if r.Line.match(l.text) {
				was[bare(l)] = l.text
			}
		}
		for _, l := range c.added {
			if old := was[bare(l)]; old != "" && lowered(old, l.text, r.Less) {
				x.weaker(c, l, 1, "a limit that checks must keep is weaker, was: "+show("", old))
				return
			}
		}
		if r.Less && len(was) > 0 {
			return
		}
	}
}

func lowered(old, text string, less bool) bool {
	a, b := digits().FindAllString(old, -1), digits().FindAllString(text, -1)
	for i := range min(len(a), len(b)) {
		was, err := strconv.ParseFloat(a[i], 64)
		is, err2 := strconv.ParseFloat(b[i], 64)
		if err == nil && err2 == nil && (is < was) != less && is != was {
			return true
		}
	}
	return false
}

// expected tells of rewritten output that tests compare with.
func (x *examination) expected(c *change) {
	switch {
	case c.fresh() || c.wasOID == c.isOID || !within(fold(c.path), listed("snapshots")):
	case !c.gone():
		x.tell(c, "weakened", Low, line{}, "expected output was rewritten")
	case !x.arrived[c.wasOID]:
		x.tell(c, "weakened", Medium, line{}, "expected output was removed")
	}
}

var (
	leavesOut = named("leaves-out")
	wants     = named("wants")
	loosened  = named("loosened")
	switched  = named("switched-off")
	rule      = named("rule")
)

// checkerReaders are how settings are read; where the ending says nothing, as INI.
var checkerReaders = map[string]reader{".json": readJSONC, ".jsonc": readJSONC, ".yml": readYAML, ".yaml": readYAML,
	".toml": readTOML, ".eslintrc": readJSONC, ".nycrc": readJSONC, ".yamllint": readYAML, ".ansible-lint": readYAML}

// checks looks at settings of checkers by their keys: what is left out now, or switched off.
func (x *examination) checks() {
	for _, c := range x.changes {
		p := fold(c.path)
		if c.fresh() || c.gone() || c.isLink() || c.wasOID == c.isOID || !within(p, listed("checkers")) {
			continue
		}
		read := checkerReaders[path.Ext(p)]
		if read == nil {
			read = readINI
		}
		was, is, wrong := x.both(c, read)
		if wrong != nil {
			continue
		}
		for _, at := range changed(was, is) {
			if l, says := c.loosens(was, is, at); says != "" {
				x.weaker(c, l, 1, says)
				break
			}
		}
	}
}

// loosens says how a setting that has changed makes a checker milder; "" if it does not.
func (c *change) loosens(was, is leaves, at string) (l line, says string) {
	old, had := was[at]
	now, has := is[at]
	l = c.value("+", is, at)
	off := func(s string) bool { return switched.match(s) }
	switch {
	case has && leavesOut.match(at) && !elsewhereIn(was, at, now) && now != "false" && now != "[]" && now != "0":
		return l, "a checker leaves something out"
	case has && rule.match(at) && off(now) && !off(old):
		return l, "a check is switched off, was: " + show("", old)
	case has && loosened.match(at) && now == "true" && old != "true":
		return l, "a check may fail now"
	case had && (!has || inAList(at)) && wants.match(at) && !elsewhereIn(is, at, old),
		had && !has && rule.match(at) && !off(old) && !elsewhereIn(is, at, old):
		return c.value("-", was, at), "a check was taken out"
	}
	return l, ""
}

func inAList(at string) bool {
	_, err := strconv.Atoi(path.Base(at))
	return err == nil
}

// elsewhereIn says that a value of a list only has another place in it.
func elsewhereIn(l leaves, at, value string) bool {
	if !inAList(at) {
		return false
	}
	for k, v := range l {
		if v == value && path.Dir(k) == path.Dir(at) {
			return true
		}
	}
	return false
}
