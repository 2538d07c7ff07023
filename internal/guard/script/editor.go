package script

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Editor follows the commands of vi and ed that write or run.
func Editor(s Host, t text, at arg) {
	v := strings.TrimLeft(t.Known(), ": \t")
	if i := strings.IndexByte(v, '!'); i >= 0 {
		if before := strings.TrimLeft(strings.TrimSpace(v[:i]), "0123456789,%$.'"); before == "" || before == "r" ||
			before == "w" || before == "read" || before == "write" || before == "sil" || before == "silent" || before == "e" {
			rest := strings.TrimPrefix(v[i+1:], "!")
			s.RunApart(at.Hold(word.Lit(rest)), "the editor")
			return
		}
	}
	if first, rest, ok := strings.Cut(v, "|"); ok && !strings.Contains(first, "!") {
		Editor(s, word.Lit(rest), at)
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
				s.Apart(func() { s.MoveTo(at.Hold(s.Homed(words[i+1])), false) })
			}
		}
	}
	if strings.Contains(v, "(") {
		Judge(s, "other", word.Lit(v), at, nil)
	}
}

// SQL looks at the lines of a script for commands of the client.
func SQL(s Host, v string, at arg) {
	for _, line := range strings.Split(v, "\n") {
		line = strings.TrimSpace(line)
		part, rest, _ := strings.Cut(line, " ")
		rest = strings.Trim(strings.TrimSpace(rest), `"'`)
		switch part {
		case ".shell", ".system", "\\!", "system", ".sh":
			s.RunApart(at.Hold(word.Lit(rest)), "the SQL client")
		case ".output", ".once", ".log", ".trace", ".backup", ".save", ".clone", ".open", "\\o", "\\w", "\\g", "tee", "\\s",
			".archive", ".dump_to", ".cd", "\\cd", ".excel":
			words := strings.Fields(rest)
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.RunApart(at.Hold(word.Lit(command)), "the SQL client")
			} else if len(words) > 0 {
				s.Check(land.Write, at.Hold(s.Homed(words[len(words)-1])))
			}
		case ".read", ".import":
			if command, piped := strings.CutPrefix(rest, "|"); piped {
				s.RunApart(at.Hold(word.Lit(command)), "the SQL client")
			}
		}
		if i := strings.Index(line, "\\!"); i > 0 {
			s.RunApart(at.Hold(word.Lit(line[i+2:])), "the SQL client")
		}
		upper := strings.ToUpper(line)
		for _, marker := range []string{"ATTACH ", "VACUUM INTO", "WRITEFILE(", "OUTFILE", "DUMPFILE", " TO PROGRAM",
			"FROM PROGRAM", "COPY ", "LOAD_EXTENSION", "EXPORT DATABASE"} {
			if strings.Contains(upper, marker) {
				sqlStrings(s, line, strings.Contains(upper, "PROGRAM"), at)
				break
			}
		}
	}
}

func sqlStrings(s Host, line string, runs bool, at arg) {
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 0 {
			continue
		}
		if runs {
			s.Apart(func() { s.SuspiciousRun(piece, at) })
		}
		if strings.ContainsAny(piece, "/~") {
			s.Operand(at.Hold(s.Homed(strings.TrimPrefix(piece, "file:"))))
		}
	}
}

// AgentPatch checks the files of a patch as agents write it. Agents forgive
// white space before the marks and after them.
func AgentPatch(s Host, t text, at arg) {
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

// Patch checks the names of the files in a patch, where they are known.
func Patch(s Host, t text, at arg) {
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
