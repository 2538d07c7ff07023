package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

func (s *Shell) stmts(list []*syntax.Stmt) {
	outer := s.stayed
	for _, st := range list {
		s.stayed = nil
		s.stmt(st)
		s.Dirs = union(s.Dirs, s.stayed)
	}
	s.stayed = outer
}

// stmt runs one statement with its redirections.
func (s *Shell) stmt(st *syntax.Stmt) {
	s.Step()
	defer s.enter()()
	if st.Background || st.Coprocess {
		s.Isolated(func() { s.redirected(st) })
		return
	}
	s.redirected(st)
	if st.Negated {
		s.Dirs = union(s.Dirs, s.stayed)
	}
}

// command runs any command but its redirections.
func (s *Shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.Isolated(func() { s.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.IfClause:
		s.ifClause(c)
	case *syntax.WhileClause:
		s.while(c)
	case *syntax.ForClause:
		s.forClause(c)
	case *syntax.CaseClause:
		s.caseClause(c)
	case *syntax.FuncDecl:
		s.funcDecl(c)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		s.expression(c)
	case *syntax.DeclClause:
		s.declare(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		s.Isolated(func() { s.stmt(c.Stmt) })
	default:
		s.Deny(verdict.RuleSyntax, nodeArg(cmd), "", "the guard does not know this construct", "write it as plain commands")
	}
}

func (s *Shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.pipe(c)
	case syntax.AndStmt:
		var without []*scope // what could have been without the rest
		all := conjuncts(c)
		for i, st := range all {
			if s.stmt(st); i < len(all)-1 && !s.succeeds(st) {
				without = append(without, s.clone())
			}
		}
		for _, other := range without {
			s.merge(other)
		}
	case syntax.OrStmt:
		before := s.Dirs
		s.stmt(c.X)
		other := s.Isolated(func() {
			s.Dirs = before // where a failed cd on the left leaves the shell
			s.stmt(c.Y)
		})
		if slices.Equal(other.Dirs, before) {
			other.Dirs = s.Dirs
		}
		s.merge(other)
		s.Dirs = union(s.Dirs, s.stayed)
	}
}

// conjuncts are the statements of a && b && c.
func conjuncts(c *syntax.BinaryCmd) []*syntax.Stmt {
	if x, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && x.Op == syntax.AndStmt && !c.X.Negated && len(c.X.Redirs) == 0 {
		return append(conjuncts(x), c.Y)
	}
	return []*syntax.Stmt{c.X, c.Y}
}

// succeeds says that the left side of && may be taken to succeed: commands
// that set up rather than ask. What asks, such as test, may as well say no.
func (s *Shell) succeeds(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return !st.Negated && c.Op != syntax.OrStmt && s.succeeds(c.X) && s.succeeds(c.Y)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		return false
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			name := c.Args[0].Lit()
			return !st.Negated && name != "" && !word.Listed(" test [ false command type hash ", name) && !s.table.Asks(name)
		}
	}
	return !st.Negated
}

// pipe hands the left side's output to the right side.
func (s *Shell) pipe(c *syntax.BinaryCmd) {
	var out text
	s.Isolated(func() {
		out = s.Capture(func() { s.stmt(c.X) })
	})
	s.Isolated(func() {
		s.WithStdin(&Stream{Text: out, Script: out.Worst() > word.Literal && s.pipesFile(c.X)}, func() { s.stmt(c.Y) })
	})
}

// pipesFile says that a statement prints a workspace file as it is, so that
// running what it prints is running that file.
func (s *Shell) pipesFile(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 2 || !s.table.Copies(call.Args[0].Lit()) || len(st.Redirs) > 0 {
		return false
	}
	name, ok := s.textOf(call.Args[1]).Literal()
	return ok && !land.IsDevice(name) && s.Land.Place(s.Absolute(name)).Writable()
}

