package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// runInterpreter runs a program given as text, as standard input or as a file.
func (s *Judge) runInterpreter(name string, argv []arg) bool {
	switch lang := table.InterpreterOf(name); lang {
	case "":
		return false
	case "shell":
		s.Speaking(strings.TrimRight(name, "0123456789.-"), func() { s.shellProgram(argv) })
	case "awk":
		s.awk(argv)
	default:
		s.program(lang, argv)
	}
	return true
}

// shellProgram runs bash and its like.
func (s *Judge) shellProgram(argv []arg) {
	args := argv[1:]
	command, stdin, parseOnly := false, false, false
	for len(args) > 0 {
		v, ok := args[0].Literal()
		if !ok || len(v) < 2 || v[0] != '-' && v[0] != '+' {
			break
		}
		args = args[1:]
		if v == "--" {
			break
		}
		switch {
		case v == "--rcfile" || v == "--init-file":
			if len(args) > 0 {
				s.loadedFile(args[0])
				args = args[1:]
			}
		case strings.HasPrefix(v, "--"):
		default:
			command = command || strings.Contains(v, "c")
			stdin = stdin || strings.Contains(v, "s")
			parseOnly = parseOnly || strings.Contains(v, "n") && v[0] == '-'
			if strings.HasSuffix(v, "o") || strings.HasSuffix(v, "O") {
				args = args[min(1, len(args)):]
			}
		}
	}
	if parseOnly || onlyAsks(argv) {
		return
	}
	s.Isolated(func() {
		s.Errexit = false
		s.Aliases = map[string]string{}
		switch {
		case s.FishProgram(argv):
		case command && len(args) > 0:
			s.Params = nil
			if len(args) > 1 {
				s.Self, s.Params = args[1].Text, word.Texts(args[2:])
			}
			s.RunText(args[0].Text, args[0], "the shell")
		case stdin || len(args) == 0 || args[0].Is("-") || args[0].Is("/dev/stdin") || args[0].Is("/dev/fd/0") ||
			args[0].Is("/proc/self/fd/0"):
			s.Params = word.Texts(args)
			s.RunStdin(argv[0], "the shell")
		default:
			s.scriptFile("shell", args)
		}
	})
}

// scriptFile runs a script by its path, with its arguments.
func (s *Judge) scriptFile(lang string, args []arg) {
	name := args[0]
	v, ok := name.Literal()
	if lang == "other" && strings.ContainsAny(v, "( \n") {
		s.code(lang, name.Text, name)
		return
	}
	if !ok {
		where, _ := s.Locate(name.Text, s.Dir(), false)
		if where == land.Unknown && name.First() != word.Environ || where == land.Host || where == land.Outside {
			s.Deny(verdict.RuleUnknownCode, name, "", "the script "+name.String()+" can't be told beforehand",
				"name it directly")
		}
	} else {
		abs := s.Absolute(v)
		if _, pkg, ok := strings.Cut(abs, "/node_modules/@"); ok {
			if parts := strings.Split(pkg, "/"); len(parts) > 2 && roster.IsProgram(parts[1]) {
				s.agentCommand(parts[1], args)
			}
		}
		if content, found := s.Files[abs]; found {
			if lang == "shell" {
				s.Self, s.Params = name.Text, word.Texts(args[1:])
				s.RunText(content, name, "the shell")
			} else {
				s.code(lang, content, name)
			}
		} else {
			s.CheckProgram(abs, name)
		}
	}
	for i := range args[1:] {
		s.argument(args, i+1)
	}
	s.inputText(args)
	s.Print(word.Unknown(word.Dynamic))
}

