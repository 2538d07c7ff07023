package guard

import (
	"maps"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/paths"
)

// call runs a simple command, in every way that its words may come out.
func (s *shell) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.assign(a, true)
		}
		return
	}
	alts := s.argvs(c.Args)
	runs := make([]func(), len(alts))
	for i, argv := range alts {
		runs[i] = func() {
			var before map[string]variable
			if len(c.Assigns) > 0 {
				before = maps.Clone(s.sc.vars)
			}
			for _, a := range c.Assigns {
				s.assign(a, false)
				s.exported(a, argv)
			}
			s.run(argv)
			s.restore(c.Assigns, before)
			if n := len(argv); n > 0 {
				s.sc.last = argv[n-1].text
			}
		}
	}
	s.branches(runs...)
}

// restore takes back the assignments in front of a command, and leaves what
// the command itself has set.
func (s *shell) restore(assigns []*syntax.Assign, before map[string]variable) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		if v, ok := before[a.Name.Value]; ok {
			s.sc.vars[a.Name.Value] = v
		} else {
			delete(s.sc.vars, a.Name.Value)
		}
	}
}

// assign sets a variable. Lasting tells an assignment of its own from one in
// front of a command.
func (s *shell) assign(a *syntax.Assign, lasting bool) {
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
		s.setting(name, arg{t, at.start, at.end}, lasting)
	}
	if s.sc.vars[name].integer {
		s.evaluated(alts)
		alts = []text{unknown(token)}
	}
	integer := s.sc.vars[name].integer
	s.set(name, alts, a.Append, a.Index != nil)
	if integer {
		v := s.sc.vars[name]
		v.integer = true
		s.sc.vars[name] = v
	}
}

// store sets a variable by other means than an assignment.
func (s *shell) store(name string, value text, at arg) {
	s.setting(name, arg{value, at.start, at.end}, true)
	s.set(name, []text{value}, false, false)
}

// set stores values, following references and appending.
func (s *shell) set(name string, alts []text, appends, element bool) {
	name = s.referred(name)
	old, had := s.sc.vars[name]
	switch {
	case element || had && old.isList && appends:
		list := append(old.values(), alts...)
		s.sc.vars[name] = variable{list: list, isList: true}
	case appends && had:
		var joined []text
		for _, o := range old.alts {
			for _, t := range alts {
				joined = append(joined, o.with(t...))
			}
		}
		if len(joined) > maxAlts {
			joined = []text{unknown(dynamic)}
		}
		s.sc.vars[name] = variable{alts: joined}
	default:
		s.sc.vars[name] = variable{alts: alts}
	}
}

func (s *shell) assignList(a *syntax.Assign, name string) {
	var list []text
	if a.Append {
		list = s.sc.vars[name].values()
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
				list = append(list, f.text)
			}
		}
	}
	s.sc.vars[name] = variable{list: list, isList: true}
}

// declare handles declare, local, export, readonly and typeset.
func (s *shell) declare(d *syntax.DeclClause) {
	nameref, integer := d.Variant.Value == "nameref", false
	exports := d.Variant.Value == "export"
	for _, a := range d.Args {
		if a.Name != nil && exports {
			s.export(a.Name.Value, nodeArg(a))
		}
		if a.Name == nil {
			if v := s.textOf(a.Value).prefix(); strings.HasPrefix(v, "-") && strings.Contains(v, "x") {
				exports = true
			}
			nameref = s.declareWord(a, nameref)
			integer = integer || strings.HasPrefix(s.textOf(a.Value).prefix(), "-") &&
				strings.Contains(s.textOf(a.Value).prefix(), "i")
			continue
		}
		if nameref && a.Value != nil {
			target, ok := s.textOf(a.Value).literal()
			if !ok || !syntax.ValidName(target) {
				s.evaluated(s.texts(a.Value))
				target = ""
			}
			s.sc.vars[a.Name.Value] = variable{ref: target, alts: []text{unknown(dynamic)}}
			continue
		}
		s.assign(a, true)
		if integer && a.Value != nil {
			s.evaluated(s.texts(a.Value)) // an integer's value is arithmetic
		}
		if integer && a.Naked {
			s.sc.vars[a.Name.Value] = variable{alts: []text{unknown(token)}, integer: true}
		}
		if a.Naked && d.Variant.Value == "local" {
			s.sc.vars[a.Name.Value] = variable{alts: []text{nil}}
		}
	}
}

// declareWord handles an argument that is not a plain assignment: an option,
// or quoted text that declare takes apart and evaluates itself.
func (s *shell) declareWord(a *syntax.Assign, nameref bool) bool {
	for _, t := range s.texts(a.Value) {
		v, ok := t.literal()
		if ok && strings.HasPrefix(v, "-") {
			nameref = nameref || strings.Contains(v, "n")
			continue
		}
		name, value, found := strings.Cut(t.known(), "=")
		s.document(t)
		if !found || !ok {
			continue
		}
		name = strings.TrimSuffix(name, "+")
		if strings.HasPrefix(value, "(") {
			s.script(lit(name+"="+value), nodeArg(a))
			continue
		}
		if syntax.ValidName(name) {
			s.setting(name, arg{lit(value), nodeArg(a).start, nodeArg(a).end}, true)
			s.set(name, []text{lit(value)}, false, false)
		}
	}
	return nameref
}

