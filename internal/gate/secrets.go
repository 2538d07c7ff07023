package gate

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
	"github.com/cco-dev/cco/internal/proc"
)

// generic is the one rule that guesses by a variable's name: it comes last, and only where no other rule has matched.
const generic = "generic-api-key"

// scanner looks for secrets in lines. It compiles an expression when its keyword is seen for the first time.
type scanner struct {
	rules    []gitleaks.Rule
	guess    []bool // by rule
	global   *gitleaks.Allow
	words    *keywords
	of       [][]int // rules of a word
	compiled map[string]*regexp.Regexp
	allowed  map[string]bool // paths

	hits    []hit // keywords of the present line
	marks   []int // which rules were tried on it, by a number that grows
	upTo    []int // and how far
	mark    int
	reaches map[string]int
	open    []block
	last    string // the line before, and its file
	lastIn  string
	whole   string // the line that the present text was made from; "" if it is the line itself

	found []Finding
	index map[string]int
}

// block is text that a rule over several lines may match.
type block struct {
	rule int
	path string
	no   int
	text []byte
}

const (
	maxBlock   = 16 << 10
	maxSecrets = 1000
	shortLine  = 320  // is looked at as a whole
	before     = 128  // of a keyword in a longer one
	farthest   = 4096 // behind it
)

// hit is a rule's keyword in a line, and where it ends.
type hit struct{ rule, at int }

func newScanner() *scanner {
	table := gitleaks.Load()
	s := &scanner{rules: slices.Concat(table.Rules, ownRules[:]), global: &table.Global,
		compiled: map[string]*regexp.Regexp{}, allowed: map[string]bool{}, index: map[string]int{}}
	for i, r := range s.rules {
		s.guess = append(s.guess, i >= len(table.Rules) || slices.Contains(guesses, r.ID))
	}
	s.marks, s.upTo, s.reaches = make([]int, len(s.rules)), make([]int, len(s.rules)), map[string]int{}
	at := map[string]int{}
	var words []string
	for i, r := range s.rules {
		for _, w := range r.Keywords {
			if _, ok := at[w]; !ok {
				at[w] = len(words)
				words, s.of = append(words, w), append(s.of, nil)
			}
			s.of[at[w]] = append(s.of[at[w]], i)
		}
	}
	s.words = newKeywords(words)
	return s
}

// re compiles an expression once. All of them were compiled by a test.
func (s *scanner) re(expr string) *regexp.Regexp {
	re := s.compiled[expr]
	if re == nil {
		re = regexp.MustCompile(expr)
		s.compiled[expr] = re
	}
	return re
}

func (s *scanner) anyOf(exprs []string, text string) bool {
	return slices.ContainsFunc(exprs, func(e string) bool { return s.re(e).MatchString(text) })
}

// skips says that gitleaks looks for nothing in such a file. What guesses keeps to that.
func (s *scanner) skips(path string) bool {
	no, known := s.allowed[path]
	if !known {
		no = s.anyOf(s.global.Paths, path)
		s.allowed[path] = no
	}
	return no
}

// line looks at an added line as it stands and, if nothing is in it, at what it says: without quoted quotes, with the
// pieces of a literal joined, with base64 decoded, with the line before it.
func (s *scanner) line(path, commit string, no int, text []byte) {
	if len(s.found) == maxSecrets { // each costs time, and an agent can write any number
		return
	}
	s.fill(text, path, commit)
	found := s.scan(path, commit, no, text)
	if len(text) > maxPieces {
		s.last, s.lastIn = "", ""
		return
	}
	before := ""
	if s.lastIn == path && s.last != "" && joins(s.last, text) {
		before = s.last
	}
	s.last, s.lastIn = "", path
	if mayJoin(text) {
		s.last = string(text)
	}
	if found {
		return
	}
	s.whole = string(text)
	for _, meant := range meanings(before, text) {
		if s.scan(path, commit, no, []byte(meant)) {
			break
		}
	}
	s.whole = ""
}

// scan looks at a text with all rules.
func (s *scanner) scan(path, commit string, no int, text []byte) bool {
	s.hits = s.hits[:0]
	s.words.find(text, func(word, end int) {
		for _, r := range s.of[word] {
			s.hits = append(s.hits, hit{r, end})
		}
	})
	if len(s.hits) == 0 {
		return false
	}
	found, guessed := false, false
	for pass := range 2 { // guesses come last
		s.mark++
		for _, h := range s.hits {
			if s.guess[h.rule] != (pass == 1) {
				guessed = guessed || s.guess[h.rule]
				continue
			}
			if pass == 1 && s.skips(path) {
				continue
			}
			found = s.near(&s.rules[h.rule], h, path, commit, no, text) || found
		}
		if found || !guessed {
			return found
		}
	}
	return found
}

