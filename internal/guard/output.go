package guard

import (
	"path"
	"strings"
)

// printf prints its format with the arguments put in; -v sets a variable.
func (s *shell) printf(argv []arg) {
	args := argv[1:]
	variableName := ""
	if len(args) > 1 && args[0].is("-v") {
		s.evaluated([]text{args[1].text})
		variableName = args[1].known()
		args = args[2:]
	}
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	t := formatted(args[0].text, args[1:])
	if variableName != "" {
		s.store(variableName, t, argv[0])
		return
	}
	s.print(t)
}

// formatted applies a printf format, again and again while arguments last.
func formatted(format text, args []arg) text {
	f, ok := format.literal()
	if !ok {
		return format.with(joinArgs(args)...)
	}
	var out text
	for round := 0; round == 0 || len(args) > 0 && round < maxRounds; round++ {
		used := 0
		for i := 0; i < len(f); i++ {
			switch {
			case f[i] == '\\' && i+1 < len(f):
				end := i + 2
				for end < len(f) && end < i+4 && strings.IndexByte("01234567xabcdefABCDEF89", f[end]) >= 0 &&
					strings.IndexByte("x01234567", f[i+1]) >= 0 {
					end++
				}
				out = out.with(seg{literal, ansiC(f[i:end])})
				i = end - 1
			case f[i] == '%' && i+1 < len(f) && f[i+1] == '%':
				out = out.with(seg{literal, "%"})
				i++
			case f[i] == '%':
				j := i + 1
				for j < len(f) && strings.IndexByte("-+ #0123456789.*", f[j]) >= 0 {
					j++
				}
				if j < len(f) && len(args) > 0 {
					out = out.with(directive(f[j], args[0])...)
					args, used = args[1:], used+1
				}
				i = j
			default:
				out = out.with(seg{literal, f[i : i+1]})
			}
		}
		if used == 0 {
			break
		}
	}
	return out
}

func directive(verb byte, a arg) text {
	switch verb {
	case 's', 'q', 'c':
		return a.text
	case 'b':
		if v, ok := a.literal(); ok {
			return lit(ansiC(v))
		}
		return a.text
	}
	if a.worst() == literal {
		return a.text
	}
	return unknown(token)
}

// whichOutput is where a program of that name would be found.
func (s *shell) whichOutput(args []arg) text {
	var out text
	for _, a := range args {
		v, ok := a.literal()
		if !ok {
			return unknown(max(dynamic, a.worst()))
		}
		if !strings.HasPrefix(v, "-") {
			out = out.with(seg{literal, "/usr/bin/" + path.Base(v) + "\n"})
		}
	}
	return out
}

// printed says what a program prints, for those whose output is used as a
// path or a command; false leaves it unknown.
func (s *shell) printed(name string, argv []arg) bool {
	args := argv[1:]
	switch name {
	case "dirname":
		s.print(mapped(args, path.Dir))
	case "basename":
		s.print(s.basename(args))
	case "realpath", "readlink":
		s.print(s.realpath(name, args))
	case "mktemp":
		s.print(s.mktemp(args))
	case "which", "whereis", "type":
		s.print(s.whichOutput(args))
	case "date", "nproc", "uname", "arch", "whoami", "id", "hostname", "seq", "wc", "tty", "logname", "groups",
		"uuidgen", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "stat", "expr", "bc", "tput", "getconf", "shuf":
		s.print(unknown(token))
	case "pgrep", "pidof":
		s.print(joinArgs(args).with(seg{literal, "\n"})) // stands for the processes of that name
	case "cat":
		s.print(s.cat(args))
	case "tac", "tee", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "nl":
		return s.filtered(name, args)
	case "ls", "find", "fd", "fdfind", "rg":
		return s.listed(name, args)
	case "base64", "base32", "basenc", "xxd", "rev", "openssl", "uudecode", "od", "tr", "gzip", "gunzip", "zcat",
		"bzcat", "xzcat", "zstdcat", "bzip2", "xz", "zstd", "gpg", "ascii2uni", "dd", "perl", "python", "awk", "gawk", "mawk",
		"node", "ruby", "php", "lua":
		if s.sc.stdin != nil || name == "base64" || strings.HasSuffix(name, "cat") {
			s.print(s.decoded(name))
		} else {
			s.print(unknown(dynamic))
		}
	default:
		return false
	}
	return true
}

// decoded marks what a decoder prints; from data that was never known it is
// no worse than that data.
func (s *shell) decoded(name string) text {
	in := s.sc.stdin
	if in != nil && len(in.text) > 0 && (name == "tr" || name == "awk" || name == "od") && in.text.first() != literal {
		return unknown(max(dynamic, in.text.worst()))
	}
	return unknown(hidden)
}

func mapped(args []arg, f func(string) string) text {
	var out text
	for _, a := range args {
		v, ok := a.literal()
		if !ok {
			return unknown(a.worst())
		}
		if strings.HasPrefix(v, "-") {
			continue
		}
		out = out.with(seg{literal, f(v) + "\n"})
	}
	return out
}

