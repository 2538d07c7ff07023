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
			s.editorCommand(a.Text, a)
		case strings.HasPrefix(v, "+") && name != "ed":
			s.editorCommand(a.Cut(1), a)
		case prev == "--eval" || prev == "-eval" || prev == "-e" && strings.HasPrefix(v, "(") ||
			strings.HasPrefix(v, "--eval="):
			s.lisp(a)
		case prev == "-w" || prev == "-W" || prev == "-o" && name != "vim":
			s.Check(land.Write, a)
		case strings.HasPrefix(v, "-"):
		default:
			s.operand(a)
		}
	}
	if !onlyAsks(argv) && !slices.Contains([]string{"--batch", "-batch", "-es", "-Es"}, argv[min(1,
		len(argv)-1)].Known()) {
		s.Awaits(argv[0], name)
	}
	if s.Stdin != nil && (name == "ed" || name == "ex" || name == "vi" || name == "vim") {
		for _, line := range s.Stdin.Text.Lines() {
			s.editorCommand(line, argv[0])
		}
	}
}

// editorCommand follows the commands of vi and ed that write or run.
func (s *Judge) editorCommand(t text, at arg) {
	v := strings.TrimLeft(t.Known(), ": \t")
	if i := strings.IndexByte(v, '!'); i >= 0 {
		if before := strings.TrimLeft(strings.TrimSpace(v[:i]), "0123456789,%$.'"); before == "" || before == "r" ||
			before == "w" || before == "read" || before == "write" || before == "sil" || before == "silent" || before == "e" {
			rest := strings.TrimPrefix(v[i+1:], "!")
			s.Isolated(func() { s.RunText(word.Lit(rest), at, "the editor") })
			return
		}
	}
	if first, rest, ok := strings.Cut(v, "|"); ok && !strings.Contains(first, "!") {
		s.editorCommand(word.Lit(rest), at)
		v = first
	}
	words := strings.Fields(strings.TrimLeft(v, "0123456789,%$.'/"))
	for i, w := range words {
		w = strings.TrimRight(w, "!")
		switch w {
		case "w", "write", "wq", "x", "sav", "saveas", "up", "update", "W", "e", "edit", "r", "f", "redir", ">", ">>",
			"mksession", "mkvimrc":
			if i+1 < len(words) && i == 0 {
				target := strings.TrimLeft(strings.Join(words[i+1:], " "), "> ")
				if w != "e" && w != "r" && w != "edit" {
					s.Check(land.Redirect, at.Hold(s.Homed(target)))
				}
			}
		case "cd", "lcd", "chd", "chdir":
			if i+1 < len(words) && i == 0 {
				s.Isolated(func() { s.MoveTo(at.Hold(s.Homed(words[i+1])), false) })
			}
		}
	}
	if strings.Contains(v, "(") {
		s.code("other", word.Lit(v), at, nil)
	}
}

// lisp looks for strings of emacs code that lead outside or are commands.
func (s *Judge) lisp(a arg) {
	toks := script.Tokenize("other", strings.ReplaceAll(a.Known(), "'", " "))
	runs := strings.Contains(a.Known(), "shell-command") || strings.Contains(a.Known(), "call-process") ||
		strings.Contains(a.Known(), "start-process")
	for _, t := range toks {
		if t.Kind != 's' {
			continue
		}
		if runs {
			s.Isolated(func() { s.SuspiciousRun(t.Text, a) })
		}
		if strings.ContainsAny(t.Text, "/~") {
			s.operand(a.Hold(s.Homed(t.Text)))
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
			s.sql(v, a)
		case !strings.HasPrefix(v, "-") && (name == "sqlite3" || name == "duckdb") && !hasWord(argv, "-readonly --readonly"):
			s.operand(a.Hold(word.Lit(strings.TrimPrefix(v, "file:")).With()))
		}
	}
	if s.Stdin != nil {
		s.sql(s.Stdin.Text.Known(), argv[0])
	} else if !given && !onlyAsks(argv) {
		s.Awaits(argv[0], name)
	}
	s.Print(word.Unknown(word.Dynamic))
}

