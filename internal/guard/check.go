package guard

import (
	"path"
	"strings"
)

// op is what a command does to a path.
type op uint8

const (
	opWrite    op = iota // makes or changes it
	opRedirect           // writes it by a redirection
	opRemove             // removes or moves it, with all below
	opLinkTo             // makes a link to it
)

// locate finds where a text leads from dir, and the path that it resolves to.
// With name, the last part is not followed if it is a link.
func (s *shell) locate(t text, dir string, name bool) (place, string) {
	if len(t) == 0 {
		return s.land.place(s.land.resolve(dir)), dir
	}
	if t.worst() == hidden || t.first() >= environ {
		return placeUnknown, ""
	}
	var b strings.Builder
	for _, piece := range t {
		switch piece.kind {
		case literal:
			b.WriteString(piece.text)
		case matched:
			b.WriteString(star)
		default:
			b.WriteString(hole)
		}
	}
	abs := b.String()
	if !path.IsAbs(abs) {
		abs = dir + "/" + abs
	}
	abs = s.dotdot(abs)
	if strings.Contains(abs, "\x00") {
		return placeUnknown, ""
	}
	resolved := s.land.resolve(abs)
	if name && !strings.HasSuffix(abs, "/") {
		resolved = s.land.resolveParent(abs)
	}
	return s.land.place(resolved), resolved
}

// dotdot turns the patterns that match ".." into it.
func (s *shell) dotdot(abs string) string {
	parts := strings.Split(abs, "/")
	for i, p := range parts {
		if p == "."+star || p == star+"." {
			parts[i] = ".."
		}
	}
	return strings.Join(parts, "/")
}

// check denies an operation on a path outside, from every directory that the
// shell may be in.
func (s *shell) check(o op, a arg) {
	for _, dir := range s.sc.dirs {
		s.checkFrom(o, a, dir)
	}
}

func (s *shell) checkFrom(o op, a arg, dir string) {
	s.step()
	if v, ok := a.literal(); ok && v == "" {
		return
	}
	where, abs := s.locate(a.text, dir, o == opRemove)
	if o == opRemove && where.writable() && (s.land.removesRoot(abs) || s.land.isProtected(abs, true)) {
		where = placeProtected
		if s.land.removesRoot(abs) {
			where = placeGit
		}
	}
	if o == opRedirect && where.writable() && tiesRepository(abs) {
		where = placeGit
	}
	switch {
	case where.writable():
		return
	case where == placeUnknown && o != opRedirect && o != opRemove && a.worst() < hidden:
		return // data: refusing every variable would refuse ordinary work
	}
	s.refuse(o, a, where, abs)
}

// tiesRepository says that a file makes a directory part of some repository:
// git in it would then work on that one.
func tiesRepository(abs string) bool {
	return strings.HasSuffix(abs, "/.git") || strings.HasSuffix(abs, "/.git/commondir")
}

// refuse says why an operation on a path is denied.
func (s *shell) refuse(o op, a arg, where place, abs string) {
	inside := "use a path below " + s.land.workspace
	shown := clip(abs, 200)
	switch {
	case where == placeUnknown:
		s.deny(RuleUnknownPath, a, "", "the target "+a.String()+" can't be told beforehand",
			"write it out, or begin it with a directory below "+s.land.workspace)
	case where == placeProtected:
		s.deny(RuleSelf, a, abs, shown+" belongs to the guard and may not be changed",
			"leave it as it is and go on with the task")
	case where == placeGit:
		s.deny(RuleGitShared, a, abs, shown+" ties a directory to its repository", "use git commands on the current branch")
	case o == opLinkTo:
		s.deny(RuleLink, a, abs, "a link to "+shown+" would open a way out of the workspace", "copy the file, or link below "+
			s.land.workspace)
	case o == opRemove:
		s.deny(RuleDelete, a, abs, shown+" is outside the workspace and may not be removed or moved", inside)
	default:
		s.deny(RuleWrite, a, abs, shown+" is outside the workspace and may not be written", inside)
	}
}

// imaginary says that an absolute path begins with a directory that does not
// exist, as those in URLs and routes do. Only arguments of programs that
// nothing is known of are read so.
func (s *shell) imaginary(t text) bool {
	v := t.prefix()
	if !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "/..") {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(v, "/"), "/")
	return first != "" && s.land.missing("/"+first)
}

// operand checks an argument of a command that may do anything with it.
func (s *shell) operand(a arg) {
	if !pathLike(a.text) {
		return
	}
	s.check(opWrite, a)
}

