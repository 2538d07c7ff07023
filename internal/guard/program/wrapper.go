package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// wrapper describes a program that runs the command in its arguments.
type wrapper struct {
	valued string   // short options that take a value
	long   []string // long options that take the next argument
	skip   int      // operands of its own before the command
	dirs   []string // options that change directory
	texts  []string // options whose value is shell text
	files  []string // options whose value is written
	joined bool     // the arguments are joined and given to a shell
	vars   bool     // VAR=value may stand before the command
	sub    []string // subcommands of which one must come first
}

// runWrapper runs a command through the program in front of it.
func (s *Judge) runWrapper(name string, argv []arg) bool {
	if s.launch(name, argv) {
		return true
	}
	r := rowFor(name, wrapperRow)
	if r == nil {
		return false
	}
	w := *r.wrap
	args := argv[1:]
	if w.sub != nil {
		flags, rest := word.Leading(args, w.valued, w.long)
		if len(rest) == 0 || !slices.Contains(w.sub, rest[0].Known()) {
			if name == "cross-env" || name == "dotenv" {
				rest = append(word.Literals(argv[0], "run"), rest...)
			} else {
				return false
			}
		}
		s.wrapperFlags(w, flags)
		args = rest[1:]
	}
	flags, rest := word.Leading(args, w.valued, w.long)
	rest = rest[min(w.skip, len(rest)):]
	outer, vars, out := s.Dirs, s.Vars, s.Out
	s.wrapperFlags(w, flags)
	for w.vars && len(rest) > 0 && isAssignment(rest[0]) {
		s.envArg(rest[0], rest[1:])
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		s.Print(word.Unknown(word.Dynamic))
	case w.joined:
		s.RunText(word.JoinArgs(rest), word.Cover(rest), name)
	default:
		s.elevated(name, rest)
		s.Exec(rest)
	}
	s.Dirs, s.Vars, s.Out = outer, vars, out
	return true
}

// wrapperFlags follows a wrapper's own options.
func (s *Judge) wrapperFlags(w wrapper, flags word.Options) {
	for _, a := range flags.Values(w.dirs...) {
		s.MoveTo(a, false)
	}
	for _, a := range flags.Values(w.files...) {
		s.Check(land.Write, a)
	}
	for _, f := range flags.Flags {
		if f.Has && !slices.Contains(w.dirs, f.Name) && !slices.Contains(w.texts, f.Name) {
			if !s.usesSystem(f.Name, f.Value) {
				s.Loose(f.Value)
				s.Mentions(f.Value.Text, f.Value)
			}
		}
	}
	for _, a := range flags.Values(w.texts...) {
		s.RunText(a.Text, a, "env")
	}
}

// elevated denies what sudo would do to the system; reading as another user
// is left alone.
func (s *Judge) elevated(name string, argv []arg) {
	if name != "sudo" && name != "doas" && name != "pkexec" {
		return
	}
	v, ok := argv[0].Literal()
	if ok && readsOnly(v) || ok && (v == "-l" || v == "-v" || v == "git" || v == "rm" || v == "touch" || v == "cp" ||
		v == "mv") {
		return // judged by its own rules
	}
	s.Exec(argv)
	s.Deny(verdict.RuleSystem, word.Cover(argv), "", name+" would alter the system outside the workspace",
		"work without it, below "+
			s.Workspace())
}

// isAssignment says whether an argument is VAR=value.
func isAssignment(a arg) bool { // in env's sense, whose names may be odd
	name, _, ok := strings.Cut(a.Prefix(), "=")
	if !ok || name == "" {
		return false
	}
	if strings.HasPrefix(name, bashFunction) {
		return true
	}
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// envArg sets VAR=value for the command after it.
func (s *Judge) envArg(a arg, argv []arg) {
	name, _, _ := strings.Cut(a.Prefix(), "=")
	value := a.After(len(name) + 1)
	s.Set(name, value)
	s.Sees(name, value, argv)
	vars := make(map[string]bash.Variable, len(s.Vars)+1)
	for k, v := range s.Vars {
		vars[k] = v
	}
	vars[name] = bash.Variable{Alts: []text{value.Text}}
	s.Vars = vars
}
