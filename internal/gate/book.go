package gate

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
)

// book finds the rows of the catalogue that a path asks for. It is made at first use.
type book struct {
	names    map[string][]*row // by the last part of a path
	dirs     []dirRule         // with a slash in the middle or at the end
	dirNames map[string][]*row // directories of one part
	globs    []globRule
	compiled map[string]*regexp.Regexp
	known    map[string][]*row // the last answers
}

type dirRule struct {
	below string // "/.github/workflows/": what must be in a path with a slash in front
	name  string // a pattern for the last part, "" for any
	root  bool
	row   *row
}

type globRule struct {
	pattern string
	row     *row
}

func newBook() *book {
	b := &book{names: map[string][]*row{}, dirNames: map[string][]*row{}, compiled: map[string]*regexp.Regexp{},
		known: map[string][]*row{}}
	for i := range catalogue {
		for _, p := range strings.Fields(catalogue[i].files) {
			b.put(p, &catalogue[i])
		}
	}
	steering := &row{kind: "agents", removed: true, says: "agents take it for instructions or settings"}
	for _, p := range roster.Steering() {
		b.put(p, steering)
	}
	return b
}

func (b *book) put(p string, r *row) {
	dir, name := path.Split(p)
	switch {
	case dir == "" && strings.Contains(name, "*"):
		b.globs = append(b.globs, globRule{name, r})
	case dir == "":
		b.names[name] = append(b.names[name], r)
	case name == "" && strings.Count(dir, "/") == 1:
		b.dirNames[strings.TrimSuffix(dir, "/")] = append(b.dirNames[strings.TrimSuffix(dir, "/")], r)
	default:
		b.dirs = append(b.dirs, dirRule{"/" + strings.TrimPrefix(dir, "/"), name, strings.HasPrefix(p, "/"), r})
	}
}

func (b *book) re(expr string) *regexp.Regexp {
	re := b.compiled[expr]
	if re == nil {
		re = regexp.MustCompile(expr)
		b.compiled[expr] = re
	}
	return re
}

// rowsOf gives the rows that a file asks for, in the order of the catalogue.
func (b *book) rowsOf(p string) []*row {
	rows, ok := b.known[p]
	if ok {
		return rows
	}
	if len(b.known) > 10_000 {
		clear(b.known)
	}
	rows = b.find(strings.ToLower(p))
	b.known[p] = rows
	return rows
}

func (b *book) find(p string) []*row {
	name := path.Base(p)
	rows := slices.Clone(b.names[name])
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		rows = append(rows, b.dirNames[path.Base(dir)]...)
	}
	for _, d := range b.dirs {
		if d.match("/"+p, name) {
			rows = append(rows, d.row)
		}
	}
	prose := within(name, "*.md *.rst *.adoc")
	for _, g := range b.globs {
		if ok, _ := path.Match(g.pattern, name); ok && (!prose || path.Ext(g.pattern) != ".*") {
			rows = append(rows, g.row)
		}
	}
	fixture := within(p, fixtures)
	rows = slices.DeleteFunc(rows, func(r *row) bool {
		return r.not != "" && within(p, r.not) || fixture && ignoredInFixtures(r.kind)
	})
	slices.SortFunc(rows, func(a, b *row) int { return strings.Compare(string(a.kind), string(b.kind)) })
	return slices.Compact(rows)
}

func (d dirRule) match(p, name string) bool {
	at := strings.LastIndexByte(p, '/') + 1
	if d.name == "" {
		return strings.HasPrefix(p, d.below) || !d.root && strings.Contains(p, d.below)
	}
	ok, _ := path.Match(d.name, name)
	return ok && (p[:at] == d.below || !d.root && strings.HasSuffix(p[:at], d.below))
}

// within says whether a path, in lower case, is one of some patterns.
func within(p, patterns string) bool {
	name := path.Base(p)
	for _, one := range strings.Fields(patterns) {
		dir, last := path.Split(one)
		switch {
		case last == "":
			if strings.HasPrefix(p, dir) || strings.Contains(p, "/"+dir) {
				return true
			}
		case dir == "":
			if ok, _ := path.Match(last, name); ok {
				return true
			}
		default:
			if (dirRule{below: "/" + strings.TrimPrefix(dir, "/"), name: last}).match("/"+p, name) {
				return true
			}
		}
	}
	return false
}

// wants says what of a file's lines the rows and checks ask for.
func (b *book) wants(p string) (w wants) {
	for _, r := range b.rowsOf(p) {
		if r.has == "" && r.line == "" {
			w |= wantAll
		} else {
			w |= wantSome
		}
	}
	if languageOf(p) != nil || isManifest(p) || hasLimits(p) {
		w |= wantAll
	}
	return w
}

// some says whether a line is one that a row asks for.
func (b *book) some(p string, text []byte) bool {
	s := string(text)
	for _, r := range b.rowsOf(p) {
		if r.has != "" && hasAny(s, r.has) || r.line != "" && b.re(r.line).Match(text) {
			return true
		}
	}
	return false
}

// commentOf is how a line without meaning begins in a file; "" if it is not known.
func commentOf(p string) string {
	p = strings.ToLower(p)
	switch path.Ext(p) {
	case ".js", ".ts", ".cjs", ".mjs", ".mts", ".cts", ".jsx", ".tsx", ".rs", ".go", ".gradle", ".kts", ".java",
		".json5", ".jsonc",
		".swift", ".groovy", ".zig", ".mod":
		return "//"
	case ".el":
		return ";"
	case ".md", ".txt.ai", ".mdc", ".rst":
		return ""
	case ".xml", ".props", ".targets", ".csproj", ".config":
		return "<!--"
	case ".lua":
		return "--"
	case ".json":
		return "//"
	}
	switch name := path.Base(p); name {
	case "jenkinsfile":
		return "//"
	case ".exrc", ".vimrc", ".nvimrc":
		return "\""
	case ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", ".roorules", "maintainers", "reviewers":
		return ""
	}
	return "#"
}

// lineCount counts lines by kind of their files.
type lineCount map[Kind]map[string]int

// moves is what was there before, only elsewhere.
type moves struct {
	added, removed lineCount
	old            map[string]bool // objects of files that were removed, with an x in front where they could be started
	new            map[string]bool // objects of new files
}

// blob says that a file with this content was removed, and one was added.
func (m moves) blob(oid string) bool { return m.old[oid] && m.new[oid] }
func (m moves) exec(oid string) bool { return m.old["x"+oid] }

// moves looks at which lines and files have only changed places. A line counts as moved between files of one kind.
func (x *examination) moves() moves {
	m := moves{added: lineCount{}, removed: lineCount{}, old: map[string]bool{}, new: map[string]bool{}}
	for _, c := range x.changes {
		if c.fresh() {
			m.new[c.isOID] = true
		}
		if c.gone() {
			m.old[c.wasOID] = true
			if c.was == "100755" {
				m.old["x"+c.wasOID] = true
			}
		}
		var seen []Kind
		for _, r := range x.book.rowsOf(c.path) {
			if !slices.Contains(seen, r.kind) {
				seen = append(seen, r.kind)
			}
		}
		if languageOf(c.path) != nil && !slices.Contains(seen, "weakened") {
			seen = append(seen, "weakened")
		}
		for _, k := range seen {
			m.added.count(k, c.added)
			m.removed.count(k, c.removed)
		}
	}
	return m
}

func (n lineCount) count(k Kind, lines []line) {
	if len(lines) > 0 && n[k] == nil {
		n[k] = map[string]int{}
	}
	for _, l := range lines {
		n[k][strings.TrimSpace(l.text)]++
	}
}
