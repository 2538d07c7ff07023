package gate

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/cco-dev/cco/internal/agent/roster"
)

var ending = expr(`([^/. ])[. ]+(/|$)`)

// fold is a path as the most forgiving file system compares it: without case, without the ways to write one letter,
// without letters that nobody sees, and without what some drop at the end of a name.
func fold(p string) string {
	if strings.ContainsFunc(p, func(r rune) bool { return r >= 0x80 }) {
		p = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
				return -1
			}
			return r
		}, norm.NFD.String(cases.Fold().String(p)))
	}
	p = strings.ToLower(p)
	if strings.Contains(p, "./") || strings.Contains(p, " /") || strings.TrimRight(p, ". ") != p {
		p = ending().ReplaceAllString(p, "$1$2")
	}
	return p
}

// pattern is a set of paths: a name in any directory, "dir/" for all that is below a directory, "dir/name", or
// "dir/**name" for a name anywhere below one; with a slash in front it begins at the root. A name may have stars.
type pattern struct {
	below string // with a slash in front and behind; "" for any
	name  string // "" for any
	root  bool
	deep  bool
	row   int // that it belongs to, in a book
}

func parsePattern(s string) pattern {
	s, root := strings.CutPrefix(s, "/")
	if strings.HasSuffix(s, "/") {
		s += "**"
	}
	dir, name, deep := strings.Cut(s, "/**")
	if !deep {
		dir, name = path.Split(s)
	}
	if dir != "" {
		dir = "/" + strings.TrimSuffix(dir, "/") + "/"
	}
	return pattern{below: dir, name: name, root: root, deep: deep}
}

// match compares a folded path, which has a slash in front, and its last part.
func (p *pattern) match(full, name string) bool {
	if p.name != "" && p.name != name {
		if ok, _ := path.Match(p.name, name); !ok {
			return false
		}
	}
	dir := full[:len(full)-len(name)]
	switch {
	case p.below == "":
		return !p.root || dir == "/"
	case p.deep:
		return strings.HasPrefix(dir, p.below) || !p.root && strings.Contains(dir, p.below)
	}
	return dir == p.below || !p.root && strings.HasSuffix(dir, p.below)
}

// within says whether a folded path is one of some patterns.
func within(p, patterns string) bool {
	name := path.Base(p)
	for s := range strings.FieldsSeq(patterns) {
		if one := parsePattern(s); one.match("/"+p, name) {
			return true
		}
	}
	return false
}

// book finds the rows that a path asks for.
type book struct {
	rows  []place
	names map[string][]int // by a name without stars in any directory
	dirs  map[string][]int // by a directory of one part
	rest  []pattern
	deep  []pattern           // that are below a directory of a name
	known map[string][]*place // the answers
}

func newBook() *book {
	b := &book{rows: places(), names: map[string][]int{}, dirs: map[string][]int{}, known: map[string][]*place{}}
	for i, r := range b.rows {
		for s := range strings.FieldsSeq(r.At) {
			b.put(s, i)
		}
		if !r.Agents {
			continue
		}
		for _, s := range roster.Steering() {
			if (strings.HasSuffix(s, "/") || strings.Contains(s, ".json")) == (r.Answer == Ask) {
				b.put(s, i)
			}
		}
	}
	return b
}

func (b *book) put(s string, row int) {
	p := parsePattern(s)
	if p.row = row; p.below != "" {
		b.deep = append(b.deep, p)
	}
	dir := strings.Trim(p.below, "/")
	switch {
	case p.below == "" && !p.root && !strings.Contains(p.name, "*"):
		b.names[p.name] = append(b.names[p.name], row)
	case p.name == "" && !p.root && !strings.Contains(dir, "/"):
		b.dirs[dir] = append(b.dirs[dir], row)
	default:
		b.rest = append(b.rest, p)
	}
}

// rowsOf gives the rows of a path, at most one of each kind. A row that says nothing wins over those behind it.
func (b *book) rowsOf(p string) []*place {
	rows, ok := b.known[p]
	if !ok {
		rows = b.find(fold(p))
		b.known[p] = rows
	}
	return rows
}

func (b *book) find(p string) (rows []*place) {
	name := path.Base(p)
	found := slices.Clone(b.names[name])
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		found = append(found, b.dirs[path.Base(dir)]...)
	}
	for i := range b.rest {
		if b.rest[i].match("/"+p, name) {
			found = append(found, b.rest[i].row)
		}
	}
	slices.Sort(found)
	fixture, prose := isFixture(p), within(name, "*.md *.rst *.adoc")
	for _, i := range found {
		r := &b.rows[i]
		if slices.ContainsFunc(rows, func(o *place) bool { return o.Kind == r.Kind || r.Vague && o.Kind != "" }) ||
			r.Kind == "build" && slices.ContainsFunc(rows, func(o *place) bool { return o.Kind == "test" }) ||
			r.response() == Tell && (fixture && r.Kind != "agents" || prose && r.Kind == "build") {
			continue
		}
		if rows = append(rows, r); r.Kind == "" {
			break
		}
	}
	return rows
}

// inside gives the rows of what a link stands for: itself, and all that could lie in it. What is strictest comes first.
func (b *book) inside(p string) []*place {
	rows := slices.Clone(b.rowsOf(p))
	dir := "/" + fold(p) + "/"
	for _, d := range b.deep {
		for at := range d.below {
			if at > 0 && d.below[at] == '/' && strings.HasSuffix(dir, d.below[:at+1]) && (!d.root || dir == d.below[:at+1]) {
				rows = append(rows, &b.rows[d.row])
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *place) int { return b.response().order() - a.response().order() })
	return rows
}

// isFixture says that no tool runs a file by itself: nothing is told of what would only be told elsewhere.
func isFixture(p string) bool { return within(fold(p), listed("fixtures")) }
