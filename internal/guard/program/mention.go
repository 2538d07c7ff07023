package program

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/word"
)

// The rule for what nobody has described: a program that has no row may do anything with a path, so that a path outside
// counts wherever it stands in the text of an argument, of the input or of a variable.

// wordEnds are the bytes between the words of a text of which the grammar is not known.
const wordEnds = urlEnds + "\r;&()[]{},=:@!#"

// urlEnds are the bytes behind a URL.
const urlEnds = " \t\n'\"`<>|"

// Mentioned finds a path outside anywhere in t. Places of the system don't count: programs are given them to be read.
func (s *Judge) Mentioned(t text) (where land.Place, abs string, found bool) {
	s.Charge(t)
	for v := s.marked(t); v != ""; {
		part, rest := cutAny(v, wordEnds)
		if isNetwork(part, rest) {
			_, rest = cutAny(rest, urlEnds)
		} else if where, abs, found = s.mentionedWord(part); found {
			return where, abs, true
		}
		v = rest[min(1, len(rest)):]
	}
	return 0, "", false
}

// cutAny divides v before the first of some bytes.
func cutAny(v, bytes string) (before, rest string) {
	i := strings.IndexAny(v, bytes)
	if i < 0 {
		i = len(v)
	}
	return v[:i], v[i:]
}

// marked is t as one string, with holes for what is not known and the home where programs write it out.
func (s *Judge) marked(t text) string {
	v := t.Filled(land.Star, land.Hole)
	if s.Home() != "" && strings.Contains(v, "HOME") {
		v = strings.ReplaceAll(v, "$$", "$") // in makefiles
		v = strings.NewReplacer("${HOME}", s.Home(), "$(HOME)", s.Home(), "$HOME", s.Home(), "$ENV{HOME}",
			s.Home()).Replace(v)
	}
	return v
}

// isNetwork says that the word is the scheme of a URL with a host, or of one that means a service without.
func isNetwork(scheme, rest string) bool {
	return strings.HasPrefix(rest, "://") && (!strings.HasPrefix(rest, ":///") && scheme != "file" ||
		word.Listed(" postgres postgresql mysql mariadb mongodb redis amqp http https unix ", scheme))
}

// mentionedWord looks at one word, in which a path may be glued to an option.
func (s *Judge) mentionedWord(part string) (where land.Place, abs string, found bool) {
	slash := strings.IndexByte(part, '/')
	switch {
	case slash < 0 && part != ".." || slash == 0 && strings.Trim(part, "/.") == "" || // as bazel's //...
		strings.HasPrefix(part, land.Hole) || strings.HasSuffix(part, ".sock"): // which is talked to
		return 0, "", false
	case strings.HasPrefix(part, "~/"):
		part = s.Home() + part[1:]
	case slash == 0:
		part = "/" + strings.TrimLeft(part, "/")
	case (part[0] == '-' || part[0] == '+') && slash > 0:
		if up := strings.Index(part, "../"); up > 0 && up < slash {
			slash = up
		}
		part = part[slash:]
	}
	if s.Imaginary(word.Lit(part)) {
		return 0, "", false
	}
	where, abs = s.Locate(word.Lit(part), s.Dir(), false)
	switch where {
	case land.Outside, land.Host, land.Protected:
		return where, abs, true
	}
	return 0, "", false
}

// Mentions denies a text in which a path outside stands.
func (s *Judge) Mentions(t text, at arg) {
	if where, abs, found := s.Mentioned(t); found {
		s.Refuse(land.Write, at, where, abs)
	}
}

