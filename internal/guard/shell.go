package guard

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on one decision. They are counts, so that the same call gets the
// same verdict on every machine.
const (
	maxSteps   = 50_000
	maxDepth   = 10  // scripts within scripts
	maxNesting = 64  // functions, substitutions and blocks
	maxAlts    = 24  // possibilities that are followed for one word or command
	maxRounds  = 256 // rounds of a loop over known words
)

// shell interprets one call.
type shell struct {
	policy  Policy
	land    *terrain
	sc      *scope
	out     *text // where standard output is collected; nil if nobody reads it
	source  string
	removed []int // offsets of line continuations taken out of the source
	fixed   *arg  // where denials point at while nested text is interpreted
	steps   int
	depth   int
	nesting int
	pipes   int // process substitutions so far
	traps   []trapped
	current []arg // the command that is being judged
	dialect dialect
	sought  bool // the command has looked for processes of the guard
	typed   bool // the standard input of the call is what the agent types later
}

// scope is what a subshell has a copy of.
type scope struct {
	dirs    []string // where the shell may be
	old     []string
	stack   [][]string
	vars    map[string]variable
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	params  []text
	self    text            // $0
	files   map[string]text // what this command has written; shared by all copies
	made    map[string]bool // directories this command has made; shared too
	exports []exportedVar
	last    text // $_
	stdin   *stream
	branch  string
	errexit bool
}

// trapped is the text of an EXIT trap and the scope that it was set in.
type trapped struct {
	at    arg
	scope *scope
}

// stream is a standard input. A nil stream is one that nobody knows.
type stream struct {
	text   text
	lines  []text
	split  bool
	script bool // the content of a file in the workspace
}

// variable holds the values that a variable may have, or a list's elements.
type variable struct {
	alts   []text
	list   []text
	isList bool
	ref    string // another variable's name, for declare -n
	// integer says that what is assigned is evaluated as arithmetic.
	integer bool
}

func newShell(p Policy, links Resolver, call Call) *shell {
	s := &shell{policy: p, land: newTerrain(p, links), typed: call.Typed}
	s.sc = &scope{
		dirs: []string{path.Clean(call.Cwd)},
		vars: map[string]variable{}, funcs: map[string]*syntax.Stmt{}, aliases: map[string]string{},
		files: map[string]text{}, made: map[string]bool{}, branch: call.Branch, self: lit("bash"),
	}
	if s.sc.branch == "" {
		s.sc.branch = p.Branch
	}
	if call.MadeHere {
		s.sc.made[madeBranch+call.Branch] = true
	}
	return s
}

func (sc *scope) clone() *scope {
	c := *sc
	c.dirs, c.old, c.stack = slices.Clone(sc.dirs), slices.Clone(sc.old), slices.Clone(sc.stack)
	c.vars, c.funcs, c.aliases = maps.Clone(sc.vars), maps.Clone(sc.funcs), maps.Clone(sc.aliases)
	return &c
}

// merge makes sc possible beside other: what was either is now both.
func (sc *scope) merge(other *scope) {
	sc.dirs = union(sc.dirs, other.dirs)
	sc.old = union(sc.old, other.old)
	if len(other.stack) > len(sc.stack) {
		sc.stack = other.stack
	}
	for name, v := range other.vars {
		mine, ok := sc.vars[name]
		if !ok {
			sc.vars[name] = v
			continue
		}
		sc.vars[name] = mine.or(v)
	}
	if len(other.exports) > len(sc.exports) {
		sc.exports = other.exports
	}
	maps.Copy(sc.funcs, other.funcs)
	maps.Copy(sc.aliases, other.aliases)
	if other.branch != sc.branch {
		sc.branch = other.branch
	}
}

func (v variable) or(w variable) variable {
	if v.isList != w.isList {
		return variable{alts: append(v.values(), w.values()...)}
	}
	if v.isList {
		if !slices.EqualFunc(v.list, w.list, text.equal) {
			v.list = append(slices.Clone(v.list), w.list...)
		}
		return v
	}
	alts := slices.Clone(v.alts)
	for _, t := range w.alts {
		if !slices.ContainsFunc(alts, t.equal) && len(alts) < maxAlts {
			alts = append(alts, t)
		}
	}
	return variable{alts: alts, ref: v.ref}
}

func (v variable) values() []text {
	if v.isList {
		return slices.Clone(v.list)
	}
	return slices.Clone(v.alts)
}

func (t text) equal(u text) bool { return slices.Equal(t, u) }

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) && len(a) < maxAlts {
			a = append(a, s)
		}
	}
	return a
}

// step counts work and denies when there is too much of it.
func (s *shell) step() {
	if s.steps++; s.steps > maxSteps {
		s.deny(RuleTooComplex, arg{}, "", "the command takes more steps than the guard follows",
			"split it into smaller commands")
	}
}

// charge counts the handling of long texts as work.
func (s *shell) charge(t text) {
	s.steps += t.size() / 128
	s.step()
}

// enter counts nesting; the function that it returns leaves again.
func (s *shell) enter() func() {
	if s.nesting++; s.nesting > maxNesting {
		s.deny(RuleTooComplex, arg{}, "", "the command is nested too deeply", "write it in smaller parts")
	}
	return func() { s.nesting-- }
}

