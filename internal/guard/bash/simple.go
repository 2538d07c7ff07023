package bash

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// call runs a simple command, in every way that its words may come out.
func (s *Shell) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.assign(a)
		}
		return
	}
	alts := s.argvs(c.Args)
	runs := make([]func(), len(alts))
	for i, argv := range alts {
		runs[i] = func() {
			var before map[string]Variable
			if len(c.Assigns) > 0 {
				before = maps.Clone(s.Vars)
			}
			for _, a := range c.Assigns {
				s.assign(a)
				s.exported(a, argv)
			}
			s.Exec(argv)
			s.restore(c.Assigns, before)
			if n := len(argv); n > 0 {
				s.last = argv[n-1].Text
			}
		}
	}
	s.branches(runs...)
}

// restore takes back the assignments in front of a command, and leaves what
// the command itself has set.
func (s *Shell) restore(assigns []*syntax.Assign, before map[string]Variable) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		if v, ok := before[a.Name.Value]; ok {
			s.Vars[a.Name.Value] = v
		} else {
			delete(s.Vars, a.Name.Value)
		}
	}
}

// assign sets a variable.
func (s *Shell) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if a.Index != nil {
		s.arith(a.Index)
	}
	if a.Array != nil {
		s.assignList(a, name)
		return
	}
	if a.Naked {
		return
	}
	alts := s.texts(a.Value)
	at := nodeArg(a)
	for _, t := range alts {
		s.table.Set(name, at.Hold(t))
	}
	if s.Vars[name].integer {
		s.evaluated(alts)
		s.Vars[name] = Variable{Alts: []text{word.Unknown(word.Token)}, integer: true}
		return
	}
	s.set(name, alts, a.Append, a.Index != nil)
}

// store sets a variable by other means than an assignment.
func (s *Shell) store(name string, value text, at arg) {
	s.table.Set(name, at.Hold(value))
	s.set(name, []text{value}, false, false)
}

// set stores values, following references and appending.
func (s *Shell) set(name string, alts []text, appends, element bool) {
	name = s.referred(name)
	old, had := s.Vars[name]
	switch {
	case element || had && old.isList && appends:
		list := append(old.Values(), alts...)
		s.Vars[name] = Variable{list: list, isList: true}
	case appends && had:
		var joined []text
		for _, o := range old.Alts {
			for _, t := range alts {
				joined = append(joined, o.With(t...))
			}
		}
		if len(joined) > maxAlts {
			joined = []text{word.Unknown(word.Dynamic)}
		}
		s.Vars[name] = Variable{Alts: joined}
	default:
		s.Vars[name] = Variable{Alts: alts}
	}
}

func (s *Shell) assignList(a *syntax.Assign, name string) {
	var list []text
	if a.Append {
		list = s.Vars[name].Values()
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			if w, ok := e.Index.(*syntax.Word); ok {
				s.texts(w)
			} else {
				s.arith(e.Index)
			}
		}
		if e.Value == nil {
			continue
		}
		for _, alt := range s.argvs([]*syntax.Word{e.Value}) {
			for _, f := range alt {
				list = append(list, f.Text)
			}
		}
	}
	s.Vars[name] = Variable{list: list, isList: true}
}

// declare handles declare, local, export, readonly and typeset.
func (s *Shell) declare(d *syntax.DeclClause) {
	nameref, integer := d.Variant.Value == "nameref", false
	exports := d.Variant.Value == "export"
	for _, a := range d.Args {
		if a.Name != nil && exports {
			s.export(a.Name.Value, nodeArg(a))
		}
		if a.Name == nil {
			if v := s.textOf(a.Value).Prefix(); strings.HasPrefix(v, "-") {
				exports, integer = exports || strings.Contains(v, "x"), integer || strings.Contains(v, "i")
			}
			nameref = s.declareWord(a, nameref)
			continue
		}
		if nameref && a.Value != nil {
			target, ok := s.textOf(a.Value).Literal()
			if !ok || !syntax.ValidName(target) {
				s.evaluated(s.texts(a.Value))
				target = ""
			}
			s.Vars[a.Name.Value] = Variable{ref: target, Alts: []text{word.Unknown(word.Dynamic)}}
			continue
		}
		s.assign(a)
		if integer && a.Value != nil {
			s.evaluated(s.texts(a.Value)) // an integer's value is arithmetic
		}
		if integer && a.Naked {
			s.Vars[a.Name.Value] = Variable{Alts: []text{word.Unknown(word.Token)}, integer: true}
		}
		if a.Naked && d.Variant.Value == "local" {
			s.Vars[a.Name.Value] = Variable{Alts: []text{nil}}
		}
	}
}

