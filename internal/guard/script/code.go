// Package script judges program text of languages other than the shell.
package script

import (
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
	toks    []Token
	frames  []frame
	in      []int // the frame that each token stands in
	consts  map[string]string
	known   map[string]effect // of the calls that were looked up
	mutates bool              // some call in it writes, runs or changes directory
	decodes bool              // some call in it makes text out of something unreadable
	aims    bool              // some call in it gets its target from elsewhere than a string in place
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
func Judge(s Host, lang string, t text, at arg) bool {
	s.Step()
	if k := t.First(); k >= word.Environ || t.Worst() == word.Hidden {
		s.Deny(verdict.RuleUnknownCode, at, "", "the program text can't be told beforehand",
			"write it out, or put it into a file of the workspace")
	}
	source := homes(t.Filled("", land.Hole), s.Home())
	p := &program{s: s, lang: lang, at: at, consts: map[string]string{}, known: map[string]effect{}, dir: s.Dir()}
	p.toks = Tokenize(lang, source)
	defer s.Descend("programs within programs", at, len(p.toks))()
	if lang == "other" {
		p.brackets(strings.HasPrefix(strings.TrimSpace(source), "("))
		p.foreign(source)
	}
	p.survey()
	p.fold()
	p.targets()
	p.brackets(false)
	p.walk()
	return p.mutates
}

// foreign judges text of which the grammar is not known: any outside path in it
// counts, but for those in strings that are only printed or read.
func (p *program) foreign(source string) {
	var rest []string
	for _, piece := range strings.FieldsFunc(source, func(r rune) bool { return r == '|' || r == ';' || r == '\n' }) {
		if !looksOnly(piece) {
			rest = append(rest, piece)
		}
	}
	source = strings.Join(rest, "\n")
	for i, t := range p.toks {
		if t.Kind == 's' && strings.ContainsAny(t.Text, "/~.") && p.effects(p.callOf(i))&prints != 0 {
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
		next := p.token(i + 1)
		switch e := p.effects(t.Text); {
		case t.Kind == 'b':
			p.mutates = true
		case t.Kind == 's':
			p.decodes = p.decodes || next.Text == "["
		case t.Kind != 'i':
		case (next.Text == "(" || next.Kind == 's' || p.bare() || len(p.toks) == 1) && // ruby -run -e cp
			(e&(acts&^opens) != 0 || e&opens != 0 && p.openWrites(i)):
			p.mutates = true
		default:
			p.decodes = p.decodes || e&decodes != 0
		}
	}
}

// bare says that the language calls without brackets.
func (p *program) bare() bool { return p.lang == "perl" || p.lang == "ruby" }

// token is token i, or none past the ends.
func (p *program) token(i int) Token {
	if i < 0 || i >= len(p.toks) {
		return Token{}
	}
	return p.toks[i]
}

// targets looks for calls that act on something else than a string that stands
// right in them. Without one, no other string of the program can be a target.
func (p *program) targets() {
	if p.lang != "python" && p.lang != "javascript" && p.lang != "php" || p.decodes {
		p.aims = true
	}
	for i, t := range p.toks {
		if t.Kind == 'i' && !p.aims {
			p.aims = p.aimed(i, t.Text)
		}
	}
}

// aimed says that the name at i acts on something that can't be seen.
func (p *program) aimed(i int, call string) bool {
	name, e := lastName(call), p.effects(call)
	if p.token(i+1).Text != "(" || e&acts == 0 {
		return e&acts != 0 && !strings.HasPrefix(call, "import") || word.Listed(" eval exec getattr ", name)
	}
	if strings.HasPrefix(call, ".") && p.lang == "python" { // a method of what stands before it
		return p.token(i-1).Kind != 's'
	}
	owner, method := strings.CutSuffix(call, "."+name)
	required := owner == "" && p.token(i-4).Text == "require"
	switch {
	case method && p.isFixed(owner):
		return false
	case method && !isModule(owner) && !required:
		return true // a method of a variable
	}
	return !p.given(i+1, e&(content|opens) != 0)
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
		if word.Listed(" for as , ", p.token(i-1).Text) {
			return false
		}
		if p.token(i+1).Text == "=" {
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
	depth := 0
	for j := i + 1; j < min(len(p.toks), i+60); j++ {
		switch t := p.toks[j]; {
		case t.Kind == 's' && isMode(t.Text, p.lang), t.Kind == 'i' && (strings.Contains(t.Text, "O_WRONLY") ||
			strings.Contains(t.Text, "O_RDWR") || strings.Contains(t.Text, "O_CREAT")):
			return true
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth <= 0 {
				return false
			}
		case t.is(";") || t.is("\n") && depth == 0:
			return false
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