// near looks for a secret around a keyword. What was looked at once is not looked at again.
func (s *scanner) near(r *gitleaks.Rule, h hit, path, commit string, no int, text []byte) bool {
	if s.marks[h.rule] != s.mark {
		s.marks[h.rule], s.upTo[h.rule] = s.mark, 0
	}
	if h.at <= s.upTo[h.rule] {
		return false
	}
	if s.guess[h.rule] && strings.HasPrefix(strings.TrimPrefix(r.Regex, "(?i)"), "^") {
		s.upTo[h.rule] = h.at
		return s.apply(r, path, commit, no, string(text[h.at:min(len(text), h.at+farthest)]))
	}
	from, to := 0, len(text)
	if len(text) > shortLine {
		n := s.reach(r)
		from, to = max(0, h.at-min(n, before)), min(len(text), h.at+n)
	}
	s.upTo[h.rule] = max(to-before, h.at)
	if to == len(text) {
		s.upTo[h.rule] = to
	}
	part := string(text[from:to])
	if r.Lines {
		s.open = append(s.open, block{rule: h.rule, path: path, no: no, text: []byte(part + "\n")})
		return false
	}
	return (r.ID != generic || looksRandom(part)) && s.apply(r, path, commit, no, part)
}

// reach is how far behind its keyword the secret of a rule can end.
func (s *scanner) reach(r *gitleaks.Rule) int {
	n, ok := s.reaches[r.ID]
	if !ok {
		n = farthest
		if tree, err := syntax.Parse(r.Regex, syntax.Perl); err == nil {
			n = min(n, longest(tree))
		}
		s.reaches[r.ID] = n
	}
	return n
}

// longest is how many bytes an expression can match at most.
func longest(re *syntax.Regexp) int {
	sum := 0
	switch re.Op {
	case syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune)
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 && re.Rune[n-1] < utf8.RuneSelf {
			return 1
		}
		return utf8.UTFMax
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return farthest
	case syntax.OpRepeat:
		if re.Max < 0 {
			return farthest
		}
		return min(farthest, re.Max*longest(re.Sub[0]))
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			sum = max(sum, longest(sub))
		}
	default:
		for _, sub := range re.Sub {
			sum += longest(sub)
		}
	}
	return min(sum, farthest)
}

// looksRandom says whether there is a run of ten characters with a digit among them: without one the guess can't match,
// and is slow.
func looksRandom(text string) bool {
	run, digit := 0, false
	for i := range len(text) {
		b := text[i]
		switch {
		case b >= '0' && b <= '9':
			digit = true
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte("_.=+/-", b) >= 0:
		default:
			run, digit = 0, false
			continue
		}
		if run++; run >= 10 && digit {
			return true
		}
	}
	return false
}

// fill adds a line to the blocks that are open, and closes them when they are complete.
func (s *scanner) fill(text []byte, path, commit string) {
	if len(s.open) == 0 {
		return
	}
	for i := range s.open {
		b := &s.open[i]
		if b.path == path && len(b.text)+len(text) < maxBlock {
			b.text = append(append(b.text, text...), '\n')
		}
	}
	if len(s.open) > 64 {
		s.close(commit)
	}
}

// close looks at what the rules over several lines have gathered.
func (s *scanner) close(commit string) {
	for i := range s.open {
		b := &s.open[i]
		s.apply(&s.rules[b.rule], b.path, commit, b.no, string(b.text))
	}
	s.open = s.open[:0]
}

// guessed says whether a rule goes by what a value looks like.
func (s *scanner) guessed(r *gitleaks.Rule) bool {
	return slices.Contains(guesses, r.ID) || slices.ContainsFunc(ownRules[:],
		func(o gitleaks.Rule) bool { return o.ID == r.ID })
}

// tried are files with which programs are tried: what only looks like a secret there may be one.
const tried = `test/ tests/ testing/ __tests__/ testdata/ fixtures/ fixture/ __fixtures__/ spec/ specs/ e2e/ mocks/
	__mocks__/
	cassettes/ *_test.* *.test.* *.spec.* *_spec.* test_*.* *test.java *tests.java *test.kt *tests.cs *test.php conftest.py
	testutil/ testutils/ examples/ example/ *.example *.sample *.template samples/`

// file looks at a new file's name.
func (s *scanner) file(c *change) {
	if !c.gone() && c.wasOID != c.isOID && c.fresh() {
		s.scan("", c.commit, 0, []byte(c.path))
		for part := range strings.SplitSeq(c.path, "/") {
			s.scan("", c.commit, 0, []byte(part[:len(part)-len(path.Ext(part))]))
		}
	}
	for i := range s.rules {
		r := &s.rules[i]
		if r.Regex == "" && !c.gone() && c.wasOID != c.isOID && s.re(r.Path).MatchString(c.path) {
			s.add(r, c.path, c.commit, 0, c.path, "", true)
		}
	}
}

