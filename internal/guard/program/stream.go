package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// sed edits in place with -i, and writes and runs by commands in its script.
func (s *Judge) sed(argv []arg) {
	var rest []arg
	for _, a := range argv[1:] {
		if v := a.Prefix(); !strings.HasPrefix(v, "-i") && !strings.HasPrefix(v, "--in-place") { // a suffix may follow
			rest = append(rest, a)
		}
	}
	o := word.Parse(rest, "efl", "--expression", "--file", "--line-length")
	inPlace := len(rest) < len(argv)-1 || o.Has("-i")
	scripts, files := o.Values("-e", "--expression"), o.Operands
	for _, a := range o.Values("-f", "--file") {
		in := s.FileStream(a)
		if a.Is("-") && s.Stdin != nil {
			in = s.Stdin
		}
		scripts = append(scripts, a.Hold(in.Text))
	}
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if inPlace {
		for _, a := range files {
			s.Operand(a)
		}
	}
	for _, a := range scripts {
		script.Sed(s, a)
	}
	s.Print(s.passThrough())
}

// passThrough is the kind of what a filter prints of its input.
func (s *Judge) passThrough() text {
	if s.Stdin != nil && s.Stdin.Text.Worst() == word.Hidden {
		return word.Unknown(word.Hidden)
	}
	return word.Unknown(word.Dynamic)
}

// awk runs a program that can write files and run commands.
func (s *Judge) awk(argv []arg) {
	o, rest := word.Leading(argv[1:], "FvfieEl", []string{"--assign", "--field-separator", "--file", "--include",
		"--source", "--exec"})
	programs := o.Values("-e", "--source")
	for _, a := range o.Values("-f", "--file", "-E", "--exec") {
		if content, ok := s.Files[s.Absolute(a.Known())]; ok {
			programs = append(programs, a.Hold(content))
		}
	}
	if len(o.Values("-e", "--source", "-f", "--file", "-E", "--exec")) == 0 && len(rest) > 0 {
		programs, rest = append(programs, rest[0]), rest[1:]
	}
	vars := map[string]string{}
	for _, a := range append(o.Values("-v", "--assign"), rest...) {
		if name, value, ok := strings.Cut(a.Known(), "="); ok && a.Worst() == word.Literal {
			vars[name] = value
		}
	}
	for _, a := range o.Values("-i", "--include") {
		if a.Is("inplace") {
			for _, f := range rest {
				s.Operand(f)
			}
		}
	}
	for _, a := range programs {
		if a.First() > word.Token && a.First() != word.Literal {
			s.Deny(verdict.RuleUnknownCode, a, "", "the awk program can't be told beforehand", "write it out")
		}
		script.Awk(s, a, vars)
	}
	s.Print(s.passThrough())
}
