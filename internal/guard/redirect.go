package guard

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) redirected(st *syntax.Stmt) {
	outerIn, outerOut := s.sc.stdin, s.out
	var target, previous text
	var file string
	for _, r := range st.Redirs {
		name, appends := s.redirect(r)
		if name != "" {
			file, target, previous = name, text{}, nil
			if appends {
				previous = s.sc.files[name]
			}
			s.out = &target
		} else if (r.Op == syntax.DplOut) && (r.N == nil || r.N.Value == "1") {
			s.out = nil
		}
	}
	s.command(st.Cmd)
	if file != "" {
		s.sc.files[file] = previous.with(target...)
		s.gitContent(file, s.sc.files[file])
	}
	s.out = outerOut
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec" {
		return // exec with redirections alone keeps them
	}
	s.sc.stdin = outerIn
}

// redirect checks one redirection and sets the standard input. If standard
// output now goes to a file in a known place, it returns that place.
func (s *shell) redirect(r *syntax.Redirect) (file string, appends bool) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		s.input(r, s.heredoc(r))
		return "", false
	case syntax.WordHdoc:
		s.input(r, s.textOf(r.Word).with(seg{literal, "\n"}))
		return "", false
	}
	at := nodeArg(r.Word)
	for _, alt := range s.argvs([]*syntax.Word{r.Word}) {
		if len(alt) != 1 {
			alt = []arg{{s.textOf(r.Word), at.start, at.end}}
		}
		file = s.redirectTo(r, alt[0])
	}
	return file, r.Op == syntax.AppOut || r.Op == syntax.AppAll
}

// input makes text the standard input, or what another descriptor reads.
func (s *shell) input(r *syntax.Redirect, t text) {
	if r.N != nil && r.N.Value != "0" {
		s.sc.files["/dev/fd/"+r.N.Value] = t
		return
	}
	s.sc.stdin = &stream{text: t}
}

func (s *shell) redirectTo(r *syntax.Redirect, target arg) string {
	switch r.Op {
	case syntax.RdrIn:
		s.sc.stdin = s.fileStream(target)
		return ""
	case syntax.DplIn:
		return ""
	case syntax.DplOut:
		if v, ok := target.literal(); ok && (v == "-" || strings.Trim(v, "0123456789-") == "") {
			return ""
		}
		if target.first() == token || target.first() == environ {
			return "" // >&$fd
		}
	}
	s.check(opRedirect, target)
	if r.N != nil && r.N.Value != "1" {
		return ""
	}
	if v, ok := target.literal(); ok {
		return s.absolute(v)
	}
	return ""
}

// absolute is a path from the current directory, links resolved.
func (s *shell) absolute(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(s.sc.dirs[0], name)
	}
	return s.land.resolve(name)
}

// fileStream is the content of a file as a standard input.
func (s *shell) fileStream(name arg) *stream {
	v, ok := name.literal()
	if !ok {
		return &stream{text: unknown(dynamic), script: name.worst() <= below}
	}
	if v == "/dev/null" {
		return &stream{}
	}
	abs := s.absolute(v)
	if content, ok := s.sc.files[abs]; ok {
		return &stream{text: content}
	}
	return &stream{text: unknown(dynamic), script: s.land.place(abs).writable() && !isDevice(abs)}
}

func (s *shell) heredoc(r *syntax.Redirect) text {
	if r.Hdoc == nil {
		return nil
	}
	if quotedDelimiter(r.Word) {
		var t text
		for _, p := range r.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				t = t.with(seg{literal, l.Value})
			}
		}
		return t
	}
	alts := s.parts(r.Hdoc.Parts, true)
	var t text
	for _, p := range alts[0] {
		t = t.with(p.seg)
	}
	for _, other := range alts[1:] {
		for _, p := range other {
			if p.kind == literal && !strings.Contains(t.known(), p.text) {
				t = t.with(p.seg)
			}
		}
	}
	return t
}
