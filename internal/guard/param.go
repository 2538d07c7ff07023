package guard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// looked is what is known of a variable.
type looked struct {
	alts  []text
	list  bool // every element apart: $@, ${a[@]}
	free  bool // never set by the command, so perhaps empty
	unset bool // empty for sure
}

// param expands $x and ${x…}.
func (s *shell) param(pe *syntax.ParamExp, quoted bool) [][]piece {
	if pe.Param == nil {
		return asPieces(unknown(dynamic), !quoted)
	}
	s.step()
	v := s.paramValue(pe)
	alts := v.alts
	switch {
	case pe.Length:
		return asPieces(unknown(token), !quoted)
	case pe.Names != 0:
		return asPieces(unknown(token), !quoted)
	case pe.Slice != nil:
		s.arith(pe.Slice.Offset)
		s.arith(pe.Slice.Length)
		if v.list {
			first := 0
			if name := pe.Param.Value; pe.Index == nil && (name == "@" || name == "*") {
				first = 1 // $0 comes before them
			}
			alts = sliceList(alts, pe.Slice, first)
			break
		}
		alts = mapTexts(alts, func(t text) text { return slice(t, pe.Slice) })
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
				out = append(out, piece{seg: seg{literal, " "}})
			} else {
				out = append(out, piece{ends: true})
			}
		}
		if quoted {
			out = append(out, piece{quoted: true})
		}
		for _, sg := range t {
			out = append(out, piece{seg: sg, split: !quoted})
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
func (s *shell) paramValue(pe *syntax.ParamExp) looked {
	name := pe.Param.Value
	if pe.Index != nil {
		return s.element(name, pe.Index)
	}
	if n := len(s.sc.params); pe.Excl && name == "#" && n > 0 {
		return looked{alts: s.sc.params[n-1:]} // ${!#} is the last of them
	}
	v := s.lookup(name)
	if !pe.Excl || pe.Names != 0 {
		return v
	}
	var alts []text
	for _, t := range v.alts {
		target, ok := t.literal()
		if !ok {
			return looked{alts: []text{unknown(max(dynamic, t.worst()))}}
		}
		if strings.ContainsAny(target, "$`[") {
			s.document(lit(target))
			alts = append(alts, unknown(dynamic))
			continue
		}
		alts = append(alts, s.lookup(target).alts...)
	}
	return looked{alts: alts}
}

// element looks up ${name[index]}.
func (s *shell) element(name string, index syntax.ArithmExpr) looked {
	v, ok := s.sc.vars[name]
	if w, isWord := index.(*syntax.Word); isWord {
		if l := w.Lit(); l == "@" || l == "*" {
			if !ok {
				return looked{list: true}
			}
			return looked{alts: v.values(), list: true}
		}
	}
	if n, fixed := number(index, 0); fixed && ok && v.isList && s.dialect == dialectBash {
		if n < 0 {
			n += len(v.list)
		}
		if n >= 0 && n < len(v.list) {
			return looked{alts: []text{v.list[n]}}
		}
	}
	s.arith(index)
	if !ok {
		return s.lookup(name)
	}
	return looked{alts: v.values()}
}

// referred follows references made with declare -n, as far as bash does.
func (s *shell) referred(name string) string {
	for range 8 {
		v, ok := s.sc.vars[name]
		if !ok || v.ref == "" {
			break
		}
		name = v.ref
	}
	return name
}

// lookup finds what a name may hold.
func (s *shell) lookup(name string) looked {
	if v, ok := s.sc.vars[s.referred(name)]; ok {
		if v.isList {
			if len(v.list) == 0 {
				return looked{unset: true}
			}
			return looked{alts: v.list[:1]}
		}
		return looked{alts: v.alts}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return looked{alts: []text{s.sc.self}}
		case n <= len(s.sc.params):
			return looked{alts: []text{s.sc.params[n-1]}}
		}
		return looked{alts: []text{nil}, unset: true}
	}
	return s.special(name)
}