// argument judges argument i of a program without a row.
func (s *Judge) argument(argv []arg, i int) {
	a := argv[i]
	option := optionOf(argv, i)
	if option != "" && (table.CarriesText(option, a) || table.RecordsOnly(option) && !s.installs() || option == "socket") {
		return
	}
	if !strings.HasPrefix(a.Prefix(), "-") && option != "" && s.usesSystem(option, a) {
		return
	}
	key, value := option, a
	if end := strings.IndexAny(a.Prefix(), "=: ({/.;"); end > 0 && strings.ContainsRune("=:", rune(a.Prefix()[end])) {
		// title=TEXT, label:TEXT, --eval:CODE
		key, value = strings.TrimLeft(a.Prefix()[:end], "-"), a.After(end+1)
	}
	if option == "" && s.readsShared(argv, i) || s.isElsewhere(option, a) || table.CarriesText(key, value) {
		return
	}
	if table.IsCode(option, a) || table.IsCode(key, value) {
		s.code("other", value.Text, a)
		return
	}
	if word.Listed(" o output outfile out-file out logfile log-file save-to dump-to export-to destination ", key) &&
		!strings.HasPrefix(value.Prefix(), "-") {
		s.Operand(value)
	}
	s.Loose(a)
	if option != "" && table.TakesCommand(option) {
		s.storedCommand(a)
	}
}

// optionOf is the name of the option that argument i belongs to: its own, or
// that of the argument before. It has no dashes.
func optionOf(argv []arg, i int) string {
	v := argv[i].Prefix()
	if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(v, "-") && !strings.Contains(name, " ") {
		return strings.TrimLeft(name, "-")
	}
	if i > 3 && strings.HasPrefix(argv[i-1].Prefix(), "+") {
		i-- // -annotate +5+20 TEXT
	}
	if prev, ok := argv[i-1].Literal(); ok && i > 1 && (prev == "runner" || len(prev) > 1 && prev[0] == '-' &&
		!strings.Contains(prev, "=")) {
		return strings.TrimLeft(prev, "-")
	}
	return ""
}

// usesSystem says that an option is given a place of the system to be used.
func (s *Judge) usesSystem(option string, a arg) bool {
	where, _ := s.Locate(a.Text, s.Dir(), false)
	used := where == land.System || a.Is("/") || strings.Contains(option, "sock") || strings.HasSuffix(a.Known(), ".sock")
	return used && !s.namesOutput(option) ||
		option == "d" && isShared(a.Known())
}

// isShared names the trees in which a system keeps what programs share and read.
func isShared(name string) bool {
	return land.WithinAny(path.Clean(name), []string{"/usr/share", "/usr/include", "/usr/lib", "/usr/src", "/lib",
		"/lib64", "/nix", "/proc", "/sys"})
}

// isElsewhere says that an option sets a variable of another machine to one of
// the places where servers keep what they serve.
func (s *Judge) isElsewhere(option string, a arg) bool {
	if !word.Listed(" e extra-vars var set set-string env build-arg ", option) &&
		(!strings.HasPrefix(option, "D") || s.namesOutput(option)) || a.Worst() > word.Literal {
		return false
	}
	for _, pair := range a.Split(" ,") {
		_, v, set := strings.Cut(pair.Known(), "=")
		if !set || !land.WithinAny(path.Clean(v), []string{"/srv", "/mnt", "/media", "/opt", "/var/www", "/var/lib"}) &&
			strings.ContainsAny(v, "/~.:") {
			return false
		}
	}
	return true
}

// readsShared says that a bare operand lies where a system keeps what programs
// share and read. What is written is named last.
func (s *Judge) readsShared(argv []arg, i int) bool {
	v, ok := argv[i].Literal()
	where, abs := s.Locate(argv[i].Text, s.Dir(), false)
	if e, _ := s.Land.Lookup(s.Land.Resolve(abs)); len(argv) == 2 && where == land.System && e == land.EntryFile &&
		s.isOwn(argv[0].Known()) {
		return ok
	}
	return ok && isShared(v) && (i < len(argv)-1 || i == 1 || !s.Land.Missing(v))
}

// isOwn says that a program by its path is one of the workspace, and none that was installed into it.
func (s *Judge) isOwn(prog string) bool {
	return strings.Contains(prog, "/") && land.WithinAny(s.Absolute(prog), s.Land.Own) &&
		!strings.Contains(prog, "node_modules") && !strings.Contains(prog, "venv/") && !strings.Contains(prog, "vendor/")
}

