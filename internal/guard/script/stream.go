package script

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Sed finds the commands w, W, e and the flags w and e of s.
func Sed(s Host, a arg) {
	v := a.Known()
	for i := 0; i < len(v); {
		i = sedAddress(v, i)
		if i >= len(v) {
			return
		}
		c := v[i]
		i++
		end := lineEnd(v, i)
		switch c {
		case 'w', 'W':
			s.Check(land.Redirect, a.Hold(word.Lit(strings.TrimSpace(v[i:end]))))
			i = end
		case 'e':
			if t := strings.TrimSpace(v[i:end]); t != "" {
				s.RunApart(a.Hold(word.Lit(t)), "sed")
			} else {
				s.Deny(verdict.RuleUnknownCode, a, "", "sed would run its input as commands", "write the commands out")
			}
			i = end
		case 's', 'y':
			i = sedSubstitute(s, a, v, i)
		case 'a', 'i', 'c', 'r', 'R', ':', 'b', 't', 'T':
			if c == 'b' || c == 't' || c == 'T' || c == ':' {
				for i < end && v[i] != ';' && v[i] != '}' {
					i++
				}
			} else {
				i = end
			}
		}
	}
}

// sedAddress skips blanks, separators and addresses.
func sedAddress(v string, i int) int {
	for i < len(v) {
		switch c := v[i]; {
		case strings.IndexByte(" \t\n;{},!$+~0123456789", c) >= 0:
			i++
		case c == '#':
			i = lineEnd(v, i)
		case c == '/':
			i = sedDelimited(v, i+1, '/')
			for i < len(v) && (v[i] == 'I' || v[i] == 'M') {
				i++
			}
		case c == '\\' && i+1 < len(v):
			i = sedDelimited(v, i+2, v[i+1])
		default:
			return i
		}
	}
	return i
}

// sedDelimited returns the place after the next unescaped delimiter.
func sedDelimited(v string, i int, delim byte) int {
	class := false
	for ; i < len(v); i++ {
		switch {
		case v[i] == '\\':
			i++
		case v[i] == '[' && !class:
			class = strings.IndexByte(v[i+1:], ']') >= 0
		case v[i] == ']' && class:
			class = false
		case v[i] == delim:
			return i + 1
		}
	}
	return len(v)
}

// sedSubstitute reads s/a/b/flags and returns where the flags end.
func sedSubstitute(s Host, a arg, v string, i int) int {
	if i >= len(v) {
		return i
	}
	delim := v[i]
	command := v[i-1]
	i = sedDelimited(v, i+1, delim)
	i = sedDelimited(v, i, delim)
	for i < len(v) && strings.IndexByte(";}\n \t#", v[i]) < 0 {
		switch v[i] {
		case 'e':
			if command == 's' {
				s.Deny(verdict.RuleUnknownCode, a, "", "the e flag of sed runs what it has put together", "leave it out")
			}
		case 'w':
			end := lineEnd(v, i)
			s.Check(land.Redirect, a.Hold(word.Lit(strings.TrimSpace(v[i+1:end]))))
			return end
		}
		i++
	}
	return i
}

// Awk follows print > file, print | cmd, cmd | getline and system().
func Awk(s Host, a arg, vars map[string]string) {
	code := Tokenize("awk", a.Known())
	for i := 2; i < len(code); i++ {
		if code[i].Kind == 's' && code[i-1].Text == "=" && code[i-2].Kind == 'i' {
			vars[code[i-2].Text] = code[i].Text
		}
	}
	value := func(i int) (string, bool) {
		if i < 0 || i >= len(code) {
			return "", false
		}
		if code[i].Kind == 's' {
			out := code[i].Text
			for i+1 < len(code) && code[i+1].Kind == 's' { // adjacent strings join
				i++
				out += code[i].Text
			}
			return out, true
		}
		v, ok := vars[code[i].Text]
		return v, ok && code[i].Kind == 'i'
	}
	for i, t := range code {
		switch {
		case t.Kind == 'p' && t.Text == ">" && i > 0 && awkPrints(code, i):
			j := i + 1
			for j < len(code) && (code[j].Text == ">" || code[j].Text == "(") {
				j++
			}
			if v, ok := value(j); ok {
				s.Check(land.Redirect, a.Hold(word.Lit(v)))
			}
		case t.Kind == 'p' && t.Text == "|":
			next := i + 1
			if next < len(code) && code[next].Text == "&" {
				next++ // a coprocess
			}
			if v, ok := value(next); ok {
				s.RunApart(a.Hold(word.Lit(v)), "awk")
			} else if v, ok := value(i - 1); ok {
				s.RunApart(a.Hold(word.Lit(v)), "awk")
			} else if i+1 < len(code) && code[i+1].Text != "|" && (i == 0 || code[i-1].Text != "|") {
				s.Deny(verdict.RuleUnknownCode, a, "", "the awk program pipes into a command that can't be told beforehand",
					"write it out")
			}
		case t.Kind == 'i' && t.Text == "system" && i+2 < len(code):
			if v, ok := value(i + 2); ok {
				s.Apart(func() { s.SuspiciousRun(v, a) })
			} else {
				s.Deny(verdict.RuleUnknownCode, a, "", "system() in the awk program runs text that can't be told beforehand",
					"write it out")
			}
		}
	}
}

// awkPrints tells a redirection from a comparison: only print has the former.
func awkPrints(code []Token, i int) bool {
	depth := 0
	for i--; i >= 0; i-- {
		switch code[i].Text {
		case ")":
			depth++
		case "(":
			depth--
			if depth < 0 {
				return false
			}
		case "{", "}", ";", "\n":
			return false
		case "print", "printf":
			return true
		}
	}
	return false
}

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