// sql looks at the lines of a script for commands of the client.
func (s *Judge) sql(v string, at arg) {
	for _, line := range strings.Split(v, "\n") {
		line = strings.TrimSpace(line)
		part, rest, _ := strings.Cut(line, " ")
		rest = strings.Trim(strings.TrimSpace(rest), `"'`)
		switch part {
		case ".shell", ".system", "\\!", "system", ".sh":
			s.Isolated(func() { s.RunText(word.Lit(rest), at, "the SQL client") })
		case ".output", ".once", ".log", ".trace", ".backup", ".save", ".clone", ".open", "\\o", "\\w", "\\g", "tee", "\\s",
			".archive", ".dump_to", ".cd", "\\cd", ".excel":
			words := strings.Fields(rest)
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.Isolated(func() { s.RunText(word.Lit(command), at, "the SQL client") })
			} else if len(words) > 0 {
				s.Check(land.Write, at.Hold(s.Homed(words[len(words)-1])))
			}
		case ".read", ".import":
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.Isolated(func() { s.RunText(word.Lit(command), at, "the SQL client") })
			}
		}
		if i := strings.Index(line, "\\!"); i > 0 {
			s.Isolated(func() { s.RunText(word.Lit(line[i+2:]), at, "the SQL client") })
		}
		upper := strings.ToUpper(line)
		for _, marker := range []string{"ATTACH ", "VACUUM INTO", "WRITEFILE(", "OUTFILE", "DUMPFILE", " TO PROGRAM",
			"FROM PROGRAM", "COPY ", "LOAD_EXTENSION", "EXPORT DATABASE"} {
			if strings.Contains(upper, marker) {
				s.sqlStrings(line, strings.Contains(upper, "PROGRAM"), at)
				break
			}
		}
	}
}

func (s *Judge) sqlStrings(line string, runs bool, at arg) {
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 0 {
			continue
		}
		if runs {
			s.Isolated(func() { s.SuspiciousRun(piece, at) })
		}
		if strings.ContainsAny(piece, "/~") {
			s.operand(at.Hold(s.Homed(strings.TrimPrefix(piece, "file:"))))
		}
	}
}

// patch writes the files that it is told or that its input names.
func (s *Judge) patch(name string, argv []arg) {
	args := argv[1:]
	if name == "apply_patch" {
		for _, a := range args {
			s.AgentPatch(a.Text, a)
		}
		if s.Stdin != nil {
			s.AgentPatch(s.Stdin.Text, argv[0])
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
		s.operand(a)
	}
	in := s.Stdin
	for _, a := range o.Values("-i", "--input") {
		in = s.FileStream(a)
	}
	if in != nil {
		s.PatchText(in.Text, argv[0])
	}
	s.Dirs = outer
}

// AgentPatch checks the files of a patch as agents write it. Agents forgive
// white space before the marks and after them.
func (s *Judge) AgentPatch(t text, at arg) {
	for _, line := range strings.Split(t.Known(), "\n") {
		mark, ok := strings.CutPrefix(strings.TrimSpace(line), "***")
		if !ok {
			continue
		}
		what, name, _ := strings.Cut(mark, ":")
		switch strings.TrimSpace(what) {
		case "Update File", "Add File", "Delete File", "Move to":
			s.Check(land.Redirect, at.Hold(s.Homed(strings.TrimSpace(name))))
		}
	}
}

// PatchText checks the names of the files in a patch, where they are known.
func (s *Judge) PatchText(t text, at arg) {
	for _, line := range strings.Split(t.Known(), "\n") {
		for _, mark := range []string{"+++ ", "--- ", "rename to ", "copy to ", "*** "} {
			rest, ok := strings.CutPrefix(line, mark)
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, "\t")
			name = strings.TrimSpace(name)
			if name == "/dev/null" || name == "" || strings.Trim(name, "0123456789,* -") == "" {
				continue
			}
			s.Check(land.Write, at.Hold(word.Lit(name)))
			if _, stripped, ok := strings.Cut(name, "/"); ok &&
				(strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/")) {
				s.Check(land.Write, at.Hold(word.Lit(stripped)))
			}
		}
	}
}
