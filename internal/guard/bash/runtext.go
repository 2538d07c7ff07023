package bash

import (
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// eval joins its arguments and runs them.
func (s *Shell) eval(argv []arg) {
	if len(argv) == 1 {
		return
	}
	s.RunText(word.JoinArgs(argv[1:]), word.Cover(argv[1:]), "eval")
}

// RunText runs shell text that a command was given. Text that is nothing but
// an unknown is denied.
func (s *Shell) RunText(t text, at arg, by string) {
	if len(t) == 1 && t[0].Kind == word.Token {
		return
	}
	if k := t.First(); k != word.Literal && k != word.Token && (k != word.Matched) {
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would run text that can't be told beforehand", "write the command out")
	}
	s.script(t, at)
}

// sourceFile runs a script in the current shell.
func (s *Shell) sourceFile(argv []arg) {
	if len(argv) < 2 {
		return
	}
	name := argv[1]
	v, ok := name.Literal()
	if !ok {
		where, _ := s.Locate(name.Text, s.Dir(), false)
		if name.First() == word.Environ || where == land.Unknown {
			s.Deny(verdict.RuleUnknownCode, name, "", "the script "+name.String()+" can't be told beforehand",
				"name it directly")
		}
	}
	if v == "/dev/stdin" || v == "/dev/fd/0" || v == "/proc/self/fd/0" {
		s.RunStdin(name, "source")
		return
	}
	if content, ok := s.Files[s.Absolute(v)]; ok {
		s.RunText(content, name, "source")
		return
	}
	if v != "" {
		s.CheckProgram(s.Absolute(v), name)
	}
}

// RunStdin runs the standard input as shell text.
func (s *Shell) RunStdin(at arg, by string) {
	in := s.Stdin
	if in == nil {
		s.Awaits(at, by)
		return
	}
	if in.Script {
		return // a file of the workspace
	}
	if len(in.Text) == 0 {
		return
	}
	if in.Text.Worst() >= word.Dynamic && in.Text.First() != word.Literal {
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would run input that can't be told beforehand",
			"write the commands out, or save and read them first")
	}
	t := in.Text
	s.Isolated(func() {
		s.WithStdin(nil, func() { s.RunText(t, at, by) })
	})
}

// Awaits judges a program that takes commands from an input that nobody knows.
// It is empty, unless the agent can type into it later.
func (s *Shell) Awaits(at arg, by string) {
	if s.typed && s.Stdin == nil {
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would wait for commands that nobody is asked about when they are typed",
			"give it what it is to do as an argument, a file or a here-document")
	}
}

// trap runs its text now, since nobody knows when the shell will, unless it is
// for the end.
func (s *Shell) trap(args []arg) {
	_, args = word.Leading(args, "", nil)
	if len(args) < 2 || len(args[0].Text) == 0 {
		return
	}
	at := args[0]
	if args[1].Is("EXIT") || args[1].Is("0") {
		s.traps = append(s.traps, trapped{at, s.scope})
		return
	}
	s.Isolated(func() { s.RunText(at.Text, at, "trap") })
}

// exit runs the EXIT traps, with what their variables have come to hold.
func (s *Shell) exit() {
	traps := s.traps
	s.traps = nil
	final := s.scope
	for _, t := range traps {
		s.scope = t.scope.clone()
		for name, v := range final.Vars {
			s.Vars[name] = v
		}
		s.RunText(t.at.Text, t.at, "trap")
	}
	s.scope = final
}
