package bash

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/word"
)

// pattern is the literal of a pattern word; false if it is not known.
func (s *Shell) pattern(w *syntax.Word) (string, bool) {
	t := s.textOf(w)
	return t.Known(), t.Worst() <= word.Matched && word.IsGlob(t.Known())
}

// maxMatch bounds the comparisons for one ${x%pattern}.
const maxMatch = 4 << 20

// trimmed removes a prefix or suffix that matches pattern.
func trimmed(t text, pattern string, op syntax.ParExpOperator) text {
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	v, ok := t.Literal()
	if !ok {
		return trimmedParts(t, pattern, op, suffix)
	}
	if len(v)*len(v)*(len(pattern)+1) > maxMatch {
		return word.Unknown(word.Dynamic)
	}
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	for i := 0; i <= len(v); i++ {
		n := i
		if large {
			n = len(v) - i
		}
		if suffix && word.GlobMatch(pattern, v[len(v)-n:]) {
			return word.Lit(v[:len(v)-n])
		}
		if !suffix && word.GlobMatch(pattern, v[:n]) {
			return word.Lit(v[n:])
		}
	}
	return t
}

// trimmedParts trims a text of which not all is known. The beginning of a path that never goes up leads nowhere else,
// and ${x##*/} leaves one name.
func trimmedParts(t text, pattern string, op syntax.ParExpOperator, suffix bool) text {
	last := t[len(t)-1]
	if suffix && last.Kind == word.Literal && (op == syntax.RemSmallSuffix || !strings.Contains(pattern, "*")) {
		if end := trimmed(word.Lit(last.Text), pattern, op).Known(); len(end) < len(last.Text) {
			return text{}.With(t[:len(t)-1]...).Plus(end)
		}
	}
	switch inside := t.Worst() <= word.Below; {
	case len(t) == 1:
		return t // the same kind of unknown, only shorter
	case inside && op == syntax.RemLargePrefix && pattern == "*/":
		return word.Unknown(word.Token)
	case inside && suffix && !strings.HasPrefix(t.Prefix(), "/") && !strings.Contains(t.Known(), ".."):
		return t
	}
	return word.Unknown(max(word.Dynamic, t.Worst()))
}

func recased(t text, op syntax.ParExpOperator) text {
	v, ok := t.Literal()
	if !ok || v == "" {
		return t
	}
	switch op {
	case syntax.UpperAll:
		return word.Lit(strings.ToUpper(v))
	case syntax.LowerAll:
		return word.Lit(strings.ToLower(v))
	case syntax.UpperFirst:
		return word.Lit(strings.ToUpper(v[:1]) + v[1:])
	}
	return word.Lit(strings.ToLower(v[:1]) + v[1:])
}

// length is ${#x}.
func length(v looked) text {
	if v.list {
		return word.Lit(strconv.Itoa(len(v.Alts)))
	}
	if len(v.Alts) == 1 {
		if value, ok := v.Alts[0].Literal(); ok {
			return word.Lit(strconv.Itoa(utf8.RuneCountInString(value)))
		}
	}
	return word.Unknown(word.Token)
}

// slice is ${x:from:length}, in which what is negative counts from the end.
func (s *Shell) slice(t text, sl *syntax.Slice) text {
	v, ok := t.Literal()
	if !ok {
		return t
	}
	from, ok1 := s.number(sl.Offset, 0)
	length, ok2 := s.number(sl.Length, len(v))
	if !ok1 || !ok2 {
		return word.Unknown(word.Dynamic)
	}
	if from < 0 {
		from += len(v)
	}
	from = min(max(from, 0), len(v))
	if length < 0 {
		length += len(v) - from
	}
	return word.Lit(v[from:min(from+max(length, 0), len(v))])
}

// number is the value of a sum of plain numbers.
func (s *Shell) number(x syntax.ArithmExpr, unset int) (int, bool) {
	switch x := x.(type) {
	case nil:
		return unset, true
	case *syntax.Word:
		return wholeNumber(s.textOf(x))
	case *syntax.UnaryArithm:
		n, ok := s.number(x.X, 0)
		return -n, ok && x.Op == syntax.Minus
	case *syntax.ParenArithm:
		return s.number(x.X, unset)
	case *syntax.BinaryArithm:
		a, ok1 := s.number(x.X, 0)
		b, ok2 := s.number(x.Y, 0)
		if x.Op == syntax.Sub {
			b = -b
		}
		return a + b, ok1 && ok2 && (x.Op == syntax.Add || x.Op == syntax.Sub)
	}
	return 0, false
}

// wholeNumber is the number that a text is, if it is one.
func wholeNumber(t text) (int, bool) {
	v, ok := t.Literal()
	n, err := strconv.Atoi(v)
	return n, ok && err == nil && n < 1<<20 && n > -1<<20
}

// sliceList is ${a[@]:from:length}, or all of the list where that is not known.
// The list counts from first.
func (s *Shell) sliceList(list []text, sl *syntax.Slice, first int) []text {
	from, ok1 := s.number(sl.Offset, 0)
	length, ok2 := s.number(sl.Length, len(list)+1)
	if !ok1 || !ok2 || length < 0 {
		return list
	}
	if from < 0 {
		from += len(list) + first
	}
	from = min(max(from-first, 0), len(list))
	return list[from:min(from+length, len(list))]
}

// replace applies ${x/orig/with} where both are plain text.
func (s *Shell) replace(alts []text, r *syntax.Replace) []text {
	orig, readable := s.pattern(r.Orig)
	plain, ok := s.textOf(r.With).Literal()
	return mapTexts(alts, func(t text) text {
		v, known := t.Literal()
		switch {
		case !known && t.Worst() <= word.Token:
			return t
		case !known || !ok || !readable || strings.ContainsAny(orig, "*?[#%\\"):
			return word.Unknown(max(word.Dynamic, t.Worst()))
		case r.All:
			return word.Lit(strings.ReplaceAll(v, orig, plain))
		}
		return word.Lit(strings.Replace(v, orig, plain, 1))
	})
}

// test runs the substitutions of [[ … ]], and what its operators evaluate.
func (s *Shell) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		s.texts(x)
	case *syntax.ParenTest:
		s.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			if w, ok := x.X.(*syntax.Word); ok {
				s.evaluated(s.texts(w))
			}
		}
		s.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					s.evaluated(s.texts(w))
				}
			}
		}
		s.test(x.X)
		s.test(x.Y)
	}
}

// evaluated follows texts that the shell evaluates as arithmetic or as a
// variable's name: a substitution in them runs, also through variables.
func (s *Shell) evaluated(alts []text) {
	for _, t := range alts {
		s.Document(t)
		name, _ := t.Literal()
		for _, held := range s.Vars[name].Values() {
			if held.Worst() == word.Literal {
				s.Document(held)
			}
		}
	}
}

// arith walks an arithmetic expression for what it runs and sets.
func (s *Shell) arith(x syntax.ArithmExpr) {
	s.Step()
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		s.arith(x.X)
		s.arith(x.Y)
		if w, ok := x.X.(*syntax.Word); ok && isAssign(x.Op) && syntax.ValidName(w.Lit()) {
			s.Vars[w.Lit()] = Variable{Alts: []text{word.Unknown(word.Token)}}
		}
	case *syntax.UnaryArithm:
		s.arith(x.X)
	case *syntax.ParenArithm:
		s.arith(x.X)
	case *syntax.Word:
		s.evaluated(s.texts(x))
	case *syntax.FlagsArithm:
		s.arith(x.X)
	}
}

func isAssign(op syntax.BinAritOperator) bool { return word.Listed(" = += -= *= /= %= ", op.String()) }
