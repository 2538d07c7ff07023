package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/word"
)

// editor checks the files that an editor opens and the commands that it is
// given.
func (s *Judge) editor(name string, argv []arg) {
	if name == "view" && len(argv) == 2 {
		return
	}
	args := argv[1:]
	for i, a := range args {
		v := a.Prefix()
		prev := ""
		if i > 0 {
			prev, _ = args[i-1].Literal()
		}
		switch {
		case prev == "--cmd" || strings.HasPrefix(prev, "-") && !strings.HasPrefix(prev, "--") &&
			strings.HasSuffix(prev, "c") || prev == "-S" && strings.Contains(a.Known(), "!"):
			script.Editor(s, a.Text, a)
		case strings.HasPrefix(v, "+") && name != "ed":
			script.Editor(s, a.Cut(1), a)
		case prev == "--eval" || prev == "-eval" || prev == "-e" && strings.HasPrefix(v, "(") ||
			strings.HasPrefix(v, "--eval="):
			s.code("other", a.Text, a, nil)
		case prev == "-w" || prev == "-W" || prev == "-o" && name != "vim":
			s.Check(land.Write, a)
		case strings.HasPrefix(v, "-"):
		default:
			s.Operand(a)
		}
	}
	if !onlyAsks(argv) && !slices.Contains([]string{"--batch", "-batch", "-es", "-Es"}, argv[min(1,
		len(argv)-1)].Known()) {
		s.Awaits(argv[0], name)
	}
	if s.Stdin != nil && (name == "ed" || name == "ex" || name == "vi" || name == "vim") {
		for _, line := range s.Stdin.Text.Lines() {
			script.Editor(s, line, argv[0])
		}
	}
}

// database follows the shell escapes and output files of SQL clients.
func (s *Judge) database(name string, argv []arg) {
	args := argv[1:]
	given := false // what to do, rather than only with what
	for i, a := range args {
		prev := ""
		if i > 0 {
			prev, _ = args[i-1].Literal()
		}
		v := a.Known()
		given = given || slices.Contains([]string{"-c", "-f", "-e", "-l"}, prev) || strings.HasPrefix(v, "--command") ||
			strings.HasPrefix(v, "--execute") || strings.HasPrefix(v, "--file") ||
			strings.ContainsAny(v, " (") || strings.HasPrefix(v, ".")
		switch {
		case prev == "-o" || prev == "--output" || prev == "-L" || prev == "--log-file" || prev == "--tee":
			s.Check(land.Write, a)
		case strings.HasPrefix(v, "--output=") || strings.HasPrefix(v, "--tee=") || strings.HasPrefix(v, "--log-file="):
			s.Loose(a)
		case strings.ContainsAny(v, " .\\") && (strings.HasPrefix(strings.TrimSpace(v), ".") && strings.Contains(v, " ") ||
			strings.Contains(v, "\\") || strings.Contains(v, " ")):
			script.SQL(s, v, a)
		case !strings.HasPrefix(v, "-") && (name == "sqlite3" || name == "duckdb") && !hasWord(argv, "-readonly --readonly"):
			s.Operand(a.Hold(word.Lit(strings.TrimPrefix(v, "file:")).With()))
		}
	}
	if s.Stdin != nil {
		script.SQL(s, s.Stdin.Text.Known(), argv[0])
	} else if !given && !onlyAsks(argv) {
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
