package bash

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// piece is a part of a word before it is split into fields.
type piece struct {
	word.Seg
	split  bool // result of an unquoted expansion
	ends   bool // ends a field, as between the elements of "$@"
	quoted bool // makes a field even if it is empty
}

// argvs expands words to the argument lists that they may become.
func (s *Shell) argvs(words []*syntax.Word) [][]arg {
	alts := [][]arg{nil}
	for _, w := range words {
		var options [][]arg
		for _, plain := range s.braces(w) {
			options = cross(options, s.fields(plain, w))
		}
		alts = cross(alts, options)
	}
	return alts
}

// cross appends every option to every alternative. Past the bound it varies
// one side at a time, which still shows each option once.
func cross[T any](alts, options [][]T) [][]T {
	if len(alts) == 0 {
		return options
	}
	if len(options) == 1 {
		for i := range alts {
			alts[i] = append(alts[i], options[0]...) // no two alternatives share an array
		}
		return alts
	}
	var out [][]T
	add := func(a, b []T) { out = append(out, append(a[:len(a):len(a)], b...)) }
	if len(alts)*len(options) > maxAlts {
		for _, o := range options {
			add(alts[0], o)
		}
		for _, a := range alts[1:] {
			add(a, options[0])
		}
		return out
	}
	for _, a := range alts {
		for _, o := range options {
			add(a, o)
		}
	}
	return out
}

// fields expands one word without braces, in every way that it may come out.
func (s *Shell) fields(w, whole *syntax.Word) [][]arg {
	s.Step()
	var out [][]arg
	for _, pieces := range s.parts(w.Parts, false) {
		var args []arg
		for _, t := range s.splitFields(s.tilde(pieces, w)) {
			s.Charge(t)
			args = append(args, nodeArg(whole).Hold(t))
		}
		out = append(out, args)
	}
	return out
}

// texts expands a word that is not split: an assignment, a redirect, a here
// string.
func (s *Shell) texts(w *syntax.Word) []text {
	if w == nil {
		return []text{nil}
	}
	s.Step()
	var out []text
	for _, pieces := range s.parts(w.Parts, false) {
		var segs []word.Seg
		for _, p := range s.tilde(pieces, w) {
			if p.ends {
				p.Seg = word.Piece(word.Literal, " ")
			}
			segs = append(segs, p.Seg)
		}
		t := text{}.With(segs...)
		s.Charge(t)
		out = append(out, t)
	}
	return out
}

// textOf is texts where one answer has to do.
func (s *Shell) textOf(w *syntax.Word) text {
	alts := s.texts(w)
	if len(alts) == 1 {
		return alts[0]
	}
	return word.Unknown(word.Dynamic)
}

// parts expands a run of word parts.
func (s *Shell) parts(ps []syntax.WordPart, quoted bool) [][]piece {
	alts := [][]piece{{}}
	for _, p := range ps {
		alts = cross(alts, s.part(p, quoted))
	}
	return alts
}

func (s *Shell) part(p syntax.WordPart, quoted bool) [][]piece {
	one := func(k word.Kind, t string) [][]piece {
		return [][]piece{{{Seg: word.Piece(k, t), split: !quoted && k != word.Literal && k != word.Matched}}}
	}
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			return one(word.Literal, unescapeQuoted(p.Value))
		}
		return [][]piece{unescapeBare(p.Value)}
	case *syntax.SglQuoted:
		v := p.Value
		if p.Dollar {
			v = word.AnsiC(v)
		}
		return [][]piece{{{Seg: word.Piece(word.Literal, v), quoted: true}}}
	case *syntax.DblQuoted:
		return cross([][]piece{{{quoted: true}}}, s.parts(p.Parts, true))
	case *syntax.ParamExp:
		return s.param(p, quoted)
	case *syntax.CmdSubst:
		return asPieces(s.substitution(p.Stmts), !quoted)
	case *syntax.ArithmExp:
		s.arith(p.X)
		return one(word.Token, "")
	case *syntax.ProcSubst:
		return one(word.Literal, s.processSubst(p))
	case *syntax.ExtGlob:
		s.Document(word.Lit(p.Pattern.Value)) // the parser leaves what is in it as it stands
		if strings.Contains(p.Pattern.Value, "..") {
			return one(word.Literal, "..")
		}
		return one(word.Matched, "*")
	}
	return one(word.Dynamic, "")
}

