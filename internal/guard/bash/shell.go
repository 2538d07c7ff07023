// Package bash interprets shell text abstractly: directories, variables and
// written scripts are followed as far as they are known. Where a command acts (a
// command word, a directory, a redirect) what can't be known is denied; where it
// only passes data, it is let through. It knows no program and asks about them.
package bash

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/bash/fish"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Short names of what every function here speaks of.
type (
	arg  = word.Arg
	text = word.Text
)

// Bounds on one decision. They are counts, so that the same call gets the
// same verdict on every machine.
const (
	maxSteps   = 50_000
	maxDepth   = 10  // scripts within scripts
	maxNesting = 64  // functions, substitutions and blocks
	maxAlts    = 24  // possibilities that are followed for one word or command
	MaxRounds  = 256 // rounds of a loop over known words
)

// Programs is what the interpreter asks about programs, of which it knows none.
type Programs interface {
	// Run judges a program that is neither a builtin nor a function.
	Run(name string, argv []arg)
	// Unknown judges a command whose word is not known.
	Unknown(argv []arg)
	// Set judges a variable that is set, and Sees one that a program will see.
	Set(name string, value arg)
	Sees(name string, value arg, argv []arg)
	// Wrote judges what has been written to a file.
	Wrote(file string, content text)
	// Mentions denies a text in which a place outside stands.
	Mentions(t text, at arg)
	// Asks says that a program answers by failing, and Copies that it prints a
	// file as it is.
	Asks(name string) bool
	Copies(name string) bool
}

// Shell interprets one call.
type Shell struct {
	table  Programs
	Policy land.Policy
	Land   *land.Terrain
	*scope
	Out     *text  // where standard output is collected; nil if nobody reads it
	source  string // as the agent wrote it
	parsed  string // and without line continuations
	fixed   *arg   // where denials point at while nested text is interpreted
	steps   int
	depth   int
	nesting int
	pipes   int // process substitutions so far
	traps   []trapped
	dialect dialect
	typed   bool // the standard input of the call is what the agent types later
}

// scope is what a subshell has a copy of.
type scope struct {
	Dirs    []string // where the shell may be
	old     []string
	stack   [][]string
	Vars    map[string]Variable
	funcs   map[string]*syntax.Stmt
	Aliases map[string]string
	Params  []text
	Self    text            // $0
	Files   map[string]text // what this command has written; shared by all copies
	Made    map[string]bool // directories this command has made; shared too
	Exports []exportedVar
	last    text // $_
	Stdin   *Stream
	Branch  string
	Errexit bool
}

// trapped is the text of an EXIT trap and the scope that it was set in.
type trapped struct {
	at    arg
	scope *scope
}

// Stream is a standard input. A nil stream is one that nobody knows.
type Stream struct {
	Text   text
	lines  []text
	split  bool
	Script bool // the content of a file in the workspace
}

// Variable holds the values that a variable may have, or a list's elements.
type Variable struct {
	Alts   []text
	list   []text
	isList bool
	ref    string // another variable's name, for declare -n
	// integer says that what is assigned is evaluated as arithmetic.
	integer bool
}

// New makes the interpreter of a call that starts in dir. Typed says that
// the agent types the standard input later.
func New(p land.Policy, links land.Resolver, table Programs, dir string, typed bool) *Shell {
	s := &Shell{table: table, Policy: p, Land: land.New(p, links), typed: typed}
	s.scope = &scope{
		Dirs: []string{path.Clean(dir)},
		Vars: map[string]Variable{}, funcs: map[string]*syntax.Stmt{}, Aliases: map[string]string{},
		Files: map[string]text{}, Made: map[string]bool{}, Branch: p.Branch, Self: word.Lit("bash"),
	}
	return s
}

func (sc *scope) clone() *scope {
	c := *sc
	c.Dirs, c.old, c.stack = slices.Clone(sc.Dirs), slices.Clone(sc.old), slices.Clone(sc.stack)
	c.Vars, c.funcs, c.Aliases = maps.Clone(sc.Vars), maps.Clone(sc.funcs), maps.Clone(sc.Aliases)
	return &c
}

