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

// The rule for what nobody has described: a program that has no row may do
// anything with a path, so that a path outside counts wherever it stands in the
// text of an argument, of the input or of a variable.

// wordEnds are the bytes between the words of a text of which the grammar is not known.
const wordEnds = " \t\n\r'\"`;|&<>()[]{},=:@!#"

// Mentioned finds a path outside anywhere in t. Places of the system don't
// count: programs are given them to be read.
func (s *Judge) Mentioned(t text) (where land.Place, abs string, found bool) {
	if !speaksOfPaths(t) {
		return 0, "", false
	}
	s.Charge(t)
	v := s.marked(t)
	for start := 0; start < len(v); {
		end := start
		for end < len(v) && strings.IndexByte(wordEnds, v[end]) < 0 {
			end++
		}
		if end == start {
			start++
			continue
		}
		if isNetwork(v, start, end) {
			start = urlEnd(v, end)
			continue
		}
		if where, abs, found = s.mentionedWord(v[start:end]); found {
			return where, abs, true
		}
		start = end + 1
	}
	return 0, "", false
}

// speaksOfPaths says that there is something in t to look at.
func speaksOfPaths(t text) bool {
	return slices.ContainsFunc(t, func(piece word.Seg) bool {
		return piece.Kind == word.Literal && (strings.IndexByte(piece.Text, '/') >= 0 ||
			strings.IndexByte(piece.Text, '~') >= 0 || strings.Contains(piece.Text, "..") ||
			strings.Contains(piece.Text, "HOME"))
	})
}

// marked is t as one string, with holes for what is not known and the home
// where programs write it out.
func (s *Judge) marked(t text) string {
	v := t.Filled(land.Star, land.Hole)
	if s.Home() != "" && strings.Contains(v, "HOME") {
		v = strings.NewReplacer("${HOME}", s.Home(), "$HOME", s.Home(), "$ENV{HOME}", s.Home()).Replace(v)
	}
	return v
}

// isNetwork says that the word is the scheme of a URL with a host, or of one that
// means a service without.
func isNetwork(v string, start, end int) bool {
	return strings.HasPrefix(v[end:], "://") && (!strings.HasPrefix(v[end:], ":///") && v[start:end] != "file" ||
		word.Listed(" postgres postgresql mysql mariadb mongodb redis amqp http https unix ", v[start:end]))
}

func urlEnd(v string, i int) int {
	for i < len(v) && strings.IndexByte(" \t\n'\"`<>|", v[i]) < 0 {
		i++
	}
	return i
}