func (s *Shell) ifClause(c *syntax.IfClause) {
	before := s.Dirs
	s.stmts(c.Cond)
	s.branches(func() { s.stmts(c.Then) }, func() {
		s.Dirs = before // a condition that failed may be a cd that failed
		switch {
		case c.Else == nil:
		case len(c.Else.Cond) > 0:
			s.ifClause(c.Else)
		default:
			s.stmts(c.Else.Then)
		}
	})
}

func (s *Shell) while(c *syntax.WhileClause) {
	before := s.clone()
	for round := 0; round < MaxRounds; round++ {
		left := len(s.Stdin.left())
		if round > 0 && left == 0 && s.Stdin != nil && isRead(c.Cond) {
			break
		}
		s.stmts(c.Cond)
		s.stmts(c.Do)
		if more := len(s.Stdin.left()); round >= 3 && (more == left || more == 0) {
			break
		}
	}
	s.merge(before)
}

// isRead says that a loop goes on for as long as there are lines.
func isRead(cond []*syntax.Stmt) bool {
	if len(cond) != 1 {
		return false
	}
	call, ok := cond[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && call.Args[0].Lit() == "read"
}

func (s *Shell) forClause(c *syntax.ForClause) {
	before := s.clone()
	if loop, ok := c.Loop.(*syntax.WordIter); ok {
		s.forWords(c, loop)
	} else {
		s.expression(c.Loop)
		for range 3 {
			s.stmts(c.Do)
		}
	}
	s.merge(before)
}

func (s *Shell) forWords(c *syntax.ForClause, loop *syntax.WordIter) {
	var items []text
	if !loop.InPos.IsValid() {
		items = s.Params
	}
	for _, alt := range s.argvs(loop.Items) {
		for _, a := range alt {
			if !slices.ContainsFunc(items, a.Equal) {
				items = append(items, a.Text)
			}
		}
	}
	if len(items) > MaxRounds {
		s.Deny(verdict.RuleTooComplex, nodeArg(loop), "", "the loop runs over more words than the guard follows", "use fewer")
	}
	for i, item := range items {
		s.store(loop.Name.Value, item, nodeArg(loop))
		s.stmts(c.Do)
		if i == 0 && item.Worst() > word.Literal {
			s.stmts(c.Do) // an unknown number of rounds is more than one
		}
	}
}

func (s *Shell) caseClause(c *syntax.CaseClause) {
	s.texts(c.Word)
	alts := []func(){func() {}}
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			s.texts(p)
		}
		alts = append(alts, func() { s.stmts(item.Stmts) })
	}
	s.branches(alts...)
}

func (s *Shell) funcDecl(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = []*syntax.Lit{c.Name}
	}
	for _, name := range names {
		s.funcs[name.Value] = c.Body
		if strings.HasPrefix(name.Value, "command_not_found_handle") {
			s.Isolated(func() { s.stmt(c.Body) }) // called by the shell itself
		}
	}
	if len(names) == 0 {
		s.stmt(c.Body) // zsh runs a function without a name at once
	}
}

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
			for _, a := range c.Assigns {
				name := a.Name.Value
				outer, had := s.Vars[name]
				defer func() { // what the command itself has set stays
					if delete(s.Vars, name); had {
						s.Vars[name] = outer
					}
				}()
				s.assign(a)
				for _, t := range s.Vars[name].Alts {
					s.table.Sees(name, nodeArg(a).Hold(t), argv)
				}
			}
			s.Exec(argv)
			if n := len(argv); n > 0 {
				s.last = argv[n-1].Text
			}
		}
	}
	s.branches(runs...)
}