// merge makes sc possible beside other: what was either is now both.
func (sc *scope) merge(other *scope) {
	sc.Dirs = union(sc.Dirs, other.Dirs)
	sc.old = union(sc.old, other.old)
	if len(other.stack) > len(sc.stack) {
		sc.stack = other.stack
	}
	sc.mergeVars(other)
	if len(other.Exports) > len(sc.Exports) {
		sc.Exports = other.Exports
	}
	maps.Copy(sc.funcs, other.funcs)
	maps.Copy(sc.Aliases, other.Aliases)
	sc.Branch = other.Branch
}

func (sc *scope) mergeVars(other *scope) {
	for name, v := range other.Vars {
		if mine, ok := sc.Vars[name]; ok {
			v = mine.or(v)
		}
		sc.Vars[name] = v
	}
}

func (v Variable) or(w Variable) Variable {
	if v.isList && w.isList {
		if !slices.EqualFunc(v.list, w.list, text.Equal) {
			v.list = append(slices.Clone(v.list), w.list...)
		}
		return v
	}
	alts := v.Values()
	for _, t := range w.Values() {
		if !slices.ContainsFunc(alts, t.Equal) && len(alts) < maxAlts {
			alts = append(alts, t)
		}
	}
	return Variable{Alts: alts, ref: v.ref}
}

func (v Variable) Values() []text {
	if v.isList {
		return slices.Clone(v.list)
	}
	return slices.Clone(v.Alts)
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) && len(a) < maxAlts {
			a = append(a, s)
		}
	}
	return a
}

// Step counts work and denies when there is too much of it.
func (s *Shell) Step() {
	if s.steps++; s.steps > maxSteps {
		s.Deny(verdict.RuleTooComplex, arg{}, "", "the command takes more steps than the guard follows",
			"split it into smaller commands")
	}
}

// Charge counts the handling of long texts as work.
func (s *Shell) Charge(t text) {
	s.steps += t.Size() / 128
	s.Step()
}

// enter counts nesting; the function that it returns leaves again.
func (s *Shell) enter() func() {
	if s.nesting++; s.nesting > maxNesting {
		s.Deny(verdict.RuleTooComplex, arg{}, "", "the command is nested too deeply", "write it in smaller parts")
	}
	return func() { s.nesting-- }
}

// Deny ends the interpretation with a verdict that points at a.
func (s *Shell) Deny(rule verdict.Rule, a arg, path, reason, instead string) {
	if s.fixed != nil {
		a.Start, a.End = s.fixed.Start, s.fixed.End
	}
	v := verdict.Verdict{Rule: rule, Path: strings.NewReplacer(land.Hole, "…", land.Star, "*").Replace(path),
		Reason: reason, Instead: instead}
	v.Part = a.String()
	if a.End > a.Start && a.End <= len(s.parsed) {
		v.Start, v.End, v.Part = a.Start, a.End, s.parsed[a.Start:a.End]
		if s.parsed != s.source { // without its line continuations
			v.Start = max(strings.Index(s.source, v.Part), 0)
			v.End = min(v.Start+len(v.Part), len(s.source))
		}
	}
	panic(verdict.Denial{Verdict: v})
}

// Isolated runs f on a copy of the scope, as a subshell does.
func (s *Shell) Isolated(f func()) *scope {
	outer := s.scope
	s.scope = outer.clone()
	f()
	inner := s.scope
	s.scope = outer
	return inner
}

// branches runs every alternative from the same start and merges the ends.
func (s *Shell) branches(alts ...func()) {
	if len(alts) == 1 {
		alts[0]()
		return
	}
	var merged *scope
	for _, f := range alts {
		end := s.Isolated(f)
		if merged == nil {
			merged = end
		} else {
			merged.merge(end)
		}
	}
	if merged != nil {
		s.scope = merged
	}
}

// Capture collects what f prints.
func (s *Shell) Capture(f func()) text {
	outer, buf := s.Out, text{}
	s.Out = &buf
	f()
	s.Out = outer
	return buf
}

