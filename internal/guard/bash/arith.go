package bash

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/word"
)

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
		if v, ok := t.Literal(); ok && syntax.ValidName(v) {
			s.evaluateName(v)
		}
	}
}

func (s *Shell) evaluateName(name string) {
	v, ok := s.Vars[name]
	if !ok {
		return
	}
	for _, t := range v.Values() {
		if t.Worst() == word.Literal {
			s.Document(t)
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

func isAssign(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn:
		return true
	}
	return false
}
