package bash

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// runBuiltin runs what the shell itself does; false if name is no builtin.
func (s *Shell) runBuiltin(name string, argv []arg) bool {
	args := argv[1:]
	switch name {
	case "cd", "chdir":
		s.cd(argv)
	case "pushd":
		s.pushd(argv)
	case "popd":
		s.popd()
	case "eval":
		s.eval(argv)
	case "source", ".":
		s.sourceFile(argv)
	case "exec":
		_, rest := word.Leading(args, "a", nil)
		s.Exec(rest)
	case "builtin":
		s.Exec(args)
	case "command":
		s.commandBuiltin(argv)
	case "alias":
		s.alias(args)
	case "unalias":
		clear(s.Aliases)
	case "trap":
		s.trap(args)
	case "set":
		s.setBuiltin(args)
	case "shift":
		n, known := 1, true
		if len(args) > 0 {
			n, known = wholeNumber(args[0].Text)
		}
		if known && n >= 0 {
			s.Params = s.Params[min(n, len(s.Params)):]
		}
	case ":", "true", "false", "exit", "return", "break", "continue", "shopt", "umask", "ulimit", "times",
		"fg", "bg", "disown", "suspend", "dirs", "help", "caller", "logout", "compopt", "type":
		if name == "type" || name == "help" || name == "dirs" {
			s.Print(word.Unknown(word.Dynamic))
		}
	case "pwd":
		s.Print(word.Lit(s.Dir() + "\n"))
	default:
		return s.runVariableBuiltin(name, argv)
	}
	return true
}

// runVariableBuiltin runs the builtins that set variables or evaluate their
// names; false if name is none of them.
func (s *Shell) runVariableBuiltin(name string, argv []arg) bool {
	args := argv[1:]
	switch name {
	case "read":
		s.read(args)
	case "mapfile", "readarray":
		s.mapfile(args)
	case "printf":
		s.printf(argv)
	case "echo":
		s.echo(args)
	case "declare", "typeset", "local", "export", "readonly":
		s.declareArgs(name, args)
	case "unset":
		s.evaluated(word.Texts(args))
		s.unset(args)
	case "let", "getopts", "wait":
		s.evaluated(word.Texts(args))
	case "test", "[":
		s.testArgs(args)
	case "hash":
		s.hash(argv)
	default:
		return false
	}
	return true
}

// unset makes names hold nothing, or still what they held: whether the line
// runs is not always known.
func (s *Shell) unset(args []arg) {
	for _, a := range args {
		name, ok := a.Literal()
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		name = s.referred(name)
		s.Vars[name] = Variable{Alts: append(slices.Clone(s.Lookup(name).Alts), nil)}
	}
}

func (s *Shell) commandBuiltin(argv []arg) {
	o, rest := word.Leading(argv[1:], "", nil)
	if o.Has("-v", "-V") {
		s.Print(s.WhichOutput(rest))
		return
	}
	if len(rest) > 0 {
		if v, ok := rest[0].Literal(); ok && v != "" { // functions and aliases are passed over
			s.runNamed(v, rest)
			return
		}
		s.Exec(rest)
	}
}

func (s *Shell) alias(args []arg) {
	for _, a := range args {
		name, _, ok := strings.Cut(a.Prefix(), "=")
		if !ok {
			continue
		}
		body, known := a.Cut(len(name) + 1).Literal()
		if !known {
			s.Deny(verdict.RuleUnknownCode, a, "", "an alias whose text can't be told beforehand", "write the command out")
		}
		s.Aliases[name] = body
	}
}

// setBuiltin sets positional parameters and options.
func (s *Shell) setBuiltin(args []arg) {
	for i, a := range args {
		v, ok := a.Literal()
		switch {
		case ok && v == "--":
			s.Params = word.Texts(args[i+1:])
			return
		case ok && v == "-o" || v == "+o":
			continue
		case i > 0 && v != "" && args[i-1].Is("-o"):
			s.Errexit = s.Errexit || v == "errexit"
			continue
		case ok && strings.HasPrefix(v, "-") && len(v) > 1:
			s.Errexit = s.Errexit || strings.Contains(v, "e")
			continue
		case ok && strings.HasPrefix(v, "+"):
			if strings.Contains(v, "e") {
				s.Errexit = false
			}
			continue
		}
		s.Params = word.Texts(args[i:])
		return
	}
}

