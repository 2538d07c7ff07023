package bash

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// looked is what is known of a variable.
type looked struct {
	Alts  []text
	list  bool // every element apart: $@, ${a[@]}
	free  bool // never set by the command, so perhaps empty
	unset bool // empty for sure
}

// param expands $x and ${x…}.
func (s *Shell) param(pe *syntax.ParamExp, quoted bool) [][]piece {
	if pe.Param == nil {
		return asPieces(word.Unknown(word.Dynamic), !quoted)
	}
	s.Step()
	v := s.paramValue(pe)
	alts := v.Alts
	switch {
	case pe.Length:
		return asPieces(length(v), !quoted)
	case pe.Names != 0:
		return asPieces(word.Unknown(word.Token), !quoted)
	case pe.Slice != nil:
		s.arith(pe.Slice.Offset)
		s.arith(pe.Slice.Length)
		if v.list {
			first := 0
			if name := pe.Param.Value; pe.Index == nil && (name == "@" || name == "*") {
				first = 1 // $0 comes before them
			}
			alts = s.sliceList(alts, pe.Slice, first)
			break
		}
		alts = mapTexts(alts, func(t text) text { return s.slice(t, pe.Slice) })
	case pe.Repl != nil:
		alts = s.replace(alts, pe.Repl)
	case pe.Exp != nil:
		alts = s.modify(pe, v, quoted)
	}
	if v.list && pe.Exp == nil || v.list && keepsList(pe.Exp.Op) {
		return [][]piece{listPieces(alts, quoted, pe.Param.Value == "*")}
	}
	if len(alts) == 0 {
		return [][]piece{{}}
	}
	var out [][]piece
	for _, t := range alts {
		out = append(out, asPieces(t, !quoted)...)
	}
	return out
}

func keepsList(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return false
	}
	return true
}

// listPieces lays the elements of a list out as fields.
func listPieces(elems []text, quoted, joined bool) []piece {
	var out []piece
	for i, t := range elems {
		if i > 0 {
			if quoted && joined {
				out = append(out, piece{Seg: word.Piece(word.Literal, " ")})
			} else {
				out = append(out, piece{ends: true})
			}
		}
		if quoted {
			out = append(out, piece{quoted: true})
		}
		for _, sg := range t {
			out = append(out, piece{Seg: sg, split: !quoted})
		}
	}
	return out
}

func mapTexts(in []text, f func(text) text) []text {
	out := make([]text, len(in))
	for i, t := range in {
		out[i] = f(t)
	}
	return out
}

// paramValue looks a parameter up, with its index and indirection.
func (s *Shell) paramValue(pe *syntax.ParamExp) looked {
	name := pe.Param.Value
	if pe.Index != nil {
		return s.element(name, pe.Index)
	}
	if n := len(s.Params); pe.Excl && name == "#" && n > 0 {
		return looked{Alts: s.Params[n-1:]} // ${!#} is the last of them
	}
	v := s.Lookup(name)
	if !pe.Excl || pe.Names != 0 {
		return v
	}
	var alts []text
	for _, t := range v.Alts {
		target, ok := t.Literal()
		if !ok {
			return looked{Alts: []text{word.Unknown(max(word.Dynamic, t.Worst()))}}
		}
		if strings.ContainsAny(target, "$`[") {
			s.Document(word.Lit(target))
			alts = append(alts, word.Unknown(word.Dynamic))
			continue
		}
		alts = append(alts, s.Lookup(target).Alts...)
	}
	return looked{Alts: alts}
}

// element looks up ${name[index]}.
func (s *Shell) element(name string, index syntax.ArithmExpr) looked {
	v, ok := s.Vars[name]
	if w, isWord := index.(*syntax.Word); isWord {
		if l := w.Lit(); l == "@" || l == "*" {
			if !ok {
				return looked{list: true}
			}
			return looked{Alts: v.Values(), list: true}
		}
	}
	if n, fixed := s.number(index, 0); fixed && ok && v.isList && s.dialect == dialectBash {
		if n < 0 {
			n += len(v.list)
		}
		if n >= 0 && n < len(v.list) {
			return looked{Alts: []text{v.list[n]}}
		}
	}
	s.arith(index)
	if !ok {
		return s.Lookup(name)
	}
	return looked{Alts: v.Values()}
}

// referred follows references made with declare -n, as far as bash does.
func (s *Shell) referred(name string) string {
	for range 8 {
		v, ok := s.Vars[name]
		if !ok || v.ref == "" {
			break
		}
		name = v.ref
	}
	return name
}

// Lookup finds what a name may hold.
func (s *Shell) Lookup(name string) looked {
	if v, ok := s.Vars[s.referred(name)]; ok {
		if v.isList {
			if len(v.list) == 0 {
				return looked{unset: true}
			}
			return looked{Alts: v.list[:1]}
		}
		return looked{Alts: v.Alts}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return looked{Alts: []text{s.Self}}
		case n <= len(s.Params):
			return looked{Alts: []text{s.Params[n-1]}}
		}
		return looked{Alts: []text{nil}, unset: true}
	}
	return s.special(name)
}

