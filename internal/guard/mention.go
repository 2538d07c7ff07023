package guard

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// The rule for what nobody has described: a program that has no row may do
// anything with a path, so that a path outside counts wherever it stands in the
// text of an argument, of the input or of a variable.

// mention is a path outside that was found in a text.
type mention struct {
	where place
	abs   string
}

// wordEnds are the bytes between the words of a text of which the grammar is not known.
const wordEnds = " \t\n\r'\"`;|&<>()[]{},=:@!#"

// mentioned finds a path outside anywhere in t. Places of the system don't
// count: programs are given them to be read.
func (s *shell) mentioned(t text) (mention, bool) {
	if !speaksOfPaths(t) {
		return mention{}, false
	}
	s.charge(t)
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
		if m, ok := s.mentionedWord(v[start:end]); ok {
			return m, true
		}
		start = end + 1
	}
	return mention{}, false
}

// speaksOfPaths says that there is something in t to look at.
func speaksOfPaths(t text) bool {
	for _, piece := range t {
		if piece.kind == literal && (strings.IndexByte(piece.text, '/') >= 0 || strings.IndexByte(piece.text, '~') >= 0 ||
			strings.Contains(piece.text, "..") || strings.Contains(piece.text, "HOME")) {
			return true
		}
	}
	return false
}

// marked is t as one string, with holes for what is not known and the home
// where programs write it out.
func (s *shell) marked(t text) string {
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
	v := b.String()
	if s.land.home != "" && strings.Contains(v, "HOME") {
		v = strings.NewReplacer("${HOME}", s.land.home, "$HOME", s.land.home, "$ENV{HOME}", s.land.home).Replace(v)
	}
	return v
}

// isNetwork says that the word is the scheme of a URL with a host.
func isNetwork(v string, start, end int) bool {
	return strings.HasPrefix(v[end:], "://") && !strings.HasPrefix(v[end:], ":///") && v[start:end] != "file"
}

func urlEnd(v string, i int) int {
	for i < len(v) && strings.IndexByte(" \t\n'\"`<>|", v[i]) < 0 {
		i++
	}
	return i
}

// mentionedWord looks at one word, in which a path may be glued to an option.
func (s *shell) mentionedWord(word string) (mention, bool) {
	slash := strings.IndexByte(word, '/')
	switch {
	case word == "/" || strings.HasPrefix(word, hole):
		return mention{}, false
	case strings.HasPrefix(word, "~") && (word == "~" || slash == 1):
		if word == "~" {
			return mention{}, false // mostly something else
		}
		word = s.land.home + word[1:]
	case slash == 0:
		word = "/" + strings.TrimLeft(word, "/")
		if s.imaginary(lit(word)) {
			return mention{}, false
		}
	case strings.HasPrefix(word, "-") && slash > 0:
		glued := word[slash:]
		if up := strings.Index(word, "../"); up > 0 && up < slash {
			glued = word[up:]
		}
		if strings.HasPrefix(glued, "/") && s.imaginary(lit(glued)) {
			return mention{}, false
		}
		word = glued
	case slash < 0 && word != ".." || word == "...":
		return mention{}, false
	}
	where, abs := s.locate(lit(word), s.sc.dirs[0], false)
	switch where {
	case placeOutside, placeHost, placeProtected:
		return mention{where, abs}, true
	}
	return mention{}, false
}

// unmentioned denies a text in which a path outside stands.
func (s *shell) unmentioned(t text, at arg) {
	if m, ok := s.mentioned(t); ok {
		s.refuse(opWrite, at, m.where, m.abs)
	}
}

// argument judges argument i of a program without a row.
func (s *shell) argument(argv []arg, i int) {
	a := argv[i]
	option := optionOf(argv, i)
	if option != "" && (carriesText(option, a) || recordsOnly(option) && !s.installs() || option == "socket") {
		return
	}
	if !strings.HasPrefix(a.prefix(), "-") && option != "" && s.usesSystem(option, a) {
		return
	}
	if option != "" && namesOnly(path.Base(argv[0].known()), option) {
		return
	}
	if option == "" && s.readsShared(argv, i) {
		return
	}
	if isCode(option, a) {
		s.code("other", a.text, a, nil)
		return
	}
	s.loose(a)
	s.unmentioned(a.text, a)
	if option != "" && takesCommand(option) {
		s.storedCommand(a)
	}
}

