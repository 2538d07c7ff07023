package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// sed edits in place with -i, and writes and runs by commands in its script.
func (s *Judge) sed(argv []arg) {
	var scripts, files []arg
	inPlace, given := false, false
	args := argv[1:]
	for i := 0; i < len(args); i++ {
		v := args[i].Prefix()
		switch {
		case v == "--":
			files = append(files, args[i+1:]...)
			i = len(args)
		case v == "-e" || v == "--expression" || v == "-f" || v == "--file":
			given = true
			if i++; i < len(args) && (v == "-e" || v == "--expression") {
				scripts = append(scripts, args[i])
			} else if i < len(args) && args[i].Is("-") && s.Stdin != nil {
				scripts = append(scripts, args[i].Hold(s.Stdin.Text))
			} else if i < len(args) {
				scripts = append(scripts, args[i].Hold(s.FileStream(args[i]).Text))
			}
		case strings.HasPrefix(v, "--expression="):
			given = true
			scripts = append(scripts, args[i].After(len("--expression=")))
		case strings.HasPrefix(v, "--in-place") || strings.HasPrefix(v, "-i"):
			inPlace = true
		case strings.HasPrefix(v, "-") && len(v) > 1 && v[1] != '-':
			inPlace = inPlace || strings.Contains(v, "i") && !strings.Contains(v, "e") || strings.Contains(v, "i")
			if strings.HasSuffix(v, "e") && i+1 < len(args) {
				i++
				given = true
				scripts = append(scripts, args[i])
			}
		case strings.HasPrefix(v, "--"):
		default:
			files = append(files, args[i])
		}
	}
	if !given && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if inPlace {
		for _, a := range files {
			s.operand(a)
		}
	}
	for _, a := range scripts {
		s.sedScript(a)
	}
	s.Print(s.passThrough())
}

// passThrough is the kind of what a filter prints of its input.
func (s *Judge) passThrough() text {
	if s.Stdin == nil || len(s.Stdin.Text) == 0 {
		return word.Unknown(word.Dynamic)
	}
	if k := s.Stdin.Text.Worst(); k == word.Hidden {
		return word.Unknown(word.Hidden)
	}
	if s.Stdin.Text.Worst() == word.Literal {
		return word.Unknown(word.Dynamic) // known text that is being rewritten
	}
	return word.Unknown(word.Dynamic)
}

// sedScript finds the commands w, W, e and the flags w and e of s.
func (s *Judge) sedScript(a arg) {
	v := a.Known()
	for i := 0; i < len(v); {
		i = sedAddress(v, i)
		if i >= len(v) {
			return
		}
		c := v[i]
		i++
		end := i
		for end < len(v) && v[end] != '\n' {
			end++
		}
		switch c {
		case 'w', 'W':
			s.Check(land.Redirect, a.Hold(word.Lit(strings.TrimSpace(v[i:end]))))
			i = end
		case 'e':
			if t := strings.TrimSpace(v[i:end]); t != "" {
				s.Isolated(func() { s.RunText(word.Lit(t), a, "sed") })
			} else {
				s.Deny(verdict.RuleUnknownCode, a, "", "sed would run its input as commands", "write the commands out")
			}
			i = end
		case 's', 'y':
			i = s.sedSubstitute(a, v, i)
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
			for i < len(v) && v[i] != '\n' {
				i++
			}
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
func (s *Judge) sedSubstitute(a arg, v string, i int) int {
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
			end := i + 1
			for end < len(v) && v[end] != '\n' {
				end++
			}
			s.Check(land.Redirect, a.Hold(word.Lit(strings.TrimSpace(v[i+1:end]))))
			return end
		}
		i++
	}
	return i
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
				s.operand(f)
			}
		}
	}
	for _, a := range programs {
		if a.First() > word.Token && a.First() != word.Literal {
			s.Deny(verdict.RuleUnknownCode, a, "", "the awk program can't be told beforehand", "write it out")
		}
		s.awkProgram(a, vars)
	}
	s.Print(s.passThrough())
}

// awkProgram follows print > file, print | cmd, cmd | getline and system().
func (s *Judge) awkProgram(a arg, vars map[string]string) {
	code := script.Tokenize("awk", a.Known())
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
				s.Isolated(func() { s.RunText(word.Lit(v), a, "awk") })
			} else if v, ok := value(i - 1); ok {
				s.Isolated(func() { s.RunText(word.Lit(v), a, "awk") })
			} else if i+1 < len(code) && code[i+1].Text != "|" && (i == 0 || code[i-1].Text != "|") {
				s.Deny(verdict.RuleUnknownCode, a, "", "the awk program pipes into a command that can't be told beforehand",
					"write it out")
			}
		case t.Kind == 'i' && t.Text == "system" && i+2 < len(code):
			if v, ok := value(i + 2); ok {
				s.Isolated(func() { s.SuspiciousRun(v, a) })
			} else {
				s.Deny(verdict.RuleUnknownCode, a, "", "system() in the awk program runs text that can't be told beforehand",
					"write it out")
			}
		}
	}
}

// awkPrints tells a redirection from a comparison: only print has the former.
func awkPrints(code []script.Token, i int) bool {
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
