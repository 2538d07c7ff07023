// Package script judges program text of languages other than the shell.
package script

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Short names of what every function here speaks of.
type (
	arg  = word.Arg
	text = word.Text
)

// program is program text of an interpreter other than a shell. Nobody runs
// it here: its string literals are followed to the calls that they are given
// to, and those calls are known by name.
type program struct {
	s       Host
	lang    string
	at      arg
	args    []text
	toks    []Token
	consts  map[string]string
	mutates bool // some call in it writes, runs or changes directory
	decodes bool // some call in it makes text out of something unreadable
	aims    bool // some call in it gets its target from elsewhere than a string in place
	dir     string
}

// Host is the interpreter as a program's text sees it.
type Host interface {
	Step()
	Deny(rule verdict.Rule, a arg, path, reason, instead string)
	// Descend counts texts within texts; the function that it returns leaves again.
	Descend(what string, at arg, work int) func()
	Dir() string
	Home() string
	Workspace() string
	Values(name string) []text
	Interprets(name string) bool

	Locate(t text, dir string, name bool) (land.Place, string)
	CheckFrom(o land.Op, a arg, dir string)
	Refuse(o land.Op, a arg, where land.Place, abs string)
	Imaginary(t text) bool
	Suspicious(a arg)
	Mentions(t text, at arg)
	Loose(a arg)

	Nested(dir string, at arg, f func())
	Exec(argv []arg)
	RunText(t text, at arg, by string)
	RunApart(a arg, by string)
	Apart(f func())
	MoveTo(a arg, physical bool)
	Homed(name string) text
	Check(o land.Op, a arg)
	Operand(a arg)
	SuspiciousRun(command string, at arg)
}

// Judge judges program text, and says whether it does more than read.
func Judge(s Host, lang string, t text, at arg, args []text) bool {
	s.Step()
	if k := t.First(); k >= word.Environ || t.Worst() == word.Hidden {
		s.Deny(verdict.RuleUnknownCode, at, "", "the program text can't be told beforehand",
			"write it out, or put it into a file of the workspace")
	}
	source := homes(t.Filled("", land.Hole), s.Home())
	p := &program{s: s, lang: lang, at: at, args: args, consts: map[string]string{}, dir: s.Dir()}
	p.toks = Tokenize(lang, source)
	defer s.Descend("programs within programs", at, len(p.toks))()
	if lang == "other" {
		p.foreign(source)
	}
	p.survey()
	p.fold()
	p.targets()
	p.walk()
	return p.mutates
}

// foreign judges text of which the grammar is not known: any outside path in it
// counts, but for those in strings that are only printed or read.
func (p *program) foreign(source string) {
	lisp := strings.HasPrefix(strings.TrimSpace(source), "(")
	var rest []string
	for _, piece := range strings.FieldsFunc(source, func(r rune) bool { return r == '|' || r == ';' || r == '\n' }) {
		if !looksOnly(piece) {
			rest = append(rest, piece)
		}
	}
	source = strings.Join(rest, "\n")
	for i, t := range p.toks {
		if t.Kind != 's' || !strings.ContainsAny(t.Text, "/~.") {
			continue
		}
		if name := lastName(p.callAround(i, lisp)); printsText(name) {
			source = strings.Replace(source, t.Text, "", 1)
		}
	}
	p.s.Mentions(word.Lit(source), p.at)
}

// looksOnly says that a command of PowerShell prints what it finds.
func looksOnly(piece string) bool {
	verb, _, ok := strings.Cut(strings.TrimSpace(piece), "-")
	return ok && slices.Contains([]string{"Get", "Test", "Select", "Measure", "Format", "Resolve", "Compare"}, verb) &&
		!strings.ContainsAny(piece, ">&({")
}

// callAround names the call that token i is given to.
func (p *program) callAround(i int, lisp bool) string {
	depth := 0
	for j := i - 1; j >= 0; j-- {
		t := p.toks[j]
		switch {
		case t.Kind == 'p' && t.Text == ")":
			depth++
		case t.Kind == 'p' && t.Text == "(":
			if depth--; depth >= 0 {
				continue
			}
			if lisp && j+1 < len(p.toks) {
				name := p.toks[j+1].Text
				for k := j + 2; k+1 < i && p.toks[k].Text == "-" && p.toks[k+1].Kind == 'i'; k += 2 {
					name += "-" + p.toks[k+1].Text
				}
				return name
			}
			if j > 0 && (p.toks[j-1].Text == "!" || p.toks[j-1].Text == "?") {
				j-- // read!(…)
			}
			if j > 0 && p.toks[j-1].Kind == 'i' {
				return p.toks[j-1].Text
			}
			return ""
		case t.Kind == 'i' && depth == 0 && j == i-1 && !lisp:
			if j > 1 && p.toks[j-1].Text == "-" && p.toks[j-2].Kind == 'i' {
				return p.toks[j-2].Text + "-" + t.Text
			}
			return t.Text // a call without brackets
		}
	}
	return ""
}

