package gate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// generic is the one rule that guesses by a variable's name: it comes last, and only where no other rule has matched.
const generic = "generic-api-key"

// scanner looks for secrets in lines. It compiles an expression when its keyword is seen for the first time.
type scanner struct {
	rules    []gitleaks.Rule
	global   *gitleaks.Allow
	words    *keywords
	compiled map[string]*regexp.Regexp
	allowed  map[string]bool // paths

	hits   []hit // keywords of the present line
	upTo   []int // how far a rule was tried on it
	open   []block
	last   []byte // the line before, and its file
	lastIn string
	whole  []byte // the line that the present text was made from; nil if it is the line itself

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
	behind     = 256  // it, and to the end of the word there
	farthest   = 4096 // behind it
	maxBehind  = 1024 // of a literal in pieces, before the last
)

// hit is a rule's keyword in a line, and where it ends.
type hit struct{ rule, at int }

func newScanner() *scanner {
	table := gitleaks.Load()
	s := &scanner{rules: slices.Concat(table.Rules, ownRules()), global: &table.Global,
		compiled: map[string]*regexp.Regexp{}, allowed: map[string]bool{}, index: map[string]int{}}
	for i, r := range s.rules {
		s.rules[i].Guess = r.Guess || inList("guesses", r.ID)
	}
	s.words, s.upTo = newKeywords(s.rules), make([]int, len(s.rules))
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
	if s.lastIn != path || len(text) > maxPieces {
		s.last = s.last[:0]
	}
	last := text
	if !found && len(text) <= maxPieces {
		s.whole = text
		all, line := meanings(s.last, text)
		if n := len(s.last); n > 0 && n < maxBehind && strings.IndexByte(",;)}]", s.last[n-1]) < 0 {
			last = line
		}
		for _, meant := range all {
			if !bytes.Equal(meant, text) && s.scan(path, commit, no, meant) {
				break
			}
		}
		s.whole = nil
	}
	s.last, s.lastIn = append(s.last[:0], last[:min(len(last), maxPieces)]...), path
}

// scan looks at a text with all rules.
func (s *scanner) scan(path, commit string, no int, text []byte) bool {
	s.hits = s.hits[:0]
	s.words.find(text, func(rule, end int) {
		s.hits, s.upTo[rule] = append(s.hits, hit{rule, end}), 0
	})
	found, guessed := false, false
	for _, h := range s.hits {
		if r := &s.rules[h.rule]; !r.Guess {
			found = s.near(r, h, path, commit, no, text) || found
		}
	}
	for _, h := range s.hits { // what is sure comes first
		if r := &s.rules[h.rule]; r.Guess && !found && !s.skips(path) {
			guessed = s.near(r, h, path, commit, no, text) || guessed
		}
	}
	return found || guessed
}

// near looks for a secret around a keyword. What was looked at once is not looked at again.
func (s *scanner) near(r *gitleaks.Rule, h hit, path, commit string, no int, text []byte) bool {
	if h.at <= s.upTo[h.rule] {
		return false
	}
	from, to := 0, len(text)
	switch {
	case r.Guess && strings.HasPrefix(strings.TrimPrefix(r.Regex, "(?i)"), "^"):
		from, to = h.at, min(to, h.at+farthest)
		s.upTo[h.rule] = h.at
	case to > shortLine:
		from, to = max(0, h.at-before), min(to, h.at+behind)
		for to < min(len(text), h.at+farthest) && (r.Lines || inSecret[text[to]]) {
			to++ // no secret is cut
		}
		s.upTo[h.rule] = max(to-before, h.at)
	default:
		s.upTo[h.rule] = to
	}
	part := string(text[from:to])
	if r.Lines {
		s.open = append(s.open, block{rule: h.rule, path: path, no: no, text: []byte(part + "\n")})
		return false
	}
	// Without such a run the general guess can't match, and is slow.
	return (r.ID != generic || hasRun(text[from:to], 10, &inSecret, "0123456789")) && s.apply(r, path, commit, no, part)
}

// hasRun says whether there are n bytes of a set in a row, if need be with one of some others among them. It looks from
// the end of where they could be, and so passes over most of a text without any.
func hasRun(text []byte, n int, in *[256]bool, among string) bool {
	for end := n; end <= len(text); {
		at := end - 1
		for at >= end-n && in[text[at]] {
			at--
		}
		if at < end-n && (among == "" || bytes.ContainsAny(text[end-n:end], among)) {
			return true
		}
		end = max(at+n, end) + 1
	}
	return false
}

