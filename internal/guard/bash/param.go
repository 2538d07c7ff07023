package bash

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// param expands $x and ${x…}.
func (s *Shell) param(pe *syntax.ParamExp, how expansion) (alts [][]word.Seg) {
	v := Variable{Alts: []text{word.Unknown(word.Dynamic)}}
	if pe.Param != nil {
		v = s.operated(pe, how)
	}
	if v.list {
		return [][]word.Seg{s.listPieces(v.Alts, how, pe.Param.Value == "*")}
	}
	for _, t := range v.Alts {
		alts = append(alts, s.spread(t, how))
	}
	if len(alts) == 0 {
		return [][]word.Seg{nil}
	}
	return alts
}

// operated is a parameter with its operator applied.
func (s *Shell) operated(pe *syntax.ParamExp, how expansion) Variable {
	v := s.paramValue(pe)
	switch {
	case pe.Length || pe.Names != 0:
		return Variable{Alts: []text{word.Unknown(word.Token)}}
	case pe.Slice != nil:
		v.Alts = s.sliced(pe, v)
	case len(pe.Modifiers) > 0: // zsh's
		v.Alts = each(v.Alts, false, func(t string) (string, bool) { return turned(pe.Modifiers, t) })
	case pe.Repl != nil:
		v.Alts = s.replaced(pe.Repl, v)
	case pe.Exp != nil:
		return s.modified(pe, v, how)
	}
	return v
}

// turned applies the modifiers of zsh to a path.
func turned(modifiers []*syntax.Lit, t string) (string, bool) {
	for _, m := range modifiers {
		switch m.Value {
		case "h":
			t = path.Dir(t)
		case "t":
			t = path.Base(t)
		default:
			return "", false
		}
	}
	return t, true
}

// listPieces lays the elements of a list out as fields.
func (s *Shell) listPieces(elems []text, how expansion, joined bool) (out []word.Seg) {
	for i, t := range elems {
		switch {
		case i == 0:
		case how == quoted && joined:
			out = append(out, word.Piece(word.Literal, " "))
		default:
			out = append(out, word.Piece(fieldEnd, ""))
		}
		if how == quoted {
			out = append(out, word.Piece(word.Literal, ""))
		}
		out = append(out, s.spread(t, how)...)
	}
	return out
}

// paramValue looks a parameter up, with its index and indirection.
func (s *Shell) paramValue(pe *syntax.ParamExp) Variable {
	name := pe.Param.Value
	v := s.Lookup(name)
	s.expression(pe.Index)
	if held, ok := s.Vars[name]; pe.Index != nil {
		w, _ := pe.Index.(*syntax.Word)
		if all := w != nil && (w.Lit() == "@" || w.Lit() == "*"); ok || all {
			v = Variable{Alts: held.Alts, list: all} // all of them, or any
		}
	}
	if !pe.Excl || pe.Names != 0 || pe.Index != nil {
		return v
	}
	var alts []text
	for _, t := range v.Alts {
		target, ok := t.Literal()
		if !ok || strings.Contains(target, "[") {
			return Variable{Alts: []text{word.Unknown(max(word.Dynamic, t.Worst()))}}
		}
		alts = append(alts, s.Lookup(target).Alts...)
	}
	return Variable{Alts: alts}
}

// Lookup finds what a name may hold.
func (s *Shell) Lookup(name string) Variable {
	if v, ok := s.Vars[name]; ok {
		if v.list {
			return Variable{Alts: v.Alts[:min(1, len(v.Alts))]}
		}
		return v
	}
	if name == "@" || name == "*" {
		return Variable{Alts: s.Params, list: true}
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		if n > len(s.Params) {
			return Variable{Alts: []text{nil}}
		}
		return Variable{Alts: s.Params[n-1 : n]}
	}
	return Variable{Alts: s.special(name)}
}

