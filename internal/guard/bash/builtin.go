package bash

import (
	"path"
	"slices"
	"strings"

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
		s.RunText(word.JoinArgs(args), word.Cover(args), "eval")
	case "source", ".":
		s.sourceFile(argv)
	case "exec":
		_, rest := word.Leading(args, "a", nil)
		s.Exec(rest)
	case "builtin", "and", "or", "not": // the latter are fish's
		s.Exec(args)
		s.Dirs = union(s.Dirs, s.stayed)
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
		"fg", "bg", "disown", "suspend", "dirs", "help", "caller", "logout", "compopt", "type", "let", "getopts",
		"wait", "test", "[":
		if name == "type" || name == "help" || name == "dirs" {
			s.Print(word.Unknown(word.Dynamic))
		}
	case "pwd":
		s.Print(word.Lit(s.Dir() + "\n"))
	case "read":
		s.read(args)
	case "mapfile", "readarray":
		s.mapfile(args)
	case "printf":
		s.printf(argv)
	case "echo":
		s.echo(args)
	case "declare", "typeset", "local", "export", "readonly":
		for _, a := range args { // through something else, and so not parsed as a clause
			s.declareText(a.Text, a, name == "export")
		}
	case "unset":
		for _, a := range args { // or still what they held: whether the line runs is not always known
			name := a.Known()
			s.Vars[name] = Variable{Alts: append(slices.Clip(s.Lookup(name).Alts), nil)}
		}
	case "hash":
		for _, a := range word.Parse(args, "p").Values("-p") { // what a name is to run
			s.CheckProgram(a.Known(), a)
		}
	default:
		return false
	}
	return true
}

func (s *Shell) commandBuiltin(argv []arg) {
	o, rest := word.Leading(argv[1:], "", nil)
	switch {
	case o.Has("-v", "-V"):
		s.Print(s.WhichOutput(rest))
	case len(rest) > 0 && rest[0].Prefix() != "" && rest[0].Worst() == word.Literal:
		s.runNamed(rest[0].Known(), rest) // functions and aliases are passed over
	default:
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

// setBuiltin sets positional parameters, or fish's variables.
func (s *Shell) setBuiltin(args []arg) {
	_, rest := word.Leading(args, "o", nil)
	switch {
	case len(rest) == 0 || strings.HasPrefix(rest[0].Prefix(), "+"):
	case s.spoken == "fish":
		name := rest[0].Known()
		s.store(name, word.JoinArgs(rest[1:]), rest[0])
		s.Export(name, rest[0])
	default:
		s.Params = word.Texts(rest)
	}
}

// read sets variables from the next line of input.
func (s *Shell) read(args []arg) {
	o := word.Parse(args, "adinNptu")
	names := append(o.Values("-a"), o.Operands...)
	line := word.Unknown(word.Dynamic)
	if s.Stdin != nil {
		line = s.Stdin.next()
	}
	if len(names) == 0 {
		names = word.Literals(arg{}, "REPLY")
	}
	fields := s.cutFields(s.spread(line, split))
	if o.Has("-a") {
		s.Vars[names[0].Known()] = Variable{Alts: fields, list: true}
		return
	}
	for i, name := range names {
		var value text
		switch {
		case i < len(fields) && i < len(names)-1:
			value = fields[i]
		case i < len(fields):
			value = word.Join(fields[i:])
		case line.Worst() > word.Literal:
			value = word.Unknown(line.Worst())
		}
		s.store(name.Known(), value, word.Cover(args))
	}
}

// mapfile sets a list from all lines of input.
func (s *Shell) mapfile(args []arg) {
	o := word.Parse(args, "CdnOsuc")
	for _, a := range o.Values("-C") {
		s.RunText(a.Text, a, "mapfile")
	}
	v := Variable{Alts: []text{word.Unknown(word.Dynamic)}, list: true}
	if s.Stdin != nil {
		v.Alts = s.Stdin.Text.Lines()
	}
	for _, name := range append(word.Literals(arg{}, "MAPFILE"), o.Operands...) {
		s.Vars[name.Known()] = v
	}
}

func (s *Shell) echo(args []arg) {
	flags := ""
	for len(args) > 0 && len(args[0].Prefix()) > 1 && strings.Trim(args[0].Known(), "neE") == "-" {
		flags += args[0].Known()
		args = args[1:]
	}
	t := word.JoinArgs(args).Plus("\n")
	for i := range t {
		if strings.Contains(flags, "e") && t[i].Kind == word.Literal {
			t[i].Text = word.AnsiC(t[i].Text)
		}
	}
	s.Print(t)
}

// IsBuiltin says that a name means something that the shell does itself.
func (s *Shell) IsBuiltin(name string) bool {
	return word.Listed(" cd echo printf read test [ : true false set shift pwd local declare type wait exit return unset "+
		"command builtin pushd popd ", name)
}

// printf prints its format with the arguments put in; -v sets a variable.
func (s *Shell) printf(argv []arg) {
	args, to := argv[1:], ""
	if len(args) > 1 && args[0].Is("-v") {
		args, to = args[2:], args[1].Known()
	}
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case to != "":
		s.store(to, formatted(args[0].Text, args[1:]), argv[0])
	default:
		s.Print(formatted(args[0].Text, args[1:]))
	}
}

// formatted applies a printf format, again and again while arguments last.
func formatted(format text, args []arg) text {
	f, ok := format.Literal()
	if !ok {
		return format.With(word.JoinArgs(args)...)
	}
	var out text
	for round := 0; round == 0 || len(args) > 0 && round < MaxRounds; round++ {
		left := len(args)
		for rest := word.AnsiC(f); rest != ""; {
			plain, verb, _ := strings.Cut(rest, "%")
			out = out.Plus(plain)
			verb = strings.TrimLeft(verb, "-+ #0123456789.*")
			rest = verb[min(1, len(verb)):]
			switch {
			case strings.HasPrefix(verb, "%"):
				out = out.Plus("%")
			case verb != "" && len(args) > 0:
				out = out.With(args[0].Text...)
				args = args[1:]
			}
		}
		if len(args) == left {
			break
		}
	}
	return out
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
