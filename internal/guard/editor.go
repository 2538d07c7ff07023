package guard

import "strings"

// editor checks the files that an editor opens and the commands that it is
// given.
func (s *shell) editor(name string, argv []arg) {
	if name == "view" && len(argv) == 2 {
		return
	}
	args := argv[1:]
	for i, a := range args {
		v := a.prefix()
		prev := ""
		if i > 0 {
			prev, _ = args[i-1].literal()
		}
		switch {
		case prev == "--cmd" || strings.HasPrefix(prev, "-") && !strings.HasPrefix(prev, "--") &&
			strings.HasSuffix(prev, "c") || prev == "-S" && strings.Contains(a.known(), "!"):
			s.editorCommand(a.text, a)
		case strings.HasPrefix(v, "+") && name != "ed":
			s.editorCommand(a.cut(1), a)
		case prev == "--eval" || prev == "-eval" || prev == "-e" && strings.HasPrefix(v, "(") ||
			strings.HasPrefix(v, "--eval="):
			s.lisp(a)
		case prev == "-w" || prev == "-W" || prev == "-o" && name != "vim":
			s.check(opWrite, a)
		case strings.HasPrefix(v, "-"):
		default:
			s.operand(a)
		}
	}
	if !onlyAsks(argv) && !contains([]string{"--batch", "-batch", "-es", "-Es"}, argv[min(1, len(argv)-1)].known()) {
		s.awaits(argv[0], name)
	}
	if s.sc.stdin != nil && (name == "ed" || name == "ex" || name == "vi" || name == "vim") {
		for _, line := range s.sc.stdin.text.lines() {
			s.editorCommand(line, argv[0])
		}
	}
}

// editorCommand follows the commands of vi and ed that write or run.
func (s *shell) editorCommand(t text, at arg) {
	v := strings.TrimLeft(t.known(), ": \t")
	if i := strings.IndexByte(v, '!'); i >= 0 {
		if before := strings.TrimLeft(strings.TrimSpace(v[:i]), "0123456789,%$.'"); before == "" || before == "r" ||
			before == "w" || before == "read" || before == "write" || before == "sil" || before == "silent" || before == "e" {
			rest := strings.TrimPrefix(v[i+1:], "!")
			s.isolated(func() { s.runText(lit(rest), at, "the editor") })
			return
		}
	}
	if first, rest, ok := strings.Cut(v, "|"); ok && !strings.Contains(first, "!") {
		s.editorCommand(lit(rest), at)
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
					s.check(opRedirect, arg{s.homed(target), at.start, at.end})
				}
			}
		case "cd", "lcd", "chd", "chdir":
			if i+1 < len(words) && i == 0 {
				s.isolated(func() { s.moveTo(arg{s.homed(words[i+1]), at.start, at.end}, false) })
			}
		}
	}
	if strings.Contains(v, "(") {
		s.code("other", lit(v), at, nil)
	}
}

// homed expands a leading ~.
func (s *shell) homed(v string) text {
	if v == "~" || strings.HasPrefix(v, "~/") {
		return lit(s.land.home + v[1:])
	}
	return lit(v)
}

// lisp looks for strings of emacs code that lead outside or are commands.
func (s *shell) lisp(a arg) {
	toks := tokenize("other", strings.ReplaceAll(a.known(), "'", " "))
	runs := strings.Contains(a.known(), "shell-command") || strings.Contains(a.known(), "call-process") ||
		strings.Contains(a.known(), "start-process")
	for _, t := range toks {
		if t.kind != 's' {
			continue
		}
		if runs {
			s.isolated(func() { s.suspiciousRun(t.text, a) })
		}
		if strings.ContainsAny(t.text, "/~") {
			s.operand(arg{s.homed(t.text), a.start, a.end})
		}
	}
}