func (s *shell) basename(args []arg) text {
	o := parseOptions(args, "s", "--suffix")
	if len(o.operands) == 0 {
		return nil
	}
	v, ok := o.operands[0].literal()
	if !ok {
		return unknown(token) // one name, whatever it is
	}
	v = path.Base(v)
	if len(o.operands) > 1 {
		v = strings.TrimSuffix(v, o.operands[1].known())
	}
	return lit(v + "\n")
}

func (s *shell) realpath(name string, args []arg) text {
	o := parseOptions(args, "", "--relative-to", "--relative-base")
	var out text
	for _, a := range o.operands {
		v, ok := a.literal()
		if !ok {
			return unknown(max(environ, a.worst()))
		}
		if len(o.values("--relative-to")) > 0 || name == "readlink" && !o.has("-f", "-e", "-m", "--canonicalize") {
			return unknown(dynamic)
		}
		out = out.with(seg{literal, s.absolute(v) + "\n"})
	}
	return out
}

// mktemp makes files in a scratch root, or where it is told to.
func (s *shell) mktemp(args []arg) text {
	o := parseOptions(args, "p", "--tmpdir", "--suffix")
	dir := lit("/tmp")
	if len(s.policy.Scratch) > 0 {
		dir = lit(s.policy.Scratch[0])
	}
	if v, ok := s.sc.vars["TMPDIR"]; ok && len(v.alts) > 0 {
		dir = v.alts[0]
	}
	if vs := o.values("-p", "--tmpdir"); len(vs) > 0 {
		dir = vs[0].text
	} else if len(o.operands) > 0 && !o.has("-t", "--tmpdir") {
		s.check(opWrite, o.operands[0])
		t := o.operands[0].text
		if !strings.HasPrefix(t.prefix(), "/") {
			t = lit(s.sc.dirs[0] + "/").with(t...)
		}
		return t.with(seg{literal, "\n"})
	}
	t := dir.with(seg{literal, "/tmp.guarded\n"})
	s.check(opWrite, arg{t, 0, 0})
	return t
}

// cat prints its operands or its input.
func (s *shell) cat(args []arg) text {
	o := parseOptions(args, "")
	if len(o.operands) == 0 {
		if s.sc.stdin == nil {
			return unknown(dynamic)
		}
		return s.sc.stdin.text
	}
	var out text
	for _, a := range o.operands {
		if a.is("-") && s.sc.stdin != nil {
			out = out.with(s.sc.stdin.text...)
			continue
		}
		out = out.with(s.fileStream(a).text...)
	}
	return out
}

// filtered passes the input's kind on, since choosing lines makes nothing new.
func (s *shell) filtered(name string, args []arg) bool {
	if s.sc.stdin == nil {
		if name == "grep" || name == "egrep" || name == "fgrep" {
			return s.listed(name, args)
		}
		s.print(unknown(dynamic))
		return true
	}
	for _, a := range args {
		if w := strings.Trim(a.known(), "[]^$"); contains(guardPrograms(), w) || contains(agentPrograms(), w) {
			s.sought = true
		}
	}
	if name == "tee" {
		for _, a := range parseOptions(args, "").operands {
			if v, ok := a.literal(); ok {
				s.sc.files[s.absolute(v)] = s.sc.stdin.text
			}
		}
	}
	s.print(s.sc.stdin.text)
	return true
}

// listed is what a listing prints: names below where it looks.
func (s *shell) listed(name string, args []arg) bool {
	starts := s.starts(name, args)
	if starts == nil {
		s.print(unknown(dynamic))
		return true
	}
	for i, a := range starts {
		if i > 0 {
			s.print(lit("\n"))
		}
		where, abs := s.locate(a.text, s.sc.dirs[0], false)
		switch {
		case where == placeUnknown:
			s.print(unknown(max(dynamic, a.worst())))
		case where.writable() && a.prefix() == "" || a.is("."):
			s.print(unknown(below))
		default:
			s.print(lit(strings.ReplaceAll(strings.ReplaceAll(abs, hole, "-"), star, "-")).with(seg{literal, "/"},
				seg{below, ""}))
		}
	}
	return true
}

// starts are the directories that a listing command looks in; nil if it
// prints something else than names.
func (s *shell) starts(name string, args []arg) []arg {
	here := []arg{{lit("."), 0, 0}}
	switch name {
	case "ls":
		o := parseOptions(args, "IwT")
		if o.has("-l") {
			return nil
		}
		if len(o.operands) == 0 {
			return here
		}
		return o.operands
	case "find":
		roots, _ := findRoots(args)
		return roots
	case "grep", "egrep", "fgrep", "rg":
		o := parseOptions(args, "efmABCgtT", "--include", "--exclude", "--regexp", "--glob", "--type")
		if !o.has("-l", "-L", "--files-with-matches", "--files-without-match", "--files") {
			return nil
		}
		ops := o.operands
		if len(o.values("-e", "-f", "--regexp")) == 0 && len(ops) > 0 && !o.has("--files") {
			ops = ops[1:]
		}
		if len(ops) == 0 {
			return here
		}
		return ops
	}
	o := parseOptions(args, "etEdcHx", "--extension", "--type", "--exclude", "--max-depth")
	if len(o.operands) > 1 {
		return o.operands[1:]
	}
	return here
}
