package bash

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// expansion says what becomes of the pieces of a word.
type expansion uint8

const (
	split  expansion = iota // a word of a command: unquoted results are split, and patterns match
	whole                   // an assignment, a redirect, a here-string: one text
	quoted                  // between double quotes
)

// fieldEnd is the kind of a piece that ends a field. It never leaves a word: a field is made of all the pieces up to
// it, and of an empty literal too, which is how quotes make an empty field.
const fieldEnd = word.Hidden + 1

// argvs expands words to the argument lists that they may become.
func (s *Shell) argvs(words []*syntax.Word) [][]arg {
	alts := [][]arg{nil}
	for _, w := range words {
		braced := *w
		syntax.SplitBraces(&braced)
		for _, parts := range s.braces(braced.Parts) {
			alts = cross(alts, s.fields(parts, nodeArg(w)))
		}
	}
	return alts
}

// cross appends every option to every alternative. Past the bound it varies
// one side at a time, which still shows each option once.
func cross[T any](alts, options [][]T) [][]T {
	if len(options) == 1 {
		for i := range alts {
			alts[i] = append(alts[i], options[0]...) // no two alternatives share an array
		}
		return alts
	}
	var out [][]T
	for i, a := range alts {
		for j, o := range options {
			if len(alts)*len(options) <= maxAlts || i == 0 || j == 0 {
				out = append(out, slices.Concat(a, o))
			}
		}
	}
	return out
}

// braces expands {a,b}. Of {1..9} the ends do: what lies between leads nowhere else.
func (s *Shell) braces(parts []syntax.WordPart) (words [][]syntax.WordPart) {
	s.Step()
	i := slices.IndexFunc(parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok })
	if i < 0 {
		return [][]syntax.WordPart{parts}
	}
	for _, e := range parts[i].(*syntax.BraceExp).Elems {
		words = append(words, s.braces(slices.Concat(parts[:i], e.Parts, parts[i+1:]))...)
	}
	if len(words) > MaxRounds {
		s.Deny(verdict.RuleTooComplex, arg{}, "", "a brace expansion makes too many words", "use fewer")
	}
	return words
}

// fields expands a word of a command, in every way that it may come out.
func (s *Shell) fields(parts []syntax.WordPart, at arg) (alts [][]arg) {
	for _, pieces := range s.parts(parts, split) {
		var args []arg
		for _, t := range s.cutFields(pieces) {
			args = append(args, at.Hold(t))
		}
		alts = append(alts, args)
	}
	return alts
}

// cutFields cuts pieces where fields end.
func (s *Shell) cutFields(pieces []word.Seg) (fields []text) {
	var field text
	for _, p := range append(pieces, word.Piece(fieldEnd, "")) {
		switch {
		case p.Kind != fieldEnd:
			field = append(field, p)
		case len(field) > 0:
			fields = append(fields, s.joined(field))
			field = nil
		}
	}
	return fields
}

// texts expands a word that is not split.
func (s *Shell) texts(w *syntax.Word) []text { return s.unsplit(w, whole) }

func (s *Shell) unsplit(w *syntax.Word, how expansion) (alts []text) {
	if w == nil {
		return []text{nil}
	}
	for _, pieces := range s.parts(w.Parts, how) {
		for i, p := range pieces {
			if p.Kind == fieldEnd {
				pieces[i] = word.Piece(word.Literal, " ")
			}
		}
		alts = append(alts, s.joined(pieces))
	}
	return alts
}

