package bash

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// ParseBash parses source as bash.
func ParseBash(source string) (*syntax.File, error) {
	if splits(source) {
		return nil, errors.New("a line continuation that shells read differently")
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
}

// splits says that a line continuation stands within an operator which bash joins and the parser does not.
func splits(source string) bool {
	return slices.ContainsFunc([]string{"$\\\n", ":\\\n-", ":\\\n=", ":\\\n?", ":\\\n+"},
		func(odd string) bool { return strings.Contains(source, odd) })
}

// tooDeep says that brackets are opened so many levels deep that a parser
// might run out of stack, which nothing could recover from.
func tooDeep(source string) bool {
	depth := 0
	for i := range len(source) {
		switch source[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(depth-1, 0)
		}
		if depth > 400 {
			return true
		}
	}
	return false
}

// Speaking runs f while scripts are read as a shell of this name does.
func (s *Shell) Speaking(name string, f func()) {
	outer := s.spoken
	s.spoken = name
	f()
	s.spoken = outer
}

// statements parses source as the shell that is spoken does. What can't be read as a whole in another shell than bash
// may name no place outside, and is followed command by command.
func (s *Shell) statements(source string, at arg) (stmts []*syntax.Stmt) {
	if !word.Listed(" zsh fish csh tcsh osh oil ysh rc es ion ", s.spoken) { // bash reads their texts differently
		return s.parse(source, at).Stmts
	}
	s.readable(source, at)
	variant := syntax.LangBash
	switch s.spoken {
	case "zsh":
		variant = syntax.LangZsh
	case "fish": // substitutes without a dollar
		source = strings.NewReplacer("$(", "$(", "(", "$(").Replace(source)
	}
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(source), "")
	if err == nil {
		return file.Stmts
	}
	s.table.Mentions(word.Lit(source), at)
	for command := range strings.FieldsFuncSeq(source, func(r rune) bool { return r == ';' || r == '\n' }) {
		if file, err := ParseBash(command); err == nil {
			stmts = append(stmts, file.Stmts...)
		}
	}
	return stmts
}

// parse reads source as bash and denies what doesn't parse.
func (s *Shell) parse(source string, at arg) *syntax.File {
	s.readable(source, at)
	file, err := ParseBash(source)
	if err != nil {
		s.Deny(verdict.RuleSyntax, at, "", "the command does not parse as bash: "+err.Error(), "check quotes and brackets")
	}
	return file
}

// readable denies what no parser should be given.
func (s *Shell) readable(source string, at arg) {
	s.Step()
	if strings.ContainsAny(source, "\x00\r") {
		s.Deny(verdict.RuleSyntax, at, "", "the command holds a control character that shells read differently",
			"leave it out")
	}
	if tooDeep(source) {
		s.Deny(verdict.RuleTooComplex, at, "", "the command is nested too deeply", "write it in smaller parts")
	}
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

// FishProgram runs the texts of fish's options, or the script that it is given.
func (s *Shell) FishProgram(argv []arg) bool {
	if s.spoken != "fish" {
		return false
	}
	names := []string{"-c", "-C", "--command", "--init-command"}
	texts := word.Parse(argv[1:], "cC", names...).Values(names...)
	for _, a := range texts {
		s.RunText(a.Text, a, "the shell")
	}
	return len(texts) > 0
}
