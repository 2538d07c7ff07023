package bash

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/word"
)

// pattern is the literal of a pattern word, or "" with ok false.
func (s *Shell) pattern(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	t := s.textOf(w)
	if t.Worst() > word.Matched {
		return "\x00"
	}
	return t.Known()
}

// maxMatch bounds the comparisons for one ${x%pattern}.
const maxMatch = 4 << 20

// trimmed removes a prefix or suffix that matches pattern.
func trimmed(t text, pattern string, op syntax.ParExpOperator) text {
	v, ok := t.Literal()
	if !ok {
		if len(t) == 1 {
			return t // the same kind of unknown, only shorter
		}
		return trimmedParts(t, pattern, op)
	}
	if pattern == "\x00" || len(v)*len(v)*(len(pattern)+1) > maxMatch {
		return word.Unknown(word.Dynamic)
	}
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
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

// trimmedParts trims a text of which the trimmed end is known, and knows
// that ${x##*/} leaves one name.
func trimmedParts(t text, pattern string, op syntax.ParExpOperator) text {
	if op == syntax.RemLargePrefix && pattern == "*/" && t.Worst() <= word.Below {
		return word.Unknown(word.Token)
	}
	last := t[len(t)-1]
	if (op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix) && last.Kind == word.Literal &&
		!strings.Contains(pattern, "*") {
		return text{}.With(t[:len(t)-1]...).With(trimmed(word.Lit(last.Text), pattern, op)...)
	}
	if t[0].Kind == word.Literal && op == syntax.RemSmallPrefix && !strings.Contains(pattern, "*") {
		return trimmed(word.Lit(t[0].Text), pattern, op).With(t[1:]...)
	}
	if t.Worst() <= word.Below {
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

func slice(t text, sl *syntax.Slice) text {
	v, ok := t.Literal()
	if !ok {
		return t
	}
	from, ok1 := number(sl.Offset, 0)
	length, ok2 := number(sl.Length, len(v))
	if !ok1 || !ok2 || from < 0 || length < 0 {
		return word.Unknown(word.Dynamic)
	}
	from = min(from, len(v))
	return word.Lit(v[from:min(from+length, len(v))])
}

// number is the value of a plain number, which may have a minus.
func number(x syntax.ArithmExpr, unset int) (int, bool) {
	switch x := x.(type) {
	case nil:
		return unset, true
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil
	case *syntax.UnaryArithm:
		n, ok := number(x.X, 0)
		return -n, ok && x.Op == syntax.Minus
	case *syntax.ParenArithm:
		return number(x.X, unset)
	}
	return 0, false
}

// sliceList is ${a[@]:from:length}, or all of the list where that is not known.
// The list counts from first.
func sliceList(list []text, sl *syntax.Slice, first int) []text {
	from, ok1 := number(sl.Offset, 0)
	length, ok2 := number(sl.Length, len(list)+1)
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
	orig, with := s.pattern(r.Orig), s.textOf(r.With)
	plain, ok := with.Literal()
	return mapTexts(alts, func(t text) text {
		v, known := t.Literal()
		switch {
		case !known && t.Worst() <= word.Token:
			return t
		case !known || !ok || orig == "\x00" || strings.ContainsAny(orig, "*?[#%\\"):
			return word.Unknown(max(word.Dynamic, t.Worst()))
		case r.All:
			return word.Lit(strings.ReplaceAll(v, orig, plain))
		}
		return word.Lit(strings.Replace(v, orig, plain, 1))
	})
}
