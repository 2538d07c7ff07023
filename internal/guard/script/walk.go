package script

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// frame is one bracket, with the call that it belongs to.
type frame struct {
	name   int  // the token of that call
	open   int  // the token of the bracket
	end    int  // the token that closes it
	outer  int  // the frame around it
	judged bool // what the call runs was judged as a command
	commas int  // in it, while it is read
}

// brackets finds the frame of every token. In lisp the name stands behind the bracket.
func (p *program) brackets(lisp bool) {
	p.frames = append(p.frames[:0], frame{name: -1, open: -1, end: len(p.toks)})
	now := 0
	for i, t := range p.toks {
		p.toks[i].in, p.toks[i].later = now, p.frames[now].commas > 0
		switch {
		case t.is(","):
			p.frames[now].commas++
		case t.is("(") || t.is("[") || t.is("{"):
			f := p.frames[now] // a list belongs to the call that it stands in
			f.open, f.end, f.outer = i, len(p.toks), now
			switch before := p.token(i - 1); {
			case t.Text != "(":
			case lisp:
				f.name, f.commas = i+1, 0
			case before.Kind == 'i' || before.is(")") || before.is("]"): // what another call returned, or a table holds
				f.name, f.commas = i-1, 0
			}
			now = len(p.frames)
			p.toks[i].opens = now
			p.frames = append(p.frames, f)
		case (t.is(")") || t.is("]") || t.is("}")) && now > 0:
			p.frames[now].end = i
			now = p.frames[now].outer
			p.toks[i].in = now
		}
	}
}

// callOf says where the name of the call stands that token i is given to, which may have no brackets.
func (p *program) callOf(i int) int {
	if p.token(i-1).Kind == 'i' {
		return i - 1
	}
	return p.frames[p.toks[i].in].name
}

// walk visits every call and every string with the call that it is given to.
func (p *program) walk() {
	for i := 0; i < len(p.toks); i++ {
		p.s.Step()
		t, f, next := p.toks[i], &p.frames[p.toks[i].in], p.token(i+1)
		switch {
		case t.Kind == 'b':
			p.mutates = true
			p.run(word.Lit(t.Text))
		case t.opens > 0:
			if opened := &p.frames[t.opens]; opened.name == i-1 {
				opened.judged = p.called(p.token(i-1).Text, i)
			} else {
				opened.judged = f.judged && t.Text == "["
			}
		case t.Kind == 'i':
			p.note(i)
			if (p.bare() || p.lang == "lua") && next.Kind == 's' { // calls without brackets
				p.called(t.Text, i)
				p.literal(i+1, i)
				i++
			}
		case t.Kind != 's':
		case p.lang == "javascript" && strings.HasSuffix(p.token(i-1).Text, "$"):
			p.run(p.text(t.Text)) // $`command`
		case !f.judged:
			at := f.name
			if at < 0 && p.bare() {
				at = p.statement(i)
			}
			p.literal(i, at)
			fallthrough
		default:
			p.decodes = p.decodes || next.is("[")
		}
	}
}

// literal judges the string at i by the call that it is given to, whose name is token at.
func (p *program) literal(i, at int) {
	t, call := p.toks[i], p.token(at).Text
	if t.Text == "" || strings.HasPrefix(t.Text, land.Hole) || strings.Contains(t.Text, "\n") {
		return
	}
	e, value := p.effects(call), t.Text
	if p.lang == "perl" && e&opens != 0 {
		value = strings.TrimLeft(value, "<>+| ")
		if strings.HasPrefix(t.Text, "|") || strings.HasSuffix(t.Text, "|") { // a command
			p.run(word.Lit(strings.Trim(t.Text, "| -")))
			return
		}
	}
	if strings.Contains(value, " ") && (word.Listed(" ) ] ", call) || e&reads == 0 && call != "" &&
		(p.mentions("subprocess") || p.mentions("child_process"))) {
		p.s.Mentions(word.Lit(value), p.at)
	}
	where, abs := p.locate(value)
	if where.Writable() && e&removes != 0 {
		p.s.CheckFrom(land.Remove, p.at.Hold(word.Lit(abs)), p.dir)
	}
	if where.Writable() || where == land.Unknown {
		return
	}
	next := p.token(i + 1)
	if next.Kind == 'i' && strings.HasPrefix(next.Text, ".") {
		if does := p.effects(next.Text); does&writes != 0 || does&opens != 0 && p.openWrites(i+1) {
			e |= writes
		}
	}
	ofPath := at > 0 && p.token(at-1).Kind == 's' && p.token(at-1).path // a method of a path
	switch {
	case e&copies != 0 && slices.ContainsFunc(p.toks[i+1:p.frames[t.in].end], Token.quoted):
		// what is copied is only read
	case e&content != 0 && t.later:
		// what is written, not where
	case e&writes != 0 || e&opens != 0 && p.openWrites(at) || lastName(call) == "replace" && ofPath:
		p.refuse(where, abs)
	case e&(opens|reads) != 0 && lastName(call) != "glob" || e&prints != 0 || p.lang == "other" && e&passes != 0 ||
		where == land.System || !pathShaped(value) || next.is(":") || p.isCompared(i) || p.isElement(i) ||
		p.s.Imaginary(word.Lit(value)):
	case call == "" || e&reads != 0:
		p.loose = value
	default:
		p.refuse(where, abs)
	}
}