// assign sets a variable, or adds to it.
func (s *Shell) assign(a *syntax.Assign) {
	if a.Naked {
		return
	}
	s.expression(a.Index)
	name := a.Name.Value
	v := Variable{list: a.Index != nil || a.Array != nil}
	if a.Array != nil {
		v.Alts = s.elements(a.Array)
	} else {
		v.Alts = s.texts(a.Value)
		for _, t := range v.Alts {
			s.table.Set(name, nodeArg(a).Hold(t))
		}
	}
	old, had := s.Vars[name]
	switch {
	case !had || !a.Append && a.Index == nil:
	case v.list || old.list:
		v = Variable{Alts: slices.Concat(old.Alts, v.Alts), list: true}
	default:
		var joined []text
		for _, o := range old.Alts {
			for _, t := range v.Alts {
				joined = append(joined, o.With(t...))
			}
		}
		if v.Alts = joined; len(joined) > maxAlts {
			v.Alts = []text{word.Unknown(word.Dynamic)}
		}
	}
	s.Vars[name] = v
}

// elements are those of a list that is written out.
func (s *Shell) elements(list *syntax.ArrayExpr) (elems []text) {
	for _, e := range list.Elems {
		s.expression(e.Index)
		if e.Value == nil {
			continue
		}
		for _, alt := range s.argvs([]*syntax.Word{e.Value}) {
			elems = append(elems, word.Texts(alt)...)
		}
	}
	return elems
}

// store sets a variable by other means than an assignment.
func (s *Shell) store(name string, value text, at arg) {
	s.table.Set(name, at.Hold(value))
	s.Vars[name] = Variable{Alts: []text{value}}
}

// declare handles declare, local, export, readonly and typeset.
func (s *Shell) declare(d *syntax.DeclClause) {
	exports, refers := d.Variant.Value == "export", d.Variant.Value == "nameref"
	for _, a := range d.Args {
		if a.Name == nil {
			for _, t := range s.texts(a.Value) {
				if flags := t.Prefix(); strings.HasPrefix(flags, "-") {
					exports, refers = exports || strings.Contains(flags, "x"), refers || strings.Contains(flags, "n")
				} else {
					s.declareText(t, nodeArg(a), exports)
				}
			}
			continue
		}
		s.assign(a)
		if exports {
			s.Export(a.Name.Value, nodeArg(a))
		}
		if refers && a.Value != nil {
			s.Vars[a.Name.Value] = s.Lookup(s.textOf(a.Value).Known()) // what it refers to holds now
		}
	}
}

// declareText handles quoted text that declare takes apart and evaluates itself.
func (s *Shell) declareText(t text, at arg, exports bool) {
	name, _, ok := strings.Cut(t.Prefix(), "=")
	if !ok {
		return
	}
	value := t.Cut(len(name) + 1)
	name = strings.TrimSuffix(name, "+")
	if syntax.ValidName(name) {
		s.store(name, value, at)
		if exports {
			s.Export(name, at)
		}
	}
}

// Exec runs one expanded command.
func (s *Shell) Exec(argv []arg) {
	s.Step()
	defer s.enter()()
	if len(argv) == 0 {
		return
	}
	name, known := argv[0].Literal()
	body, aliased := s.Aliases[name]
	fn, declared := s.funcs[name]
	switch {
	case !known:
		s.runUnknown(argv)
	case name == "":
	case aliased: // its text stands in front of the arguments
		delete(s.Aliases, name) // and is not expanded within itself
		s.withParams(argv[1:], func() { s.script(word.Lit(body+` "$@"`), argv[0]) })
		s.Aliases[name] = body
	case declared:
		s.withParams(argv[1:], func() { s.stmt(fn) })
	default:
		s.runNamed(name, argv)
	}
}

// withParams runs f with other positional parameters.
func (s *Shell) withParams(args []arg, f func()) {
	outer := s.Params
	s.Params = word.Texts(args)
	f()
	s.Params = outer
}

// runUnknown runs a command whose word is not known. A variable that the command never set is the user's own, and so is
// a script that a pattern finds in the workspace; any other command word must be readable.
func (s *Shell) runUnknown(argv []arg) {
	part := argv[0]
	at, _ := s.Locate(part.Text, s.Dir(), false)
	switch {
	case part.First() == word.Environ && part.Worst() <= word.Environ:
	case part.Worst() <= word.Environ && at.Writable() &&
		(part.First() != word.Literal || strings.Contains(part.Prefix(), "/")):
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