// special is what the shell and the environment set.
func (s *Shell) special(name string) looked {
	is := func(t text) looked { return looked{Alts: []text{t}} }
	dirs := func(names []string) looked {
		var v looked
		for _, d := range names {
			v.Alts = append(v.Alts, word.Lit(d))
		}
		return v
	}
	switch name {
	case "@", "*":
		return looked{Alts: s.Params, list: true, unset: len(s.Params) == 0}
	case "HOME":
		if s.Home() != "" {
			return is(word.Lit(s.Home()))
		}
	case "CCO_EXCHANGE":
		if s.Policy.Exchange != "" {
			return is(word.Lit(s.Policy.Exchange))
		}
	case "CCO_WORKSPACE":
		if s.Policy.Exchange != "" { // both are set, or neither
			return is(word.Lit(s.Policy.Workspace))
		}
	case "PWD":
		return dirs(s.Dirs)
	case "OLDPWD":
		if len(s.old) == 0 {
			return is(word.Unknown(word.Dynamic)) // where an earlier call, or the agent's starter, has been
		}
		return dirs(s.old)
	case "DIRSTACK":
		return dirs(s.Dirs)
	case "TMPDIR", "TMP", "TEMP":
		if len(s.Policy.Scratch) > 0 && name == "TMPDIR" {
			return is(word.Lit(s.Policy.Scratch[0]))
		}
	case "SHELL", "BASH":
		return is(word.Lit("bash"))
	case "PPID":
		return is(word.Lit("$PPID"))
	case "IFS":
		return is(word.Lit(" \t\n"))
	case "#":
		return is(word.Lit(strconv.Itoa(len(s.Params))))
	case "?", "$", "!", "-", "RANDOM", "SRANDOM", "UID", "EUID", "LINENO", "SECONDS", "BASHPID",
		"EPOCHSECONDS", "EPOCHREALTIME", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "USER", "LOGNAME",
		"SHLVL", "COLUMNS", "LINES", "BASH_VERSION", "BASH_VERSINFO", "OPTIND", "BASH_SUBSHELL", "LANG", "TERM":
		return is(word.Unknown(word.Token))
	case "_":
		if s.last != nil {
			return is(s.last)
		}
		return is(word.Unknown(word.Dynamic))
	case "REPLY", "BASH_COMMAND", "BASH_EXECUTION_STRING":
		return is(word.Unknown(word.Dynamic))
	case "BASH_SOURCE", "FUNCNAME":
		return is(s.Self)
	}
	return looked{Alts: []text{word.Unknown(word.Environ)}, free: true}
}

// modify applies ${x:-…}, ${x%…} and the like.
func (s *Shell) modify(pe *syntax.ParamExp, v looked, quoted bool) []text {
	op := pe.Exp.Op
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		part := s.defaultWord(pe.Exp.Word, quoted)
		alts := defaulted(v, part)
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			s.Vars[pe.Param.Value] = Variable{Alts: alts}
			for _, t := range alts {
				s.table.Set(pe.Param.Value, arg{Text: t})
			}
		}
		return alts
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		part := s.defaultWord(pe.Exp.Word, quoted)
		switch {
		case v.unset:
			return []text{nil}
		case v.free:
			return append(part, nil)
		}
		return part
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		s.defaultWord(pe.Exp.Word, quoted)
		return v.Alts
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		if pattern, ok := s.pattern(pe.Exp.Word); ok {
			return mapTexts(v.Alts, func(t text) text { return trimmed(t, pattern, op) })
		}
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		s.texts(pe.Exp.Word)
		return mapTexts(v.Alts, func(t text) text { return recased(t, op) })
	case syntax.OtherParamOps:
		return s.transform(pe, v)
	}
	return []text{word.Unknown(word.Dynamic)}
}

// defaulted is x or its default. A variable that the command never set is
// taken as not set: its value is the user's, not the agent's.
func defaulted(v looked, part []text) []text {
	if v.unset || v.free {
		return part
	}
	var alts []text
	for _, t := range v.Alts {
		if len(t) == 0 {
			alts = append(alts, part...)
			continue
		}
		alts = append(alts, t)
	}
	if len(v.Alts) == 0 {
		return part
	}
	return alts
}

// defaultWord expands the word of ${x:-word}. Within double quotes bash gives
// single quotes no meaning there, so a substitution between them runs.
func (s *Shell) defaultWord(w *syntax.Word, quoted bool) []text {
	if w == nil {
		return []text{nil}
	}
	if quoted {
		for _, p := range w.Parts {
			if q, ok := p.(*syntax.SglQuoted); ok {
				s.Document(word.Lit(q.Value))
			}
		}
	}
	return s.texts(w)
}

// transform applies ${x@…}; @P expands the value as a prompt, which runs the
// substitutions in it.
func (s *Shell) transform(pe *syntax.ParamExp, v looked) []text {
	op := ""
	if pe.Exp.Word != nil {
		op = pe.Exp.Word.Lit()
	}
	if op == "P" {
		for _, t := range v.Alts {
			if t.Worst() > word.Below {
				s.Deny(verdict.RuleUnknownCode, nodeArg(pe), "",
					"${…@P} runs the substitutions in a value that can't be told beforehand", "use the value itself")
			}
			s.Document(t)
		}
	}
	return mapTexts(v.Alts, func(t text) text {
		if op == "a" {
			return word.Unknown(word.Token)
		}
		return t
	})
}

// Document expands text the way a here-document is, which runs what it holds.
func (s *Shell) Document(t text) {
	source := t.Known()
	if !strings.ContainsAny(source, "$`") {
		return
	}
	defer s.enter()()
	part, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(join(source, nil)))
	if err != nil {
		s.Deny(verdict.RuleSyntax, arg{}, "", "a text that the shell would expand does not parse", "quote it differently")
	}
	if part != nil {
		outer := s.fixed
		if s.fixed == nil {
			s.fixed = &arg{}
		}
		s.parts(part.Parts, true)
		s.fixed = outer
	}
}

// nodeArg points at a node.
func nodeArg(n syntax.Node) arg {
	return arg{Start: int(n.Pos().Offset()), End: int(n.End().Offset())}
}
