package script

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// frame is one bracket, with the call that it belongs to.
type frame struct {
	call   string
	name   int  // the token of that call
	open   int  // the token of the bracket
	end    int  // the token that closes it
	outer  int  // the frame around it
	judged bool // what the call runs was judged as a command
}

// brackets finds the frame of every token. In lisp the name stands behind the
// bracket.
func (p *program) brackets(lisp bool) {
	p.frames = append(p.frames[:0], frame{name: -1, open: -1, end: len(p.toks)})
	p.in = make([]int, len(p.toks))
	now := 0
	for i, t := range p.toks {
		p.in[i] = now
		switch {
		case t.is("(") || t.is("[") || t.is("{"):
			f := frame{call: p.frames[now].call, name: p.frames[now].name, open: i, end: len(p.toks), outer: now}
			named := i - 1
			if p.token(named).is("!") || p.token(named).is("?") { // read!(…)
				named--
			}
			switch before := p.token(named); {
			case t.Text != "(":
			case lisp:
				f.call, f.name = hyphened(p.toks, i+1), i+1
			case before.Kind == 'i':
				f.call, f.name = before.Text, named
			case before.is(")") || before.is("]"):
				f.call = "?" // what another call returned, or a table holds
			}
			now = len(p.frames)
			p.frames = append(p.frames, f)
		case (t.is(")") || t.is("]") || t.is("}")) && now > 0:
			p.frames[now].end = i
			now = p.frames[now].outer
			p.in[i] = now
		}
	}
}

// hyphened is the name at i, which in some languages has hyphens.
func hyphened(toks []Token, i int) string {
	if i >= len(toks) {
		return ""
	}
	name := toks[i].Text
	for i += 2; i < len(toks) && toks[i-1].is("-") && toks[i].Kind == 'i'; i += 2 {
		name += "-" + toks[i].Text
	}
	return name
}

// callOf names the call that token i is given to, which may have no brackets.
func (p *program) callOf(i int) string {
	if p.token(i-1).Kind == 'i' && i-1 != p.frames[p.in[i]].name {
		if p.token(i-2).is("-") && p.token(i-3).Kind == 'i' {
			return p.token(i-3).Text + "-" + p.token(i-1).Text
		}
		return p.token(i - 1).Text
	}
	return p.frames[p.in[i]].call
}

// walk visits every call and every string with the call that it is given to.
func (p *program) walk() {
	next := 1 // frames come in the order of their brackets
	for i := 0; i < len(p.toks); i++ {
		p.s.Step()
		t, f := p.toks[i], &p.frames[p.in[i]]
		switch {
		case t.Kind == 'b':
			p.run(word.Lit(t.Text))
		case next < len(p.frames) && p.frames[next].open == i:
			opened := &p.frames[next]
			next++
			if opened.name == i-1 {
				opened.judged = p.called(opened.call, i)
			} else {
				opened.judged = f.judged && t.Text == "["
			}
		case t.Kind == 'i' && (p.bare() || p.lang == "lua") && p.token(i+1).Kind == 's':
			p.called(t.Text, i) // calls without brackets
			p.literal(i+1, t.Text, i)
			i++
		case t.Kind == 's' && p.lang == "javascript" && strings.HasSuffix(p.token(i-1).Text, "$"):
			p.run(p.text(t.Text)) // $`command`
		case t.Kind == 's' && !f.judged:
			call := f.call
			if call == "" && p.bare() {
				call = p.statement(i)
			}
			p.literal(i, call, f.name)
		}
	}
}

// literal judges the string at i by the call that it is given to, whose name is
// token at.
func (p *program) literal(i int, call string, at int) {
	t := p.toks[i]
	if t.tail || t.Text == "" || strings.Contains(t.Text, "\n") {
		return
	}
	e, value := p.effects(call), t.Text
	if p.lang == "perl" && e&opens != 0 {
		value = strings.TrimLeft(value, "<>+| ")
		if isPipe(t.Text) {
			p.pipeOpen(strings.Trim(t.Text, "| -"))
			return
		}
	}
	if strings.Contains(value, " ") && (call == "?" || e&reads == 0 && call != "" && p.startsPrograms()) {
		p.s.Mentions(word.Lit(value), p.at)
	}
	where, abs := p.locate(value)
	if where.Writable() && e&removes != 0 {
		p.s.CheckFrom(land.Remove, p.at.Hold(word.Lit(abs)), p.dir)
	}
	if where.Writable() || where == land.Unknown {
		return
	}
	method := p.token(i + 1)
	chained := method.Kind == 'i' && strings.HasPrefix(method.Text, ".") && p.effects(method.Text)&writes != 0
	ofPath := at > 0 && p.token(at-1).Kind == 's' && p.token(at-1).path // a method of a path
	switch {
	case e&copies != 0 && p.laterString(i):
		return // what is copied is only read
	case e&content != 0 && p.argumentIndex(i) > 0:
		return // what is written, not where
	case chained || e&writes != 0 || lastName(call) == "replace" && ofPath:
	case e&opens != 0:
		if !p.openWrites(at) && !isMode(t.Text, p.lang) {
			return
		}
	case e&reads != 0 && (lastName(call) != "glob" || !p.mutates) || p.lang == "other" && e&prints != 0 ||
		where == land.System || !pathShaped(value) || p.isFlagOrKey(i) || p.s.Imaginary(word.Lit(value)):
		return
	case call == "" && (!p.mutates || !p.aims):
		return // a value that nothing is done with but reading
	}
	p.refuse(where, abs)
}

