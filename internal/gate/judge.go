package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// places judges every change by where it is.
func (x *examination) places() error {
	for _, c := range x.changes {
		rows := x.book.rowsOf(c.path)
		if c.isLink() { // it can stand for a whole directory
			rows = slices.Concat(rows, x.book.rowsOf(c.path+"/x"))
		}
		if x.hooks != "" && strings.HasPrefix(fold(c.path)+"/", fold(x.hooks)+"/") {
			rows = append(rows[:len(rows):len(rows)], &place{kind: "commit", says: "git runs it as a hook"})
		}
		told := map[Kind]bool{}
		for _, r := range rows {
			if r.kind == "" || told[r.kind] {
				continue
			}
			told[r.kind] = true
			if err := x.place(c, r); err != nil {
				return err
			}
		}
		x.modes(c)
	}
	return nil
}

// place says what a row has to say of a change.
func (x *examination) place(c *change, r *place) error {
	f := Finding{Kind: r.kind, Danger: r.danger, Path: c.path, Says: r.says, answer: r.response()}
	if r.read != nil && !c.isLink() && c.wasOID != c.isOID {
		was, is, wrong, err := x.both(c, r.read)
		if err != nil {
			return err
		}
		if wrong == nil {
			x.keys(c, r, was, is)
			if c.was == c.is || c.fresh() || c.gone() {
				return nil
			}
		} else {
			f.Says += ", and it can't be read: " + safetext.Fit(safetext.Line(wrong.Error()), 120)
			f.Danger = High
		}
	}
	switch {
	case c.gone():
		f.Says = "was removed: it " + strings.TrimPrefix(f.Says, "it ")
	case c.is == git.ModeLink:
		f.Says = "is a link: it " + strings.TrimPrefix(f.Says, "it ")
	case c.is == git.ModeExec && c.was != git.ModeExec && !c.fresh():
		f.Says = "can be started now: it " + strings.TrimPrefix(f.Says, "it ")
	}
	if c.binary || c.cut {
		f.Danger = High
		f.Says += map[bool]string{true: ", and nobody can read it",
			false: ", and has more lines than are looked at"}[c.binary]
	}
	lines, sign := c.added, "+"
	if len(lines) == 0 {
		lines, sign = c.removed, "-"
	}
	list := make([]shownLine, 0, len(lines))
	for _, l := range lines {
		list = append(list, shownLine{l.no, sign, l.text})
	}
	f.show(list, c.plus+c.minus)
	x.add(f)
	return nil
}

// shownLine is a line or a value for a person.
type shownLine struct {
	no   int
	sign string
	text string
}

const (
	mostLines = 5    // of a finding
	mostShown = 4096 // bytes of one
)

var (
	tellsMost = expr(`(?i)https?://|\b(?:curl|wget|eval|exec\w*|system|spawn\w*|popen|subprocess|child_process|` +
		`base64|sudo|nc|netcat|powershell|iex|sh|bash|zsh|python3?|node|npx|perl|ruby|osascript|rm|dd|ssh|scp)\b|\$\(|\x60`)
	tellsSome = expr(`(?i)\b(?:command|run\w*|script\w*|hooks?|entry|args|env|allow\w*|permissions?|mcp\w*|` +
		`task\w*|import|require|include|source|load|path|url|key|token|on|exec)\b`)
	tellsLittle = expr(`^[\s{}()\[\],;:'"\x60]*$|^\s*(?:#|//|--|;|<!--|/?\*)|^\s*"?(?:version|name|\$schema)"?\s*[:=]`)
)

// telling is how much a line says of what a file does: comments count too, but last.
func telling(text string) int {
	switch {
	case tellsLittle().MatchString(text):
		return 0
	case tellsMost().MatchString(text):
		return 3
	case tellsSome().MatchString(text):
		return 2
	}
	return 1
}