// isCompared says that a comparison stands before token i.
func (p *program) isCompared(i int) bool {
	before := p.token(i - 1)
	return before.is("=") && (p.token(i-2).is("=") || p.token(i-2).is("!")) || word.Listed(" eq ne cmp ", before.Text)
}

// statement finds the call that a string without brackets around it is given
// to: the first name of its statement, as in perl's open F, ">x".
func (p *program) statement(i int) int {
	at := -1
	for j := i - 1; j >= 0 && !word.Listed(" ; { } ( = ", p.toks[j].Text) && p.toks[j].Text != "\n"; j-- {
		if t := p.toks[j]; t.Kind == 'i' && p.effects(t.Text)&(acts&^copies) != 0 {
			at = j
		}
	}
	return at
}

// called follows calls that change directory or run something. It says whether what the call runs was judged.
func (p *program) called(call string, open int) bool {
	name, e := lastName(call), p.effects(call)
	strs, list, dynamic := p.arguments(open)
	if e&acts != 0 && p.token(open-2).Kind != 's' || word.Listed(" exec eval Function compile ", name) {
		p.hides = p.hides || dynamic && !list || len(strs) == 0 && e&(enters|runs) != 0
	}
	switch {
	case len(strs) == 0:
	case e&enters != 0:
		if where, abs := p.enters(strs[0], "changes directory to "); where.Writable() {
			p.dir = abs
		}
	case e&runs != 0:
		return p.runCall(name, strs, list, dynamic)
	case word.Listed(" exec eval Function compile instance_eval loadstring ", name) || name == "load" && p.lang == "lua":
		for _, v := range strs {
			if where, abs := p.locate(v); where == land.Outside || where == land.Host {
				p.refuse(where, abs) // exec(open(…).read())
			}
			if strings.ContainsAny(v, "(./") {
				Judge(p.s, p.lang, word.Lit(v), p.at)
			}
		}
	}
	return false
}

// arguments returns the strings that a call is given: those directly in it,
// whether they stand in a list, and whether its first argument is no string.
func (p *program) arguments(open int) (strs []string, list, dynamic bool) {
	if p.toks[open].Kind == 'i' {
		return []string{p.token(open + 1).Text}, false, false
	}
	list = p.token(open + 1).is("[")
	dynamic = p.token(open+1).Kind == 'i' || p.token(open+1).Kind == 's' && p.token(open+2).is("[")
	call := p.toks[open].opens
	for j := open + 1; j < min(p.frames[call].end, open+400); j++ {
		t := p.toks[j]
		listed := p.frames[t.in].outer == call
		switch {
		case t.Kind == 's' && p.isCwd(j):
			p.enters(t.Text, "runs something in ")
		case t.Kind == 's' && (t.in == call || listed):
			strs = append(strs, t.Text)
		case t.Kind == 'i' && listed && list:
			strs = append(strs, land.Hole)
		}
	}
	return strs, list, dynamic
}

// isCwd says that the string at j is the value of cwd= or cwd:.
func (p *program) isCwd(j int) bool {
	names := func(i int) bool { return word.Listed(" cwd chdir workdir Dir ", strings.Trim(p.token(i).Text, `"':`)) }
	return word.Listed(" = : > ", p.token(j-1).Text) && (names(j-2) || names(j-3))
}

// enters denies a directory outside.
func (p *program) enters(v, what string) (land.Place, string) {
	where, abs := p.locate(v)
	if !where.Writable() && where != land.Unknown {
		p.s.Deny(verdict.RuleDirectory, p.at, abs, "the program "+what+verdict.Clip(abs, 200)+", outside the workspace",
			"use a path below "+p.s.Workspace())
	}
	return where, abs
}

// runCall runs what a call starts.
func (p *program) runCall(name string, strs []string, list, dynamicArg bool) bool {
	argvForm := list || len(strs) > 1 && (strings.HasPrefix(name, "exec") || strings.HasPrefix(name, "spawn") ||
		name == "Command" || p.lang == "perl" || p.lang == "ruby" || name == "arg")
	if !argvForm {
		if !dynamicArg {
			p.run(p.text(strs[0]))
		}
		return !dynamicArg && len(strs) == 1
	}
	var argv []arg
	for _, v := range strs {
		argv = append(argv, p.at.Hold(p.text(v)))
	}
	if argv[0].First() != word.Literal {
		for _, a := range argv[1:] {
			p.s.Loose(a)
		}
		return false
	}
	p.nested(func() { p.s.Exec(argv) })
	return true
}

// nested runs something, and notes a path outside that the program may get to know by it.
func (p *program) nested(f func()) {
	p.s.Nested(p.dir, p.at, func() {
		if _, abs, found := p.s.Mentioned(p.s.Capture(f)); found {
			p.told = abs
		}
	})
}

// text turns a string with holes into text.
func (p *program) text(v string) text {
	var t text
	for i, part := range strings.Split(v, land.Hole) {
		if i > 0 {
			t = t.With(word.Piece(word.Environ, ""))
		}
		t = t.Plus(part)
	}
	return t
}

// run runs shell text that the program hands to a shell.
func (p *program) run(t text) {
	if t.First() != word.Literal {
		return
	}
	p.nested(func() {
		if v, ok := t.Literal(); ok {
			p.s.SuspiciousRun(v, p.at)
			return
		}
		p.s.RunText(t, p.at, "the program")
	})
}