// outputs judges the options that speak of something written, whatever the
// program is, unless its row says what its options are.
func (s *Judge) outputs(name string, argv []arg) {
	if table.Find(name, table.ToolRow) != nil || word.Listed(" grep egrep fgrep rg ", name) {
		return
	}
	for i := range argv[1:] {
		option, v := optionOf(argv, i+1), argv[i+1].Prefix()
		if strings.HasPrefix(v, "-") && !strings.ContainsAny(v, "=/") || !s.namesOutput(option) {
			continue
		}
		if len(option) > 1 || option == "o" && (table.ReadsOnly(name) || table.Find(name, table.UseRow) != nil) {
			s.argument(argv, i+1)
		}
	}
}

// storedCommand follows a command that a program is given as one word, if it is one.
func (s *Judge) storedCommand(a arg) {
	v := strings.TrimLeft(a.Known(), "!|@ ")
	first, _, more := strings.Cut(v, " ")
	if !more || a.Worst() > word.Literal || !table.IsCommandWord(first) {
		return
	}
	if _, err := bash.ParseBash(v); err == nil {
		s.Isolated(func() { s.Capture(func() { s.RunText(word.Lit(v), a, "the program") }) })
	}
}

// inFront runs the command that stands behind a program which nobody knows, if there is one.
func (s *Judge) inFront(argv []arg) {
	i := slices.IndexFunc(argv[1:], func(a arg) bool {
		v, ok := a.Literal()
		return ok && table.IsCommandWord(v)
	})
	if i >= 0 && i+2 < len(argv) {
		s.Isolated(func() { s.Capture(func() { s.Exec(argv[i+1:]) }) })
	}
}

// inputText judges what a program without a row reads.
func (s *Judge) inputText(argv []arg) {
	if in := s.Stdin; in != nil && !in.Script && len(in.Text) > 0 {
		s.Mentions(in.Text, argv[0])
	}
}