// show gives a finding its most telling lines, whole, and says how many more there are.
func (f *Finding) show(list []shownLine, all int) {
	slices.SortStableFunc(list, func(a, b shownLine) int { return cmp.Compare(telling(b.text), telling(a.text)) })
	f.Count = max(1, all)
	for i, l := range list[:min(mostLines, len(list))] {
		text := l.text
		if f.Kind == "environment" { // the value may be a password
			if name, _, ok := strings.Cut(text, "="); ok {
				text = name + "=…"
			} else if name, _, ok := strings.Cut(text, ":"); ok {
				text = name + ": …"
			}
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
		return sign + safetext.Line(cut) + fmt.Sprintf(" … and %d more characters", len(text)-mostShown)
	}
	return sign + safetext.Line(text)
}

// both reads the values of a file as it was and as it is. What is not there has none.
func (x *examination) both(c *change, read reader) (was, is leaves, wrong, err error) {
	one := func(oid string) leaves {
		var text string
		if text, err = x.blob(oid); err != nil || wrong != nil {
			return nil
		}
		if wrong = readable(text); wrong != nil {
			return nil
		}
		var l leaves
		l, wrong = read(text)
		return l
	}
	if !c.fresh() {
		was = one(c.wasOID)
	}
	if !c.gone() && err == nil && wrong == nil {
		is = one(c.isOID)
	}
	return was, is, wrong, err
}

// keys says what has changed in a file of which all was read.
func (x *examination) keys(c *change, r *place, was, is leaves) {
	type group struct {
		Finding
		list []shownLine
	}
	var groups []*group
	var deps []string
	quiet := within(fold(c.path), fixtures)
	for _, at := range changed(was, is) {
		k := r.keyOf(at)
		if k == nil {
			k = &key{kind: r.kind, says: r.says, answer: r.response()}
		}
		answer := k.answer
		if answer == "" && k.kind != "" {
			answer = k.kind.row().response
		}
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
		sign, value := "+", is[at]
		if _, ok := is[at]; !ok {
			sign, value = "-", was[at]
		}
		groups[i].list = append(groups[i].list, shownLine{c.lineOf(sign, at), sign,
			unescaped(at) + ": " + value})
	}
	for _, g := range groups {
		g.show(g.list, len(g.list))
		x.add(g.Finding)
	}
	x.manifest(c, deps, was, is)
}

// lineOf finds the changed line in which a key stands; 0 if there is none.
func (c *change) lineOf(sign, at string) int {
	lines := c.added
	if sign == "-" {
		lines = c.removed
	}
	for name := at; name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		for _, l := range lines {
			if strings.Contains(l.text, lastPart(name)) {
				return l.no
			}
		}
	}
	return 0
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

// looksLoaded are names that tools load by themselves, though no row knows them.
const looksLoaded = "*rc .*rc.* *.config.* *.conf.* *conftest* *.local.json"

// known says that a row knows what a file is for.
func (x *examination) known(p string) bool {
	rows := x.book.rowsOf(p)
	return len(rows) > 0 && !rows[0].vague || within(fold(p), fixtures)
}

// unknown tells of new files that look like something that tools load.
func (x *examination) unknown() error {
	var found []string
	dirs := map[string]bool{}
	for _, c := range x.changes {
		if !c.fresh() || x.known(c.path) {
			continue
		}
		dir, rest := dotPart(c.path)
		switch {
		case rest != "":
			dirs[cmp.Or(dir, ".")] = true
		case within(fold(c.path), looksLoaded) && !within(fold(c.path), "*.md *.txt *.rst *.html docs/ doc/ src/"):
			found = append(found, c.path)
		}
	}
	roots := map[string]bool{".": true}
	if delete(dirs, "."); len(dirs) > 0 {
		if err := x.entries(dirs, func(p string) {
			if i := strings.LastIndexByte(p, '/'); i > 0 && within(fold(p), manifests) {
				roots[p[:i]] = true
			}
		}); err != nil {
			return err
		}
	}
	for _, c := range x.changes {
		if !c.fresh() || x.known(c.path) {
			continue
		}
		if dir, rest := dotPart(c.path); rest != "" && roots[cmp.Or(dir, ".")] && !slices.Contains(found, rest) {
			found = append(found, rest)
		}
	}
	if len(found) == 0 {
		return nil
	}
	few := found[:min(mostLines, len(found))]
	text := strings.Join(few, ", ")
	if more := len(found) - len(few); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	x.add(Finding{Kind: "unknown", Path: few[0], Count: len(found), Text: show("+", text),
		Says: "new files that a tool may load by itself"})
	return nil
}

// manifests stand at the root of a package.
const manifests = "package.json pyproject.toml setup.py cargo.toml go.mod gemfile composer.json pom.xml " +
	"build.gradle* " +
	"mix.exs pubspec.yaml *.csproj *.gemspec package.swift cmakelists.txt deno.json"

// dotPart splits a path before its first part that begins with a dot: where that stands, and all up to it.
func dotPart(p string) (dir, rest string) {
	at := 0
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") {
			return strings.TrimSuffix(p[:at], "/"), p[:at] + part
		}
		at += len(part) + 1
	}
	return "", ""
}