// optionOf is the name of the option that argument i belongs to: its own, or
// that of the argument before. It has no dashes.
func optionOf(argv []arg, i int) string {
	v := argv[i].prefix()
	if strings.HasPrefix(v, "-") {
		name, _, _ := strings.Cut(v, "=")
		return strings.TrimLeft(name, "-")
	}
	if prev, ok := argv[i-1].literal(); ok && i > 1 && len(prev) > 1 && prev[0] == '-' && !strings.Contains(prev, "=") {
		return strings.TrimLeft(prev, "-")
	}
	return ""
}

// carriesText says that an option's value is prose or a pattern, in which a
// path is only spoken of. Names that mean other things too have to have a value
// that is more than a word.
func carriesText(option string, a arg) bool {
	switch strings.ToLower(option) {
	case "message", "msg", "body", "title", "description", "comment", "reason", "subject", "summary", "annotation",
		"changelog",
		"pattern", "regex", "regexp", "grep", "filter", "match", "query", "tests", "test-name-pattern", "testnamepattern",
		"header",
		"release-notes", "commit-message", "prompt", "question", "caption", "alt", "footer", "exclude", "exclude-dir",
		"ignore", "ignore-path-pattern", "skip", "k":
		return true
	case "m":
		return a.worst() == literal && strings.Contains(a.known(), " ") && !strings.ContainsAny(a.known(), "=;|<>$`")
	case "t", "b", "n", "h", "d", "text", "note", "notes", "name", "desc", "label", "search", "status", "detail",
		"details", "tag", "jql":
		return a.worst() == literal && isProse(a.known())
	}
	return false
}

// isProse tells a sentence from a command or an assignment.
func isProse(v string) bool {
	words := strings.Fields(v)
	if len(words) < 2 || strings.ContainsAny(v, ";|<>$`{}") {
		return false
	}
	if first := words[0]; strings.ContainsAny(first, "/=.-_:") || isCommandWord(first) {
		return false
	}
	for _, w := range words {
		if strings.HasPrefix(w, "-") && len(w) > 1 || strings.Contains(w, "=") {
			return false
		}
	}
	return true
}

// usesSystem says that an option is given a place of the system to be used.
func (s *shell) usesSystem(option string, a arg) bool {
	where, _ := s.locate(a.text, s.sc.dirs[0], false)
	return (where == placeSystem || a.is("/") || strings.Contains(option, "sock")) && !s.namesOutput(option) ||
		option == "d" && isShared(a.known())
}

// isShared names the trees in which a system keeps what programs share and read.
func isShared(name string) bool {
	return withinAny(path.Clean(name), []string{"/usr/share", "/usr/include", "/usr/lib", "/usr/src", "/lib", "/lib64",
		"/nix", "/proc", "/sys"})
}

// readsShared says that a bare operand lies where a system keeps what programs
// share and read. What is written is named last.
func (s *shell) readsShared(argv []arg, i int) bool {
	v, ok := argv[i].literal()
	if !ok || !isShared(v) {
		return false
	}
	return i < len(argv)-1 || i == 1 || !s.land.missing(v)
}

// isCode says that the value of an option is program text.
func isCode(option string, a arg) bool {
	switch option {
	case "e", "E", "c", "eval", "evaluate", "execute", "expr", "expression", "print", "p":
		return !strings.HasPrefix(a.prefix(), "-") && strings.Contains(a.known(), "(") &&
			strings.ContainsAny(a.known(), "\"'")
	}
	return false
}

// outputOptions denies options whose name speaks of output and whose value
// leads outside, whatever the program is. Not so where another machine or a
// container is told of its own places.
func (s *shell) outputOptions(name string, argv []arg) {
	switch name {
	case "docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "gh", "glab", "grep", "rg", "egrep", "fgrep", "git":
		return
	}
	for i, a := range argv[1:] {
		option := optionOf(argv, i+1)
		named := option == "o" && readsOnly(name) && !strings.HasPrefix(a.prefix(), "-")
		for _, word := range [...]string{"output", "outfile", "out-file", "out", "logfile", "log-file", "save-to", "dump-to",
			"export-to", "destination"} {
			named = named || option == word
		}
		if named {
			s.unmentioned(a.text, a)
		}
	}
}