// joined makes a text of pieces. A substitution within an index runs wherever
// the shell comes to evaluate the text, as arithmetic or as a variable's name.
func (s *Shell) joined(pieces text) text {
	t := text{}.With(pieces...)
	s.Charge(t)
	if known := t.Known(); strings.Contains(known, "[$(") || strings.Contains(known, "[`") {
		s.document(known, false)
	}
	return t
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
func (s *Shell) parts(ps []syntax.WordPart, how expansion) [][]word.Seg {
	s.Step()
	alts := [][]word.Seg{nil}
	for i, p := range ps {
		lit, ok := p.(*syntax.Lit)
		switch {
		case ok && how == quoted:
			alts = cross(alts, [][]word.Seg{{word.Piece(word.Literal, unescapeQuoted(lit.Value))}})
		case ok && i == 0:
			alts = cross(alts, [][]word.Seg{s.tilde(lit.Value)})
		case ok:
			alts = cross(alts, [][]word.Seg{unescapeBare(lit.Value)})
		default:
			alts = cross(alts, s.part(p, how))
		}
	}
	return alts
}

func (s *Shell) part(p syntax.WordPart, how expansion) [][]word.Seg {
	one := func(k word.Kind, t string) [][]word.Seg { return [][]word.Seg{{word.Piece(k, t)}} }
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if how == quoted { // as in "${x:-'…'}", where bash gives it no meaning
			s.Document(word.Lit(p.Value))
		}
		if p.Dollar {
			return one(word.Literal, word.AnsiC(p.Value))
		}
		return one(word.Literal, p.Value)
	case *syntax.DblQuoted:
		return cross(one(word.Literal, ""), s.parts(p.Parts, quoted))
	case *syntax.ParamExp:
		return s.param(p, how)
	case *syntax.CmdSubst:
		return [][]word.Seg{s.spread(s.substitution(p.Stmts), how)}
	case *syntax.ArithmExp:
		s.expression(p.X)
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

// spread lays the result of an expansion out as pieces: where words are split,
// known text falls into fields, in which patterns match.
func (s *Shell) spread(t text, how expansion) []word.Seg {
	if how != split {
		return slices.Clone(t)
	}
	ifs := " \t\n"
	if v, ok := s.Vars["IFS"]; ok && len(v.Alts) > 0 {
		ifs = v.Alts[0].Known()
	}
	var out []word.Seg
	for _, sg := range t {
		if sg.Kind != word.Literal {
			out = append(out, sg)
			continue
		}
		rest := sg.Text
		for i := strings.IndexAny(rest, ifs); i >= 0; i = strings.IndexAny(rest, ifs) {
			out = append(append(out, globPieces(rest[:i])...), word.Piece(fieldEnd, ""))
			rest = rest[i+1:]
		}
		out = append(out, globPieces(rest)...)
	}
	return out
}

// substitution runs a command substitution and returns what it prints, as far as that is known.
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
		s.Isolated(func() { s.WithStdin(nil, func() { s.stmts(p.Stmts) }) })
	} else {
		s.Files[name] = s.substitution(p.Stmts)
	}
	return name
}

// globPieces cuts s at its pattern characters.
func globPieces(s string) (out []word.Seg) {
	for s != "" {
		kind, from := word.Matched, strings.IndexAny(s, "*?[")
		if from < 0 {
			return append(out, word.Piece(word.Literal, s))
		}
		end := from + 1
		if s[from] == '[' {
			end += strings.IndexByte(s[end:], ']') + 1
		}
		if s[from] == '[' && end == from+1 {
			kind = word.Literal // it is never closed
		}
		out = append(out, word.Piece(word.Literal, s[:from]), word.Piece(kind, s[from:end]))
		s = s[end:]
	}
	return out
}

// unescapeBare reads an unquoted literal: backslashes quote, patterns match.
func unescapeBare(v string) (out []word.Seg) {
	for {
		before, after, found := strings.Cut(v, `\`)
		if !found || after == "" {
			return append(out, globPieces(v)...)
		}
		out = append(out, globPieces(before)...)
		if after[0] != '\n' {
			out = append(out, word.Piece(word.Literal, after[:1]))
		}
		v = after[1:]
	}
}

// unescapeQuoted reads a literal within double quotes.
func unescapeQuoted(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	return strings.NewReplacer(`\$`, "$", "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "").Replace(v)
}

// tilde reads a literal at the beginning of a word, in which an unquoted ~ may stand. In an assignment ~ also counts
// after the equals sign, which is why options such as --dir=~/x are read alike.
func (s *Shell) tilde(v string) []word.Seg {
	at := strings.Index(v, "=~") + 1
	if strings.HasPrefix(v, "~") {
		at = 0
	} else if at == 0 || strings.Contains(v[:at], `\`) {
		return unescapeBare(v)
	}
	end := len(v)
	if i := strings.IndexByte(v[at:], '/'); i >= 0 {
		end = at + i
	}
	home := []text{word.Lit("/home/" + v[at+1:end])} // someone's home, and not the workspace
	if end == at+1 {
		home = s.Lookup("HOME").Alts
	}
	switch {
	case len(home) != 1:
		home = []text{word.Unknown(word.Dynamic)}
	case neverSet(home[0]):
		home = []text{nil} // without a known home it is at least not the workspace
	}
	return slices.Concat(unescapeBare(v[:at]), home[0], unescapeBare(v[end:]))
}