// declareWord handles an argument that is not a plain assignment: an option,
// or quoted text that declare takes apart and evaluates itself.
func (s *Shell) declareWord(a *syntax.Assign, nameref bool) bool {
	for _, t := range s.texts(a.Value) {
		v, ok := t.Literal()
		if ok && strings.HasPrefix(v, "-") {
			nameref = nameref || strings.Contains(v, "n")
			continue
		}
		name, value, found := strings.Cut(t.Known(), "=")
		s.Document(t)
		if !found || !ok {
			continue
		}
		name = strings.TrimSuffix(name, "+")
		if strings.HasPrefix(value, "(") {
			s.script(word.Lit(name+"="+value), nodeArg(a))
			continue
		}
		if syntax.ValidName(name) {
			s.table.Set(name, nodeArg(a).Hold(word.Lit(value)))
			s.set(name, []text{word.Lit(value)}, false, false)
		}
	}
	return nameref
}

// Exec runs one expanded command.
func (s *Shell) Exec(argv []arg) {
	s.Step()
	defer s.enter()()
	if len(argv) == 0 {
		return
	}
	name, ok := argv[0].Literal()
	if !ok {
		s.runUnknown(argv)
		return
	}
	if name == "" {
		return
	}
	if body, ok := s.Aliases[name]; ok {
		s.runAlias(name, body, argv)
		return
	}
	if fn, ok := s.funcs[name]; ok {
		outer := s.Params
		s.Params = word.Texts(argv[1:])
		s.stmt(fn)
		s.Params = outer
		return
	}
	s.runNamed(name, argv)
}

// runAlias puts the alias's text in front of the arguments, as bash does.
func (s *Shell) runAlias(name, body string, argv []arg) {
	t := word.Lit(body)
	for i, a := range argv[1:] {
		hold := "__guardarg" + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		s.Vars[hold] = Variable{Alts: []text{a.Text}}
		t = t.Plus(` "${` + hold + `}"`)
	}
	delete(s.Aliases, name) // an alias is not expanded within itself
	s.script(t, argv[0])
	s.Aliases[name] = body
}

// runUnknown runs a command whose word is not known. A variable that the
// command never set is the user's own, and so is a script that a pattern finds
// in the workspace; any other command word must be readable.
func (s *Shell) runUnknown(argv []arg) {
	part := argv[0]
	at, _ := s.Locate(part.Text, s.Dir(), false)
	switch {
	case part.Worst() == word.Token && len(part.Text) == 1 && len(argv) == 1:
	case part.First() == word.Environ && part.Worst() <= word.Environ:
	case part.First() != word.Literal && part.Worst() <= word.Below && at == land.Workspace:
	case part.First() == word.Literal && part.Worst() <= word.Environ && at.Writable() &&
		strings.Contains(part.Prefix(), "/"):
	default:
		s.Deny(verdict.RuleUnknownCode, part, "", "the command word "+part.String()+" can't be told beforehand",
			"name the program directly")
	}
	s.table.Unknown(argv)
}

// runNamed runs a command by name.
func (s *Shell) runNamed(name string, argv []arg) {
	if !s.runBuiltin(name, argv) {
		s.table.Run(name, argv)
	}
}

// exported looks at an assignment in front of a command that will see it.
func (s *Shell) exported(a *syntax.Assign, argv []arg) {
	if a.Name == nil || a.Value == nil {
		return
	}
	for _, t := range s.texts(a.Value) {
		at := nodeArg(a)
		s.table.Sees(a.Name.Value, at.Hold(t), argv)
	}
}

// exportedVar is a variable that every program after it sees.
type exportedVar struct {
	Name string
	At   arg
}

// export makes a variable one that programs see.
func (s *Shell) export(name string, at arg) {
	s.Exports = append(s.Exports[:len(s.Exports):len(s.Exports)], exportedVar{name, at})
}
