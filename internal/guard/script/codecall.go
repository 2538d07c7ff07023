package script

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// called follows calls that change directory or run something. It says whether
// what the call runs was judged.
func (p *program) called(call string, open int) bool {
	name := lastName(call)
	first, list, dynamicArg := p.arguments(open)
	switch {
	case callEnters(name):
		if len(first) == 0 {
			if p.decodes {
				p.unreadable()
			}
			return false
		}
		where, abs := p.locate(first[0])
		if !where.Writable() && where != land.Unknown {
			p.s.Deny(verdict.RuleDirectory, p.at, abs, "the program changes directory to "+verdict.Clip(abs, 200)+
				", outside the workspace",
				"use a path below "+p.s.Workspace())
		}
		if where.Writable() {
			p.dir = abs
		}
	case callRuns(p, call):
		return p.runCall(name, first, list, dynamicArg)
	case name == "exec" || name == "eval" || name == "Function" || name == "compile" || name == "instance_eval" ||
		name == "loadstring" || name == "load" && p.lang == "lua":
		if dynamicArg && p.decodes {
			p.unreadable()
		}
		for _, v := range first {
			if where, abs := p.locate(v); where == land.Outside || where == land.Host {
				p.refuse(where, abs) // exec(open(…).read())
			}
			if strings.ContainsAny(v, "(./") {
				Judge(p.s, p.lang, word.Lit(v), p.at, p.args)
			}
		}
	case (callWrites(name) || opensFile(name)) && p.decodes && (dynamicArg || p.indexed(open)):
		p.unreadable()
	}
	return false
}

// indexed says that the first argument is a string that is cut or turned round.
func (p *program) indexed(open int) bool {
	return open+2 < len(p.toks) && p.toks[open+1].Kind == 's' && p.toks[open+2].Text == "["
}

func (p *program) unreadable() {
	p.s.Deny(verdict.RuleUnknownCode, p.at, "", "the program decodes what it then runs or writes",
		"write it out so that it can be read")
}

// arguments returns the strings that a call is given: those directly in it,
// whether they stand in a list, and whether its first argument is no string.
func (p *program) arguments(open int) (strs []string, list, dynamicArg bool) {
	depth := 0
	start := open
	if p.toks[open].Kind == 'i' {
		if open+1 < len(p.toks) {
			return []string{p.toks[open+1].Text}, false, false
		}
		return nil, false, true
	}
	for j := start; j < len(p.toks) && j < start+400; j++ {
		t := p.toks[j]
		switch {
		case t.Kind == 'p' && (t.Text == "(" || t.Text == "[" || t.Text == "{"):
			depth++
			list = list || t.Text == "[" && j == start+1
		case t.Kind == 'p' && (t.Text == ")" || t.Text == "]" || t.Text == "}"):
			if depth--; depth == 0 {
				return strs, list, dynamicArg
			}
		case t.Kind == 's':
			if p.isCwd(j) {
				p.enters(t.Text)
				continue
			}
			if depth <= 2 {
				strs = append(strs, t.Text)
			}
		case j == start+1 && t.Kind == 'i':
			dynamicArg = true
		case t.Kind == 'i' && depth == 2 && list:
			strs = append(strs, land.Hole)
		}
	}
	return strs, list, dynamicArg
}

// isCwd says that the string at j is the value of cwd= or cwd:.
func (p *program) isCwd(j int) bool {
	if j < 2 || p.toks[j-1].Text != "=" && p.toks[j-1].Text != ":" && p.toks[j-1].Text != ">" {
		return false
	}
	for k := j - 2; k >= 0 && k >= j-3; k-- {
		switch strings.Trim(p.toks[k].Text, `"':`) {
		case "cwd", "chdir", "workdir", "Dir":
			return true
		}
	}
	return false
}

func (p *program) enters(v string) {
	where, abs := p.locate(v)
	if !where.Writable() && where != land.Unknown {
		p.s.Deny(verdict.RuleDirectory, p.at, abs, "the program runs something in "+verdict.Clip(abs, 200)+
			", outside the workspace",
			"use a path below "+p.s.Workspace())
	}
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