// database follows the shell escapes and output files of SQL clients.
func (s *shell) database(name string, argv []arg) {
	args := argv[1:]
	given := false // what to do, rather than only with what
	for i, a := range args {
		prev := ""
		if i > 0 {
			prev, _ = args[i-1].literal()
		}
		v := a.known()
		given = given || contains([]string{"-c", "-f", "-e", "-l"}, prev) || strings.HasPrefix(v, "--command") ||
			strings.HasPrefix(v, "--execute") || strings.HasPrefix(v, "--file") ||
			strings.ContainsAny(v, " (") || strings.HasPrefix(v, ".")
		switch {
		case prev == "-o" || prev == "--output" || prev == "-L" || prev == "--log-file" || prev == "--tee":
			s.check(opWrite, a)
		case strings.HasPrefix(v, "--output=") || strings.HasPrefix(v, "--tee=") || strings.HasPrefix(v, "--log-file="):
			s.loose(a)
		case strings.ContainsAny(v, " .\\") && (strings.HasPrefix(strings.TrimSpace(v), ".") && strings.Contains(v, " ") ||
			strings.Contains(v, "\\") || strings.Contains(v, " ")):
			s.sql(v, a)
		case !strings.HasPrefix(v, "-") && (name == "sqlite3" || name == "duckdb") && !hasWord(argv, "-readonly --readonly"):
			s.operand(arg{lit(strings.TrimPrefix(v, "file:")).with(), a.start, a.end})
		}
	}
	if s.sc.stdin != nil {
		s.sql(s.sc.stdin.text.known(), argv[0])
	} else if !given && !onlyAsks(argv) {
		s.awaits(argv[0], name)
	}
	s.print(unknown(dynamic))
}

// sql looks at the lines of a script for commands of the client.
func (s *shell) sql(v string, at arg) {
	for _, line := range strings.Split(v, "\n") {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.Trim(strings.TrimSpace(rest), `"'`)
		switch word {
		case ".shell", ".system", "\\!", "system", ".sh":
			s.isolated(func() { s.runText(lit(rest), at, "the SQL client") })
		case ".output", ".once", ".log", ".trace", ".backup", ".save", ".clone", ".open", "\\o", "\\w", "\\g", "tee", "\\s",
			".archive", ".dump_to", ".cd", "\\cd", ".excel":
			words := strings.Fields(rest)
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.isolated(func() { s.runText(lit(command), at, "the SQL client") })
			} else if len(words) > 0 {
				s.check(opWrite, arg{s.homed(words[len(words)-1]), at.start, at.end})
			}
		case ".read", ".import":
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.isolated(func() { s.runText(lit(command), at, "the SQL client") })
			}
		}
		if i := strings.Index(line, "\\!"); i > 0 {
			s.isolated(func() { s.runText(lit(line[i+2:]), at, "the SQL client") })
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

func (s *shell) sqlStrings(line string, runs bool, at arg) {
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 0 {
			continue
		}
		if runs {
			s.isolated(func() { s.suspiciousRun(piece, at) })
		}
		if strings.ContainsAny(piece, "/~") {
			s.operand(arg{s.homed(strings.TrimPrefix(piece, "file:")), at.start, at.end})
		}
	}
}

// patch writes the files that it is told or that its input names.
func (s *shell) patch(name string, argv []arg) {
	args := argv[1:]
	if name == "apply_patch" {
		for _, a := range args {
			s.agentPatch(a.text, a)
		}
		if s.sc.stdin != nil {
			s.agentPatch(s.sc.stdin.text, argv[0])
		}
		return
	}
	o := parseOptions(args, "pdiorBDFgVYz", "--directory", "--input", "--output", "--reject-file", "--strip",
		"--prefix", "--fuzz")
	outer := s.sc.dirs
	for _, a := range o.values("-d", "--directory") {
		s.moveTo(a, false)
	}
	for _, a := range append(o.values("-o", "--output", "-r", "--reject-file", "-B", "--prefix"), o.operands...) {
		s.operand(a)
	}
	in := s.sc.stdin
	for _, a := range o.values("-i", "--input") {
		in = s.fileStream(a)
	}
	if in != nil {
		s.patchText(in.text, argv[0])
	}
	s.sc.dirs = outer
}

// agentPatch checks the files of a patch as agents write it. Agents forgive
// white space before the marks and after them.
func (s *shell) agentPatch(t text, at arg) {
	for _, line := range strings.Split(t.known(), "\n") {
		mark, ok := strings.CutPrefix(strings.TrimSpace(line), "***")
		if !ok {
			continue
		}
		what, name, _ := strings.Cut(mark, ":")
		switch strings.TrimSpace(what) {
		case "Update File", "Add File", "Delete File", "Move to":
			s.check(opRedirect, arg{s.homed(strings.TrimSpace(name)), at.start, at.end})
		}
	}
}

// patchText checks the names of the files in a patch, where they are known.
func (s *shell) patchText(t text, at arg) {
	for _, line := range strings.Split(t.known(), "\n") {
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
			s.check(opWrite, arg{lit(name), at.start, at.end})
			if _, stripped, ok := strings.Cut(name, "/"); ok &&
				(strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/")) {
				s.check(opWrite, arg{lit(stripped), at.start, at.end})
			}
		}
	}
}