// takesCommand says that the value of an option is run.
func takesCommand(option string) bool {
	switch option {
	case "exec", "run", "command", "cmd", "c", "e", "x", "shell", "s", "hook", "script", "on-change", "onchange", "before",
		"after", "pre", "post", "exec-batch", "sh", "init-cmd":
		return true
	}
	return false
}

// storedCommand follows a command that a program is given as one word, if it is one.
func (s *shell) storedCommand(a arg) {
	v, ok := a.literal()
	if !ok || !strings.Contains(v, " ") {
		return
	}
	first, _, _ := strings.Cut(strings.TrimLeft(v, "!|@ "), " ")
	if !isCommandWord(first) {
		return
	}
	if _, _, err := parseBash(v); err == nil {
		s.isolated(func() { s.capture(func() { s.runText(lit(strings.TrimLeft(v, "!|@ ")), a, "the program") }) })
	}
}

// isCommandWord names the commands that are looked for where any program may
// stand in front of another.
func isCommandWord(name string) bool {
	switch name {
	case "git", "rm", "mv", "cp", "ln", "chmod", "sudo", "env", "sh", "bash", "dash", "zsh", "ksh", "fish", "cd", "eval",
		"xargs", "cco", "exec":
		return true
	}
	return false
}

// inFront runs the command that stands behind a program which nobody knows, if
// there is one.
func (s *shell) inFront(argv []arg) {
	for i, a := range argv[1:] {
		v, ok := a.literal()
		if !ok || !isCommandWord(v) && !argv[i].is("--") || i+2 >= len(argv) || strings.HasPrefix(v, "-") {
			continue
		}
		if isCommandWord(v) {
			s.isolated(func() { s.capture(func() { s.run(argv[i+1:]) }) })
			return
		}
	}
}

// inputText judges what a program without a row reads.
func (s *shell) inputText(argv []arg) {
	if in := s.sc.stdin; in != nil && !in.script && len(in.text) > 0 {
		s.unmentioned(in.text, argv[0])
	}
}

// written judges the files that this command has written and that a program
// without a row may read.
func (s *shell) written(argv []arg) {
	for i, a := range argv[1:] {
		v, ok := a.literal()
		if !ok || strings.HasPrefix(v, "-") || optionOf(argv, i+1) != "" && carriesText(optionOf(argv, i+1), a) {
			continue
		}
		if content, ok := s.sc.files[s.absolute(v)]; ok && !holdsProse(v) {
			s.unmentioned(content, a)
		}
	}
	if len(s.sc.files) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.sc.files)) {
		if isTaskFile(name) && withinAny(name, s.land.own) {
			s.unmentioned(s.sc.files[name], argv[0])
		}
	}
}

// holdsProse says that a file is for people.
func holdsProse(name string) bool {
	switch ext := name[strings.LastIndexByte(name, '.')+1:]; ext {
	case "md", "txt", "rst", "adoc", "csv", "log", "html", "svg", "tex", "lock", "sum", "mdx", "po", "snap":
		return true
	}
	return false
}

// isTaskFile says that some program looks for commands in a file of this name.
func isTaskFile(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch lower := strings.ToLower(base); lower {
	case "justfile", "taskfile.yml", "taskfile.yaml", "rakefile", "procfile", "earthfile", "vagrantfile", "gulpfile.js",
		"gruntfile.js",
		"build.xml", "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "sconstruct", "wscript", "meson.build",
		"cmakelists.txt",
		"dune", "build.zig", "xmake.lua", "premake5.lua", "noxfile.py", "tox.ini", "dodo.py", "tasks.py", "fabfile.py",
		"setup.py", "conftest.py", "pyproject.toml",
		"composer.json", "deno.json", "mix.exs", "rebar.config", "package.yaml", "build.sbt", "project.clj", "build.ninja",
		"lefthook.yml", ".pre-commit-config.yaml",
		"cargo.toml", "build.rs", "mise.toml", ".mise.toml", "turbo.json", "nx.json", "lerna.json", "magefile.go",
		"wercker.yml", ".justfile", "tup.config", "tupfile":
		return true
	default:
		return strings.HasSuffix(lower, ".mk") || strings.HasSuffix(lower, ".just") ||
			strings.HasSuffix(lower, ".config.js") || strings.HasSuffix(lower, ".config.ts") ||
			strings.HasSuffix(lower, ".gradle")
	}
}
