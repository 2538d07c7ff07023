package guard

import (
	"strings"
)

// eval joins its arguments and runs them.
func (s *shell) eval(argv []arg) {
	if len(argv) == 1 {
		return
	}
	s.runText(joinArgs(argv[1:]), cover(argv[1:]), "eval")
}

// runText runs shell text that a command was given. Text that is nothing but
// an unknown is denied.
func (s *shell) runText(t text, at arg, by string) {
	if len(t) == 1 && t[0].kind == token {
		return
	}
	if k := t.first(); k != literal && k != token && (k != matched) {
		s.deny(RuleUnknownCode, at, "", by+" would run text that can't be told beforehand", "write the command out")
	}
	s.script(t, at)
}

// joinArgs joins words with spaces.
func joinArgs(args []arg) text {
	var pieces []seg
	for i, a := range args {
		if i > 0 {
			pieces = append(pieces, seg{literal, " "})
		}
		pieces = append(pieces, a.text...)
	}
	return text{}.with(pieces...)
}

// cover points at all of args, and holds their text.
func cover(args []arg) arg {
	if len(args) == 0 {
		return arg{}
	}
	return arg{joinArgs(args), args[0].start, args[len(args)-1].end}
}

// sourceFile runs a script in the current shell.
func (s *shell) sourceFile(argv []arg) {
	if len(argv) < 2 {
		return
	}
	name := argv[1]
	v, ok := name.literal()
	if !ok {
		where, _ := s.locate(name.text, s.sc.dirs[0], false)
		if name.first() == environ || where == placeUnknown {
			s.deny(RuleUnknownCode, name, "", "the script "+name.String()+" can't be told beforehand", "name it directly")
		}
	}
	if v == "/dev/stdin" || v == "/dev/fd/0" || v == "/proc/self/fd/0" {
		s.runStdin(name, "source")
		return
	}
	if content, ok := s.sc.files[s.absolute(v)]; ok {
		s.runText(content, name, "source")
		return
	}
	if v != "" {
		s.checkProgram(s.absolute(v), name)
	}
}

// runStdin runs the standard input as shell text.
func (s *shell) runStdin(at arg, by string) {
	in := s.sc.stdin
	if in == nil {
		s.awaits(at, by)
		return
	}
	if in.script {
		return // a file of the workspace
	}
	if len(in.text) == 0 {
		return
	}
	if in.text.worst() >= dynamic && in.text.first() != literal {
		s.deny(RuleUnknownCode, at, "", by+" would run input that can't be told beforehand",
			"write the commands out, or save and read them first")
	}
	t := in.text
	s.isolated(func() {
		s.withStdin(nil, func() { s.runText(t, at, by) })
	})
}

// awaits judges a program that takes commands from an input that nobody knows.
// It is empty, unless the agent can type into it later.
func (s *shell) awaits(at arg, by string) {
	if s.typed && s.sc.stdin == nil {
		s.deny(RuleUnknownCode, at, "", by+" would wait for commands that nobody is asked about when they are typed",
			"give it what it is to do as an argument, a file or a here-document")
	}
}

// trap runs its text now, since nobody knows when the shell will, unless it is
// for the end.
func (s *shell) trap(args []arg) {
	for len(args) > 0 {
		v, _ := args[0].literal()
		if !strings.HasPrefix(v, "-") {
			break
		}
		args = args[1:]
	}
	if len(args) < 2 || len(args[0].text) == 0 {
		return
	}
	at := args[0]
	if args[1].is("EXIT") || args[1].is("0") {
		s.traps = append(s.traps, trapped{at, s.sc})
		return
	}
	s.isolated(func() { s.runText(at.text, at, "trap") })
}

// exit runs the EXIT traps, with what their variables have come to hold.
func (s *shell) exit() {
	traps := s.traps
	s.traps = nil
	final := s.sc
	for _, t := range traps {
		s.sc = t.scope.clone()
		for name, v := range final.vars {
			s.sc.vars[name] = v
		}
		s.runText(t.at.text, t.at, "trap")
	}
	s.sc = final
}