// printsText names calls of other languages that print or read what they get.
func printsText(name string) bool {
	return word.Listed(" files length nchar size count dir print println puts printf say format pprint echo exists "+
		"exist isfile is_file is_dir read readFile read_text readdir readlines Write-Output Write-Host Get-Content "+
		"Test-Path Get-ChildItem Get-Item Println log info warn error displayln display inspect putStrLn putStr "+
		"print_endline print_string disp message writeln WriteLine slurp read_file readString readLines list_dir ls "+
		"isdir readtext newline write-line pr prn ", name)
}

// homes puts the home where programs write it into a string.
func homes(source, home string) string {
	if home == "" || !strings.Contains(source, "HOME") && !strings.Contains(source, "home") {
		return source
	}
	for _, name := range [...]string{
		"${process.env.HOME}", "${os.homedir()}", "${homedir()}", "{os.environ['HOME']}", `{os.environ["HOME"]}`,
		"{Path.home()}", "{pathlib.Path.home()}",
		"#{Dir.home}", "#{ENV['HOME']}", `#{ENV["HOME"]}`, "$ENV{HOME}",
	} {
		source = strings.ReplaceAll(source, name, home)
	}
	return source
}

// survey looks for calls that do more than read.
func (p *program) survey() {
	for i, t := range p.toks {
		if t.Kind == 'b' {
			p.mutates = true
		}
		if t.Kind == 's' && i+1 < len(p.toks) && p.toks[i+1].Text == "[" {
			p.decodes = true
		}
		if t.Kind != 'i' {
			continue
		}
		name := lastName(t.Text)
		called := i+1 < len(p.toks) && (p.toks[i+1].Text == "(" || p.lang == "perl" || p.lang == "ruby" ||
			p.toks[i+1].Kind == 's')
		switch {
		case called && (callWrites(name) || copies(name) || writesByOwner(t.Text) || callRuns(p, t.Text) || callEnters(name)):
			p.mutates = true
		case called && opensFile(name) && p.openWrites(i):
			p.mutates = true
		case decoder(t.Text):
			p.decodes = true
		}
	}
}

// targets looks for calls that act on something else than a string that stands
// right in them. Without one, no other string of the program can be a target.
func (p *program) targets() {
	if p.lang != "python" && p.lang != "javascript" && p.lang != "php" || p.decodes {
		p.aims = true
		return
	}
	for i, t := range p.toks {
		if t.Kind != 'i' {
			continue
		}
		name := lastName(t.Text)
		acts := callWrites(name) || copies(name) || writesByOwner(t.Text) || callRuns(p, t.Text) || callEnters(name) ||
			opensFile(name)
		called := i+1 < len(p.toks) && p.toks[i+1].Text == "("
		if !called || !acts {
			p.aims = p.aims || acts && !called && !strings.HasPrefix(t.Text, "import") || name == "eval" || name == "exec" ||
				name == "getattr"
			continue
		}
		if strings.HasPrefix(t.Text, ".") && p.lang == "python" { // a method of what stands before it
			p.aims = p.aims || p.toks[i-1].Kind != 's'
			continue
		}
		owner, method := strings.CutSuffix(t.Text, "."+name)
		if method && p.isFixed(owner) {
			continue
		}
		required := owner == "" && i > 3 && p.toks[i-4].Text == "require"
		if method && !isModule(owner) && !required {
			p.aims = true // a method of a variable
			continue
		}
		p.aims = p.aims || !p.given(i+1, takesContent(name, t.Text) || opensFile(name))
	}
}

