package guard

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// unknown says that it can't be told where a path leads.
func (w *walker) unknown(name string) bool {
	return name == "" || strings.HasPrefix(name, hole) || w.dir == "" && !path.IsAbs(name)
}

// at is a path as the kernel would follow it from here.
func (w *walker) at(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return w.dir + "/" + name
}

func (w *walker) placeOf(name string) place {
	if w.unknown(name) {
		return inside
	}
	return w.land.place(w.land.resolve(w.at(name)))
}

// below is what to do instead of going outside.
func (w *walker) below() string { return "use a path below " + w.land.own[0] }

// refuse denies a path, and says what must not be done to it.
func (w *walker) refuse(rule Rule, a arg, abs string, p place, verb string) {
	if p == protected {
		w.deny(RuleSelf, a, abs, clip(abs, 200)+" is part of the guard or of an agent's settings and may not be changed",
			"leave it as it is and go on with the task")
	}
	w.deny(rule, a, abs, clip(abs, 200)+" is outside the workspace and may not be "+verb, w.below())
}

// write judges a file that is written by a redirection or a file tool.
func (w *walker) write(a arg) {
	if w.unknown(a.text) {
		return
	}
	abs := w.land.resolve(w.at(a.text))
	if p := w.land.place(abs); p != inside {
		w.refuse(RuleWrite, a, abs, p, "written")
	}
}

// words judges the words of a command that is not known to only read. What stands behind an option for texts is data.
func (w *walker) words(name string, args []arg) {
	for i, a := range args {
		if !listed(writers, name) && isText(args, i) {
			continue
		}
		if name == "ln" && i < len(args)-1 && !path.IsAbs(a.text) && told(args, "-s --symbolic") {
			a.text = path.Join(path.Dir(args[len(args)-1].text), a.text) // a link leads from where it stands
		}
		w.word(name, a)
	}
}

// isText says that a word is a text for people or a filter: behind an option for one, as also -m and -am are.
func isText(args []arg, i int) bool {
	if option, _, _ := strings.Cut(args[i].text, "="); listed(texts, option) || i == 0 {
		return listed(texts, option)
	}
	before := args[i-1].text
	short := len(before) > 1 && before[0] == '-' && before[1] != '-'
	return listed(texts, before) || short && strings.HasSuffix(before, "m")
}

// word denies a word in which a path outside stands: as the word itself, behind an option, or anywhere in a text.
func (w *walker) word(name string, a arg) {
	w.step(1 + len(a.text)/64)
	if isElsewhere(a.text) {
		return
	}
	prose := strings.ContainsAny(a.text, " \t\n") && !listed(writers, name)
	text := a.text
	for _, bracket := range []string{"}/", ")/", "]/"} { // the path began before it, with what can't be known
		text = strings.ReplaceAll(text, bracket, hole+"/")
	}
	for piece := range strings.FieldsFuncSeq(text, separates) {
		if len(piece) > 2 && piece[0] == '-' && strings.IndexByte("/~.", piece[2]) >= 0 {
			piece = piece[2:] // glued to an option
		}
		abs, p := w.locate(name, piece, prose)
		switch {
		case p == inside || p == protected && (name == "git" || name == "git -C"):
		case p == protected || listed(writers, name):
			w.refuse(RuleWrite, a, abs, p, "changed")
		case strings.HasPrefix(name, "git"):
			w.deny(RuleGit, a, abs, "git is given "+clip(abs, 200)+", which is outside the workspace", w.below())
		default:
			w.deny(RulePath, a, abs, clip(name, 80)+" is not known to only read, and is given "+clip(abs, 200)+
				", which is outside the workspace", w.below()+"; to read there use cat, grep, ls and the like")
		}
	}
}

// separates says where a path in a word may begin or end.
func separates(r rune) bool { return strings.ContainsRune(" \t\n'\"`=,()[]{};|&<>:\\", r) }

// isElsewhere says that a word names something on another machine: a URL, or a path behind a host and a colon.
func isElsewhere(word string) bool {
	host, rest, found := strings.Cut(word, ":")
	if !found || len(host) < 2 || strings.IndexByte("./~-", host[0]) >= 0 || strings.ContainsAny(host, "/= \t\n\"'") {
		return strings.Contains(word, "://") && !strings.ContainsAny(word, " \t\n")
	}
	return host != "file" && (strings.Contains(host, "@") || strings.HasPrefix(rest, "/"))
}

// locate says where a piece of a word leads to. What is not plainly a path that could be written lies inside.
func (w *walker) locate(name, piece string, prose bool) (abs string, p place) {
	up := strings.HasPrefix(piece, "../")
	switch {
	case strings.HasPrefix(piece, "//") && !strings.HasPrefix(piece, "///"):
		return "", inside
	case piece == "~" || strings.HasPrefix(piece, "~/"):
		piece = w.homed(piece)
	case prose && path.IsAbs(piece) && strings.Count(strings.TrimRight(piece, "/"), "/") < 2:
		return "", inside
	case prose && !path.IsAbs(piece) && piece[0] != '.':
		return "", inside
	}
	if w.unknown(piece) {
		return "", inside
	}
	by := w.land.resolve
	if name == "git" || listed(removers, name) {
		by = w.land.resolveName
	}
	abs = by(w.at(piece))
	git := strings.HasPrefix(name, "git")
	switch p = w.land.place(abs); {
	case git && w.policy.GitDir != "" && paths.Within(abs, w.land.resolve(w.policy.GitDir)):
		p = inside // what git itself has to write for the workspace
	case prose && p < protected && !path.IsAbs(piece) && !up:
		p = inside // it only looks like a path: two dots, three
	case p == inside && listed(removers, name) && name != "ln" && w.land.isProtected(abs, true):
		p = protected
	case p == outside && !listed(writers, name) && !withinAny(abs, w.land.users) &&
		(w.land.isName(abs) || !git && w.land.heldAnyway(abs)):
		p = inside // a route or another name, or what the user can't write anyway
	}
	return abs, p
}