// mentionedWord looks at one word, in which a path may be glued to an option.
func (s *Judge) mentionedWord(part string) (where land.Place, abs string, found bool) {
	slash := strings.IndexByte(part, '/')
	switch {
	case part == "/" || strings.HasPrefix(part, land.Hole) || strings.HasSuffix(part, ".sock"): // which is talked to
		return 0, "", false
	case strings.HasPrefix(part, "~") && (part == "~" || slash == 1):
		if part == "~" {
			return 0, "", false // mostly something else
		}
		part = s.Home() + part[1:]
	case slash == 0:
		part = "/" + strings.TrimLeft(part, "/")
		if s.Imaginary(word.Lit(part)) {
			return 0, "", false
		}
	case (part[0] == '-' || part[0] == '+') && slash > 0:
		glued := part[slash:]
		if up := strings.Index(part, "../"); up > 0 && up < slash {
			glued = part[up:]
		}
		if strings.HasPrefix(glued, "/") && s.Imaginary(word.Lit(glued)) {
			return 0, "", false
		}
		part = glued
	case slash < 0 && part != ".." || part == "...":
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
	if option != "" && table.NamesOnly(path.Base(argv[0].Known()), option) {
		return
	}
	if option == "" && s.readsShared(argv, i) || isElsewhere(option, a) {
		return
	}
	if table.IsCode(option, a) {
		s.code("other", a.Text, a)
		return
	}
	if option == "o" && !strings.HasPrefix(a.Prefix(), "-") {
		s.Operand(a)
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
	if strings.HasPrefix(v, "-") {
		name, _, _ := strings.Cut(v, "=")
		return strings.TrimLeft(name, "-")
	}
	if prev, ok := argv[i-1].Literal(); ok && i > 1 && len(prev) > 1 && prev[0] == '-' && !strings.Contains(prev, "=") {
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
func isElsewhere(option string, a arg) bool {
	if !word.Listed(" e extra-vars var set set-string env build-arg ", option) || a.Worst() > word.Literal {
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
	if !ok || !isShared(v) {
		return false
	}
	return i < len(argv)-1 || i == 1 || !s.Land.Missing(v)
}

// outputOptions denies options whose name speaks of output and whose value
// leads outside, whatever the program is. Not so where another machine or a
// container is told of its own places.
func (s *Judge) outputOptions(name string, argv []arg) {
	switch name {
	case "docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "gh", "glab", "grep", "rg", "egrep", "fgrep", "git":
		return
	}
	for i, a := range argv[1:] {
		value := a
		if name, _, glued := strings.Cut(a.Prefix(), "="); glued && strings.HasPrefix(name, "-") {
			value = a.After(len(name) + 1)
		} else if strings.HasPrefix(name, "-") {
			continue
		}
		switch option := optionOf(argv, i+1); {
		case word.Listed(" output outfile out-file out logfile log-file save-to dump-to export-to destination ", option):
			s.Mentions(value.Text, a)
			if !table.ReadsOnly(name) {
				s.Operand(value)
			}
		case option == "o" && table.ReadsOnly(name): // which may as well be a switch
			s.Mentions(value.Text, a)
		}
	}
}

// storedCommand follows a command that a program is given as one word, if it is one.
func (s *Judge) storedCommand(a arg) {
	v, ok := a.Literal()
	if !ok || !strings.Contains(v, " ") {
		return
	}
	first, _, _ := strings.Cut(strings.TrimLeft(v, "!|@ "), " ")
	if !table.IsCommandWord(first) {
		return
	}
	if _, _, err := bash.ParseBash(v); err == nil {
		s.Isolated(func() { s.Capture(func() { s.RunText(word.Lit(strings.TrimLeft(v, "!|@ ")), a, "the program") }) })
	}
}

// inFront runs the command that stands behind a program which nobody knows, if
// there is one.
func (s *Judge) inFront(argv []arg) {
	for i, a := range argv[1:] {
		v, ok := a.Literal()
		if !ok || !table.IsCommandWord(v) && !argv[i].Is("--") || i+2 >= len(argv) || strings.HasPrefix(v, "-") {
			continue
		}
		if table.IsCommandWord(v) {
			s.Isolated(func() { s.Capture(func() { s.Exec(argv[i+1:]) }) })
			return
		}
	}
}

// inputText judges what a program without a row reads.
func (s *Judge) inputText(argv []arg) {
	if in := s.Stdin; in != nil && !in.Script && len(in.Text) > 0 {
		s.Mentions(in.Text, argv[0])
	}
}

// written judges the files that this command has written and that a program
// without a row may read.
func (s *Judge) written(argv []arg) {
	for i, a := range argv[1:] {
		v, ok := a.Literal()
		if !ok || strings.HasPrefix(v, "-") || optionOf(argv, i+1) != "" && table.CarriesText(optionOf(argv, i+1), a) {
			continue
		}
		if content, ok := s.Files[s.Absolute(v)]; ok && !table.HoldsProse(v) && table.LanguageOf(path.Ext(v)) == "" {
			s.Mentions(content, a)
		}
	}
	if len(s.Files) == 0 {
		return
	}
	s.packageScripts(argv[0])
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if table.IsTaskFile(name) && land.WithinAny(name, s.Land.Own) {
			s.Mentions(s.Files[name], argv[0])
		}
	}
}
