package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/word"
)

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
	outer := s.Dirs
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
	s.Dirs = outer
}
