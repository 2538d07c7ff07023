package script

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"
)

// frame is one open bracket, with the call that it belongs to.
type frame struct {
	call   string
	open   int  // index of the bracket
	judged bool // what the call runs was judged as a command
}

// walk visits every call and every string with the call that it is given to.
func (p *program) walk() {
	var stack []frame
	for i := 0; i < len(p.toks); i++ {
		p.s.Step()
		t := p.toks[i]
		switch {
		case t.Kind == 'b':
			p.run(word.Lit(t.Text))
		case t.Kind == 'p' && (t.Text == "(" || t.Text == "[" || t.Text == "{"):
			f := frame{open: i}
			if t.Text == "(" && i > 0 && p.toks[i-1].Kind == 'i' {
				f.call = p.toks[i-1].Text
				f.judged = p.called(f.call, i)
			} else if t.Text == "(" && i > 0 && p.toks[i-1].Kind == 'p' && (p.toks[i-1].Text == ")" || p.toks[i-1].Text == "]") {
				f.call = "?" // what another call returned, or a table holds
			} else if len(stack) > 0 {
				f.call, f.judged = stack[len(stack)-1].call, stack[len(stack)-1].judged && t.Text == "["
			}
			stack = append(stack, f)
		case t.Kind == 'p' && (t.Text == ")" || t.Text == "]" || t.Text == "}"):
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		case t.Kind == 'i' && i+1 < len(p.toks) && (p.lang == "perl" || p.lang == "ruby" || p.lang == "lua") &&
			(p.toks[i+1].Kind == 's'):
			p.called(t.Text, i) // calls without brackets
			p.literal(p.toks[i+1], t.Text, i)
			i++
		case t.Kind == 's':
			call := ""
			if i > 0 && p.lang == "javascript" && p.toks[i-1].Kind == 'i' && strings.HasSuffix(p.toks[i-1].Text, "$") {
				p.run(p.text(t.Text)) // $`command`
				continue
			}
			if len(stack) > 0 {
				if stack[len(stack)-1].judged {
					continue
				}
				call = stack[len(stack)-1].call
			}
			if call == "" && (p.lang == "perl" || p.lang == "ruby") {
				call = p.statement(i)
			}
			p.literal(t, call, i)
		}
	}
}

// literal judges one string by the call that it is given to.
func (p *program) literal(t Token, call string, i int) {
	if t.tail || t.Text == "" || strings.Contains(t.Text, "\n") {
		return
	}
	name := lastName(call)
	value := t.Text
	if p.lang == "perl" && opensFile(name) {
		value = strings.TrimLeft(value, "<>+| ")
	}
	if p.lang == "perl" && opensFile(name) && isPipe(t.Text) {
		p.pipeOpen(strings.Trim(t.Text, "| -"))
		return
	}
	if strings.Contains(value, " ") && (call == "?" || !callReads(name) && call != "" && p.startsPrograms()) {
		p.s.Mentions(word.Lit(value), p.at)
	}
	where, abs := p.locate(value)
	if where.Writable() && removes(name) {
		p.s.CheckFrom(land.Remove, p.at.Hold(word.Lit(abs)), p.dir)
	}
	if where.Writable() || where == land.Unknown {
		return
	}
	chained := i+1 < len(p.toks) && p.toks[i+1].Kind == 'i' && strings.HasPrefix(p.toks[i+1].Text, ".") &&
		callWrites(lastName(p.toks[i+1].Text))
	switch {
	case copies(name) && p.laterString(i):
		return // what is copied is only read
	case takesContent(name, call) && p.argumentIndex(i) > 0:
		return // what is written, not where
	case chained || callWrites(name) || writesByOwner(call) || name == "replace" && p.ofPath(i):
	case opensFile(name):
		if !p.openWrites(p.callIndex(i)) && !isMode(t.Text, p.lang) {
			return
		}
	case callReads(name) && (name != "glob" || !p.mutates) || p.lang == "other" && printsText(name) ||
		where == land.System || !pathShaped(value) || isFlagOrKey(p.toks, i) || p.s.Imaginary(word.Lit(value)):
		return
	case call == "" && (!p.mutates || !p.aims):
		return // a value that nothing is done with but reading
	}
	p.refuse(where, abs)
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

// ofPath says that the call around token i is a method of a path.
func (p *program) ofPath(i int) bool {
	call := p.callIndex(i)
	return call > 0 && call < i && p.toks[call-1].Kind == 's' && p.toks[call-1].path
}

// takesContent names calls whose first argument alone is a path.
func takesContent(name, call string) bool {
	return word.Listed(" writeFile writeFileSync appendFile appendFileSync outputFile outputFileSync outputJson "+
		"outputJsonSync writeJson writeJsonSync file_put_contents WriteFile writeTextFile writeTextFileSync spew "+
		"binwrite write_file ", name) ||
		call == "File.write" || call == "IO.write" || call == "Bun.write" || call == "fs::write" ||
		call == "std::fs::write"
}

// argumentIndex counts the commas before token i in the innermost call.
func (p *program) argumentIndex(i int) int {
	depth, commas := 0, 0
	for j := i - 1; j >= 0; j-- {
		if p.toks[j].Kind != 'p' {
			continue
		}
		switch p.toks[j].Text {
		case ")", "]", "}":
			depth++
		case "[", "{":
			if depth--; depth < 0 {
				depth, commas = 0, 0 // of a list within the call
			}
		case "(":
			if depth--; depth < 0 {
				return commas
			}
		case ",":
			if depth == 0 {
				commas++
			}
		}
	}
	return 0
}

// laterString says whether another string follows in the same call.
func (p *program) laterString(i int) bool {
	for depth, j := 0, i+1; j < len(p.toks) && depth >= 0; j++ {
		switch t := p.toks[j]; {
		case t.Kind == 's':
			return true
		case t.Kind == 'p' && t.Text == "(":
			depth++
		case t.Kind == 'p' && (t.Text == ")" || t.Text == ";"):
			depth--
		}
	}
	return false
}

// statement finds the call that a string without brackets around it is given
// to: the first name of its statement, as in perl's open F, ">x".
func (p *program) statement(i int) string {
	call := ""
	for j := i - 1; j >= 0; j-- {
		t := p.toks[j]
		if t.Kind == 'p' && (t.Text == ";" || t.Text == "{" || t.Text == "}" || t.Text == "\n" || t.Text == "(" ||
			t.Text == "=") {
			break
		}
		if name := lastName(t.Text); t.Kind == 'i' && (opensFile(name) || callWrites(name) || callEnters(name) ||
			callRuns(p, t.Text)) {
			call = t.Text
		}
	}
	return call
}

// callIndex finds the name of the innermost call around token i.
func (p *program) callIndex(i int) int {
	depth := 0
	for j := i - 1; j >= 0; j-- {
		switch p.toks[j].Text {
		case ")", "]", "}":
			if p.toks[j].Kind == 'p' {
				depth++
			}
		case "(", "[", "{":
			if p.toks[j].Kind != 'p' {
				continue
			}
			if depth--; depth < 0 && j > 0 && p.toks[j-1].Kind == 'i' {
				return j - 1
			}
		}
		if p.toks[j].Kind == 'i' && depth == 0 && j == i-1 {
			return j
		}
	}
	return i
}