func asPieces(t text, split bool) [][]piece {
	pieces := make([]piece, len(t))
	for i, sg := range t {
		pieces[i] = piece{Seg: sg, split: split}
	}
	return [][]piece{pieces}
}

// substitution runs a command substitution and returns what it prints, as far
// as that is known.
func (s *Shell) substitution(stmts []*syntax.Stmt) text {
	defer s.enter()()
	var out text
	s.Isolated(func() {
		out = s.Capture(func() { s.stmts(stmts) })
		if len(stmts) == 1 && stmts[0].Cmd == nil && len(stmts[0].Redirs) == 1 && stmts[0].Redirs[0].Op == syntax.RdrIn {
			out = s.FileStream(arg{Text: s.textOf(stmts[0].Redirs[0].Word)}).Text // $(<file)
		}
	})
	if n := len(out); n > 0 && out[n-1].Kind == word.Literal {
		out[n-1].Text = strings.TrimRight(out[n-1].Text, "\n")
		out = text{}.With(out...)
	}
	return out
}

// processSubst runs the commands and returns a path that stands for them.
func (s *Shell) processSubst(p *syntax.ProcSubst) string {
	s.pipes++
	name := "/dev/fd/" + strconv.Itoa(62+s.pipes)
	if p.Op == syntax.CmdOut {
		s.Isolated(func() {
			s.WithStdin(nil, func() { s.stmts(p.Stmts) })
		})
		return name
	}
	s.Files[name] = s.substitution(p.Stmts)
	return name
}

// splitFields does word splitting and turns unquoted patterns into matches.
func (s *Shell) splitFields(pieces []piece) []text {
	ifs := " \t\n"
	if v, ok := s.Vars["IFS"]; ok && len(v.Alts) > 0 {
		ifs = v.Alts[0].Known()
	}
	var out []text
	var cur text
	have := false
	flush := func() {
		if have {
			out = append(out, cur)
		}
		cur, have = nil, false
	}
	for _, p := range pieces {
		switch {
		case p.ends:
			flush()
			continue
		case p.split && p.Kind == word.Literal:
			rest := p.Text
			for {
				i := strings.IndexAny(rest, ifs)
				if i < 0 {
					break
				}
				if i > 0 {
					cur, have = cur.With(globPieces(rest[:i])...), true
				}
				flush()
				rest = rest[i+1:]
			}
			if rest != "" {
				cur, have = cur.With(globPieces(rest)...), true
			}
			continue
		}
		cur = cur.With(p.Seg)
		have = have || p.quoted || p.Kind != word.Literal || p.Text != ""
	}
	flush()
	return out
}

// globPieces cuts s at its pattern characters.
func globPieces(s string) []word.Seg {
	var out []word.Seg
	from := 0
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("*?[", s[i]) < 0 {
			continue
		}
		end := i + 1
		if s[i] == '[' {
			j := strings.IndexByte(s[i+1:], ']')
			if j < 0 {
				continue
			}
			end = i + j + 2
		}
		out = append(out, word.Piece(word.Literal, s[from:i]), word.Piece(word.Matched, s[i:end]))
		from, i = end, end-1
	}
	return append(out, word.Piece(word.Literal, s[from:]))
}

// unescapeBare reads an unquoted literal: backslashes quote, patterns match.
func unescapeBare(v string) []piece {
	var out []piece
	var plain strings.Builder
	flush := func() {
		for _, g := range globPieces(plain.String()) {
			out = append(out, piece{Seg: g})
		}
		plain.Reset()
	}
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 >= len(v) {
			plain.WriteByte(v[i])
			continue
		}
		i++
		if v[i] == '\n' {
			continue
		}
		flush()
		out = append(out, piece{Seg: word.Piece(word.Literal, v[i:i+1]), quoted: true})
	}
	flush()
	return out
}