// apply says whether a rule has found anything in a text.
func (s *scanner) apply(r *gitleaks.Rule, path, commit string, no int, text string) bool {
	if r.Path != "" && !s.re(r.Path).MatchString(path) || r.Regex == "" {
		return false
	}
	hit := false
	re := s.re(r.Regex)
	for _, m := range re.FindAllStringSubmatchIndex(text, 100) {
		match := strings.Trim(text[m[0]:m[1]], "\n")
		secret := match
		for g := max(1, r.Group); g < len(m)/2; g++ {
			if m[2*g] >= 0 && m[2*g] < m[2*g+1] {
				secret = text[m[2*g]:m[2*g+1]]
				break
			}
		}
		guess := s.guessed(r)
		if r.Entropy > 0 && entropy(secret) <= r.Entropy || s.allows(r, path, secret, match, text) || fake(secret, guess) {
			continue
		}
		hit = true
		s.add(r, path, commit, no, secret, secret, guess)
	}
	return hit
}

func (s *scanner) allows(r *gitleaks.Rule, path, secret, match, text string) bool {
	if s.allow(s.global, path, secret, match, text) {
		return true
	}
	return slices.ContainsFunc(r.Allow, func(a gitleaks.Allow) bool { return s.allow(&a, path, secret, match, text) })
}

func (s *scanner) allow(a *gitleaks.Allow, path, secret, match, text string) bool {
	target := secret
	switch a.Target {
	case "match":
		target = match
	case "line":
		target = text
	}
	byPath := len(a.Paths) > 0 && s.anyOf(a.Paths, path)
	byText := len(a.Regexes) > 0 && s.anyOf(a.Regexes, target)
	lower := strings.ToLower(secret)
	byWord := slices.ContainsFunc(a.Words, func(w string) bool { return strings.Contains(lower, w) })
	if a.Condition == "AND" {
		return (len(a.Paths) == 0 || byPath) && (len(a.Regexes) == 0 || byText) && (len(a.Words) == 0 || byWord)
	}
	return byPath || byText || byWord
}

func (s *scanner) add(r *gitleaks.Rule, path, commit string, no int, secret, raw string, guess bool) {
	key := r.ID + "\x00" + secret
	if i, ok := s.index[key]; ok {
		s.found[i].Count++
		return
	}
	if len(s.found) == maxSecrets {
		return
	}
	s.index[key] = len(s.found)
	f := Finding{Kind: "secrets", Path: path, Line: no, Commit: commit, Says: ruleName(r.ID), Count: 1, raw: raw,
		whole: raw}
	if s.whole != "" {
		f.whole = part(s.whole, raw)
	}
	if guess && within(fold(path), tried) {
		f.answer, f.Danger = Ask, Medium
	}
	if raw != "" {
		f.Text = "+" + masked(raw)
	}
	s.found = append(s.found, f)
}

// ruleName is a rule's id in words.
func ruleName(id string) string {
	if id == generic {
		return "looks like a key, password or token"
	}
	return "looks like: " + strings.ReplaceAll(id, "-", " ")
}

// masked is enough of a value to find it again, and never all of it.
func masked(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	n := min(4, len(s)/4)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d characters)", s[:n], len(s))
}

// entropy is Shannon's, in bits for each character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	for _, r := range s {
		counts[r]++
	}
	sum := 0.0
	for _, n := range counts {
		p := float64(n) / float64(len(s))
		sum -= p * math.Log2(p)
	}
	return sum
}

// manyPaths is how many files are read for secrets that were there before.
const manyPaths = 500

// part is the part of a line that has nearly all of a secret which was found in what the line means; the line if
// there is none.
func part(line, secret string) string {
	for n := range len(secret) / 5 {
		for _, p := range []string{secret[n:], secret[:len(secret)-n]} {
			if strings.Contains(line, p) {
				return p
			}
		}
	}
	return line
}

// news leaves out what some file had in the base, whole: it has only moved, or was copied.
func (x *examination) news() ([]Finding, error) {
	var ask strings.Builder
	found := x.secrets.found
	for _, f := range found {
		if first, _, _ := strings.Cut(f.whole, "\n"); strings.TrimSpace(first) != "" && f.raw != "" {
			ask.WriteString(first + "\n")
		}
	}
	if ask.Len() == 0 {
		return found, nil
	}
	c := x.host.Cmd("grep", "-z", "-l", "-a", "-F", "--no-color", "-f", "-", x.in.Base, "--")
	c.Stdin = strings.NewReader(ask.String())
	var names []string
	err := x.host.Scan(x.ctx, c, 0, func(b []byte) error {
		names = append(names, string(b))
		return nil
	})
	if exit, ok := errors.AsType[*proc.ExitError](err); err != nil && (!ok || exit.Code != 1) { // 1: it found nothing
		return nil, err
	}
	for _, name := range names[:min(len(names), manyPaths)] {
		if strings.ContainsAny(name, "\n") {
			continue
		}
		o, err := x.object(name)
		if err != nil {
			return nil, err
		}
		text := string(o.Data)
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.raw != "" && strings.Contains(text, f.whole) })
	}
	return found, nil
}
