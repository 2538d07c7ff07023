// Package program judges programs: by the table, and by code where one is a language of its own.
package program

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
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

// Run judges a program by name: what is known of it decides what its arguments mean.
func (s *Judge) Run(name string, argv []arg) {
	s.settled(name, argv)
	s.inherited(argv)
	if strings.Contains(name, "/") {
		s.CheckProgram(name, argv[0])
		if content, ok := s.Files[s.Absolute(name)]; ok {
			s.RunFile(content, argv)
		}
	}
	s.outputs(path.Base(name), argv)
	outer, dirs := s.current, s.Dirs
	s.current = argv
	defer func() { s.current, s.Dirs = outer, dirs }() // no program changes the directory of its shell
	base := path.Base(name)
	s.alters(base, argv)
	if s.runSelf(base, argv) || s.runWrapper(base, argv) || s.runInterpreter(base, argv) || s.runTool(base, argv) ||
		s.described(table.UseRow, base, argv) {
		return
	}
	s.generic(argv)
}

// settled denies work in a directory outside, which only a call that begins there can meet.
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
func (s *Judge) code(lang string, t text, at arg) bool {
	if lang == "sed" {
		script.Sed(s, at.Hold(t))
		return true
	}
	return script.Judge(s, lang, t, at)
}

// runTool handles the programs whose arguments need to be understood.
func (s *Judge) runTool(name string, argv []arg) bool {
	r := table.Find(name, table.ToolRow)
	if r == nil {
		return s.described(table.ReaderRow, name, argv) || s.printed(name, argv)
	}
	switch args := argv[1:]; r.Family() {
	case "git":
		s.Command(argv)
	case "xargs":
		s.xargs(argv)
	case "find":
		s.find(argv)
	case "fd":
		s.fd(argv)
	case "ssh":
		s.ssh(r, argv)
	case "cp", "mv":
		s.transfer(r, name, args)
	case "ln":
		s.link(args)
	case "mkdir":
		s.mkdir(args)
	case "tar":
		s.described(r.As, name, oldTarStyle(argv))
	case "sed":
		s.sed(r, argv)
	case "sqlite3":
		s.database(name, argv)
	case "kill":
		s.kill(argv)
	case "apply_patch":
		s.agentPatch(argv)
	default:
		s.described(r.As, name, argv)
	}
	return true
}

// alters denies what a row says of a program's words.
func (s *Judge) alters(name string, argv []arg) {
	r := table.Altering(name, argv)
	if r == nil {
		return
	}
	switch r.Denial {
	case table.TheMachine:
		s.Deny(verdict.RuleSystem, word.Cover(argv), "", argv[0].String()+" would alter the system outside the workspace",
			"work with what is installed, below "+s.Workspace())
	case table.TheWorkspace:
		s.Deny(verdict.RuleLink, word.Cover(argv), "", argv[0].String()+
			" would change what the workspace is made of, or open a way out of it", "work in the workspace as it is")
	case table.TheHooks:
		if s.Policy.Linked {
			s.Deny(verdict.RuleGitShared, word.Cover(argv), "", "this would change hooks that the host repository runs",
				"leave that to the user")
		}
	case table.TheHome:
		s.HomeConfig(word.Cover(argv))
	}
}

// HomeConfig denies a tool's own settings outside the workspace. Where the
// home itself may be written, as in a box of its own, so may they.
func (s *Judge) HomeConfig(at arg) {
	home := word.Lit(s.Home())
	if v, ok := s.Vars["HOME"]; ok && len(v.Alts) > 0 {
		home = v.Alts[0]
	}
	where, abs := s.Locate(home, s.Dir(), false)
	if where.Writable() && len(home) > 0 {
		return
	}
	s.Deny(verdict.RuleHomeConfig, at, abs, "this changes settings outside the workspace",
		"use settings in the project, or options for this one call")
}

// isGuard says whether the guard itself runs by that name.
func isGuard(name string) bool { return name == "cco" || name == "cco-guard" }

// runSelf denies starting agents, of which one without the guard's settings
// would have left it, and changing the guard through its own command.
func (s *Judge) runSelf(name string, argv []arg) bool {
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i] // package@version
	}
	switch {
	case isGuard(name):
		s.guardCommand(argv)
	case roster.IsProgram(name):
		s.agentCommand(name, argv)
	default:
		return false
	}
	s.Print(word.Unknown(word.Dynamic))
	return true
}

func (s *Judge) guardCommand(argv []arg) {
	words := strings.Fields(word.Cover(argv[1:]).Known())
	line := strings.Join(words, " ") + " "
	for _, harmless := range []string{"guard check ", "guard doctor ", "guard log ", "guard env ", "guard hook ",
		"version ", "--version ", "-v ", "help ", "--help ", "-h ", "box list ", "box status ", "guard --help "} {
		if strings.HasPrefix(line, harmless) {
			return
		}
	}
	if len(words) == 0 || words[len(words)-1] == "--help" {
		return
	}
	s.Deny(verdict.RuleSelf, word.Cover(argv), "", "this command would change the guard or its boxes from inside",
		"leave that to the user")
}

func (s *Judge) agentCommand(name string, argv []arg) {
	if len(argv) == 2 {
		switch argv[1].Known() {
		case "--version", "-v", "-V", "--help", "-h", "help", "doctor":
			return
		}
	}
	if name == "pi" && (len(argv) == 1 || !strings.HasPrefix(argv[1].Prefix(), "-")) {
		s.generic(argv) // a short name that other programs have too
		return
	}
	s.Deny(verdict.RuleAgent, word.Cover(argv), "", name+" would start an agent or change its settings outside this guard",
		"do the work in this session")
}

// kill denies ending the guard, the agent or everything.
func (s *Judge) kill(argv []arg) {
	deny := func(a arg, whose string) {
		s.Deny(verdict.RuleSelf, a, "", "this would end "+whose, "end only processes that you started")
	}
	all := strings.HasSuffix(argv[0].Known(), "killall") // which takes names
	for i, a := range argv[1:] {
		for _, part := range a.Split(" \n\t|") {
			w := strings.Trim(part.Known(), `^$"'.*[]()\`)
			if isGuard(w) || roster.IsProgram(w) || strings.HasPrefix(w, "cco-") || s.sought && a.Worst() >= word.Dynamic {
				deny(a, "a process of the guard or the agent")
			}
		}
		if word.Listed(" 1 -1 $PPID 0 ", a.Known()) && !all && (i > 0 || !a.Is("-1")) && !argv[i].Is("-s") &&
			!argv[i].Is("-n") {
			deny(a, "processes that are not yours")
		}
	}
}

// hasWord says whether one of words, which are divided by blanks, is an argument.
func hasWord(argv []arg, words string) bool {
	return slices.ContainsFunc(argv[1:], func(a arg) bool {
		v, _, _ := strings.Cut(a.Prefix(), "=")
		return word.Listed(" "+words+" ", v)
	})
}