// unescapeQuoted reads a literal within double quotes.
func unescapeQuoted(v string) string {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
			i++
			if v[i] == '\n' {
				continue
			}
		}
		b.WriteByte(v[i])
	}
	return b.String()
}

// tilde replaces a leading unquoted ~. In an assignment ~ also counts after
// the equals sign, which is why options such as --dir=~/x are read alike.
func (s *Shell) tilde(pieces []piece, w *syntax.Word) []piece {
	if len(w.Parts) == 0 || len(pieces) == 0 {
		return pieces
	}
	first, ok := w.Parts[0].(*syntax.Lit)
	if !ok || pieces[0].Kind != word.Literal || pieces[0].quoted {
		return pieces
	}
	value := pieces[0].Text
	at := 0
	if !strings.HasPrefix(first.Value, "~") {
		i := strings.Index(value, "=~")
		if i < 0 {
			return pieces
		}
		at = i + 1
	}
	user, rest, _ := strings.Cut(value[at+1:], "/")
	if rest != "" || strings.HasSuffix(value, "/") {
		rest = "/" + rest
	}
	out := append([]piece{}, pieces...)
	name, known := map[string]string{"": "HOME", "+": "PWD", "-": "OLDPWD"}[user]
	if !known {
		out[0].Text = value[:at] + "/home/" + user + rest // someone's home, and not the workspace
		return out
	}
	alts := s.Lookup(name).Alts
	dir, sure := "", len(alts) == 1
	if sure && alts[0].First() != word.Environ { // without a known home it is at least not the workspace
		dir, sure = alts[0].Literal()
	}
	if sure {
		out[0].Text = value[:at] + dir + rest
		return out
	}
	out[0].Text = value[:at]
	return append([]piece{out[0], {Seg: word.Seg{Kind: word.Dynamic}}, {Seg: word.Piece(word.Literal, rest)}}, out[1:]...)
}

// braces expands {a,b} and {1..3}.
func (s *Shell) braces(w *syntax.Word) []*syntax.Word {
	found := false
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, "{") {
			found = true
		}
	}
	if !found {
		return []*syntax.Word{w}
	}
	copied := &syntax.Word{Parts: append([]syntax.WordPart{}, w.Parts...)}
	syntax.SplitBraces(copied)
	var out []*syntax.Word
	for _, parts := range s.braceParts(copied.Parts) {
		out = append(out, &syntax.Word{Parts: parts})
	}
	return out
}

// sequence lists {a..z}. Of numbers the ends do: those between lead nowhere else.
func sequence(b *syntax.BraceExp) []string {
	from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
	if len(from) != 1 || len(to) != 1 {
		return []string{from, to}
	}
	var out []string
	for c := range int(max(from[0], to[0])) + 1 {
		if c >= int(min(from[0], to[0])) {
			out = append(out, string([]byte{byte(c)}))
		}
	}
	return out
}

func (s *Shell) braceParts(parts []syntax.WordPart) [][]syntax.WordPart {
	alts := [][]syntax.WordPart{{}}
	for _, p := range parts {
		brace, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range alts {
				alts[i] = append(alts[i][:len(alts[i]):len(alts[i])], p)
			}
			continue
		}
		var options [][]syntax.WordPart
		if brace.Sequence {
			for _, v := range sequence(brace) {
				options = append(options, []syntax.WordPart{&syntax.Lit{Value: v}})
			}
		} else {
			for _, e := range brace.Elems {
				options = append(options, s.braceParts(e.Parts)...)
			}
		}
		var next [][]syntax.WordPart
		for _, a := range alts {
			for _, o := range options {
				s.Step()
				next = append(next, append(a[:len(a):len(a)], o...))
			}
		}
		alts = next
		if len(alts) > MaxRounds {
			s.Deny(verdict.RuleTooComplex, arg{}, "", "a brace expansion makes too many words", "use fewer")
		}
	}
	return alts
}
