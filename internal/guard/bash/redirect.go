package bash

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

func (s *Shell) redirected(st *syntax.Stmt) {
	outerIn, outerOut := s.Stdin, s.Out
	var target, previous text
	var file string
	for _, r := range st.Redirs {
		name, appends := s.redirect(r)
		if name != "" {
			file, target, previous = name, text{}, nil
			if appends {
				previous = s.Files[name]
			}
			s.Out = &target
		} else if (r.Op == syntax.DplOut) && (r.N == nil || r.N.Value == "1") {
			s.Out = nil
		}
	}
	s.command(st.Cmd)
	if file != "" {
		s.Files[file] = previous.With(target...)
		s.table.Wrote(file, s.Files[file])
	}
	s.Out = outerOut
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec" {
		return // exec with redirections alone keeps them
	}
	s.Stdin = outerIn
}

// redirect checks one redirection and sets the standard input. If standard
// output now goes to a file in a known place, it returns that place.
func (s *Shell) redirect(r *syntax.Redirect) (file string, appends bool) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		s.input(r, s.heredoc(r))
		return "", false
	case syntax.WordHdoc:
		s.input(r, s.textOf(r.Word).Plus("\n"))
		return "", false
	}
	at := nodeArg(r.Word)
	for _, alt := range s.argvs([]*syntax.Word{r.Word}) {
		if len(alt) != 1 {
			alt = []arg{at.Hold(s.textOf(r.Word))}
		}
		file = s.redirectTo(r, alt[0])
	}
	return file, r.Op == syntax.AppOut || r.Op == syntax.AppAll
}

// input makes text the standard input, or what another descriptor reads.
func (s *Shell) input(r *syntax.Redirect, t text) {
	if r.N != nil && r.N.Value != "0" {
		s.Files["/dev/fd/"+r.N.Value] = t
		return
	}
	s.Stdin = &Stream{Text: t}
}

func (s *Shell) redirectTo(r *syntax.Redirect, target arg) string {
	switch r.Op {
	case syntax.RdrIn:
		s.Stdin = s.FileStream(target)
		return ""
	case syntax.DplIn:
		return ""
	case syntax.DplOut:
		if v, ok := target.Literal(); ok && (v == "-" || strings.Trim(v, "0123456789-") == "") {
			return ""
		}
		if target.First() == word.Token || target.First() == word.Environ {
			return "" // >&$fd
		}
	}
	s.Check(land.Redirect, target)
	if r.N != nil && r.N.Value != "1" {
		return ""
	}
	if v, ok := target.Literal(); ok {
		return s.Absolute(v)
	}
	return ""
}

// Absolute is a path from the current directory, links resolved.
func (s *Shell) Absolute(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(s.Dir(), name)
	}
	return s.Land.Resolve(name)
}

// FileStream is the content of a file as a standard input.
func (s *Shell) FileStream(name arg) *Stream {
	v, ok := name.Literal()
	if !ok {
		return &Stream{Text: word.Unknown(word.Dynamic), Script: name.Worst() <= word.Below}
	}
	if v == "/dev/null" {
		return &Stream{}
	}
	abs := s.Absolute(v)
	if content, ok := s.Files[abs]; ok {
		return &Stream{Text: content}
	}
	return &Stream{Text: word.Unknown(word.Dynamic), Script: s.Land.Place(abs).Writable() && !land.IsDevice(abs)}
}

func (s *Shell) heredoc(r *syntax.Redirect) text {
	if r.Hdoc == nil {
		return nil
	}
	if quotedDelimiter(r.Word) {
		var t text
		for _, p := range r.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				t = t.Plus(l.Value)
			}
		}
		return t
	}
	alts := s.parts(r.Hdoc.Parts, true)
	var t text
	for _, p := range alts[0] {
		t = t.With(p.Seg)
	}
	for _, other := range alts[1:] {
		for _, p := range other {
			if p.Kind == word.Literal && !strings.Contains(t.Known(), p.Text) {
				t = t.With(p.Seg)
			}
		}
	}
	return t
}

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