// special is what the shell and the environment set.
func (s *Shell) special(name string) (alts []text) {
	var known []string
	switch name {
	case "HOME":
		known = []string{s.Home()}
	case "CCO_EXCHANGE":
		known = []string{s.Policy.Exchange}
	case "CCO_WORKSPACE":
		if s.Policy.Exchange != "" { // both are set, or neither
			known = []string{s.Policy.Workspace}
		}
	case "PWD", "DIRSTACK":
		known = s.Dirs
	case "OLDPWD":
		known = s.old
	case "TMPDIR":
		known = s.Policy.Scratch[:min(1, len(s.Policy.Scratch))]
	case "SHELL", "BASH":
		known = []string{"bash"}
	case "PPID":
		known = []string{"$PPID"}
	case "IFS":
		known = []string{" \t\n"}
	case "#":
		known = []string{strconv.Itoa(len(s.Params))}
	case "?", "$", "!", "-", "RANDOM", "SRANDOM", "UID", "EUID", "LINENO", "SECONDS", "BASHPID",
		"EPOCHSECONDS", "EPOCHREALTIME", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "USER", "LOGNAME",
		"SHLVL", "COLUMNS", "LINES", "BASH_VERSION", "BASH_VERSINFO", "OPTIND", "BASH_SUBSHELL", "LANG", "TERM":
		return []text{word.Unknown(word.Token)}
	case "_":
		return []text{s.last}
	case "REPLY", "BASH_COMMAND", "BASH_EXECUTION_STRING":
		return []text{word.Unknown(word.Dynamic)}
	case "0", "BASH_SOURCE", "FUNCNAME":
		return []text{s.Self}
	}
	for _, v := range known {
		if v != "" {
			alts = append(alts, word.Lit(v))
		}
	}
	if len(alts) == 0 {
		return []text{word.Unknown(word.Environ)}
	}
	return alts
}

// neverSet says that a value is a variable's that the command has not set.
func neverSet(t text) bool { return len(t) == 1 && t[0].Kind == word.Environ }

// modified applies ${x:-…}, ${x%…} and the like.
func (s *Shell) modified(pe *syntax.ParamExp, v Variable, how expansion) Variable {
	op, w := pe.Exp.Op, pe.Exp.Word
	how = max(how, whole) // no word in it is split
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		// A variable that the command never set is taken as not set: its value is the user's, not the agent's.
		part := s.unsplit(w, how)
		alts := slices.DeleteFunc(slices.Clone(v.Alts), func(t text) bool { return len(t) == 0 || neverSet(t) })
		if len(alts) < len(v.Alts) || len(alts) == 0 {
			alts = append(alts, part...)
		}
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			for _, t := range alts {
				s.table.Set(pe.Param.Value, arg{Text: t})
			}
			s.Vars[pe.Param.Value] = Variable{Alts: alts}
		}
		return Variable{Alts: alts, list: v.list && len(v.Alts) > 0}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		alts := s.unsplit(w, how)
		switch {
		case len(v.Alts) == 0 || len(v.Alts[0]) == 0:
			alts = nil
		case neverSet(v.Alts[0]):
			alts = append(alts, nil)
		}
		return Variable{Alts: alts}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		s.unsplit(w, how)
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		v.Alts = s.trimmed(op, w, v)
	case syntax.OtherParamOps:
		if w != nil && w.Lit() == "P" {
			s.prompted(v.Alts, nodeArg(pe))
		}
	default:
		s.texts(w) // its case is changed: where it leads does not hang on that
	}
	return v
}

// each applies an operator to the values that are known. What is left of another is of the same kind if that is all
// that is known of it; with keeps, a relative path that never goes up still leads nowhere else.
func each(alts []text, keeps bool, operator func(string) (string, bool)) []text {
	out := slices.Clone(alts)
	for i, t := range alts {
		v, known := t.Literal()
		inside := t.Worst() <= word.Below && !strings.HasPrefix(t.Prefix(), "/") && !strings.Contains(t.Known(), "..")
		if !known && (keeps && inside || len(t) == 1) {
			continue
		}
		out[i] = word.Unknown(max(word.Dynamic, t.Worst()))
		if result, ok := operator(v); known && ok {
			out[i] = word.Lit(result)
		}
	}
	return out
}

// prompted follows ${x@P}, which expands a value as a prompt and so runs the substitutions in it.
func (s *Shell) prompted(alts []text, at arg) {
	for _, t := range alts {
		if t.Worst() > word.Below {
			s.Deny(verdict.RuleUnknownCode, at, "",
				"${…@P} runs the substitutions in a value that can't be told beforehand", "use the value itself")
		}
		s.Document(t)
	}
}

// Document expands text the way a here-document is, which runs what it holds.
func (s *Shell) Document(t text) { s.document(t.Known(), true) }

// document is Document; with strict, the text has to be one that can be expanded.
func (s *Shell) document(source string, strict bool) {
	if !strings.ContainsAny(source, "$`") {
		return
	}
	defer s.enter()()
	part, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(source))
	if (err != nil || splits(source)) && strict {
		s.Deny(verdict.RuleSyntax, arg{}, "", "a text that the shell would expand does not parse", "quote it differently")
	}
	if err == nil && part != nil {
		s.pointing(arg{}, func() { s.parts(part.Parts, quoted) })
	}
}