// deny ends the interpretation with a verdict that points at a.
func (s *shell) deny(rule Rule, a arg, path, reason, instead string) {
	if s.fixed != nil {
		a.start, a.end = s.fixed.start, s.fixed.end
	}
	v := Verdict{Rule: rule, Path: strings.NewReplacer(hole, "…", star, "*").Replace(path), Reason: reason,
		Instead: instead}
	start, end := s.unmap(a.start), s.unmap(a.end)
	if end > start && end <= len(s.source) {
		v.Start, v.End, v.Part = start, end, s.source[start:end]
	} else {
		v.Part = a.String()
	}
	panic(denial{v})
}

// unmap finds the place in the source as it was given.
func (s *shell) unmap(offset int) int {
	return moved(offset, s.removed, 0)
}

// isolated runs f on a copy of the scope, as a subshell does.
func (s *shell) isolated(f func()) *scope {
	outer := s.sc
	s.sc = outer.clone()
	f()
	inner := s.sc
	s.sc = outer
	return inner
}

// branches runs every alternative from the same start and merges the ends.
func (s *shell) branches(alts ...func()) {
	if len(alts) == 1 {
		alts[0]()
		return
	}
	var merged *scope
	for _, f := range alts {
		end := s.isolated(f)
		if merged == nil {
			merged = end
		} else {
			merged.merge(end)
		}
	}
	if merged != nil {
		s.sc = merged
	}
}

// capture collects what f prints.
func (s *shell) capture(f func()) text {
	outer, buf := s.out, text{}
	s.out = &buf
	f()
	s.out = outer
	return buf
}

// print adds to the collected output.
func (s *shell) print(t text) {
	if s.out != nil {
		*s.out = s.out.with(t...)
		s.charge(*s.out)
	}
}

// withStdin runs f with another standard input.
func (s *shell) withStdin(in *stream, f func()) {
	outer := s.sc.stdin
	s.sc.stdin = in
	f()
	s.sc.stdin = outer
}

// next takes one line off the stream.
func (in *stream) next() (text, bool) {
	if !in.split {
		in.lines, in.split = in.text.lines(), true
	}
	if len(in.lines) == 0 {
		return nil, false
	}
	line := in.lines[0]
	if line.worst() == literal || len(in.lines) > 1 { // an unknown line stands for any number of them
		in.lines = in.lines[1:]
	}
	return line, true
}

// script interprets text as a shell would read it, in the current scope.
func (s *shell) script(t text, at arg) {
	if s.depth++; s.depth > maxDepth {
		s.deny(RuleTooComplex, at, "", "scripts within scripts go too deep", "write it in smaller parts")
	}
	if s.fixed == nil {
		s.fixed = &at
		defer func() { s.fixed = nil }()
	}
	source := s.plug(t, at)
	outer := s.traps
	s.traps = nil
	if stmts, ok := s.statements(source, at); ok {
		s.stmts(stmts)
	} else {
		s.foreignText(source, at)
	}
	s.exit()
	s.traps = outer
	s.depth--
}

// statements parses source in the dialect that is spoken; false if it can't be
// read as a whole.
func (s *shell) statements(source string, at arg) ([]*syntax.Stmt, bool) {
	if s.dialect != dialectBash {
		s.readable(source, at)
	}
	switch s.dialect {
	case dialectFish:
		translated, ok := fishToBash(source)
		file, _, err := parseBash(translated)
		if !ok || err != nil {
			return nil, false
		}
		return file.Stmts, true
	case dialectZsh:
		file, err := s.parseZsh(source, at)
		if err != nil {
			return nil, false
		}
		return file.Stmts, true
	case dialectOther:
		return nil, false
	}
	file, _ := s.parse(source, at)
	return file.Stmts, true
}

// plug turns text with unknown pieces into source: a piece becomes a variable
// that holds it, so that the rules on dynamic words apply to it.
func (s *shell) plug(t text, at arg) string {
	var b strings.Builder
	for _, piece := range t {
		switch piece.kind {
		case literal:
			b.WriteString(piece.text)
		case hidden:
			s.deny(RuleUnknownCode, at, "", "this runs text that is decoded or computed on the way",
				"write the commands out so that they can be read")
		default:
			name := "__guard" + string(piece.kind+'a')
			s.sc.vars[name] = variable{alts: []text{{piece}}}
			b.WriteString("${" + name + "}")
		}
	}
	return b.String()
}

// parse reads source as bash and denies what doesn't parse. It returns the
// offsets of the line continuations that it took out.
func (s *shell) parse(source string, at arg) (*syntax.File, []int) {
	s.readable(source, at)
	file, removed, err := parseBash(source)
	if err != nil {
		s.deny(RuleSyntax, at, "", "the command does not parse as bash: "+err.Error(), "check quotes and brackets")
	}
	return file, removed
}

// readable denies what no parser should be given.
func (s *shell) readable(source string, at arg) {
	s.step()
	if i := strings.IndexAny(source, "\x00\r"); i >= 0 {
		s.deny(RuleSyntax, at, "", "the command holds a control character that shells read differently", "leave it out")
	}
	if tooDeep(source) {
		s.deny(RuleTooComplex, at, "", "the command is nested too deeply", "write it in smaller parts")
	}
}
