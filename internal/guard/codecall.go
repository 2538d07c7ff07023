package guard

import (
	"path"
	"strings"
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
		if !where.writable() && where != placeUnknown {
			p.s.deny(RuleDirectory, p.at, abs, "the program changes directory to "+clip(abs, 200)+", outside the workspace",
				"use a path below "+p.s.land.workspace)
		}
		if where.writable() {
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
			if strings.ContainsAny(v, "(./") {
				p.s.code(p.lang, lit(v), p.at, p.args)
			}
		}
	case (callWrites(name) || opensFile(name)) && p.decodes && (dynamicArg || p.indexed(open)):
		p.unreadable()
	}
	return false
}

// indexed says that the first argument is a string that is cut or turned round.
func (p *program) indexed(open int) bool {
	return open+2 < len(p.toks) && p.toks[open+1].kind == 's' && p.toks[open+2].text == "["
}

func (p *program) unreadable() {
	p.s.deny(RuleUnknownCode, p.at, "", "the program decodes what it then runs or writes",
		"write it out so that it can be read")
}

// arguments returns the strings that a call is given: those directly in it,
// whether they stand in a list, and whether its first argument is no string.
func (p *program) arguments(open int) (strs []string, list, dynamicArg bool) {
	depth := 0
	start := open
	if p.toks[open].kind == 'i' {
		if open+1 < len(p.toks) {
			return []string{p.toks[open+1].text}, false, false
		}
		return nil, false, true
	}
	for j := start; j < len(p.toks) && j < start+400; j++ {
		t := p.toks[j]
		switch {
		case t.kind == 'p' && (t.text == "(" || t.text == "[" || t.text == "{"):
			depth++
			list = list || t.text == "[" && j == start+1
		case t.kind == 'p' && (t.text == ")" || t.text == "]" || t.text == "}"):
			if depth--; depth == 0 {
				return strs, list, dynamicArg
			}
		case t.kind == 's':
			if p.isCwd(j) {
				p.enters(t.text)
				continue
			}
			if depth <= 2 {
				strs = append(strs, t.text)
			}
		case j == start+1 && t.kind == 'i':
			dynamicArg = true
		case t.kind == 'i' && depth == 2 && list:
			strs = append(strs, hole)
		}
	}
	return strs, list, dynamicArg
}

// isCwd says that the string at j is the value of cwd= or cwd:.
func (p *program) isCwd(j int) bool {
	if j < 2 || p.toks[j-1].text != "=" && p.toks[j-1].text != ":" && p.toks[j-1].text != ">" {
		return false
	}
	for k := j - 2; k >= 0 && k >= j-3; k-- {
		switch strings.Trim(p.toks[k].text, `"':`) {
		case "cwd", "chdir", "workdir", "Dir":
			return true
		}
	}
	return false
}

func (p *program) enters(v string) {
	where, abs := p.locate(v)
	if !where.writable() && where != placeUnknown {
		p.s.deny(RuleDirectory, p.at, abs, "the program runs something in "+clip(abs, 200)+", outside the workspace",
			"use a path below "+p.s.land.workspace)
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
		argv = append(argv, arg{p.text(v), p.at.start, p.at.end})
	}
	if argv[0].first() != literal {
		for _, a := range argv[1:] {
			p.s.loose(a)
		}
		return false
	}
	p.nested(func() { p.s.run(argv) })
	return true
}

// text turns a string with holes into text.
func (p *program) text(v string) text {
	var t text
	for i, part := range strings.Split(v, hole) {
		if i > 0 {
			t = t.with(seg{environ, ""})
		}
		t = t.with(seg{literal, part})
	}
	return t
}

// run runs shell text that the program hands to a shell.
func (p *program) run(t text) {
	if t.first() != literal {
		return
	}
	p.nested(func() {
		if v, ok := t.literal(); ok {
			p.s.suspiciousRun(v, p.at)
			return
		}
		p.s.runText(t, p.at, "the program")
	})
}

// nested runs f as a child of the program, in its directory.
func (p *program) nested(f func()) {
	p.s.isolated(func() {
		p.s.sc.dirs = []string{path.Clean(p.dir)}
		outer := p.s.fixed
		if p.s.fixed == nil {
			p.s.fixed = &p.at
		}
		p.s.capture(func() { p.s.withStdin(nil, f) })
		p.s.fixed = outer
	})
}