// special is what the shell and the environment set.
func (s *shell) special(name string) looked {
	is := func(t text) looked { return looked{alts: []text{t}} }
	dirs := func(names []string) looked {
		var v looked
		for _, d := range names {
			v.alts = append(v.alts, lit(d))
		}
		return v
	}
	switch name {
	case "@", "*":
		return looked{alts: s.sc.params, list: true, unset: len(s.sc.params) == 0}
	case "HOME":
		if s.land.home != "" {
			return is(lit(s.land.home))
		}
	case "CCO_EXCHANGE":
		if s.policy.Exchange != "" {
			return is(lit(s.policy.Exchange))
		}
	case "CCO_WORKSPACE":
		if s.policy.Exchange != "" { // both are set, or neither
			return is(lit(s.policy.Workspace))
		}
	case "PWD":
		return dirs(s.sc.dirs)
	case "OLDPWD":
		if len(s.sc.old) == 0 {
			return is(unknown(dynamic)) // where an earlier call, or whoever started the agent, has been
		}
		return dirs(s.sc.old)
	case "DIRSTACK":
		return dirs(s.sc.dirs)
	case "TMPDIR", "TMP", "TEMP":
		if len(s.policy.Scratch) > 0 && name == "TMPDIR" {
			return is(lit(s.policy.Scratch[0]))
		}
	case "SHELL", "BASH":
		return is(lit("bash"))
	case "PPID":
		return is(lit("$PPID"))
	case "IFS":
		return is(lit(" \t\n"))
	case "?", "$", "!", "#", "-", "RANDOM", "SRANDOM", "UID", "EUID", "LINENO", "SECONDS", "BASHPID",
		"EPOCHSECONDS", "EPOCHREALTIME", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "USER", "LOGNAME",
		"SHLVL", "COLUMNS", "LINES", "BASH_VERSION", "BASH_VERSINFO", "OPTIND", "BASH_SUBSHELL", "LANG", "TERM":
		return is(unknown(token))
	case "_":
		if s.sc.last != nil {
			return is(s.sc.last)
		}
		return is(unknown(dynamic))
	case "REPLY", "BASH_COMMAND", "BASH_EXECUTION_STRING":
		return is(unknown(dynamic))
	case "BASH_SOURCE", "FUNCNAME":
		return is(s.sc.self)
	}
	return looked{alts: []text{unknown(environ)}, free: true}
}

// modify applies ${x:-…}, ${x%…} and the like.
func (s *shell) modify(pe *syntax.ParamExp, v looked, quoted bool) []text {
	op := pe.Exp.Op
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		word := s.defaultWord(pe.Exp.Word, quoted)
		alts := defaulted(v, word)
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			s.sc.vars[pe.Param.Value] = variable{alts: alts}
			for _, t := range alts {
				s.setting(pe.Param.Value, arg{t, 0, 0}, true)
			}
		}
		return alts
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		word := s.defaultWord(pe.Exp.Word, quoted)
		switch {
		case v.unset:
			return []text{nil}
		case v.free:
			return append(word, nil)
		}
		return word
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		s.defaultWord(pe.Exp.Word, quoted)
		return v.alts
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		pattern := s.pattern(pe.Exp.Word)
		return mapTexts(v.alts, func(t text) text { return trimmed(t, pattern, op) })
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		s.texts(pe.Exp.Word)
		return mapTexts(v.alts, func(t text) text { return recased(t, op) })
	case syntax.OtherParamOps:
		return s.transform(pe, v)
	}
	return []text{unknown(dynamic)}
}

// defaulted is x or its default. A variable that the command never set is
// taken as not set: its value is the user's, not the agent's.
func defaulted(v looked, word []text) []text {
	if v.unset || v.free {
		return word
	}
	var alts []text
	for _, t := range v.alts {
		if len(t) == 0 {
			alts = append(alts, word...)
			continue
		}
		alts = append(alts, t)
	}
	if len(v.alts) == 0 {
		return word
	}
	return alts
}

// defaultWord expands the word of ${x:-word}. Within double quotes bash gives
// single quotes no meaning there, so a substitution between them runs.
func (s *shell) defaultWord(w *syntax.Word, quoted bool) []text {
	if w == nil {
		return []text{nil}
	}
	if quoted {
		for _, p := range w.Parts {
			if q, ok := p.(*syntax.SglQuoted); ok {
				s.document(lit(q.Value))
			}
		}
	}
	return s.texts(w)
}

// transform applies ${x@…}; @P expands the value as a prompt, which runs the
// substitutions in it.
func (s *shell) transform(pe *syntax.ParamExp, v looked) []text {
	op := ""
	if pe.Exp.Word != nil {
		op = pe.Exp.Word.Lit()
	}
	switch op {
	case "P":
		for _, t := range v.alts {
			if t.worst() > below {
				s.deny(RuleUnknownCode, nodeArg(pe), "", "${…@P} runs the substitutions in a value that can't be told beforehand",
					"use the value itself")
			}
			s.document(t)
		}
	case "Q", "E", "A", "U", "u", "L", "K", "k", "a":
	}
	return mapTexts(v.alts, func(t text) text {
		if op == "a" {
			return unknown(token)
		}
		return t
	})
}

// document expands text the way a here-document is, which runs what it holds.
func (s *shell) document(t text) {
	source := t.known()
	if !strings.ContainsAny(source, "$`") {
		return
	}
	defer s.enter()()
	joined, _ := join(source, nil)
	word, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(joined))
	if err != nil {
		s.deny(RuleSyntax, arg{}, "", "a text that the shell would expand does not parse", "quote it differently")
	}
	if word != nil {
		outer := s.fixed
		if s.fixed == nil {
			s.fixed = &arg{}
		}
		s.parts(word.Parts, true)
		s.fixed = outer
	}
}

// nodeArg points at a node.
func nodeArg(n syntax.Node) arg {
	return arg{start: int(n.Pos().Offset()), end: int(n.End().Offset())}
}