// Print adds to the collected output.
func (s *Shell) Print(t text) {
	if s.Out != nil {
		*s.Out = s.Out.With(t...)
		s.Charge(*s.Out)
	}
}

// WithStdin runs f with another standard input.
func (s *Shell) WithStdin(in *Stream, f func()) {
	outer := s.Stdin
	s.Stdin = in
	f()
	s.Stdin = outer
}

// next takes one line off the stream.
func (in *Stream) next() (text, bool) {
	if in.left() == 0 {
		return nil, false
	}
	line := in.lines[0]
	if line.Worst() == word.Literal || len(in.lines) > 1 { // an unknown line stands for any number of them
		in.lines = in.lines[1:]
	}
	return line, true
}

// script interprets text as a shell would read it, in the current scope.
func (s *Shell) script(t text, at arg) {
	defer s.Descend("scripts within scripts", at, 0)()
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
}

// Descend counts texts within texts, and the work that one makes; the function
// that it returns leaves again.
func (s *Shell) Descend(what string, at arg, work int) func() {
	s.steps += work
	if s.depth++; s.depth > maxDepth {
		s.Deny(verdict.RuleTooComplex, at, "", what+" go too deep", "write it in smaller parts")
	}
	return func() { s.depth-- }
}

// Nested runs f as a child of a program that works in dir.
func (s *Shell) Nested(dir string, at arg, f func()) {
	s.Isolated(func() {
		s.Dirs = []string{path.Clean(dir)}
		outer := s.fixed
		if s.fixed == nil {
			s.fixed = &at
		}
		s.Capture(func() { s.WithStdin(nil, f) })
		s.fixed = outer
	})
}

// Dir is the directory that the shell is most likely in.
func (s *Shell) Dir() string { return s.Dirs[0] }

// Home and Workspace are the policy's.
func (s *Shell) Home() string      { return s.Land.Home }
func (s *Shell) Workspace() string { return s.Land.Workspace }

// Values is what a variable may hold.
func (s *Shell) Values(name string) []text { return s.Lookup(name).Alts }

// statements parses source in the dialect that is spoken; false if it can't be
// read as a whole.
func (s *Shell) statements(source string, at arg) ([]*syntax.Stmt, bool) {
	if s.dialect != dialectBash {
		s.readable(source, at)
	}
	switch s.dialect {
	case dialectFish:
		translated, ok := fish.ToBash(source)
		file, _, err := ParseBash(translated)
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
func (s *Shell) plug(t text, at arg) string {
	var b strings.Builder
	for _, piece := range t {
		switch piece.Kind {
		case word.Literal:
			b.WriteString(piece.Text)
		case word.Hidden:
			s.Deny(verdict.RuleUnknownCode, at, "", "this runs text that is decoded or computed on the way",
				"write the commands out so that they can be read")
		default:
			name := "__guard" + string(piece.Kind+'a')
			s.Vars[name] = Variable{Alts: []text{{piece}}}
			b.WriteString("${" + name + "}")
		}
	}
	return b.String()
}

// parse reads source as bash and denies what doesn't parse.
func (s *Shell) parse(source string, at arg) (*syntax.File, string) {
	s.readable(source, at)
	file, parsed, err := ParseBash(source)
	if err != nil {
		s.Deny(verdict.RuleSyntax, at, "", "the command does not parse as bash: "+err.Error(), "check quotes and brackets")
	}
	return file, parsed
}

// readable denies what no parser should be given.
func (s *Shell) readable(source string, at arg) {
	s.Step()
	if i := strings.IndexAny(source, "\x00\r"); i >= 0 {
		s.Deny(verdict.RuleSyntax, at, "", "the command holds a control character that shells read differently",
			"leave it out")
	}
	if tooDeep(source) {
		s.Deny(verdict.RuleTooComplex, at, "", "the command is nested too deeply", "write it in smaller parts")
	}
}

// TopLevel interprets the command that the agent wrote.
func (s *Shell) TopLevel(command string) {
	s.source = command
	file, parsed := s.parse(command, arg{Text: word.Lit(verdict.Clip(command, 80))})
	s.parsed = parsed
	s.stmts(file.Stmts)
	s.exit()
}
