package guard

import (
	"strings"
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
func (s *shell) runWrapper(name string, argv []arg) bool {
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
		flags, rest := leading(args, w.valued, w.long)
		if len(rest) == 0 || !contains(w.sub, rest[0].known()) {
			if name == "cross-env" || name == "dotenv" {
				rest = append(literals(argv[0], "run"), rest...)
			} else {
				return false
			}
		}
		s.wrapperFlags(w, flags)
		args = rest[1:]
	}
	flags, rest := leading(args, w.valued, w.long)
	rest = rest[min(w.skip, len(rest)):]
	outer, vars, out := s.sc.dirs, s.sc.vars, s.out
	s.wrapperFlags(w, flags)
	for w.vars && len(rest) > 0 && isAssignment(rest[0]) {
		s.envArg(rest[0], rest[1:])
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		s.print(unknown(dynamic))
	case w.joined:
		s.runText(joinArgs(rest), cover(rest), name)
	default:
		s.elevated(name, rest)
		s.run(rest)
	}
	s.sc.dirs, s.sc.vars, s.out = outer, vars, out
	return true
}

// wrapperFlags follows a wrapper's own options.
func (s *shell) wrapperFlags(w wrapper, flags options) {
	for _, a := range flags.values(w.dirs...) {
		s.moveTo(a, false)
	}
	for _, a := range flags.values(w.files...) {
		s.check(opWrite, a)
	}
	for _, f := range flags.flags {
		if f.has && !contains(w.dirs, f.name) && !contains(w.texts, f.name) {
			if !s.usesSystem(f.name, f.value) {
				s.loose(f.value)
				s.unmentioned(f.value.text, f.value)
			}
		}
	}
	for _, a := range flags.values(w.texts...) {
		s.runText(a.text, a, "env")
	}
}

// elevated denies what sudo would do to the system; reading as another user
// is left alone.
func (s *shell) elevated(name string, argv []arg) {
	if name != "sudo" && name != "doas" && name != "pkexec" {
		return
	}
	v, ok := argv[0].literal()
	if ok && readsOnly(v) || ok && (v == "-l" || v == "-v" || v == "git" || v == "rm" || v == "touch" || v == "cp" ||
		v == "mv") {
		return // judged by its own rules
	}
	s.run(argv)
	s.deny(RuleSystem, cover(argv), "", name+" would alter the system outside the workspace", "work without it, below "+
		s.land.workspace)
}

// leading parses the options before the first operand and returns the rest.
func leading(args []arg, valued string, long []string) (options, []arg) {
	for i := 0; i < len(args); i++ {
		v := args[i].prefix()
		if args[i].is("--") {
			return parseOptions(args[:i], valued, long...), args[i+1:]
		}
		if len(v) < 2 || v[0] != '-' {
			return parseOptions(args[:i], valued, long...), args[i:]
		}
		if takesNext(v, args[i], valued, long) {
			i++
		}
	}
	return parseOptions(args, valued, long...), nil
}

// takesNext says whether an option's value is the next argument.
func takesNext(v string, a arg, valued string, long []string) bool {
	if strings.HasPrefix(v, "--") || contains(long, v) {
		return !strings.Contains(v, "=") && contains(long, v)
	}
	i := strings.IndexAny(v[1:], valued)
	return valued != "" && i >= 0 && i+2 == len(v) && len(a.text) == 1
}

// isAssignment says whether an argument is VAR=value.
func isAssignment(a arg) bool { // in env's sense, whose names may be odd
	name, _, ok := strings.Cut(a.prefix(), "=")
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
func (s *shell) envArg(a arg, argv []arg) {
	name, _, _ := strings.Cut(a.prefix(), "=")
	value := arg{a.cut(len(name) + 1), a.start, a.end}
	s.setting(name, value, false)
	s.exportedValue(name, value, argv)
	vars := make(map[string]variable, len(s.sc.vars)+1)
	for k, v := range s.sc.vars {
		vars[k] = v
	}
	vars[name] = variable{alts: []text{value.text}}
	s.sc.vars = vars
}
