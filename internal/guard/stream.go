package guard

import "strings"

// sed edits in place with -i, and writes and runs by commands in its script.
func (s *shell) sed(argv []arg) {
	var scripts, files []arg
	inPlace, given := false, false
	args := argv[1:]
	for i := 0; i < len(args); i++ {
		v := args[i].prefix()
		switch {
		case v == "--":
			files = append(files, args[i+1:]...)
			i = len(args)
		case v == "-e" || v == "--expression" || v == "-f" || v == "--file":
			given = true
			if i++; i < len(args) && (v == "-e" || v == "--expression") {
				scripts = append(scripts, args[i])
			} else if i < len(args) && args[i].is("-") && s.sc.stdin != nil {
				scripts = append(scripts, arg{s.sc.stdin.text, args[i].start, args[i].end})
			} else if i < len(args) {
				scripts = append(scripts, arg{s.fileStream(args[i]).text, args[i].start, args[i].end})
			}
		case strings.HasPrefix(v, "--expression="):
			given = true
			scripts = append(scripts, arg{args[i].cut(len("--expression=")), args[i].start, args[i].end})
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
	s.print(s.passThrough())
}

// passThrough is the kind of what a filter prints of its input.
func (s *shell) passThrough() text {
	if s.sc.stdin == nil || len(s.sc.stdin.text) == 0 {
		return unknown(dynamic)
	}
	if k := s.sc.stdin.text.worst(); k == hidden {
		return unknown(hidden)
	}
	if s.sc.stdin.text.worst() == literal {
		return unknown(dynamic) // known text that is being rewritten
	}
	return unknown(dynamic)
}

// sedScript finds the commands w, W, e and the flags w and e of s.
func (s *shell) sedScript(a arg) {
	v := a.known()
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
			s.check(opRedirect, arg{lit(strings.TrimSpace(v[i:end])), a.start, a.end})
			i = end
		case 'e':
			if t := strings.TrimSpace(v[i:end]); t != "" {
				s.isolated(func() { s.runText(lit(t), a, "sed") })
			} else {
				s.deny(RuleUnknownCode, a, "", "sed would run its input as commands", "write the commands out")
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
func (s *shell) sedSubstitute(a arg, v string, i int) int {
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
				s.deny(RuleUnknownCode, a, "", "the e flag of sed runs what it has put together", "leave it out")
			}
		case 'w':
			end := i + 1
			for end < len(v) && v[end] != '\n' {
				end++
			}
			s.check(opRedirect, arg{lit(strings.TrimSpace(v[i+1 : end])), a.start, a.end})
			return end
		}
		i++
	}
	return i
}

// awk runs a program that can write files and run commands.
func (s *shell) awk(argv []arg) {
	o, rest := leading(argv[1:], "FvfieEl", []string{"--assign", "--field-separator", "--file", "--include",
		"--source", "--exec"})
	programs := o.values("-e", "--source")
	for _, a := range o.values("-f", "--file", "-E", "--exec") {
		if content, ok := s.sc.files[s.absolute(a.known())]; ok {
			programs = append(programs, arg{content, a.start, a.end})
		}
	}
	if len(o.values("-e", "--source", "-f", "--file", "-E", "--exec")) == 0 && len(rest) > 0 {
		programs, rest = append(programs, rest[0]), rest[1:]
	}
	vars := map[string]string{}
	for _, a := range append(o.values("-v", "--assign"), rest...) {
		if name, value, ok := strings.Cut(a.known(), "="); ok && a.worst() == literal {
			vars[name] = value
		}
	}
	for _, a := range o.values("-i", "--include") {
		if a.is("inplace") {
			for _, f := range rest {
				s.operand(f)
			}
		}
	}
	for _, a := range programs {
		if a.first() > token && a.first() != literal {
			s.deny(RuleUnknownCode, a, "", "the awk program can't be told beforehand", "write it out")
		}
		s.awkProgram(a, vars)
	}
	s.print(s.passThrough())
}

// awkProgram follows print > file, print | cmd, cmd | getline and system().
func (s *shell) awkProgram(a arg, vars map[string]string) {
	code := tokenize("awk", a.known())
	for i := 2; i < len(code); i++ {
		if code[i].kind == 's' && code[i-1].text == "=" && code[i-2].kind == 'i' {
			vars[code[i-2].text] = code[i].text
		}
	}
	value := func(i int) (string, bool) {
		if i < 0 || i >= len(code) {
			return "", false
		}
		if code[i].kind == 's' {
			out := code[i].text
			for i+1 < len(code) && code[i+1].kind == 's' { // adjacent strings join
				i++
				out += code[i].text
			}
			return out, true
		}
		v, ok := vars[code[i].text]
		return v, ok && code[i].kind == 'i'
	}
	for i, t := range code {
		switch {
		case t.kind == 'p' && t.text == ">" && i > 0 && awkPrints(code, i):
			j := i + 1
			for j < len(code) && (code[j].text == ">" || code[j].text == "(") {
				j++
			}
			if v, ok := value(j); ok {
				s.check(opRedirect, arg{lit(v), a.start, a.end})
			}
		case t.kind == 'p' && t.text == "|":
			next := i + 1
			if next < len(code) && code[next].text == "&" {
				next++ // a coprocess
			}
			if v, ok := value(next); ok {
				s.isolated(func() { s.runText(lit(v), a, "awk") })
			} else if v, ok := value(i - 1); ok {
				s.isolated(func() { s.runText(lit(v), a, "awk") })
			} else if i+1 < len(code) && code[i+1].text != "|" && (i == 0 || code[i-1].text != "|") {
				s.deny(RuleUnknownCode, a, "", "the awk program pipes into a command that can't be told beforehand", "write it out")
			}
		case t.kind == 'i' && t.text == "system" && i+2 < len(code):
			if v, ok := value(i + 2); ok {
				s.isolated(func() { s.suspiciousRun(v, a) })
			} else {
				s.deny(RuleUnknownCode, a, "", "system() in the awk program runs text that can't be told beforehand",
					"write it out")
			}
		}
	}
}

// awkPrints tells a redirection from a comparison: only print has the former.
func awkPrints(code []codeToken, i int) bool {
	depth := 0
	for i--; i >= 0; i-- {
		switch code[i].text {
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