// read sets variables from the next line of input.
func (s *Shell) read(args []arg) {
	o := word.Parse(args, "adinNptu")
	list := o.Has("-a")
	var names []string
	for _, a := range append(o.Values("-a"), o.Operands...) {
		s.evaluated([]text{a.Text})
		if v, ok := a.Literal(); ok {
			names = append(names, v)
		}
	}
	line := word.Unknown(word.Dynamic)
	if in := s.Stdin; in != nil {
		line, _ = in.next()
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
	}
	fields := s.splitFields(asPieces(line, true)[0])
	if list {
		s.Vars[names[0]] = Variable{list: fields, isList: true}
		return
	}
	for i, name := range names {
		var value text
		switch {
		case i == len(names)-1 && i < len(fields):
			for j, f := range fields[i:] {
				if j > 0 {
					value = value.Plus(" ")
				}
				value = value.With(f...)
			}
		case i < len(fields):
			value = fields[i]
		case line.Worst() > word.Literal:
			value = word.Unknown(line.Worst())
		}
		s.store(name, value, word.Cover(args))
	}
}

func (s *Shell) mapfile(args []arg) {
	o := word.Parse(args, "CdnOsuc")
	for _, a := range o.Values("-C") {
		s.RunText(a.Text, a, "mapfile")
	}
	name := "MAPFILE"
	for _, a := range o.Operands {
		s.evaluated([]text{a.Text})
		if v, ok := a.Literal(); ok {
			name = v
		}
	}
	list := []text{word.Unknown(word.Dynamic)}
	if s.Stdin != nil {
		list = s.Stdin.Text.Lines()
	}
	s.Vars[name] = Variable{list: list, isList: true}
}

func (s *Shell) echo(args []arg) {
	for len(args) > 0 {
		v, ok := args[0].Literal()
		if !ok || len(v) < 2 || v[0] != '-' || strings.Trim(v[1:], "neE") != "" {
			break
		}
		if strings.Contains(v, "e") {
			for i := range args {
				if plain, ok := args[i].Literal(); ok {
					args[i].Text = word.Lit(word.AnsiC(plain))
				}
			}
		}
		args = args[1:]
	}
	s.Print(word.JoinArgs(args).Plus("\n"))
}

// declareArgs handles declare and its like when they are called through
// something else and so did not parse as a clause.
func (s *Shell) declareArgs(builtin string, args []arg) {
	for _, a := range args {
		s.Document(a.Text)
		name, _, ok := strings.Cut(a.Prefix(), "=")
		if ok && syntax.ValidName(name) {
			value := a.Cut(len(name) + 1)
			s.table.Set(name, a.Hold(value))
			s.set(name, []text{value}, false, false)
			if builtin == "export" {
				s.export(name, a)
			}
		}
	}
}

// IsBuiltin says that a name means something that the shell does itself.
func (s *Shell) IsBuiltin(name string) bool {
	switch name {
	case "cd", "echo", "printf", "read", "test", "[", ":", "true", "false", "set", "shift", "pwd", "local", "declare",
		"type", "wait", "exit", "return", "unset", "command", "builtin", "pushd", "popd":
		return true
	}
	return false
}

func (s *Shell) testArgs(args []arg) {
	for i, a := range args {
		v, _ := a.Literal()
		switch v {
		case "-v", "-R":
			if i+1 < len(args) {
				s.evaluated([]text{args[i+1].Text})
			}
		}
	}
}

// hash -p makes a name run any file.
func (s *Shell) hash(argv []arg) {
	for i, a := range argv {
		if a.Is("-p") && i+2 < len(argv) {
			if v, ok := argv[i+1].Literal(); ok {
				s.Aliases[argv[i+2].Known()] = v
				s.CheckProgram(v, argv[i+1])
			}
		}
	}
}

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
