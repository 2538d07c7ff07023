package bash

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// printf prints its format with the arguments put in; -v sets a variable.
func (s *Shell) printf(argv []arg) {
	args := argv[1:]
	variableName := ""
	if len(args) > 1 && args[0].Is("-v") {
		s.evaluated([]text{args[1].Text})
		variableName = args[1].Known()
		args = args[2:]
	}
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	t := formatted(args[0].Text, args[1:])
	if variableName != "" {
		s.store(variableName, t, argv[0])
		return
	}
	s.Print(t)
}

// formatted applies a printf format, again and again while arguments last.
func formatted(format text, args []arg) text {
	f, ok := format.Literal()
	if !ok {
		return format.With(word.JoinArgs(args)...)
	}
	f = word.AnsiC(f)
	var out text
	for round := 0; round == 0 || len(args) > 0 && round < MaxRounds; round++ {
		used := 0
		for i := 0; i < len(f); i++ {
			switch {
			case f[i] == '%' && i+1 < len(f) && f[i+1] == '%':
				out = out.Plus("%")
				i++
			case f[i] == '%':
				j := i + 1
				for j < len(f) && strings.IndexByte("-+ #0123456789.*", f[j]) >= 0 {
					j++
				}
				if j < len(f) && len(args) > 0 {
					out = out.With(directive(f[j], args[0])...)
					args, used = args[1:], used+1
				}
				i = j
			default:
				out = out.Plus(f[i : i+1])
			}
		}
		if used == 0 {
			break
		}
	}
	return out
}

func directive(verb byte, a arg) text {
	switch verb {
	case 's', 'q', 'c':
		return a.Text
	case 'b':
		if v, ok := a.Literal(); ok {
			return word.Lit(word.AnsiC(v))
		}
		return a.Text
	}
	if a.Worst() == word.Literal {
		return a.Text
	}
	return word.Unknown(word.Token)
}

// WhichOutput is where a program of that name would be found.
func (s *Shell) WhichOutput(args []arg) text {
	var out text
	for _, a := range args {
		v, ok := a.Literal()
		if !ok {
			return word.Unknown(max(word.Dynamic, a.Worst()))
		}
		if !strings.HasPrefix(v, "-") {
			out = out.Plus("/usr/bin/" + path.Base(v) + "\n")
		}
	}
	return out
}
