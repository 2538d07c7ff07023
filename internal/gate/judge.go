package gate

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/unit"
)

// places judges every change by where it is.
func (x *examination) places() {
	for _, c := range x.changes {
		rows := x.book.rowsOf(c.path)
		if c.isLink() { // it can stand for a whole directory
			rows = x.book.inside(c.path)
		}
		if x.hooks != "" && strings.HasPrefix(fold(c.path)+"/", fold(x.hooks)+"/") {
			rows = append(rows[:len(rows):len(rows)], &place{Kind: "commit", Says: "git runs it as a hook"})
		}
		told := map[Kind]bool{}
		for _, r := range rows {
			if r.Kind == "" || told[r.Kind] {
				continue
			}
			told[r.Kind] = true
			x.place(c, r)
		}
		x.modes(c)
	}
}

// place says what a row has to say of a change.
func (x *examination) place(c *change, r *place) {
	f := Finding{Kind: r.Kind, Danger: r.Danger, Path: c.path, Says: r.Says, answer: r.response()}
	if r.Read != nil && !c.isLink() && c.wasOID != c.isOID {
		was, is, wrong := x.both(c, r.Read)
		if wrong == nil {
			x.keys(c, r, was, is)
			if c.was == c.is || c.fresh() || c.gone() {
				return
			}
		} else {
			f.Says += ", and it can't be read: " + safetext.Fit(safetext.Line(wrong.Error()), 120)
			f.Danger = High
		}
	}
	switch {
	case c.gone():
		f.Says = "was removed: " + f.Says
	case c.is == git.ModeLink:
		f.Says = "is a link: " + f.Says
	case c.is == git.ModeExec && c.was != git.ModeExec && !c.fresh():
		f.Says = "can be started now: " + f.Says
	}
	switch {
	case c.binary:
		f.Danger, f.Says = High, f.Says+", and nobody can read it"
	case c.cut:
		f.Danger, f.Says = High, f.Says+", and has more lines than are looked at"
	}
	lines := c.added
	if len(lines) == 0 {
		lines = c.removed
	}
	f.show(slices.Clone(lines), c.plus+c.minus)
	x.add(f)
}

const (
	mostLines = 5    // of a finding
	mostShown = 4096 // bytes of one
)

var tells = []expression{named("tells-little"), named("tells-most"), named("tells-some")}

// telling is how much a line says of what a file does: comments count too, but last.
func telling(text string) int {
	return []int{1, 0, 3, 2}[1+slices.IndexFunc(tells, func(e expression) bool { return e.match(text) })]
}

// show gives a finding its most telling lines, whole, and says how many more there are.
func (f *Finding) show(list []line, all int) {
	slices.SortStableFunc(list, func(a, b line) int { return cmp.Compare(telling(b.text), telling(a.text)) })
	f.Count = max(1, all)
	for i, l := range list[:min(mostLines, len(list))] {
		text := l.text
		if at := strings.IndexAny(text, "=:"); at >= 0 && f.Kind == "environment" { // the value may be a password
			text = text[:at+1] + "…"
		}
		if text = show(l.sign, text); i == 0 {
			f.Line, f.Text = l.no, text
		} else {
			f.Lines = append(f.Lines, text)
		}
	}
	f.More = max(0, all-min(mostLines, len(list)))
}

// show is a changed line for a person: whole, unless it is so long that nobody would read it.
func show(sign, text string) string {
	text = strings.TrimSpace(text)
	if cut := safetext.Cut(text, mostShown); len(cut) < len(text) {
		return sign + safetext.Line(cut) + " … and " + unit.Count(len(text)-mostShown, "more character")
	}
	return sign + safetext.Line(text)
}

// both reads the values of a file as it was and as it is, or says what is wrong with it. What is not there has none.
func (x *examination) both(c *change, read reader) (was, is leaves, wrong error) {
	if !c.fresh() {
		was, wrong = read.all(x.blob(c.wasOID))
	}
	if !c.gone() && wrong == nil {
		is, wrong = read.all(x.blob(c.isOID))
	}
	return was, is, wrong
}