// program runs an interpreter other than a shell.
func (s *Judge) program(lang string, argv []arg) {
	po := table.OptionsOf(lang)
	valued, long := po.Text+po.Valued, append(po.Long, po.Load...)
	isText := func(f word.Flag) bool { return len(f.Name) == 2 && strings.Contains(po.Text, f.Name[1:]) }
	o, args := word.LeadingTo(argv[1:], valued, long, po.Last)
	var programs []arg
	for _, f := range o.Flags {
		switch {
		case !f.Has:
		case isText(f) || slices.Contains(po.Long, f.Name):
			programs = append(programs, f.Value)
		default:
			if slices.Contains(po.Load, f.Name) {
				s.loadedFile(f.Value)
			}
			s.Mentions(f.Value.Text, f.Value)
		}
	}
	for i, a := range argv[1 : len(argv)-len(args)] {
		name, _, _ := strings.Cut(a.Prefix(), "=")
		if !strings.HasPrefix(name, "-") || slices.Contains(po.Long, name) ||
			slices.ContainsFunc(word.Parse([]arg{a}, valued, long...).Flags, isText) {
			continue
		}
		s.Mentions(a.Text, a)
		if lang == "other" {
			s.argument(argv, i+1)
		}
	}
	if len(programs) > 0 && strings.HasPrefix(programs[0].Prefix(), "-") {
		programs = append(programs, args...) // node -p -e TEXT
	}
	s.Print(word.Unknown(word.Hidden)) // what a program computes is nobody's plain text
	switch {
	case len(programs) > 0:
		s.programTexts(lang, programs, args, o.Has("-i"))
	case lang == "python" && o.Has("-m"):
		s.writtenModule(argv, args)
		for i, a := range args {
			s.argument(argv, len(argv)-len(args)+i)
			if strings.ContainsAny(a.Known(), "(") {
				s.code(lang, a.Text, a) // timeit and its like take statements
			}
		}
	case len(args) == 0 && onlyAsks(argv):
	case len(args) == 0 || args[0].Is("-") || args[0].Is("/dev/stdin"):
		s.programStdin(lang, argv[0], args)
	case args[0].Is("eval") && len(args) > 1: // of deno
		s.programTexts(lang, args[1:2], args[2:], false)
	default:
		s.scriptFile(lang, args)
	}
}

// writtenModule reads the module of python -m if this command has written it.
func (s *Judge) writtenModule(argv, args []arg) {
	name := argv[len(argv)-len(args)-1].Known()
	name = strings.ReplaceAll(strings.TrimPrefix(name, "-m"), ".", "/")
	for _, file := range [...]string{name + ".py", name + "/__main__.py"} {
		if content, ok := s.Files[s.Absolute(file)]; ok {
			s.code("python", content, argv[0])
		}
	}
}

// programTexts runs program text from options, and looks at the operands
// that the program gets.
func (s *Judge) programTexts(lang string, programs, args []arg, inPlace bool) {
	var all text
	for i, p := range programs {
		if i > 0 {
			all = all.Plus("\n")
		}
		all = all.With(p.Text...)
	}
	mutates := s.code(lang, all, programs[0])
	for _, a := range args {
		if inPlace || mutates {
			s.Loose(a)
		}
		if lang == "other" {
			s.Mentions(a.Text, a)
		}
	}
}

// onlyAsks says that a program is only asked what it is, or knows what to do
// without being told.
func onlyAsks(argv []arg) bool {
	return len(argv) > 1 && slices.Contains([]string{"--version", "-V", "-v", "-VV", "--help", "-h", "-version",
		"--versions", "--test"}, argv[1].Known())
}

func (s *Judge) programStdin(lang string, at arg, args []arg) {
	in := s.Stdin
	s.Awaits(at, at.String())
	if in != nil && in.Script {
		for _, a := range args[min(1, len(args)):] {
			s.Loose(a)
		}
	}
	if in == nil || in.Script || len(in.Text) == 0 {
		return
	}
	if in.Text.First() >= word.Dynamic {
		s.Deny(verdict.RuleUnknownCode, at, "", at.String()+" would run input that can't be told beforehand",
			"write the program out, or save and read it first")
	}
	if len(args) > 0 {
		args = args[1:]
	}
	if s.code(lang, in.Text, at) {
		for _, a := range args {
			s.Loose(a)
		}
	}
}
