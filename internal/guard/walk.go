package guard

import (
	"maps"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on one decision. They are counts, so that the same call gets the same verdict on every machine.
const (
	maxSteps = 50_000
	maxDepth = 10       // scripts within scripts
	maxValue = 16 << 10 // bytes that are remembered of a variable
)

// walker goes through the words of one command.
type walker struct {
	policy Policy
	land   *terrain
	source string // the command as the agent wrote it
	fixed  *arg   // where denials point at while a text within the command is walked
	steps  int
	depth  int
	scope
}

// scope is what a subshell has a copy of.
type scope struct {
	dir   string // "" if it can't be known
	vars  map[string]string
	funcs map[string]bool
}

func newWalker(p Policy, links Resolver, call Call) *walker {
	w := &walker{policy: p, land: newTerrain(p, links),
		scope: scope{funcs: map[string]bool{}, vars: map[string]string{"HOME": p.Home, "IFS": " "}}}
	w.moveTo(path.Clean(call.Cwd))
	return w
}

// deny ends the walk.
func (w *walker) deny(rule Rule, at arg, abs, reason, instead string) {
	if w.fixed != nil {
		at = *w.fixed
	}
	v := Verdict{Rule: rule, Path: abs, Reason: reason, Instead: instead}
	if at.end <= len(w.source) && at.start < at.end {
		v.Part, v.Start, v.End = w.source[at.start:at.end], at.start, at.end
	}
	panic(denial{v})
}

func (w *walker) step(n int) {
	if w.steps += n; w.steps > maxSteps {
		w.deny(RuleTooComplex, arg{}, "", "the command takes more steps than the guard follows", "write it in smaller parts")
	}
}

// shellText walks the text of a shell tool.
func (w *walker) shellText(source string) {
	w.source = source
	if strings.ContainsAny(source, "\x00\r"+hole+gap) {
		w.deny(RuleSyntax, arg{}, "", "the command holds a control character that shells read differently", "leave it out")
	}
	w.stmts(w.parse(source, arg{}))
}

// nested walks a text that a command runs as shell. What can't be known in it stands as a hole in its words.
func (w *walker) nested(a arg) {
	if w.depth++; w.depth > maxDepth {
		w.deny(RuleTooComplex, a, "", "scripts are nested too deeply", "write the command in smaller parts")
	}
	outer := w.fixed
	if outer == nil {
		w.fixed = &a
	}
	w.stmts(w.parse(a.text, a))
	w.fixed = outer
	w.depth--
}

func (w *walker) parse(source string, at arg) []*syntax.Stmt {
	w.step(1 + len(source)/256)
	if tooDeep(source) {
		w.deny(RuleTooComplex, at, "", "the command is nested too deeply", "write it in smaller parts")
	}
	if strings.Contains(source, "$\\\n") { // bash joins the lines to a substitution, the parser does not
		w.deny(RuleSyntax, at, "", "a line ends between a dollar and what follows it", "write both on one line")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err == nil {
		return file.Stmts
	}
	if !strings.Contains(source, hole) {
		w.deny(RuleSyntax, at, "", "the command does not parse as bash: "+err.Error(), "check quotes and brackets")
	}
	w.word("the shell", arg{source, at.start, at.end}) // what it will be can't be known
	return nil
}

// tooDeep says that brackets are opened so many levels deep that a parser
// might run out of stack, which nothing could recover from.
func tooDeep(source string) bool {
	depth := 0
	for i := range len(source) {
		switch source[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(depth-1, 0)
		}
		if depth > 400 {
			return true
		}
	}
	return false
}

// subshell walks something whose directory and variables are its own.
func (w *walker) subshell(f func()) {
	outer := w.scope
	w.step(1 + len(outer.vars)/16)
	w.vars, w.funcs = maps.Clone(outer.vars), maps.Clone(outer.funcs)
	f()
	w.scope = outer
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s, "")
	}
}

func (w *walker) apart(list []*syntax.Stmt) { w.subshell(func() { w.stmts(list) }) }

func (w *walker) stmt(s *syntax.Stmt, stdin string) {
	w.step(1)
	if s.Background || s.Coprocess || s.Disown {
		w.subshell(func() { w.redirected(s, stdin) })
		return
	}
	w.redirected(s, stdin)
}