// run runs one expanded command.
func (s *shell) run(argv []arg) {
	s.step()
	defer s.enter()()
	if len(argv) == 0 {
		return
	}
	name, ok := argv[0].literal()
	if !ok {
		s.runUnknown(argv)
		return
	}
	if name == "" {
		return
	}
	if body, ok := s.sc.aliases[name]; ok {
		s.runAlias(name, body, argv)
		return
	}
	if fn, ok := s.sc.funcs[name]; ok {
		s.runFunction(fn, argv)
		return
	}
	s.runNamed(name, argv)
}

// runAlias puts the alias's text in front of the arguments, as bash does.
func (s *shell) runAlias(name, body string, argv []arg) {
	t := lit(body)
	for i, a := range argv[1:] {
		hold := "__guardarg" + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		s.sc.vars[hold] = variable{alts: []text{a.text}}
		t = t.with(seg{literal, ` "${` + hold + `}"`})
	}
	delete(s.sc.aliases, name) // an alias is not expanded within itself
	s.script(t, argv[0])
	s.sc.aliases[name] = body
}

func (s *shell) runFunction(fn *syntax.Stmt, argv []arg) {
	outer := s.sc.params
	s.sc.params = texts(argv[1:])
	s.stmt(fn)
	s.sc.params = outer
}

func texts(args []arg) []text {
	out := make([]text, len(args))
	for i, a := range args {
		out[i] = a.text
	}
	return out
}

// runUnknown runs a command whose word is not known. A variable that the
// command never set is the user's own, and so is a script that a pattern finds
// in the workspace; any other command word must be readable.
func (s *shell) runUnknown(argv []arg) {
	word := argv[0]
	at, _ := s.locate(word.text, s.sc.dirs[0], false)
	switch {
	case word.worst() == token && len(word.text) == 1 && len(argv) == 1:
	case word.first() == environ && word.worst() <= environ:
	case word.first() != literal && word.worst() <= below && at == placeWorkspace:
	case word.first() == literal && word.worst() <= environ && at.writable() && strings.Contains(word.prefix(), "/"):
	default:
		s.deny(RuleUnknownCode, word, "", "the command word "+word.String()+" can't be told beforehand",
			"name the program directly")
	}
	for _, a := range argv[1:] {
		s.suspicious(a)
	}
	s.generic(argv)
}

// runNamed runs a command by name: what is known of it decides what its
// arguments mean.
func (s *shell) runNamed(name string, argv []arg) {
	if s.runBuiltin(name, argv) {
		return
	}
	s.settled(name, argv)
	s.inherited(argv)
	if strings.Contains(name, "/") {
		s.checkProgram(name, argv[0])
		if content, ok := s.sc.files[s.absolute(name)]; ok {
			s.runFile(content, argv)
		}
	}
	s.outputOptions(path.Base(name), argv)
	outer := s.current
	s.current = argv
	defer func() { s.current = outer }()
	base := path.Base(name)
	if s.runSelf(base, argv) || s.runWrapper(base, argv) || s.runInterpreter(base, argv) || s.runTool(base, argv) ||
		s.byRow(base, argv) {
		return
	}
	s.generic(argv)
}

// settled denies work in a directory outside, which only a call that begins
// there can meet.
func (s *shell) settled(name string, argv []arg) {
	for _, dir := range s.sc.dirs {
		p := s.land.place(s.land.resolve(dir))
		if p.writable() || p == placeProtected || readsOnly(path.Base(name)) {
			continue
		}
		s.deny(RuleDirectory, argv[0], dir, "the shell stands in "+dir+", outside the workspace",
			"start with cd "+s.land.workspace)
	}
}

// checkProgram denies programs that lie outside, except where systems and
// users install them.
func (s *shell) checkProgram(name string, at arg) {
	where, abs := s.locate(lit(name), s.sc.dirs[0], false)
	if where.writable() || where == placeSystem || where == placeProtected || where == placeGit || s.isUserProgram(abs) {
		return
	}
	s.deny(RuleRunOutside, at, abs, name+" is a program outside the workspace",
		"run what is installed or what stands below "+s.land.workspace)
}

// isUserProgram says whether a path is a hidden directory of the home or one
// of its bin directories, where version managers put programs.
func (s *shell) isUserProgram(abs string) bool {
	if s.land.home == "" || !paths.Within(abs, s.land.home) || s.land.host != "" && paths.Within(abs, s.land.host) {
		return false
	}
	rest := strings.TrimPrefix(abs, s.land.home+"/")
	return strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "bin/")
}
