package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// alters denies what a row says of a program's words.
func (s *Judge) alters(name string, argv []arg) {
	r := table.Find(name, table.SystemRow)
	if r == nil || !said(r, r.Alters, argv) || r.Spared != "" && said(r, r.Spared, argv) {
		return
	}
	switch r.Denial {
	case table.TheMachine:
		s.denySystem(argv)
	case table.TheWorkspace:
		s.Deny(verdict.RuleLink, word.Cover(argv), "", argv[0].String()+" would change what the workspace is made of",
			"work in the workspace as it is")
	case table.TheHome:
		s.HomeConfig(argv)
	}
}

// said says whether one of phrases, divided by bars, is what the arguments say:
// its options are among them, and its other words are the first operands. A star
// ends a word of which only the beginning counts.
func said(r *table.Row, phrases string, argv []arg) bool {
	valued, long := r.Options()
	o := word.Parse(argv[1:], valued, long...)
	for phrase := range strings.SplitSeq(phrases, "|") {
		i, all := 0, true
		for w := range strings.FieldsSeq(phrase) {
			switch {
			case w == table.Always:
			case w == "=":
				all = all && strings.Contains(word.Cover(argv).Known(), "=")
			case strings.HasPrefix(w, "-"):
				all = all && (o.Has(w) || slices.ContainsFunc(argv[1:], func(a arg) bool { return a.Is(w) }))
			default:
				begin, open := strings.CutSuffix(w, "*")
				v := ""
				if i < len(o.Operands) {
					v = o.Operands[i].Known()
				}
				all = all && i < len(o.Operands) && (v == w || open && strings.HasPrefix(v, begin))
				i++
			}
		}
		if all {
			return true
		}
	}
	return false
}

func (s *Judge) denySystem(argv []arg) {
	s.Deny(verdict.RuleSystem, word.Cover(argv), "", argv[0].String()+" would alter the system outside the workspace",
		"work with what is installed, below "+s.Workspace())
}

// HomeConfig denies a tool's own settings outside the workspace. Where the
// home itself may be written, as in a box of its own, so may they.
func (s *Judge) HomeConfig(argv []arg) {
	home := word.Lit(s.Home())
	if v, ok := s.Vars["HOME"]; ok && len(v.Alts) > 0 {
		home = v.Alts[0]
	}
	where, abs := s.Locate(home, s.Dir(), false)
	if where.Writable() && len(home) > 0 {
		return
	}
	s.Deny(verdict.RuleHomeConfig, word.Cover(argv), abs, "this changes settings outside the workspace",
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
	name := argv[0].Known()
	for i, a := range argv[1:] {
		if s.sought && a.Worst() >= word.Dynamic {
			s.Deny(verdict.RuleSelf, a, "", "this may end a process of the guard or the agent",
				"end only processes that you started")
		}
		v := a.Known()
		for _, part := range a.Split(" \n\t|") {
			w := strings.Trim(part.Known(), `^$"'.*[]()\`)
			if isGuard(w) || roster.IsProgram(w) || strings.HasPrefix(w, "cco-") ||
				strings.HasPrefix(w, "cco guard") {
				s.Deny(verdict.RuleSelf, a, "", "this would end a process of the guard or the agent",
					"end only processes that you started")
			}
		}
		everything := v == "1" || v == "-1" || v == "$PPID" || v == "0"
		if everything && !strings.HasSuffix(name, "killall") && (i > 0 || v != "-1") && !argv[i].Is("-s") &&
			!argv[i].Is("-n") {
			s.Deny(verdict.RuleSelf, a, "", "this would end processes that are not yours", "end only processes that you started")
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
