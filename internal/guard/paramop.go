package guard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// pattern is the literal of a pattern word, or "" with ok false.
func (s *shell) pattern(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	t := s.textOf(w)
	if t.worst() > matched {
		return "\x00"
	}
	return t.known()
}

// maxMatch bounds the comparisons for one ${x%pattern}.
const maxMatch = 4 << 20

// trimmed removes a prefix or suffix that matches pattern.
func trimmed(t text, pattern string, op syntax.ParExpOperator) text {
	v, ok := t.literal()
	if !ok {
		if len(t) == 1 {
			return t // the same kind of unknown, only shorter
		}
		return trimmedParts(t, pattern, op)
	}
	if pattern == "\x00" || len(v)*len(v)*(len(pattern)+1) > maxMatch {
		return unknown(dynamic)
	}
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	for i := 0; i <= len(v); i++ {
		n := i
		if large {
			n = len(v) - i
		}
		if suffix && globMatch(pattern, v[len(v)-n:]) {
			return lit(v[:len(v)-n])
		}
		if !suffix && globMatch(pattern, v[:n]) {
			return lit(v[n:])
		}
	}
	return t
}

// trimmedParts trims a text of which the trimmed end is known, and knows
// that ${x##*/} leaves one name.
func trimmedParts(t text, pattern string, op syntax.ParExpOperator) text {
	if op == syntax.RemLargePrefix && pattern == "*/" && t.worst() <= below {
		return unknown(token)
	}
	last := t[len(t)-1]
	if (op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix) && last.kind == literal &&
		!strings.Contains(pattern, "*") {
		return text{}.with(t[:len(t)-1]...).with(trimmed(lit(last.text), pattern, op)...)
	}
	if t[0].kind == literal && op == syntax.RemSmallPrefix && !strings.Contains(pattern, "*") {
		return trimmed(lit(t[0].text), pattern, op).with(t[1:]...)
	}
	if t.worst() <= below {
		return t
	}
	return unknown(max(dynamic, t.worst()))
}

func recased(t text, op syntax.ParExpOperator) text {
	v, ok := t.literal()
	if !ok || v == "" {
		return t
	}
	switch op {
	case syntax.UpperAll:
		return lit(strings.ToUpper(v))
	case syntax.LowerAll:
		return lit(strings.ToLower(v))
	case syntax.UpperFirst:
		return lit(strings.ToUpper(v[:1]) + v[1:])
	}
	return lit(strings.ToLower(v[:1]) + v[1:])
}

func slice(t text, sl *syntax.Slice) text {
	v, ok := t.literal()
	if !ok {
		return t
	}
	from, ok1 := number(sl.Offset, 0)
	length, ok2 := number(sl.Length, len(v))
	if !ok1 || !ok2 || from < 0 || length < 0 {
		return unknown(dynamic)
	}
	from = min(from, len(v))
	return lit(v[from:min(from+length, len(v))])
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
func (s *shell) replace(alts []text, r *syntax.Replace) []text {
	orig, with := s.pattern(r.Orig), s.textOf(r.With)
	plain, ok := with.literal()
	return mapTexts(alts, func(t text) text {
		v, known := t.literal()
		switch {
		case !known && t.worst() <= token:
			return t
		case !known || !ok || orig == "\x00" || strings.ContainsAny(orig, "*?[#%\\"):
			return unknown(max(dynamic, t.worst()))
		case r.All:
			return lit(strings.ReplaceAll(v, orig, plain))
		}
		return lit(strings.Replace(v, orig, plain, 1))
	})
}