var inSecret = func() (is [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.=+/-") {
		is[b] = true
	}
	return is
}()

// fill adds a line to the blocks that are open, and closes them when they are complete.
func (s *scanner) fill(text []byte, path, commit string) {
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
			s.add(r, c.path, c.commit, 0, c.path, "")
		}
	}
}

// apply says whether a rule has found anything in a text.
func (s *scanner) apply(r *gitleaks.Rule, path, commit string, no int, text string) bool {
	if r.Path != "" && !s.re(r.Path).MatchString(path) || r.Regex == "" {
		return false
	}
	hit := false
	for _, m := range s.re(r.Regex).FindAllStringSubmatch(text, 100) {
		match := strings.Trim(m[0], "\n")
		secret := cmp.Or(append(m[max(1, r.Group):], match)...)
		if r.Entropy > 0 && entropy(secret) <= r.Entropy || s.allows(r, path, secret, match, text) ||
			fake(secret, r.Guess) {
			continue
		}
		hit = true
		s.add(r, path, commit, no, secret, secret)
	}
	return hit
}

// allows says that an exception knows what was found. One whose conditions must all hold is left out: it is about a
// single build system.
func (s *scanner) allows(r *gitleaks.Rule, path, secret, match, text string) bool {
	lower := strings.ToLower(secret)
	for _, a := range append(r.Allow[:len(r.Allow):len(r.Allow)], *s.global) {
		target := map[string]string{"": secret, "match": match, "line": text}[a.Target]
		if a.Condition != "AND" && (s.anyOf(a.Paths, path) || s.anyOf(a.Regexes, target) ||
			slices.ContainsFunc(a.Words, func(w string) bool { return strings.Contains(lower, w) })) {
			return true
		}
	}
	return false
}

func (s *scanner) add(r *gitleaks.Rule, path, commit string, no int, secret, raw string) {
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
	if s.whole != nil {
		f.whole = part(string(s.whole), raw)
	}
	if (r.Guess || r.Regex == "") && within(fold(path), listed("tried")) {
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
	return fmt.Sprintf("%s (%d characters)", safetext.Cut(s, min(4, len(s)/4)), len(s))
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

// news leaves out what the base had, every line of it: it has only moved, or was copied.
func (x *examination) news() []Finding {
	lines := func(f Finding) []string {
		return slices.DeleteFunc(strings.Split(f.whole, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	}
	var ask []string
	for _, f := range x.secrets.found {
		ask = append(ask, lines(f)...)
	}
	if len(ask) == 0 {
		return x.secrets.found
	}
	c := x.host.Cmd("grep", "-h", "-o", "-a", "-F", "--no-color", "-f", "-", x.in.Base, "--")
	c.Stdin = strings.NewReader(strings.Join(ask, "\n") + "\n")
	had := map[string]bool{}
	err := x.host.Scan(x.ctx, c, '\n', func(b []byte) error {
		had[string(b)] = true
		return nil
	})
	if exit, ok := errors.AsType[*proc.ExitError](err); !ok || exit.Code != 1 { // 1: it found nothing
		x.fail(err)
	}
	all := strings.Join(slices.Collect(maps.Keys(had)), "\n") // of two that begin at one place, git gives the longer
	return slices.DeleteFunc(x.secrets.found, func(f Finding) bool {
		return f.raw != "" && !slices.ContainsFunc(lines(f), func(l string) bool { return !strings.Contains(all, l) })
	})
}

// scanText looks at a text of somebody else's.
func scanText(text string) *scanner {
	s := newScanner()
	for line := range strings.Lines(text) {
		s.line("", "", 0, []byte(strings.TrimRight(line, "\r\n")))
	}
	s.close("")
	return s
}

// mask hides what was found.
func (s *scanner) mask(text string) string {
	return Report{Groups: []Group{{Findings: s.found}}}.Mask(text)
}

// MaskSecrets hides what looks like a secret in a text of somebody else's.
func MaskSecrets(text string) string {
	if text == "" {
		return ""
	}
	return scanText(text).mask(text)
}

// Secret says whether a line of text holds what looks like a secret.
func Secret(line string) bool { return len(scanText(line).found) > 0 }