// written judges the files that this command has written and that a program without a row may read.
func (s *Judge) written(argv []arg) {
	for i, a := range argv[1:] {
		v, ok := a.Literal()
		if !ok || strings.HasPrefix(v, "-") || optionOf(argv, i+1) != "" && table.CarriesText(optionOf(argv, i+1), a) {
			continue
		}
		name, told := strings.CutPrefix(v, "@") // a file of arguments
		content, ok := s.Files[s.Absolute(name)]
		if ok && (told || !table.HoldsProse(name)) && table.LanguageOf(path.Ext(name)) == "" {
			s.Mentions(content, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if table.IsTaskFile(name) && land.WithinAny(name, s.Land.Own) {
			s.Mentions(s.Files[name], argv[0])
		}
	}
}

// Imaginary says that an absolute path begins with a directory that does not exist, as those in URLs and routes do: at
// the root, or where homes and mounts are. Only arguments of programs that nothing is known of are read so.
func (s *Judge) Imaginary(t text) bool {
	v := t.Filled(land.Star, land.Hole)
	if !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "/..") {
		return false
	}
	first, rest, _ := strings.Cut(strings.Trim(v, "/"), "/")
	if word.Listed(" home Users mnt media ", first) {
		second, _, _ := strings.Cut(rest, "/")
		return second == "" || second != ".." && s.Land.Missing("/"+first+"/"+second)
	}
	return first != "" && s.Land.Missing("/"+first) || strings.Contains(first, ":") // as in /p:Version=1
}

// Operand checks an argument of a command that may do anything with it.
func (s *Judge) Operand(a arg) {
	if !word.PathLike(a.Text) {
		return
	}
	s.Check(land.Write, a)
}

// generic is the rule for commands that nothing more is known of: whatever
// argument of theirs resolves to the outside is denied.
func (s *Judge) generic(argv []arg) {
	for i := range argv[1:] {
		s.argument(argv, i+1)
	}
	s.reads(argv)
	s.Print(word.Unknown(word.Dynamic))
}

// reads judges what a program that nobody knows may read and run.
func (s *Judge) reads(argv []arg) {
	s.inFront(argv)
	s.inputText(argv)
	s.written(argv)
	s.runOperands(argv)
}

// Loose checks an argument of which nothing is known: it may be a path, or name
// one behind an equals sign, and a path outside may not stand anywhere in it.
func (s *Judge) Loose(a arg) {
	switch v, i := a.Prefix(), strings.IndexByte(a.Prefix(), '='); {
	case i > 0 && !strings.ContainsAny(v[:i], "/ "):
		s.setTo(v[:i], a.After(i+1))
	case strings.HasPrefix(v, "-o"):
		s.setTo("o", a.After(len("-o")))
	case strings.HasPrefix(v, "file://"):
		s.guess(a.After(len("file://")))
	case !strings.HasPrefix(v, "-"):
		s.guess(a)
	}
	t := a.Text
	if parts := strings.Split(a.Known(), `"`); len(parts) > 2 && a.Worst() == word.Literal &&
		!strings.ContainsAny(a.Known(), "'\\$`") { // options for another program
		for i := 1; i < len(parts)-1; i += 2 {
			words := strings.Fields("- " + strings.ReplaceAll(parts[i-1], "=", " "))
			if word.Listed(" -z -k --match --grep --tests ", words[len(words)-1]) { // of tests
				parts[i] = ""
			}
		}
		t = word.Lit(strings.Join(parts, `"`))
	}
	s.Mentions(t, a)
}

// setTo checks the value of a named option or variable. A place of the system
// is taken as something to be used, unless the name says that it is written.
func (s *Judge) setTo(name string, a arg) {
	if !s.usesSystem(name, a) && (!table.RecordsOnly(name) || s.installs()) {
		s.guess(a)
	}
}

// namesOutput says whether an option's name speaks of something written.
// A prefix is only noted down, until something is installed.
func (s *Judge) namesOutput(name string) bool {
	lower := strings.ToLower(strings.TrimLeft(name, "-"))
	if strings.Contains(lower, "conf") || lower == "layout" {
		return false
	}
	if strings.Contains(lower, "prefix") || strings.Contains(lower, "install") {
		return s.installs()
	}
	has := func(part string) bool { return strings.Contains(lower, part) }
	return slices.ContainsFunc([]string{"out", "dest", "target", "log", "save", "dump", "export", "report", "cache",
		"write", "datadir", "workdir", "state"}, has) ||
		slices.ContainsFunc([]string{"bin", "tree", "tool-path"}, has) && !has("with-") && s.installs() ||
		lower == "of" || lower == "d" || len(lower) < 4 && strings.HasSuffix(lower, "o") // -so, a bundle
}

// installs says that the command being judged installs something.
func (s *Judge) installs() bool {
	for _, a := range s.current {
		switch v, _ := a.Literal(); {
		case v == "-n" || v == "--dry-run" || v == "--just-print":
			return false
		case strings.HasPrefix(strings.TrimLeft(v, "-"), "install"):
			return !s.staged()
		}
	}
	return false
}

// staged says that DESTDIR sends what is installed into the workspace.
func (s *Judge) staged() bool {
	var to text
	if v, ok := s.Vars["DESTDIR"]; ok && len(v.Alts) == 1 {
		to = v.Alts[0]
	}
	for i, a := range s.current {
		if v := strings.ToUpper(strings.TrimLeft(a.Prefix(), "-")); strings.HasPrefix(v, "DESTDIR=") {
			to = a.After(strings.IndexByte(a.Prefix(), '=') + 1).Text
		} else if v == "DESTDIR" && i+1 < len(s.current) {
			to = s.current[i+1].Text
		}
	}
	where, _ := s.Locate(to, s.Dir(), false)
	return len(to) > 0 && where.Writable()
}

// guess checks an argument that may be a path, and not a label as //lib:name.
func (s *Judge) guess(a arg) {
	if !strings.HasPrefix(a.Prefix(), "//") && !strings.Contains(a.Known(), `"`) && !s.Imaginary(a.Text) {
		s.Operand(a)
	}
}