// pattern is the literal of a pattern word; false if it is not known.
func (s *Shell) pattern(w *syntax.Word) (string, bool) {
	t := s.textOf(w)
	return t.Known(), t.Worst() <= word.Matched && word.IsGlob(t.Known())
}

// maxMatch bounds the comparisons for one ${x%pattern}.
const maxMatch = 4 << 20

// trimmed removes a prefix or suffix that matches a pattern.
func (s *Shell) trimmed(op syntax.ParExpOperator, w *syntax.Word, v Variable) []text {
	pattern, ok := s.pattern(w)
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	return each(v.Alts, suffix, func(v string) (string, bool) {
		if !ok || len(v)*len(v)*(len(pattern)+1) > maxMatch {
			return "", false
		}
		for i := range len(v) + 1 {
			n := i
			if large {
				n = len(v) - i
			}
			if suffix && word.GlobMatch(pattern, v[len(v)-n:]) {
				return v[:len(v)-n], true
			}
			if !suffix && word.GlobMatch(pattern, v[:n]) {
				return v[n:], true
			}
		}
		return v, true
	})
}

// sliced is ${x:from:length}. What is negative counts from the end, and what can't be told is all of it.
func (s *Shell) sliced(pe *syntax.ParamExp, v Variable) []text {
	s.expression(pe.Slice.Offset)
	s.expression(pe.Slice.Length)
	part := func(size int) (from, to int) {
		from, ok1 := s.number(pe.Slice.Offset, 0)
		length, ok2 := s.number(pe.Slice.Length, size)
		if !ok1 || !ok2 {
			return 0, size
		}
		if from < 0 {
			from += size
		} else if v.list && pe.Index == nil {
			from-- // $0 comes before $1
		}
		from = min(max(from, 0), size)
		if length < 0 {
			length += size - from
		}
		return from, from + min(max(length, 0), size-from)
	}
	if v.list {
		from, to := part(len(v.Alts))
		return v.Alts[from:to]
	}
	return each(v.Alts, false, func(t string) (string, bool) {
		from, to := part(len(t))
		return t[from:to], true
	})
}

// replaced applies ${x/orig/with} where both are plain text, also at the beginning or at the end alone.
func (s *Shell) replaced(r *syntax.Replace, v Variable) []text {
	orig, ok := s.textOf(r.Orig).Literal()
	with, plain := s.textOf(r.With).Literal()
	anchor, times := "", 1
	if r.All {
		times = -1
	} else if orig != "" && r.Orig.Lit() == orig && strings.ContainsAny(orig[:1], "#%") && s.spoken != "zsh" {
		anchor, orig = orig[:1], orig[1:]
	}
	ok = ok && plain && !strings.ContainsAny(orig, `*?[#%\()`) && !strings.Contains(with, "&")
	return each(v.Alts, false, func(v string) (string, bool) {
		if rest, found := strings.CutPrefix(v, orig); anchor == "#" && found {
			v = with + rest
		} else if rest, found := strings.CutSuffix(v, orig); anchor == "%" && found {
			v = rest + with
		} else if anchor == "" && orig != "" {
			v = strings.Replace(v, orig, with, times)
		}
		return v, ok
	})
}

// number is the value of a plain number.
func (s *Shell) number(x syntax.ArithmExpr, unset int) (int, bool) {
	switch x := x.(type) {
	case nil:
		return unset, true
	case *syntax.Word:
		return wholeNumber(s.textOf(x))
	case *syntax.UnaryArithm:
		n, ok := s.number(x.X, 0)
		return -n, ok && x.Op == syntax.Minus
	}
	return 0, false
}

// wholeNumber is the number that a text is, if it is one.
func wholeNumber(t text) (int, bool) {
	v, ok := t.Literal()
	n, err := strconv.Atoi(v)
	return n, ok && err == nil && n < 1<<20 && n > -1<<20
}

// expression runs the substitutions in arithmetic or in [[ … ]], and makes numbers of what is assigned there.
func (s *Shell) expression(x syntax.Node) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		s.Step()
		switch n := n.(type) {
		case *syntax.Word:
			s.texts(n)
			return false
		case *syntax.BinaryArithm:
			if w, ok := n.X.(*syntax.Word); ok && assigns(n.Op) && syntax.ValidName(w.Lit()) {
				s.Vars[w.Lit()] = Variable{Alts: []text{word.Unknown(word.Token)}}
			}
		}
		return true
	})
}

func assigns(op syntax.BinAritOperator) bool { return word.Listed(" = += -= *= /= %= ", op.String()) }

// nodeArg points at a node.
func nodeArg(n syntax.Node) arg {
	return arg{Start: int(n.Pos().Offset()), End: int(n.End().Offset())}
}
