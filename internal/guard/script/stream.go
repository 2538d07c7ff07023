package script

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Sed finds the commands w, W, e and the flags w and e of s.
func Sed(s Host, a arg) {
	v := a.Known()
	substitutes := false // the flags of s are read
	for i := 0; i < len(v); i++ {
		c, end := v[i], lineEnd(v, i)
		rest := strings.TrimSpace(v[min(i+1, end):end])
		substitutes = substitutes && strings.IndexByte(";}\n \t#", c) < 0
		switch {
		case c == 'e' && (substitutes || rest == ""):
			s.Deny(verdict.RuleUnknownCode, a, "", "sed would run what it reads or puts together as commands",
				"write the commands out")
		case c == 'w' || c == 'W':
			s.Check(land.Redirect, a.Hold(word.Lit(rest)))
			i = end
		case substitutes:
		case c == '/':
			i = sedDelimited(v, i+1, c)
		case c == '\\' && i+1 < len(v):
			i = sedDelimited(v, i+2, v[i+1])
		case (c == 's' || c == 'y') && i+1 < len(v):
			i = sedDelimited(v, sedDelimited(v, i+2, v[i+1])+1, v[i+1])
			substitutes = c == 's'
		case c == 'e':
			s.RunApart(a.Hold(word.Lit(rest)), "sed")
			i = end
		case strings.IndexByte("aicrR#", c) >= 0: // text, or the name of a file that is read
			i = end
		case strings.IndexByte(":btT", c) >= 0: // a label
			i += strings.IndexAny(v[i:end]+";", ";}")
		}
	}
}

// sedDelimited is the place of the next unescaped delimiter.
func sedDelimited(v string, i int, delim byte) int {
	for ; i < len(v) && v[i] != delim; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i
}

// SQL judges the text that a client of a database is given. Commands of the client begin a line with a dot or a
// backslash, and a few statements write or run what they name behind a word.
func SQL(s Host, v string, at arg) {
	statements := ""
	for line := range strings.SplitSeq(v, "\n") {
		line = strings.TrimSpace(line)
		command, rest, _ := strings.Cut(line, " ")
		if i := strings.Index(line, `\!`); i >= 0 {
			command, rest = `\!`, line[i+2:]
		}
		switch client := command != "" && strings.ContainsAny(command[:1], `.\`) || command == "tee"; {
		case word.Listed(` .shell .system .sh system \! `, command):
			s.RunApart(at.Hold(word.Lit(strings.Trim(rest, ` "'`))), "the SQL client")
		case !client || command == `\copy`:
			statements += strings.Join(strings.Fields(line), " ") + " "
		case !word.Listed(` .read .import .print \i \echo `, command):
			s.Mentions(word.Lit(line), at)
		}
	}
	for statement := range strings.SplitSeq(statements, ";") {
		upper := strings.ToUpper(statement)
		for _, mark := range [...]string{"ATTACH ", "VACUUM INTO", "WRITEFILE(", "OUTFILE", "DUMPFILE", "LOAD_EXTENSION",
			"EXPORT DATABASE", " PROGRAM", " TO ", " TO'"} {
			before, _, found := strings.Cut(upper, mark)
			if found && (mark[:2] != " T" || strings.Contains(before, "COPY ")) {
				if len(upper) != len(statement) { // it has letters of other alphabets
					before = ""
				}
				s.Mentions(word.Lit(statement[len(before):]), at)
			}
		}
	}
}

// Patch checks the names of the files in a patch, where they are known. Agents
// write some of their own, with white space around the marks as they like.
func Patch(s Host, t text, at arg) {
	agents := strings.Contains(t.Known(), "*** Begin Patch")
	for line := range strings.SplitSeq(t.Known(), "\n") {
		mark, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what, file, own := strings.Cut(strings.TrimSpace(name), ":"); {
		case mark == "***" && own && word.Listed(" Update Add Delete Move ", strings.Fields(what + " -")[0]):
			name = file
		case agents:
			continue
		case mark == "rename" || mark == "copy":
			name = strings.TrimPrefix(name, "to ")
		case mark != "+++" && mark != "---" && mark != "***":
			continue
		}
		name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
		if name == "/dev/null" || strings.Trim(name, "0123456789,* -") == "" {
			continue
		}
		s.Check(land.Write, at.Hold(s.Homed(name)))
		if strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") {
			s.Check(land.Write, at.Hold(word.Lit(name[len("a/"):])))
		}
	}
}
