package bash

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

func (s *Shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		s.stmt(st)
	}
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
	case *syntax.ArithmCmd:
		s.arith(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			s.arith(x)
		}
	case *syntax.TestClause:
		s.test(c.X)
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
		s.stmt(c.X)
		before := s.clone()
		s.stmt(c.Y)
		if !s.succeeds(c.X) && !s.Errexit {
			s.mergeVars(before) // what could have been without the last command
			s.Dirs = union(s.Dirs, before.Dirs)
		}
	case syntax.OrStmt:
		before := s.clone()
		s.stmt(c.X)
		// The right side runs where a failed cd on the left leaves the shell.
		failed := s.clone()
		failed.Dirs, failed.old, failed.stack = before.Dirs, before.old, before.stack
		after := s.scope
		s.scope = failed
		s.stmt(c.Y)
		after.mergeVars(s.scope)
		if !slices.Equal(s.Dirs, before.Dirs) {
			after.Dirs = union(after.Dirs, s.Dirs)
		}
		s.scope = after
	}
}

// succeeds says that the left side of && may be taken to succeed: commands
// that set up rather than ask. What asks, such as test, may as well say no.
func (s *Shell) succeeds(st *syntax.Stmt) bool {
	if st.Negated {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return c.Op != syntax.OrStmt && s.succeeds(c.X) && s.succeeds(c.Y)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		return false
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return true
		}
		switch c.Args[0].Lit() {
		case "test", "[", "false", "command", "type", "hash", "":
			return false
		}
		return !s.table.Asks(c.Args[0].Lit())
	}
	return true
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
	before := s.clone()
	s.stmts(c.Cond)
	otherwise := s.clone()
	otherwise.Dirs = before.Dirs // a condition that failed may be a cd that failed
	then := s.Isolated(func() { s.stmts(c.Then) })
	s.scope = otherwise
	if c.Else != nil {
		if len(c.Else.Cond) > 0 {
			s.ifClause(c.Else)
		} else {
			s.stmts(c.Else.Then)
		}
	}
	then.merge(s.scope)
	s.scope = then
}

func (s *Shell) while(c *syntax.WhileClause) {
	before := s.clone()
	for round := 0; round < MaxRounds; round++ {
		s.Step()
		start := s.clone()
		left := s.Stdin.left()
		if round > 0 && left == 0 && s.Stdin != nil && isRead(c.Cond) {
			break
		}
		s.stmts(c.Cond)
		s.stmts(c.Do)
		more := s.Stdin.left()
		if (more == left || more == 0) && (round > 0 && s.same(start) || round >= 3) {
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

func (in *Stream) left() int {
	if in == nil {
		return 0
	}
	if !in.split {
		in.lines, in.split = in.Text.Lines(), true
	}
	return len(in.lines)
}

func (sc *scope) same(other *scope) bool {
	if !slices.Equal(sc.Dirs, other.Dirs) || len(sc.Vars) != len(other.Vars) {
		return false
	}
	for name, v := range sc.Vars {
		w, ok := other.Vars[name]
		if !ok || !slices.EqualFunc(v.Values(), w.Values(), text.Equal) {
			return false
		}
	}
	return true
}

func (s *Shell) forClause(c *syntax.ForClause) {
	before := s.clone()
	switch loop := c.Loop.(type) {
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			if x != nil {
				s.arith(x)
			}
		}
		for range 3 {
			s.stmts(c.Do)
		}
	case *syntax.WordIter:
		s.forWords(c, loop)
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
	for _, item := range items {
		s.store(loop.Name.Value, item, nodeArg(loop))
		s.stmts(c.Do)
	}
	if len(items) == 1 && items[0].Worst() > word.Literal {
		s.stmts(c.Do) // an unknown number of rounds is more than one
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
	for _, name := range c.Names {
		s.funcs[name.Value] = c.Body
	}
	if c.Name == nil {
		if len(c.Names) == 0 {
			s.stmt(c.Body) // zsh runs a function without a name at once
		}
		return
	}
	s.funcs[c.Name.Value] = c.Body
	switch c.Name.Value {
	case "command_not_found_handle", "command_not_found_handler":
		s.Isolated(func() { s.stmt(c.Body) }) // called by the shell itself
	}
}
