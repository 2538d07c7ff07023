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

// program is program text of an interpreter other than a shell. Nobody runs it here: its string literals are followed
// to the calls that they are given to, and those calls are known by name.
type program struct {
	s      Host
	lang   string
	source string
	at     arg
	toks   []Token
	frames []frame
	consts map[string]string
	known  map[string]effect // of the calls that were looked up
	dir    string
	idle   bool // no word in it speaks of an effect

	// What the calls in it do, when all were seen.
	mutates bool   // some call writes, runs or changes directory
	decodes bool   // some call makes text out of something unreadable
	hides   bool   // some call gets its target from elsewhere than a string
	aims    bool   // some call may get its target from elsewhere in the program
	strays  bool   // such a call writes itself
	loose   string // an outside path that no call was seen to get
	told    string // one that it gets to know from what it runs
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

	Locate(t text, dir string, name bool) (land.Place, string)
	CheckFrom(o land.Op, a arg, dir string)
	Refuse(o land.Op, a arg, where land.Place, abs string)
	Imaginary(t text) bool
	Mentions(t text, at arg)
	Loose(a arg)

	Nested(dir string, at arg, f func())
	Capture(f func()) text
	Mentioned(t text) (where land.Place, abs string, found bool)
	Exec(argv []arg)
	RunText(t text, at arg, by string)
	RunApart(a arg, by string)
	Homed(name string) text
	Check(o land.Op, a arg)
	SuspiciousRun(command string, at arg)
}

// Judge judges program text, and says whether it does more than read.
func Judge(s Host, lang string, t text, at arg) bool {
	s.Step()
	if k := t.First(); k >= word.Environ || t.Worst() == word.Hidden {
		s.Deny(verdict.RuleUnknownCode, at, "", "the program text can't be told beforehand",
			"write it out, or put it into a file of the workspace")
	}
	p := &program{s: s, lang: lang, at: at, consts: map[string]string{}, known: map[string]effect{}, dir: s.Dir(),
		aims: !word.Listed(" python javascript php ", lang)}
	p.source = homes(t.Filled("", land.Hole), s.Home())
	p.toks = Tokenize(lang, p.source)
	p.idle = lang == "other" && p.isIdle()
	defer s.Descend("programs within programs", at, len(p.toks))()
	if lang == "other" || lang == "awk" {
		p.brackets(strings.HasPrefix(strings.TrimSpace(p.source), "("))
		p.foreign()
	}
	p.fold(p.toks)
	p.brackets(false)
	p.walk()
	if p.decodes && p.hides {
		s.Deny(verdict.RuleUnknownCode, at, "", "the program decodes what it then runs or writes",
			"write it out so that it can be read")
	}
	if p.mutates && p.loose != "" && (p.aims || p.decodes) {
		p.refuse(p.locate(p.loose))
	}
	if p.strays && p.told != "" {
		p.refuse(p.locate(p.told))
	}
	return p.mutates
}

// foreign judges text of which the grammar is not known: any outside path in it
// counts, but for those in strings that are only printed or read.
func (p *program) foreign() {
	var rest []string
	for _, statement := range strings.FieldsFunc(p.source, func(r rune) bool { return r == ';' || r == '\n' }) {
		pieces := strings.Split(statement, "|")
		acts := slices.ContainsFunc(pieces, func(piece string) bool { // on what is piped to it
			verb, _, _ := strings.Cut(strings.TrimSpace(piece), "-")
			return word.Listed(" Remove Move Rename New Clear ForEach ri rm del mi mv ", verb)
		})
		for _, piece := range pieces {
			if acts || !p.looksOnly(piece) {
				rest = append(rest, piece)
			}
		}
	}
	source := strings.Join(rest, "\n")
	for i, t := range p.toks {
		switch {
		case t.Kind != 's':
		case p.lang == "awk" && p.token(i-1).is(">"):
			p.s.Check(land.Redirect, p.at.Hold(word.Lit(t.Text)))
		case p.lang == "awk" && p.token(i-1).is("|") && !p.token(i-2).is("|"):
			p.run(word.Lit(t.Text))
		case strings.ContainsAny(t.Text, "/~.") && (p.isData(i, i) || p.isElement(i) ||
			p.lang == "awk" && p.effects(p.token(p.callOf(i)).Text)&(reads|runs) != 0): // which is judged later
			source = strings.Replace(source, t.Text, "", 1)
		}
	}
	p.s.Mentions(word.Lit(source), p.at)
}

// isElement says that a string is one of several in a list, on which a text that alters nothing tries a function.
func (p *program) isElement(i int) bool {
	open := p.frames[p.toks[i].in].open
	return p.idle && p.token(open).is("[") && p.token(open+1).Kind == 's' && !p.token(open+2).is("]")
}

// isIdle says that every name in a text, but for what a line imports, is known to alter nothing.
func (p *program) isIdle() bool {
	imports := false
	for i, t := range p.toks {
		before, next := p.token(i-1), p.token(i+1)
		first := i == 0 || before.is("\n") || before.is(";")
		imports = first && word.Listed(" import using ", t.Text) || imports && word.Listed(" import using ", before.Text)
		switch {
		case t.Kind == 's' && (next.is("(") || before.is(".") || strings.ContainsAny(t.Text, "(;")), t.is("!"), t.is("`"),
			t.is("<") && next.is("<"), t.is(">") && !before.is("-") && !before.is("=") && !before.is("|"):
			return false
		case t.Kind == 'i' && len(t.Text) > 1 && !imports && p.effects(t.Text)&(prints|passes) == 0 &&
			!word.Listed(idleWords, t.Text):
			return false
		}
	}
	return len(p.toks) < maxTokens
}

