package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// sed edits in place with -i, and writes and runs by commands in its script.
func (s *Judge) sed(argv []arg) {
	o := word.Parse(argv[1:], "efli*", "--expression", "--file", "--line-length")
	scripts, files := o.Values("-e", "--expression"), o.Operands
	for _, a := range o.Values("-f", "--file") {
		in := s.FileStream(a)
		if a.Is("-") && s.Stdin != nil {
			in = s.Stdin
		}
		scripts = append(scripts, a.Hold(in.Text))
	}
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if o.Has("-i", "--in-place") {
		for _, a := range files {
			s.Operand(a)
		}
	}
	for _, a := range scripts {
		script.Sed(s, a)
	}
	s.Print(s.passThrough())
}

// passThrough is the kind of what a filter prints of its input.
func (s *Judge) passThrough() text {
	if s.Stdin != nil && s.Stdin.Text.Worst() == word.Hidden {
		return word.Unknown(word.Hidden)
	}
	return word.Unknown(word.Dynamic)
}

// awk runs a program that can write files and run commands.
func (s *Judge) awk(argv []arg) {
	o, rest := word.Leading(argv[1:], "FvfieEl", []string{"--assign", "--field-separator", "--file", "--include",
		"--source", "--exec"})
	programs := o.Values("-e", "--source")
	for _, a := range o.Values("-f", "--file", "-E", "--exec") {
		if content, ok := s.Files[s.Absolute(a.Known())]; ok {
			programs = append(programs, a.Hold(content))
		}
	}
	if len(o.Values("-e", "--source", "-f", "--file", "-E", "--exec")) == 0 && len(rest) > 0 {
		programs, rest = append(programs, rest[0]), rest[1:]
	}
	vars := map[string]string{}
	for _, a := range append(o.Values("-v", "--assign"), rest...) {
		if name, value, ok := strings.Cut(a.Known(), "="); ok && a.Worst() == word.Literal {
			vars[name] = value
		}
	}
	for _, a := range o.Values("-i", "--include") {
		if a.Is("inplace") {
			for _, f := range rest {
				s.Operand(f)
			}
		}
	}
	for _, a := range programs {
		if a.First() > word.Token && a.First() != word.Literal {
			s.Deny(verdict.RuleUnknownCode, a, "", "the awk program can't be told beforehand", "write it out")
		}
		script.Awk(s, a, vars)
	}
	s.Print(s.passThrough())
}

// database judges what a client of a database is told.
func (s *Judge) database(name string, argv []arg) {
	given := s.Stdin != nil || onlyAsks(argv) // what to do, rather than only with what
	for i, a := range argv[1:] {
		v, option := a.Known(), optionOf(argv, i+1)
		given = given || word.Listed(" c f e l command execute file ", option) || strings.ContainsAny(v, " (") ||
			strings.HasPrefix(v, ".")
		switch {
		case word.Listed(" o output L log-file tee ", option):
			s.argument(argv, i+1)
		case strings.ContainsAny(v, " \\"):
			script.SQL(s, v, a)
		case option == "" && (name == "sqlite3" || name == "duckdb") && !hasWord(argv, "-readonly --readonly"):
			s.Operand(a.Hold(word.Lit(strings.TrimPrefix(v, "file:"))))
		}
	}
	if s.Stdin != nil {
		script.SQL(s, s.Stdin.Text.Known(), argv[0])
	}
	if !given {
		s.Awaits(argv[0], name)
	}
	s.Print(word.Unknown(word.Dynamic))
}

// patch writes the files that it is told or that its input names.
func (s *Judge) patch(name string, argv []arg) {
	args := argv[1:]
	if name == "apply_patch" {
		for _, a := range args {
			script.AgentPatch(s, a.Text, a)
		}
		if s.Stdin != nil {
			script.AgentPatch(s, s.Stdin.Text, argv[0])
		}
		return
	}
	o := word.Parse(args, "pdiorBDFgVYz", "--directory", "--input", "--output", "--reject-file", "--strip",
		"--prefix", "--fuzz")
	for _, a := range o.Values("-d", "--directory") {
		s.MoveTo(a, false)
	}
	for _, a := range append(o.Values("-o", "--output", "-r", "--reject-file", "-B", "--prefix"), o.Operands...) {
		s.Operand(a)
	}
	in := s.Stdin
	for _, a := range o.Values("-i", "--input") {
		in = s.FileStream(a)
	}
	if in != nil {
		script.Patch(s, in.Text, argv[0])
	}
}

// multiplexer runs arguments in a terminal of its own.
func (s *Judge) multiplexer(r *table.Row, name string, argv []arg) {
	if i := slices.IndexFunc(argv, func(a arg) bool { return a.Is("send-keys") || a.Is("send") }); i > 0 {
		s.typedKeys(argv[i+1:])
		return
	}
	s.described(r, name, argv)
}

// typedKeys reads the keys that tmux is told to type as the lines that a shell
// would get.
func (s *Judge) typedKeys(args []arg) {
	o := word.Parse(args, "tN", "")
	var line text
	for _, a := range o.Operands {
		switch a.Known() {
		case "Enter", "C-m", "KPEnter":
			line = line.Plus("\n")
		case "Space":
			line = line.Plus(" ")
		case "C-c", "C-d", "C-l", "C-u", "Escape", "Up", "Down", "Tab", "q":
		default:
			line = line.With(a.Text...)
		}
	}
	if len(line) > 0 {
		s.Isolated(func() { s.RunText(line, word.Cover(args), "tmux") })
	}
}

// ssh runs elsewhere, unless elsewhere is here.
func (s *Judge) ssh(argv []arg) {
	o, rest := word.Leading(argv[1:], "BbcDEeFIiJLlmOopQRSWw", nil)
	for _, a := range o.Values("-o") {
		if i := strings.IndexAny(a.Prefix(), "= "); i > 0 && strings.HasSuffix(strings.ToLower(a.Prefix()[:i]), "command") {
			value := a.After(i + 1)
			s.Isolated(func() { s.RunText(value.Text, value, "ssh") })
		}
	}
	for _, a := range o.Values("-E") {
		s.Check(land.Write, a)
	}
	for _, a := range o.Values("-F") { // it may name commands
		s.loadedFile(a)
	}
	s.Print(word.Unknown(word.Dynamic))
	if len(rest) == 1 && isHere(rest[0].Known()) {
		s.Awaits(rest[0], "ssh")
	}
	if len(rest) < 2 {
		return
	}
	if host, _ := rest[0].Literal(); isHere(host) || host == "" || rest[0].Worst() > word.Literal {
		s.Isolated(func() {
			s.Dirs = []string{s.Home()}
			s.RunText(word.JoinArgs(rest[1:]), word.Cover(rest[1:]), "ssh")
		})
	}
}

// isHere says that a host, with a user before it or not, is this machine.
func isHere(host string) bool {
	host = host[strings.LastIndexByte(host, '@')+1:]
	return host == "localhost" || host == "::1" || host == "[::1]" || strings.HasPrefix(host, "127.")
}
