package bash

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
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
