package bash

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// redirected runs a statement's command between its redirections.
func (s *Shell) redirected(st *syntax.Stmt) {
	outerIn, outerOut := s.Stdin, s.Out
	var target, previous text
	var file string
	for _, r := range st.Redirs {
		name := s.redirect(r)
		if name != "" {
			file, target, previous = name, text{}, nil
			if r.Op == syntax.AppOut || r.Op == syntax.AppAll {
				previous = s.Files[name]
			}
			s.Out = &target
		} else if r.Op == syntax.DplOut && (r.N == nil || r.N.Value == "1") {
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
func (s *Shell) redirect(r *syntax.Redirect) (file string) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	targets := s.texts(r.Word)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		in := &Stream{Text: s.heredoc(r)}
		if fd == "" || fd == "0" {
			s.Stdin = in
		} else {
			s.Files["/dev/fd/"+fd] = in.Text
		}
		return ""
	case syntax.DplIn:
		return ""
	}
	for _, t := range targets {
		target := nodeArg(r.Word).Hold(t)
		v, known := target.Literal()
		copies := known && strings.Trim(v, "0123456789-") == "" || t.First() == word.Token || t.First() == word.Environ
		switch {
		case r.Op == syntax.RdrIn:
			s.Stdin = s.FileStream(target)
		case r.Op == syntax.DplOut && copies: // of a descriptor
		default:
			s.Check(land.Redirect, target)
			if known && (fd == "" || fd == "1") {
				file = s.Absolute(v)
			}
		}
	}
	return file
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
	v, known := name.Literal()
	abs := s.Absolute(v)
	content, written := s.Files[abs]
	switch {
	case !known:
		return &Stream{Text: word.Unknown(word.Dynamic), Script: name.Worst() <= word.Below}
	case v == "/dev/null":
		return &Stream{}
	case written:
		return &Stream{Text: content}
	case abs == s.Workspace()+"/.git": // where the repository of a linked worktree is
		return &Stream{Text: word.Lit("gitdir: " + s.Policy.GitDir + "\n")}
	}
	return &Stream{Text: word.Unknown(word.Dynamic), Script: s.Land.Place(abs).Writable() && !land.IsDevice(abs)}
}

// heredoc is the text of a here-document or of a here-string.
func (s *Shell) heredoc(r *syntax.Redirect) (all text) {
	switch {
	case r.Op == syntax.WordHdoc:
		return s.textOf(r.Word).Plus("\n")
	case r.Hdoc == nil:
		return nil
	case slices.ContainsFunc(r.Word.Parts, isQuoted):
		return word.Lit(r.Hdoc.Lit())
	}
	for _, t := range s.unsplit(r.Hdoc, quoted) {
		all = all.With(t...) // one after the other, where it may come out in several ways
	}
	if delimiter := s.textOf(r.Word).Known(); strings.Contains("\n"+all.Known(), "\n"+delimiter+"\n") {
		s.Deny(verdict.RuleSyntax, nodeArg(r), "", "a line continuation makes this here-document end elsewhere",
			"write it without one")
	}
	return all
}

// isQuoted says that a here-document with this in its delimiter is taken as it stands.
func isQuoted(delimiter syntax.WordPart) bool {
	lit, ok := delimiter.(*syntax.Lit)
	return !ok || strings.Contains(lit.Value, `\`)
}

// RunText runs shell text that a command was given. Text that is nothing but an unknown is denied.
func (s *Shell) RunText(t text, at arg, by string) {
	switch {
	case len(t) == 1 && t[0].Kind == word.Token:
	case t.First() > word.Matched:
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would run text that can't be told beforehand", "write the command out")
	default:
		s.script(t, at)
	}
}

// sourceFile runs a script in the current shell.
func (s *Shell) sourceFile(argv []arg) {
	if len(argv) < 2 {
		return
	}
	name := argv[1]
	v, known := name.Literal()
	where, _ := s.Locate(name.Text, s.Dir(), false)
	content, written := s.Files[s.Absolute(v)]
	switch {
	case !known && where == land.Unknown:
		s.Deny(verdict.RuleUnknownCode, name, "", "the script "+name.String()+" can't be told beforehand",
			"name it directly")
	case v == "/dev/stdin" || v == "/dev/fd/0" || v == "/proc/self/fd/0":
		s.RunStdin(name, "source")
	case written:
		s.RunText(content, name, "source")
	case v != "":
		s.CheckProgram(s.Absolute(v), name)
	}
}

// RunStdin runs the standard input as shell text.
func (s *Shell) RunStdin(at arg, by string) {
	in := s.Stdin
	switch {
	case in == nil:
		s.Awaits(at, by)
	case in.Script || len(in.Text) == 0: // a file of the workspace
	case in.Text.Worst() >= word.Dynamic && in.Text.First() != word.Literal:
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would run input that can't be told beforehand",
			"write the commands out, or save and read them first")
	default:
		s.Isolated(func() { s.WithStdin(nil, func() { s.RunText(in.Text, at, by) }) })
	}
}

// Awaits judges a program that takes commands from an input that nobody knows.
// It is empty, unless the agent can type into it later.
func (s *Shell) Awaits(at arg, by string) {
	if s.typed && s.Stdin == nil {
		s.Deny(verdict.RuleUnknownCode, at, "", by+" would wait for commands that nobody is asked about when they are typed",
			"give it what it is to do as an argument, a file or a here-document")
	}
}

// trap runs its text now, since nobody knows when the shell will, unless it is for the end.
func (s *Shell) trap(args []arg) {
	_, args = word.Leading(args, "", nil)
	if len(args) < 2 || len(args[0].Text) == 0 {
		return
	}
	at := args[0]
	if slices.ContainsFunc(args[1:], func(a arg) bool { return a.Is("EXIT") || a.Is("0") }) {
		if s.traps = append(s.traps, trapped{at, s.Vars}); len(args) == 2 {
			return
		}
	}
	s.Isolated(func() { s.RunText(at.Text, at, "trap") })
}

// exit runs the EXIT traps, with what their variables have come to hold.
func (s *Shell) exit() {
	traps := s.traps
	s.traps = nil
	for _, t := range traps {
		s.Isolated(func() {
			vars := maps.Clone(t.vars)
			maps.Copy(vars, s.Vars)
			s.Vars = vars
			s.RunText(t.at.Text, t.at, "trap")
		})
	}
}
