// Package bash interprets shell text abstractly: directories, variables and written scripts are followed as far as they
// are known. Where a command acts (a command word, a directory, a redirect) what can't be known is denied; where it
// only passes data, it is let through. It knows no program and asks about them.
package bash

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// Short names of what every function here speaks of.
type (
	arg  = word.Arg
	text = word.Text
)

// Bounds on one decision. They are counts, so that the same call gets the same verdict on every machine.
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
	// Asks says that a program answers by failing, and Copies that it prints a file as it is.
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
	fixed   *arg   // where denials point at while nested text is interpreted
	steps   int
	depth   int
	nesting int
	pipes   int // process substitutions so far
	traps   []trapped
	spoken  string // the shell whose text is read
	typed   bool   // the standard input of the call is what the agent types later
}

// scope is what a subshell has a copy of.
type scope struct {
	Dirs    []string // where the shell may be
	stayed  []string // and where, if a cd of this statement fails
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
}

// exportedVar is a variable that every program after it sees.
type exportedVar struct {
	Name string
	At   arg
}

// trapped is the text of an EXIT trap, and the variables where it was set.
type trapped struct {
	at   arg
	vars map[string]Variable
}

// Stream is a standard input. A nil stream is one that nobody knows.
type Stream struct {
	Text   text
	lines  []text // of Text, once they are asked for
	taken  int    // lines that have been read
	Script bool   // the content of a file in the workspace
}

// Variable holds the values that a variable may have, or the elements of a list.
type Variable struct {
	Alts []text
	list bool
}

// New makes the interpreter of a call that starts in dir. Typed says that the agent types the standard input later.
func New(p land.Policy, links land.Resolver, table Programs, dir string, typed bool) *Shell {
	s := &Shell{table: table, Policy: p, Land: land.New(p, links), typed: typed}
	s.scope = &scope{
		Dirs: []string{path.Clean(dir)},
		Vars: map[string]Variable{}, funcs: map[string]*syntax.Stmt{}, Aliases: map[string]string{},
		Files: map[string]text{}, Made: map[string]bool{}, Branch: p.Branch, Self: word.Lit("bash"),
		last: word.Unknown(word.Dynamic),
	}
	return s
}

func (sc *scope) clone() *scope {
	c := *sc
	c.Vars, c.funcs, c.Aliases = maps.Clone(sc.Vars), maps.Clone(sc.funcs), maps.Clone(sc.Aliases)
	return &c
}

// merge makes sc possible beside other: what was either is now both.
func (sc *scope) merge(other *scope) {
	sc.Dirs = union(sc.Dirs, other.Dirs)
	sc.stayed = union(sc.stayed, other.stayed)
	sc.old = union(sc.old, other.old)
	for name, v := range other.Vars {
		if mine, ok := sc.Vars[name]; ok {
			v = mine.or(v)
		}
		sc.Vars[name] = v
	}
	if len(other.Exports) > len(sc.Exports) {
		sc.Exports = other.Exports
	}
	maps.Copy(sc.funcs, other.funcs)
	maps.Copy(sc.Aliases, other.Aliases)
	sc.Branch = other.Branch
}

func (v Variable) or(w Variable) Variable {
	alts := slices.Clip(v.Alts)
	for _, t := range w.Alts {
		if !slices.ContainsFunc(alts, t.Equal) && len(alts) < maxAlts {
			alts = append(alts, t)
		}
	}
	return Variable{Alts: alts, list: v.list && w.list}
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) && len(a) < maxAlts {
			a = append(slices.Clip(a), s) // others may share it
		}
	}
	return a
}

// Export makes a variable one that programs see.
func (s *Shell) Export(name string, at arg) {
	s.Exports = append(slices.Clip(s.Exports), exportedVar{name, at})
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
	if a.End > a.Start && a.End <= len(s.source) {
		v.Start, v.End, v.Part = a.Start, a.End, s.source[a.Start:a.End]
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
	merged := s.Isolated(alts[0])
	for _, f := range alts[1:] {
		merged.merge(s.Isolated(f))
	}
	s.scope = merged
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

// left are the lines that have not been read.
func (in *Stream) left() []text {
	if in == nil {
		return nil
	}
	if in.lines == nil {
		in.lines = in.Text.Lines()
	}
	return in.lines[in.taken:]
}

// next takes one line off the stream.
func (in *Stream) next() text {
	left := in.left()
	if len(left) == 0 {
		return nil
	}
	if left[0].Worst() == word.Literal || len(left) > 1 { // an unknown line stands for any number of them
		in.taken++
	}
	return left[0]
}

// script interprets text as a shell would read it, in the current scope.
func (s *Shell) script(t text, at arg) {
	defer s.Descend("scripts within scripts", at, 0)()
	source := s.plug(t, at)
	outer := s.traps
	s.traps = nil
	s.pointing(at, func() {
		s.stmts(s.statements(source, at))
		s.exit()
	})
	s.traps = outer
}

// pointing runs f while denials point at a place, unless they do so already.
func (s *Shell) pointing(at arg, f func()) {
	outer := s.fixed
	if s.fixed == nil {
		s.fixed = &at
	}
	f()
	s.fixed = outer
}

// Descend counts texts within texts, and the work that one makes; the function that it returns leaves again.
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
		s.pointing(at, func() { s.Capture(func() { s.WithStdin(nil, f) }) })
	})
}

// Dir is the directory that the shell is most likely in.
func (s *Shell) Dir() string { return s.Dirs[0] }

// Home and Workspace are the policy's.
func (s *Shell) Home() string      { return s.Land.Home }
func (s *Shell) Workspace() string { return s.Land.Workspace }

// Values is what a variable may hold.
func (s *Shell) Values(name string) []text { return s.Lookup(name).Alts }

// TopLevel interprets the command that the agent wrote.
func (s *Shell) TopLevel(command string) {
	s.source = command
	s.stmts(s.parse(command, arg{Text: word.Lit(verdict.Clip(command, 80))}).Stmts)
	s.exit()
}
