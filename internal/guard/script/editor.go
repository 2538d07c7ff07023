package script

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// SQL judges the text that a client of a database is given. Commands of the client begin with a dot or a backslash;
// what they write is named last.
func SQL(s Host, v string, at arg) {
	for line := range strings.SplitSeq(v, "\n") {
		line = strings.TrimSpace(line)
		command, rest, _ := strings.Cut(line, " ")
		if i := strings.Index(line, `\!`); i >= 0 {
			command, rest = `\!`, line[i+2:]
		}
		rest = strings.Trim(strings.TrimSpace(rest), `"'`)
		piped, pipes := strings.CutPrefix(rest, "|")
		ours := strings.HasPrefix(command, ".") || strings.HasPrefix(command, `\`) || command == "tee"
		switch words := strings.Fields(rest); {
		case word.Listed(` .shell .system .sh system \! `, command):
			s.RunApart(at.Hold(word.Lit(rest)), "the SQL client")
		case ours && pipes:
			s.RunApart(at.Hold(word.Lit(piped)), "the SQL client")
		case ours && len(words) > 0 && command != ".read" && command != `\i`:
			s.Check(land.Write, at.Hold(s.Homed(words[len(words)-1])))
		}
		statement(s, line, at)
	}
}

// statement judges the strings of a statement that writes or runs what it names.
func statement(s Host, line string, at arg) {
	upper := strings.ToUpper(line)
	if !slices.ContainsFunc([]string{"ATTACH ", "VACUUM INTO", "WRITEFILE(", "OUTFILE", "DUMPFILE", " TO PROGRAM",
		"FROM PROGRAM", "COPY ", "LOAD_EXTENSION", "EXPORT DATABASE"}, func(mark string) bool {
		return strings.Contains(upper, mark)
	}) {
		return
	}
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 1 && strings.Contains(upper, "PROGRAM") {
			s.Apart(func() { s.SuspiciousRun(piece, at) })
		}
		if i%2 == 1 && strings.ContainsAny(piece, "/~") {
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