// isFixed says that a variable holds a path inside from beginning to end.
func (p *program) isFixed(name string) bool {
	value, ok := p.consts[name]
	if where, _ := p.locate(value); !ok || !where.Writable() {
		return false
	}
	assigned := 0
	for i, t := range p.toks {
		if t.Kind != 'i' || t.Text != name {
			continue
		}
		if i > 0 && (p.toks[i-1].Text == "for" || p.toks[i-1].Text == "as" || p.toks[i-1].Text == ",") {
			return false
		}
		if i+1 < len(p.toks) && p.toks[i+1].Text == "=" {
			assigned++
		}
	}
	return assigned == 1
}

// isModule names the modules whose functions get their target as an argument.
func isModule(name string) bool {
	return word.Listed(" os shutil io subprocess sp codecs gzip bz2 lzma json fs fsp fs.promises child_process Deno "+
		"Bun ", name)
}

// given says that the arguments of the call that opens at i are strings; with
// first, that the first one is.
func (p *program) given(i int, first bool) bool {
	for i++; i+1 < len(p.toks); i += 2 {
		if p.toks[i].Kind != 's' && p.toks[i].Kind != 'n' || p.toks[i].tail || strings.Contains(p.toks[i].Text, land.Hole) {
			return false
		}
		if end := p.toks[i+1].Text; first || end != "," {
			return end == "," || end == ")"
		}
	}
	return false
}

// lastName is the name after the last dot or colon.
func lastName(name string) string {
	if i := strings.LastIndexAny(name, ".:>"); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimRight(name, "!?")
}

// openWrites says whether the open call at token i asks for more than reading.
func (p *program) openWrites(i int) bool {
	depth, strs := 0, 0
	for j := i + 1; j < len(p.toks) && j < i+60; j++ {
		t := p.toks[j]
		switch {
		case t.Text == "(" && t.Kind == 'p':
			depth++
		case t.Text == ")" && t.Kind == 'p':
			if depth--; depth <= 0 {
				return false
			}
		case t.Text == ";" && t.Kind == 'p' || t.Text == "\n" && depth == 0:
			return false
		case t.Kind == 's':
			strs++
			if isMode(t.Text, p.lang) {
				return true
			}
		case t.Kind == 'i' && (strings.Contains(t.Text, "O_WRONLY") || strings.Contains(t.Text, "O_RDWR") ||
			strings.Contains(t.Text, "O_CREAT")):
			return true
		}
	}
	return false
}

// isMode says whether a string is a mode that writes, or perl's two-in-one.
func isMode(v, lang string) bool {
	if lang == "perl" && v != "" && (strings.ContainsAny(v[:1], ">|+") || strings.HasSuffix(v, "|")) {
		return true
	}
	if before, _, ok := strings.Cut(v, ":"); ok && len(v) <= 5 {
		v = before // w:gz
	}
	return v != "" && len(v) <= 4 && strings.Trim(v, "rwaxcbtUs+") == "" && strings.ContainsAny(v, "waxc+")
}

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
		p.s.Suspicious(p.at.Hold(word.Lit(value)))
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

// isFlagOrKey says that a string is compared or used as a key, not a path.
func isFlagOrKey(toks []Token, i int) bool {
	if i+1 < len(toks) && toks[i+1].Kind == 'p' && toks[i+1].Text == ":" {
		return true
	}
	if i >= 1 && toks[i-1].Kind == 'i' && slices.Contains([]string{"eq", "ne", "cmp", "in"}, toks[i-1].Text) {
		return true
	}
	return i >= 2 && toks[i-1].Text == "=" && (toks[i-2].Text == "=" || toks[i-2].Text == "!")
}

// pathShaped says whether a string can be meant as a path to the outside.
func pathShaped(v string) bool {
	return (strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~") || strings.HasPrefix(v, ".") ||
		strings.Contains(v, "../") || !strings.Contains(v, " ")) &&
		!strings.Contains(v, "://")
}

// locate finds where a string leads if it is a path.
func (p *program) locate(v string) (land.Place, string) {
	v = strings.TrimPrefix(v, "file://")
	if strings.HasPrefix(v, land.Hole) {
		return land.Unknown, ""
	}
	if v == "~" || strings.HasPrefix(v, "~/") {
		v = p.s.Home() + v[1:]
	}
	return p.s.Locate(word.Lit(v), p.dir, false)
}

func (p *program) refuse(where land.Place, abs string) {
	if where == land.Protected || where == land.Git {
		p.s.Refuse(land.Write, p.at, where, abs)
	}
	p.s.Deny(verdict.RuleProgram, p.at, abs, "the program would touch "+verdict.Clip(abs, 200)+", outside the workspace",
		"use a path below "+p.s.Workspace())
}