// keys says what has changed in a file of which all was read.
func (x *examination) keys(c *change, r *place, was, is leaves) {
	type group struct {
		Finding
		list []line
	}
	var groups []*group
	var deps []string
	quiet := isFixture(c.path)
	for _, at := range changed(was, is) {
		k := r.keyOf(at)
		if k == nil {
			k = &key{kind: r.Kind, says: r.Says, answer: r.response()}
		}
		answer := cmp.Or(k.answer, k.kind.row().response)
		switch {
		case k.kind == "" || quiet && answer == Tell:
			continue
		case k.kind == depsOf:
			deps = append(deps, at)
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.Kind == k.kind && g.Says == k.says })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{Finding: Finding{Kind: k.kind, Path: c.path, Says: k.says, answer: answer}})
		}
		l := c.value("+", is, at)
		if _, ok := is[at]; !ok {
			l = c.value("-", was, at)
		}
		groups[i].list = append(groups[i].list, l)
	}
	for _, g := range groups {
		g.show(g.list, len(g.list))
		x.add(g.Finding)
	}
	x.manifest(c, r.Registry, deps, was, is)
}

// value is a value for a person, with the changed line in which its key stands, if there is one.
func (c *change) value(sign string, from leaves, at string) line {
	lines := map[string][]line{"+": c.added, "-": c.removed}[sign]
	out := line{sign: sign, text: unescaped(at) + ": " + from[at]}
	for name := at; name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		last := unescaped(name[strings.LastIndexByte(name, '/')+1:])
		if i := slices.IndexFunc(lines, func(l line) bool { return strings.Contains(l.text, last) }); i >= 0 {
			out.no = lines[i].no
			break
		}
	}
	return out
}

// modes tells of executables, links and submodules.
func (x *examination) modes(c *change) {
	f := Finding{Path: c.path}
	switch {
	case c.is == git.ModeExec && c.was != git.ModeExec && !c.fresh():
		f.Kind, f.Says = "executables", "can be started now"
	case c.is == git.ModeExec && c.fresh() && !x.moved[c.is+c.isOID]:
		f.Kind, f.Says = "executables", "a new file that can be started"
	case c.is == git.ModeLink && (!c.fresh() || !x.moved[c.is+c.isOID]):
		f.Kind, f.Says = "links", "a symbolic link"
	case c.is == git.ModeGitlink:
		f.Kind, f.Says = "links", "a submodule, whose content is not examined"
	default:
		return
	}
	if len(c.added) > 0 && c.is == git.ModeLink {
		f.Text = "-> " + show("", c.added[0].text)
	}
	x.add(f)
}

// known says that a row knows what a file is for.
func (x *examination) known(p string) bool {
	rows := x.book.rowsOf(p)
	return len(rows) > 0 && !rows[0].Vague || isFixture(p)
}

// unknown tells of new files that look like something that tools load: by their names, or because something that begins
// with a dot stands at the root of a package.
func (x *examination) unknown() {
	var found, dotted []string
	dirs, roots := map[string]bool{}, map[string]bool{".": true}
	for _, c := range x.changes {
		if !c.fresh() || x.known(c.path) {
			continue
		}
		if dot := dotPart(c.path); dot != "" {
			dotted = append(dotted, dot)
			dirs[path.Dir(dot)] = true
		} else if within(fold(c.path), listed("loaded")) && !within(fold(c.path), "*.md *.txt *.rst *.html docs/ doc/ src/") {
			found = append(found, c.path)
		}
	}
	if delete(dirs, "."); len(dirs) > 0 {
		x.entries(dirs, func(p string) {
			roots[path.Dir(p)] = roots[path.Dir(p)] || within(fold(p), listed("manifests"))
		})
	}
	for _, dot := range dotted {
		if roots[path.Dir(dot)] && !slices.Contains(found, dot) {
			found = append(found, dot)
		}
	}
	if len(found) > 0 {
		x.add(Finding{Kind: "unknown", Path: found[0], Count: len(found), Text: show("+", list(found)),
			Says: "new files that a tool may load by itself"})
	}
}

// dotPart is a path up to its first part that begins with a dot; "" if there is none.
func dotPart(p string) string {
	at := strings.Index("/"+p, "/.")
	if at < 0 {
		return ""
	}
	part, _, _ := strings.Cut(p[at:], "/")
	return p[:at] + part
}
