package guard

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		s.stmt(st)
	}
}

// stmt runs one statement with its redirections.
func (s *shell) stmt(st *syntax.Stmt) {
	s.step()
	defer s.enter()()
	if st.Background || st.Coprocess {
		s.isolated(func() { s.redirected(st) })
		return
	}
	s.redirected(st)
}

// command runs any command but its redirections.
func (s *shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.isolated(func() { s.stmts(c.Stmts) })
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
		s.isolated(func() { s.stmt(c.Stmt) })
	default:
		s.deny(RuleSyntax, nodeArg(cmd), "", "the guard does not know this construct", "write it as plain commands")
	}
}

func (s *shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.pipe(c)
	case syntax.AndStmt:
		s.stmt(c.X)
		before := s.sc.clone()
		s.stmt(c.Y)
		if !succeeds(c.X) && !s.sc.errexit {
			s.join(before)
		}
	case syntax.OrStmt:
		before := s.sc.clone()
		s.stmt(c.X)
		// The right side runs where a failed cd on the left leaves the shell.
		failed := s.sc.clone()
		failed.dirs, failed.old, failed.stack = before.dirs, before.old, before.stack
		after := s.sc
		s.sc = failed
		s.stmt(c.Y)
		after.mergeVars(s.sc)
		if !slices.Equal(s.sc.dirs, before.dirs) {
			after.dirs = union(after.dirs, s.sc.dirs)
		}
		s.sc = after
	}
}

// join keeps what could have been without the last command: variables and
// directories from before it.
func (s *shell) join(before *scope) {
	s.sc.mergeVars(before)
	s.sc.dirs = union(s.sc.dirs, before.dirs)
}

func (sc *scope) mergeVars(other *scope) {
	for name, v := range sc.vars {
		if w, ok := other.vars[name]; ok {
			sc.vars[name] = v.or(w)
		}
	}
	for name, w := range other.vars {
		if _, ok := sc.vars[name]; !ok {
			sc.vars[name] = w
		}
	}
}

// succeeds says that the left side of && may be taken to succeed: commands
// that set up rather than ask. What asks, such as test, may as well say no.
func succeeds(st *syntax.Stmt) bool {
	if st.Negated {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return c.Op != syntax.OrStmt && succeeds(c.X) && succeeds(c.Y)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		return false
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return true
		}
		switch c.Args[0].Lit() {
		case "test", "[", "false", "grep", "which", "command", "type", "hash", "diff", "cmp", "":
			return false
		}
	}
	return true
}

// pipe hands the left side's output to the right side.
func (s *shell) pipe(c *syntax.BinaryCmd) {
	var out text
	s.isolated(func() {
		out = s.capture(func() { s.stmt(c.X) })
	})
	s.isolated(func() {
		s.withStdin(&stream{text: out, script: out.worst() > literal && s.pipesFile(c.X)}, func() { s.stmt(c.Y) })
	})
}

// pipesFile says that a statement prints a workspace file as it is, so that
// running what it prints is running that file.
func (s *shell) pipesFile(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 2 || call.Args[0].Lit() != "cat" || len(st.Redirs) > 0 {
		return false
	}
	name, ok := s.textOf(call.Args[1]).literal()
	return ok && !isDevice(name) && s.land.place(s.absolute(name)).writable()
}

func (s *shell) ifClause(c *syntax.IfClause) {
	before := s.sc.clone()
	s.stmts(c.Cond)
	otherwise := s.sc.clone()
	otherwise.dirs = before.dirs // a condition that failed may be a cd that failed
	then := s.isolated(func() { s.stmts(c.Then) })
	s.sc = otherwise
	if c.Else != nil {
		if len(c.Else.Cond) > 0 {
			s.ifClause(c.Else)
		} else {
			s.stmts(c.Else.Then)
		}
	}
	then.merge(s.sc)
	s.sc = then
}

func (s *shell) while(c *syntax.WhileClause) {
	before := s.sc.clone()
	for round := 0; round < maxRounds; round++ {
		s.step()
		start := s.sc.clone()
		left := s.sc.stdin.left()
		if round > 0 && left == 0 && s.sc.stdin != nil && isRead(c.Cond) {
			break
		}
		s.stmts(c.Cond)
		s.stmts(c.Do)
		more := s.sc.stdin.left()
		if (more == left || more == 0) && (round > 0 && s.sc.same(start) || round >= 3) {
			break
		}
	}
	s.sc.merge(before)
}

// isRead says that a loop goes on for as long as there are lines.
func isRead(cond []*syntax.Stmt) bool {
	if len(cond) != 1 {
		return false
	}
	call, ok := cond[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && call.Args[0].Lit() == "read"
}

func (in *stream) left() int {
	if in == nil {
		return 0
	}
	if !in.split {
		in.lines, in.split = in.text.lines(), true
	}
	return len(in.lines)
}

func (sc *scope) same(other *scope) bool {
	if !slices.Equal(sc.dirs, other.dirs) || len(sc.vars) != len(other.vars) {
		return false
	}
	for name, v := range sc.vars {
		w, ok := other.vars[name]
		if !ok || !slices.EqualFunc(v.values(), w.values(), text.equal) {
			return false
		}
	}
	return true
}

func (s *shell) forClause(c *syntax.ForClause) {
	before := s.sc.clone()
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
	s.sc.merge(before)
}

func (s *shell) forWords(c *syntax.ForClause, loop *syntax.WordIter) {
	var items []text
	if !loop.InPos.IsValid() {
		items = s.sc.params
	}
	for _, alt := range s.argvs(loop.Items) {
		for _, a := range alt {
			if !slices.ContainsFunc(items, a.equal) {
				items = append(items, a.text)
			}
		}
	}
	if len(items) > maxRounds {
		s.deny(RuleTooComplex, nodeArg(loop), "", "the loop runs over more words than the guard follows", "use fewer")
	}
	for _, item := range items {
		s.store(loop.Name.Value, item, nodeArg(loop))
		s.stmts(c.Do)
	}
	if len(items) == 1 && items[0].worst() > literal {
		s.stmts(c.Do) // an unknown number of rounds is more than one
	}
}

func (s *shell) caseClause(c *syntax.CaseClause) {
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

func (s *shell) funcDecl(c *syntax.FuncDecl) {
	for _, name := range c.Names {
		s.sc.funcs[name.Value] = c.Body
	}
	if c.Name == nil {
		if len(c.Names) == 0 {
			s.stmt(c.Body) // zsh runs a function without a name at once
		}
		return
	}
	s.sc.funcs[c.Name.Value] = c.Body
	switch c.Name.Value {
	case "command_not_found_handle", "command_not_found_handler":
		s.isolated(func() { s.stmt(c.Body) }) // called by the shell itself
	}
}