// redirected judges where a statement writes to, and then what it runs.
func (w *walker) redirected(s *syntax.Stmt, stdin string) {
	for _, r := range s.Redirs {
		target := w.joined(r.Word)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if end := r.Word.Lit(); r.Hdoc != nil && (end == "" || strings.Contains(end, `\`)) { // quoted: nothing is expanded
				stdin = r.Hdoc.Lit()
			} else if r.Hdoc != nil {
				stdin = w.parts(r.Hdoc.Parts, true)
			}
		case syntax.WordHdoc:
			stdin = target
		case syntax.RdrIn, syntax.DplIn:
			stdin = ""
		default:
			if r.Op != syntax.DplOut || strings.Trim(target, "0123456789-") != "" {
				w.write(w.argOf(r.Word, target))
			}
		}
	}
	w.command(s.Cmd, stdin)
}

// command walks any command. Branches are walked one after the other, and the body of a loop once.
func (w *walker) command(cmd syntax.Command, stdin string) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		args := w.fields(c.Args)
		for _, a := range c.Assigns {
			w.assign(a, len(c.Args) == 0)
		}
		if len(args) > 0 {
			w.run(args, stdin)
		}
	case *syntax.Subshell:
		w.apart(c.Stmts)
	case *syntax.ForClause:
		w.loop(c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			w.stmt(c.X, stdin)
			w.stmt(c.Y, stdin)
			return
		}
		w.subshell(func() { w.stmt(c.X, stdin) })
		w.subshell(func() { w.stmt(c.Y, "") })
	case *syntax.FuncDecl:
		if w.subshell(func() { w.stmt(c.Body, stdin) }); c.Name != nil { // zsh has functions without one
			w.funcs[c.Name.Value] = true
		}
	case *syntax.DeclClause:
		for _, a := range c.Args {
			w.assign(a, true)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.stmt(c.Stmt, stdin)
		}
	case *syntax.CoprocClause:
		w.subshell(func() { w.stmt(c.Stmt, stdin) })
	default:
		w.within(c)
	}
}

// loop walks the body once. Of several words the variable holds one that leads outside, if there is one.
func (w *walker) loop(c *syntax.ForClause) {
	if l, ok := c.Loop.(*syntax.WordIter); ok {
		value := hole
		for _, a := range w.fields(l.Items) {
			if _, p := w.locate("rm", a.text, false); len(l.Items) == 1 || p == outside {
				value = a.text
			}
		}
		w.vars[l.Name.Value] = value
	} else {
		w.within(c.Loop)
	}
	w.stmts(c.Do)
}

// within walks the commands within something else: a block, a loop, a condition, or a word whose value does not matter.
func (w *walker) within(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		w.step(1)
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(n, "")
			return false
		case *syntax.CmdSubst:
			w.apart(n.Stmts)
			return false
		case *syntax.ProcSubst:
			w.apart(n.Stmts)
			return false
		}
		return true
	})
}

// assign judges a variable that is set, and remembers it if it lasts.
func (w *walker) assign(a *syntax.Assign, lasts bool) {
	w.step(1)
	if a.Name == nil || a.Naked || a.Index != nil || a.Array != nil {
		w.within(a)
		if a.Name != nil && !a.Naked {
			w.vars[a.Name.Value] = hole
		}
		return
	}
	value := w.joined(a.Value)
	if a.Value != nil {
		w.variable(a.Name.Value, w.argOf(a.Value, value))
	}
	if a.Append {
		value = w.vars[a.Name.Value] + value
	}
	if len(value) > maxValue {
		value = hole
	}
	if lasts {
		w.vars[a.Name.Value] = value
	}
}

// variable judges the variables by which a path outside is entered, written to or run.
func (w *walker) variable(name string, value arg) {
	switch {
	case name == "HOME" && value.text == w.policy.Home:
	case strings.HasPrefix(name, "GIT_"):
		w.word("git -C", value)
	case listed(movers, name):
		w.word(name, value)
	}
}

// value is what a variable holds, as far as the command itself says it.
func (w *walker) value(name string) string {
	if v := w.vars[name]; v != "" {
		return v
	}
	return hole
}