// pathLike says whether an argument can name something outside: anything but
// URLs, remote files and plain words.
func pathLike(t text) bool {
	if len(t) == 0 {
		return false
	}
	if t.first() != literal {
		return true
	}
	v := t[0].text
	if strings.Contains(v, "://") && !strings.HasPrefix(v, "file:") || strings.ContainsAny(v, "\n") {
		return false
	}
	if i := strings.IndexByte(v, ':'); i > 0 && !strings.ContainsAny(v[:i], "/.~") {
		return false // host:path
	}
	return true
}

// generic is the rule for commands that nothing more is known of: whatever
// argument of theirs resolves to the outside is denied.
func (s *shell) generic(argv []arg) {
	for i := range argv[1:] {
		s.argument(argv, i+1)
	}
	s.inFront(argv)
	s.inputText(argv)
	s.written(argv)
	s.runOperands(argv)
	s.print(unknown(dynamic))
}

// loose checks an argument in all the forms in which a path hides in one:
// bare, after an equals sign, glued to a short option, as file URL.
func (s *shell) loose(a arg) {
	v := a.prefix()
	switch {
	case strings.HasPrefix(v, "file://"):
		s.operand(arg{a.cut(len("file://")), a.start, a.end})
		return
	case strings.HasPrefix(v, "-"):
		if i := strings.IndexByte(v, '='); i > 0 {
			s.value(v[:i], arg{a.cut(i + 1), a.start, a.end})
			return
		}
		if len(v) > 2 && v[1] != '-' && !systemOption(v) {
			if i := strings.IndexAny(v, "/~."); i == 2 || i > 2 && v[i] == '/' &&
				strings.Trim(v[1:i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && i <= 4 {
				s.operand(arg{a.cut(i), a.start, a.end})
			}
		}
		return
	}
	if i := strings.IndexByte(v, '='); i > 0 && !strings.ContainsAny(v[:i], "/ ") {
		s.value(v[:i], arg{a.cut(i + 1), a.start, a.end})
		return
	}
	s.guess(a)
}

// setTo checks the value of a named option or variable. A place of the system
// is taken as something to be used, unless the name says that it is written.
func (s *shell) setTo(name string, a arg) {
	if where, _ := s.locate(a.text, s.sc.dirs[0], false); where == placeSystem && !s.namesOutput(name) || a.is("/") &&
		!s.namesOutput(name) || recordsOnly(name) && !s.installs() {
		return
	}
	s.guess(a)
}

// namesOutput says whether an option's name speaks of something written.
// A prefix is only noted down, until something is installed.
func (s *shell) namesOutput(name string) bool {
	lower := strings.ToLower(strings.TrimLeft(name, "-"))
	if strings.Contains(lower, "conf") {
		return false
	}
	if strings.Contains(lower, "prefix") || strings.Contains(lower, "install") {
		return s.installs()
	}
	for _, word := range []string{"out", "dest", "target", "log", "save", "dump", "export", "report", "cache", "write",
		"datadir", "workdir", "state"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return lower == "of" || lower == "o" || lower == "d"
}

// recordsOnly names the directories that a build is told of and that only an
// installation writes.
func recordsOnly(name string) bool {
	switch strings.TrimLeft(name, "-") {
	case "localstatedir", "runstatedir", "sharedstatedir":
		return true
	}
	return false
}

// installs says that the command being judged installs something.
func (s *shell) installs() bool {
	for _, a := range s.current {
		switch v, _ := a.literal(); {
		case v == "-n" || v == "--dry-run" || v == "--just-print":
			return false
		case strings.HasPrefix(strings.TrimLeft(v, "-"), "install"):
			return !s.staged()
		}
	}
	return false
}

// staged says that DESTDIR sends what is installed into the workspace.
func (s *shell) staged() bool {
	for _, a := range s.current {
		if value, ok := strings.CutPrefix(a.prefix(), "DESTDIR="); ok && value != "" {
			where, _ := s.locate(a.cut(len("DESTDIR=")), s.sc.dirs[0], false)
			return where.writable()
		}
	}
	v, ok := s.sc.vars["DESTDIR"]
	if !ok || len(v.alts) != 1 || len(v.alts[0]) == 0 {
		return false
	}
	where, _ := s.locate(v.alts[0], s.sc.dirs[0], false)
	return where.writable()
}

// guess checks an argument that may be a path.
func (s *shell) guess(a arg) {
	if !s.imaginary(a.text) {
		s.operand(a)
	}
}

// value checks what stands after an equals sign, which may itself hold
// key=value pairs.
func (s *shell) value(name string, a arg) {
	for _, t := range a.split(",") {
		if i := strings.IndexByte(t.prefix(), '='); i > 0 && !strings.ContainsAny(t.prefix()[:i], "/ ") {
			t = t.cut(i + 1)
		}
		if strings.HasPrefix(t.prefix(), "file://") {
			t = t.cut(len("file://"))
		}
		if strings.HasPrefix(t.prefix(), "~/") || t.is("~") {
			t = lit(s.land.home).with(t.cut(1)...)
		}
		s.setTo(name, arg{t, a.start, a.end})
	}
}

// systemOption says that a short option with a glued path only reads, as a
// compiler's -I/usr/include does.
func systemOption(v string) bool {
	if !strings.ContainsAny(v[1:2], "ILBF") {
		return strings.HasPrefix(v, "-isystem") || strings.HasPrefix(v, "-Wl,") || strings.HasPrefix(v, "-D")
	}
	return true
}

// readsByOption says that an argument is the value of an option that names
// something to be read, in a place of the system.
func readsByOption(option, a arg) bool {
	v, ok := option.literal()
	if !ok || !strings.HasPrefix(v, "-") || !isSystem(path.Clean(a.prefix())) {
		return false
	}
	switch strings.TrimLeft(v, "-") {
	case "I", "L", "isystem", "include", "sysroot", "config", "conf", "c", "cacert", "ca", "cert", "capath",
		"schema", "schemafile", "input", "i", "k", "template", "rpath", "f", "file":
		return true
	}
	return false
}

// suspicious denies an argument of an unknown program if an outside path
// stands anywhere in its text.
func (s *shell) suspicious(a arg) {
	for _, word := range a.split(" \t\n'\"`;&|<>()=,") {
		if v := word.prefix(); strings.HasPrefix(v, "-") && strings.Contains(v, "/") {
			word = word.cut(strings.IndexByte(v, '/')) // glued to an option
		}
		if strings.HasPrefix(word.prefix(), "/") || strings.HasPrefix(word.prefix(), "..") ||
			strings.HasPrefix(word.prefix(), "~") {
			if strings.HasPrefix(word.prefix(), "~") {
				word = lit(s.land.home).with(word.cut(1)...)
			}
			if where, abs := s.locate(word, s.sc.dirs[0], false); where < placeSystem && where != placeUnknown &&
				!s.imaginary(word) {
				s.refuse(opWrite, a, where, abs)
			}
		}
	}
}

// options takes arguments apart. Valued are the short letters that take a
// value, and long the long names that take one as the next argument.
type options struct {
	flags    []flag
	operands []arg
}

type flag struct {
	name  string // -x or --long
	value arg
	has   bool
}

// parse reads args by the usual conventions: clustered short options, values
// glued or following, -- ends.
func parseOptions(args []arg, valued string, long ...string) options {
	var o options
	for i := 0; i < len(args); i++ {
		v := args[i].prefix()
		switch {
		case args[i].is("--"):
			o.operands = append(o.operands, args[i+1:]...)
			return o
		case strings.HasPrefix(v, "--"):
			name, _, glued := strings.Cut(v, "=")
			f := flag{name: name}
			if glued {
				f.value, f.has = arg{args[i].cut(len(name) + 1), args[i].start, args[i].end}, true
			} else if contains(long, name) && i+1 < len(args) {
				i++
				f.value, f.has = args[i], true
			}
			o.flags = append(o.flags, f)
		case len(v) > 1 && v[0] == '-':
			if contains(long, v) && i+1 < len(args) {
				i++
				o.flags = append(o.flags, flag{v, args[i], true})
				continue
			}
			i = o.cluster(args, i, valued)
		default:
			o.operands = append(o.operands, args[i])
		}
	}
	return o
}

// cluster reads -abcVALUE at args[i] and returns the last index it used.
func (o *options) cluster(args []arg, i int, valued string) int {
	v := args[i].prefix()
	for j := 1; j < len(v); j++ {
		f := flag{name: "-" + v[j:j+1]}
		if strings.IndexByte(valued, v[j]) < 0 {
			o.flags = append(o.flags, f)
			continue
		}
		f.has = true
		if j+1 < len(v) || len(args[i].text) > 1 {
			f.value = arg{args[i].cut(j + 1), args[i].start, args[i].end}
		} else if i+1 < len(args) {
			i++
			f.value = args[i]
		}
		o.flags = append(o.flags, f)
		return i
	}
	return i
}

func (o options) has(names ...string) bool {
	for _, f := range o.flags {
		if contains(names, f.name) {
			return true
		}
	}
	return false
}

// values are those of the named options that have one.
func (o options) values(names ...string) []arg {
	var out []arg
	for _, f := range o.flags {
		if f.has && contains(names, f.name) {
			out = append(out, f.value)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