// idleWords are those around calls in languages that try a function on a list.
const idleWords = " for in do end fn fun let main IO map mapM_ forM_ each iter List.iter doseq foreach quote require " +
	"as if then else val var def true false nil io/file "

// isData says that the value from token i to j is only looked at: by the calls that it is given to, by methods that are
// called on it, or by being compared.
func (p *program) isData(i, j int) bool {
	for {
		p.s.Step()
		for p.token(j+1).Kind == 'i' && strings.HasPrefix(p.token(j+1).Text, ".") {
			if e := p.effects(p.token(j + 1).Text); e&prints != 0 || e&passes == 0 {
				return e&prints != 0
			}
			j++
			if opened := p.token(j + 1).opens; opened > 0 {
				j = p.frames[opened].end
			}
		}
		switch next := p.token(j + 1); {
		case next.is("|") || next.is("%"): // what it is piped to may do anything
			return false
		case p.isCompared(i) || (next.is("=") || next.is("!")) && p.token(j+2).is("="):
			return true
		}
		at, f := p.callOf(i), p.frames[p.toks[i].in]
		for f.name >= 0 && p.frames[f.outer].name == f.name {
			p.s.Step()
			f = p.frames[f.outer]
		}
		switch e := p.effects(p.token(at).Text); {
		case e&prints != 0: // but R's cat(…, file = "x")
			return !p.token(i-1).is("=") || p.token(i-2).Text != "file" || e&reads != 0
		case e&passes == 0:
			return false
		case at > f.open && at != f.name:
			i = at
		default:
			i, j = min(f.open, f.name), f.end
		}
	}
}

// looksOnly says that a command of PowerShell or Tcl prints what it finds.
func (p *program) looksOnly(piece string) bool {
	verb, _, ok := strings.Cut(strings.TrimSpace(piece), "-")
	if strings.ContainsAny(piece, ">&({") {
		return false
	}
	if ok && word.Listed(" Get Test Select Measure Format Resolve Compare Split Join ", verb) {
		return true
	}
	for _, command := range strings.Split(piece, "[") {
		words := strings.Fields(command + " - -")
		if word.Listed(" file string ", words[0]) {
			words = words[1:]
		}
		if strings.ContainsAny(piece, "\"'") || p.effects(words[0])&(prints|passes) == 0 {
			return false
		}
	}
	return true
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

// note sees what the name at i does to the program as a whole.
func (p *program) note(i int) {
	call, next := p.toks[i].Text, p.token(i+1)
	e := p.effects(call)
	called := next.is("(") || next.Kind == 's' || p.bare() || len(p.toks) == 1 // ruby -run -e cp
	p.mutates = p.mutates || called && (e&(acts&^opens) != 0 || e&opens != 0 && p.openWrites(i))
	p.decodes = p.decodes || e&decodes != 0
	aimed := p.aimed(i, call, e)
	p.aims, p.strays = p.aims || aimed, p.strays || aimed && e&(acts&^runs) != 0
}

// aimed says that the name at i acts on something that can't be seen.
func (p *program) aimed(i int, call string, e effect) bool {
	name, next := lastName(call), p.token(i+1)
	owner, method := strings.CutSuffix(call, "."+name)
	switch {
	case e&acts == 0:
		return word.Listed(" eval exec getattr ", name) && next.Kind != 's'
	case !next.is("("):
		return next.Kind != 's'
	case method && owner == "" && !word.Listed(" require __import__ ", p.token(i-4).Text): // of what stands before it
		return p.token(i-1).Kind != 's'
	case method && owner != "" && !word.Listed(" os shutil io subprocess sp codecs gzip bz2 lzma json fs fsp fs.promises "+
		"child_process Deno Bun ", owner):
		return true // of a variable, while the functions of modules get their target as an argument
	}
	return !p.given(i+1, e&(content|opens) != 0)
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

// given says that the arguments of the call that opens at i are strings; with first, that the first one is.
func (p *program) given(i int, first bool) bool {
	end := p.frames[p.toks[i].opens].end
	for _, t := range p.toks[i+1 : end] {
		if first && t.is(",") {
			return true
		}
		if !t.is(",") && t.Kind != 'n' && (t.Kind != 's' || strings.Contains(t.Text, land.Hole)) {
			return false
		}
	}
	return end > i+1
}

// lastName is the name after the last dot or colon.
func lastName(name string) string {
	if i := strings.LastIndexAny(name, ".:>/"); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimRight(name, "!?")
}

// openWrites says whether the open call at token i asks for more than reading.
func (p *program) openWrites(i int) bool {
	for j := i + 1; j < len(p.toks); j++ {
		switch t := p.toks[j]; {
		case t.Kind == 's' && isMode(t.Text, p.lang), t.Kind == 'i' && (strings.Contains(t.Text, "O_WRONLY") ||
			strings.Contains(t.Text, "O_RDWR") || strings.Contains(t.Text, "O_CREAT")):
			return true
		case t.in == p.toks[i].in && (t.is(")") || t.is(";") || t.is("\n")):
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
	v, _, _ = strings.Cut(v, ":") // w:gz
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
