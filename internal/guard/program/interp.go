package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// runInterpreter runs a program given as text, as standard input or as a file.
func (s *Judge) runInterpreter(name string, argv []arg) bool {
	r := table.Interpreter(name)
	switch {
	case r == nil:
		return false
	case r.Lang == "shell":
		s.Speaking(strings.TrimRight(name, "0123456789.-"), func() { s.shellProgram(r, argv) })
	default:
		s.program(r, argv)
	}
	return true
}

// shellProgram runs bash and its like.
func (s *Judge) shellProgram(r *table.Row, argv []arg) {
	valued, long := r.Options()
	o, args := word.Leading(argv[1:], valued, long)
	for _, a := range o.Values(long...) {
		s.loadedFile(a)
	}
	if o.Has("-n") || onlyAsks(argv) {
		return
	}
	s.Isolated(func() {
		s.Aliases = map[string]string{}
		switch {
		case s.FishProgram(argv):
		case o.Has("-c") && len(args) > 0:
			s.Params = nil
			if len(args) > 1 {
				s.Self, s.Params = args[1].Text, word.Texts(args[2:])
			}
			s.RunText(args[0].Text, args[0], "the shell")
		case o.Has("-s") || len(args) == 0 || isStdin(args[0]):
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
			s.runContent(lang, content, args)
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
func (s *Judge) program(r *table.Row, argv []arg) {
	lang := r.Lang
	valued, long := r.Options()
	o, args := word.Leading(argv[1:], valued, long, r.Last)
	programs, found := s.given(r, lang, o)
	for _, a := range argv[1 : len(argv)-len(args)] {
		if len(programs) == 0 && lang != "awk" && strings.HasPrefix(a.Prefix(), "-") {
			s.Mentions(a.Text, a)
		}
	}
	if len(programs) > 0 && strings.HasPrefix(programs[0].Prefix(), "-") {
		programs = append(programs, args...) // node -p -e TEXT
	}
	if lang == "awk" {
		s.filter(lang, o, programs, args, found)
		return
	}
	s.Print(word.Unknown(word.Hidden)) // what a program computes is nobody's plain text
	switch {
	case len(programs) > 0:
		s.programTexts(lang, programs, args, o.Has("-i"))
	case lang == "python" && o.Has("-m"):
		for name, content := range s.Files { // it may be the module
			if table.LanguageOf(path.Ext(name)) == lang {
				s.code(lang, content, argv[0])
			}
		}
		if module := o.Values("-m")[0]; table.IsModule(module.Known()) {
			s.Isolated(func() { s.Run(module.Known(), append([]arg{module}, args...)) })
			return
		}
		for i := range args {
			s.argument(argv, len(argv)-len(args)+i)
		}
	case len(args) == 0 && onlyAsks(argv):
	case len(args) == 0 || isStdin(args[0]):
		s.programStdin(lang, argv[0], args)
	case args[0].Is("eval") && len(args) > 1: // of deno
		s.programTexts(lang, args[1:2], args[2:], false)
	default:
		s.scriptFile(lang, args)
	}
}

// programTexts runs program text from options, and looks at the operands that the program gets.
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

// onlyAsks says that a program is only asked what it is, or knows what to do without being told.
func onlyAsks(argv []arg) bool {
	return len(argv) > 1 && slices.Contains([]string{"--version", "-V", "-v", "-VV", "--help", "-h", "-version",
		"--versions", "--test"}, argv[1].Known())
}

func (s *Judge) programStdin(lang string, at arg, args []arg) {
	s.Awaits(at, at.String())
	in := s.Stdin
	if in == nil || in.Script || len(in.Text) == 0 {
		return
	}
	if in.Text.First() >= word.Dynamic {
		s.Deny(verdict.RuleUnknownCode, at, "", at.String()+" would run input that can't be told beforehand",
			"write the program out, or save and read it first")
	}
	s.programTexts(lang, []arg{at.Hold(in.Text)}, args[min(1, len(args)):], false)
}

// isStdin says that an argument names the standard input.
func isStdin(a arg) bool { return word.Listed(" - /dev/stdin /dev/fd/0 /proc/self/fd/0 ", a.Known()) }

// given are the texts that options give to an interpreter, and whether there is
// such an option. Files that it runs first are judged at once.
func (s *Judge) given(r *table.Row, lang string, o word.Options) (texts []arg, found bool) {
	for _, f := range o.Flags {
		mark, a := r.Mark(f.Name), f.Value
		found = found || mark == table.Loaded || mark == table.ShellOf
		content, written := s.Files[s.Absolute(a.Known())]
		switch {
		case !f.Has:
		case mark == table.Refused:
			s.Deny(verdict.RuleUnknownCode, a, "", f.Name+" hides what would be run", "write the program out")
		case mark == table.ShellOf:
			texts = append(texts, a)
		case mark != table.Loaded && lang == "awk" && isAssignment(a): // judged with the program
		case mark != table.Loaded:
			s.Mentions(a.Text, a)
		case isStdin(a) && s.Stdin != nil:
			s.code(lang, s.Stdin.Text, a)
		case written:
			s.code(lang, content, a)
		default:
			s.loadedFile(a)
		}
	}
	return texts, found
}

// sed edits in place with -i, and writes and runs by commands in its script.
func (s *Judge) sed(r *table.Row, argv []arg) {
	valued, long := r.Options()
	o := word.Parse(argv[1:], valued, long...)
	texts, found := s.given(r, "sed", o)
	s.filter("sed", o, texts, o.Operands, found)
}

// filter runs the program of sed or awk, which can write files and run commands.
func (s *Judge) filter(lang string, o word.Options, texts, files []arg, found bool) {
	if !found && len(files) > 0 {
		texts, files = files[:1], files[1:]
	}
	acts := len(texts) == 0 || slices.ContainsFunc(texts, func(a arg) bool {
		return strings.ContainsAny(a.Known(), ">|@") || strings.Contains(a.Known(), "system")
	})
	for _, a := range append(o.Values("-v", "--assign"), files...) {
		if isAssignment(a) && acts { // which may be what awk writes or runs
			s.Mentions(a.Text, a)
		} else if o.Has("-i", "--in-place", "--include") && !isAssignment(a) { // awk includes inplace, for one
			s.Operand(a)
		}
	}
	for _, a := range texts {
		s.code(lang, a.Text, a)
	}
	s.Print(s.reshaped(word.JoinArgs(texts), files))
}

// database judges what a client of a database is told.
func (s *Judge) database(name string, argv []arg) {
	given := s.Stdin != nil || onlyAsks(argv) // what to do, rather than only with what
	for i, a := range argv[1:] {
		v, option := a.Known(), optionOf(argv, i+1)
		given = given || word.Listed(" c f e l command execute file ", option) || strings.ContainsAny(v, " (") ||
			strings.HasPrefix(v, ".")
		switch {
		case word.Listed(" o output L log-file tee ", option):
			s.argument(argv, i+1)
		case strings.ContainsAny(v, " \\"):
			script.SQL(s, v, a)
		case option == "" && (name == "sqlite3" || name == "duckdb") && !hasWord(argv, "-readonly --readonly"):
			s.Operand(a.Hold(word.Lit(strings.TrimPrefix(v, "file:"))))
		}
	}
	if s.Stdin != nil {
		script.SQL(s, s.Stdin.Text.Known(), argv[0])
	}
	if !given {
		s.Awaits(argv[0], name)
	}
	s.Print(word.Unknown(word.Dynamic))
}

// agentPatch writes the files that its argument or its input names.
func (s *Judge) agentPatch(argv []arg) {
	for _, a := range argv[1:] {
		s.PatchText(a.Text, a)
	}
	if s.Stdin != nil {
		s.PatchText(s.Stdin.Text, argv[0])
	}
}

// SuspiciousRun runs text that another language may have decorated: if it
// doesn't parse as shell, it is only searched for outside paths.
func (s *Judge) SuspiciousRun(command string, at arg) {
	if _, err := bash.ParseBash(command); err != nil {
		s.Mentions(word.Lit(command), at)
		return
	}
	s.RunText(word.Lit(command), at, "a script")
}

// runOperands reads scripts and sources among the operands that this very
// command has written: running or compiling them is running their text.
func (s *Judge) runOperands(argv []arg) {
	for _, a := range argv[1:] {
		v, ok := a.Literal()
		if !ok || strings.HasPrefix(v, "-") {
			continue
		}
		content, ok := s.Files[s.Absolute(v)]
		if !ok {
			continue
		}
		lang := table.LanguageOf(path.Ext(v))
		if strings.HasSuffix(v, ".sh") || strings.HasSuffix(v, ".bash") {
			lang = "shell"
		}
		if lang != "" {
			s.runContent(lang, content, []arg{a})
		}
	}
}

// RunFile runs a script that this command has written, by its first line.
func (s *Judge) RunFile(content text, argv []arg) {
	first, _, _ := strings.Cut(content.Known(), "\n")
	lang := "shell"
	if prog, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(prog)
		for len(words) > 1 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		if len(words) > 0 {
			lang = table.InterpreterOf(path.Base(words[0]))
		}
	}
	s.runContent(lang, content, argv)
}

// runContent runs the text of a file with its arguments.
func (s *Judge) runContent(lang string, content text, argv []arg) {
	if lang != "shell" {
		s.code(lang, content, argv[0])
		return
	}
	s.Isolated(func() {
		s.Self, s.Params = argv[0].Text, word.Texts(argv[1:])
		s.RunText(content, argv[0], "a script")
	})
}
