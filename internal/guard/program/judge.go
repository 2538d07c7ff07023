// Package program judges programs: by the table, and by code where one is a language of its own.
package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/git"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Short names of what every function here speaks of.
type (
	arg  = word.Arg
	text = word.Text
)

// Judge is the interpreter of a call together with what is known of programs.
type Judge struct {
	*bash.Shell
	*git.Git
	current []arg // the command that is being judged
	sought  bool  // the command has looked for processes of the guard
}

// New makes the judge of a call that starts in dir.
func New(p land.Policy, links land.Resolver, dir string, typed bool) *Judge {
	s := &Judge{}
	s.Shell = bash.New(p, links, s, dir, typed)
	s.Git = &git.Git{Shell: s.Shell, Host: s}
	return s
}

// Run judges a program by name: what is known of it decides what its arguments
// mean.
func (s *Judge) Run(name string, argv []arg) {
	s.settled(name, argv)
	s.inherited(argv)
	if strings.Contains(name, "/") {
		s.CheckProgram(name, argv[0])
		if content, ok := s.Files[s.Absolute(name)]; ok {
			s.RunFile(content, argv)
		}
	}
	s.outputOptions(path.Base(name), argv)
	outer, dirs := s.current, s.Dirs
	s.current = argv
	defer func() { s.current, s.Dirs = outer, dirs }() // no program changes the directory of its shell
	base := path.Base(name)
	s.alters(base, argv)
	if s.runSelf(base, argv) || s.runWrapper(base, argv) || s.runInterpreter(base, argv) || s.runTool(base, argv) ||
		s.byRow(base, argv) {
		return
	}
	s.generic(argv)
}

// settled denies work in a directory outside, which only a call that begins
// there can meet.
func (s *Judge) settled(name string, argv []arg) {
	for _, dir := range s.Dirs {
		p := s.Land.Place(s.Land.Resolve(dir))
		if p.Writable() || p == land.Protected || table.ReadsOnly(path.Base(name)) {
			continue
		}
		s.Deny(verdict.RuleDirectory, argv[0], dir, "the shell stands in "+dir+", outside the workspace",
			"start with cd "+s.Workspace())
	}
}

// Unknown judges a command whose word is not known.
func (s *Judge) Unknown(argv []arg) {
	for _, a := range argv[1:] {
		s.Mentions(a.Text, a)
	}
	s.generic(argv)
}

// Asks says that a program answers by failing, as test does.
func (s *Judge) Asks(name string) bool {
	return slices.Contains([]string{"grep", "which", "diff", "cmp"}, name)
}

// Copies says that a program prints a file as it is.
func (s *Judge) Copies(name string) bool { return name == "cat" }

// Interprets says that a program of this name runs program text.
func (s *Judge) Interprets(name string) bool { return table.InterpreterOf(name) != "" }

// code judges program text, and says whether it does more than read.
func (s *Judge) code(lang string, t text, at arg) bool { return script.Judge(s, lang, t, at) }

// runTool handles the programs whose arguments need to be understood.
func (s *Judge) runTool(name string, argv []arg) bool {
	r := table.Find(name, table.ToolRow)
	if r == nil {
		return s.reader(name, argv)
	}
	switch args := argv[1:]; r.Family() {
	case "git":
		s.Command(argv)
	case "cp":
		s.copy(name, args)
	case "mv":
		s.move(args)
	case "ln":
		s.link(args)
	case "mkdir":
		s.mkdir(args)
	case "chmod":
		s.change(args)
	case "dd":
		s.dd(args)
	case "tar":
		s.tar(argv)
	case "bazel":
		s.labels(argv)
	case "sed":
		s.sed(argv)
	case "make":
		s.make(argv)
	case "docker":
		s.container(argv)
	case "sqlite3":
		s.database(name, argv)
	case "kill":
		s.kill(argv)
	case "patch":
		s.patch(name, argv)
	default:
		s.described(r, name, argv)
	}
	return true
}

// reader handles programs that only read, but for the options that write.
func (s *Judge) reader(name string, argv []arg) bool {
	if r := table.Find(name, table.ReaderRow); r != nil {
		s.described(r, name, argv)
		return true
	}
	return s.printed(name, argv)
}