// isFlagOrKey says that a string is compared or used as a key, not a path.
func (p *program) isFlagOrKey(i int) bool {
	before := p.token(i - 1)
	return p.token(i+1).is(":") || before.Kind == 'i' && word.Listed(" eq ne cmp in ", before.Text) ||
		before.Text == "=" && (p.token(i-2).Text == "=" || p.token(i-2).Text == "!")
}

// isPipe says that perl's open runs a command.
func isPipe(v string) bool {
	return strings.HasPrefix(v, "|") || strings.HasSuffix(v, "|") || v == "-|"
}

// pipeOpen runs the command of a pipe, unless it is an interpreter that the
// program then feeds.
func (p *program) pipeOpen(command string) {
	if words := strings.Fields(command); len(words) > 0 && p.s.Interprets(path.Base(words[0])) && len(words) == 1 {
		p.unreadable()
	}
	if command != "" {
		p.run(word.Lit(command))
	}
}

// startsPrograms says that the program has what it takes to run others.
func (p *program) startsPrograms() bool {
	return p.mentions("subprocess") || p.mentions("child_process")
}

// argumentIndex counts the commas before token i in the innermost call.
func (p *program) argumentIndex(i int) (commas int) {
	at := p.in[i]
	for at > 0 && !p.toks[p.frames[at].open].is("(") { // a list within the call
		i, at = p.frames[at].open, p.frames[at].outer
	}
	for j := max(p.frames[at].open, 0); j < i; j++ {
		if p.in[j] == at && p.toks[j].is(",") {
			commas++
		}
	}
	return commas
}

// laterString says whether another string follows in the same call.
func (p *program) laterString(i int) bool {
	for j := i + 1; j < p.frames[p.in[i]].end; j++ {
		if p.toks[j].Kind == 's' {
			return true
		}
	}
	return false
}

// statement finds the call that a string without brackets around it is given
// to: the first name of its statement, as in perl's open F, ">x".
func (p *program) statement(i int) (call string) {
	for j := i - 1; j >= 0 && !word.Listed(" ; { } ( = ", p.toks[j].Text) && p.toks[j].Text != "\n"; j-- {
		if t := p.toks[j]; t.Kind == 'i' && p.effects(t.Text)&(acts&^copies) != 0 {
			call = t.Text
		}
	}
	return call
}

// called follows calls that change directory or run something. It says whether
// what the call runs was judged.
func (p *program) called(call string, open int) bool {
	name, e := lastName(call), p.effects(call)
	strs, list, dynamic := p.arguments(open)
	switch {
	case e&enters != 0:
		if len(strs) == 0 {
			if p.decodes {
				p.unreadable()
			}
		} else if where, abs := p.enters(strs[0], "changes directory to "); where.Writable() {
			p.dir = abs
		}
	case e&runs != 0:
		return p.runCall(name, strs, list, dynamic)
	case word.Listed(" exec eval Function compile instance_eval loadstring ", name) || name == "load" && p.lang == "lua":
		if dynamic && p.decodes {
			p.unreadable()
		}
		for _, v := range strs {
			if where, abs := p.locate(v); where == land.Outside || where == land.Host {
				p.refuse(where, abs) // exec(open(…).read())
			}
			if strings.ContainsAny(v, "(./") {
				Judge(p.s, p.lang, word.Lit(v), p.at)
			}
		}
	case e&(writes|opens) != 0 && p.decodes && (dynamic || p.token(open+1).Kind == 's' && p.token(open+2).Text == "["):
		p.unreadable()
	}
	return false
}

func (p *program) unreadable() {
	p.s.Deny(verdict.RuleUnknownCode, p.at, "", "the program decodes what it then runs or writes",
		"write it out so that it can be read")
}

// arguments returns the strings that a call is given: those directly in it,
// whether they stand in a list, and whether its first argument is no string.
func (p *program) arguments(open int) (strs []string, list, dynamic bool) {
	if p.toks[open].Kind == 'i' {
		return []string{p.token(open + 1).Text}, false, false
	}
	list = p.token(open + 1).is("[")
	dynamic = p.token(open+1).Kind == 'i'
	depth := 1
	for j := open + 1; j < min(len(p.toks), open+400) && depth > 0; j++ {
		switch t := p.toks[j]; {
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			depth--
		case t.Kind == 's' && p.isCwd(j):
			p.enters(t.Text, "runs something in ")
		case t.Kind == 's' && depth <= 2:
			strs = append(strs, t.Text)
		case t.Kind == 'i' && depth == 2 && list:
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
	if len(strs) == 0 || dynamicArg && !list {
		if p.decodes {
			p.unreadable()
		}
	}
	if len(strs) == 0 {
		return false
	}
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
	p.s.Nested(p.dir, p.at, func() { p.s.Exec(argv) })
	return true
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
	p.s.Nested(p.dir, p.at, func() {
		if v, ok := t.Literal(); ok {
			p.s.SuspiciousRun(v, p.at)
			return
		}
		p.s.RunText(t, p.at, "the program")
	})
}
