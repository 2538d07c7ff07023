package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// runBuiltin runs what the shell itself does; false if name is no builtin.
func (s *shell) runBuiltin(name string, argv []arg) bool {
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
		s.execBuiltin(argv)
	case "builtin":
		if len(args) > 0 {
			s.run(args)
		}
	case "command":
		s.commandBuiltin(argv)
	case "alias":
		s.alias(args)
	case "unalias":
		clear(s.sc.aliases)
	case "trap":
		s.trap(args)
	case "set":
		s.setBuiltin(args)
	case "shift":
		if len(s.sc.params) > 0 {
			s.sc.params = s.sc.params[1:]
		}
	case ":", "true", "false", "exit", "return", "break", "continue", "shopt", "umask", "ulimit", "times",
		"fg", "bg", "disown", "suspend", "dirs", "help", "caller", "logout", "compopt", "type":
		if name == "type" || name == "help" || name == "dirs" {
			s.print(unknown(dynamic))
		}
	case "pwd":
		s.print(lit(s.sc.dirs[0] + "\n"))
	default:
		return s.runVariableBuiltin(name, argv)
	}
	return true
}

// runVariableBuiltin runs the builtins that set variables or evaluate their
// names; false if name is none of them.
func (s *shell) runVariableBuiltin(name string, argv []arg) bool {
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
		s.evaluated(texts(args))
		s.unset(args)
	case "let", "getopts", "wait":
		s.evaluated(texts(args))
	case "test", "[":
		s.testArgs(args)
	case "history", "fc", "jobs":
		s.historyBuiltin(name, argv)
	case "enable":
		s.enable(argv)
	case "hash":
		s.hash(argv)
	case "complete", "compgen", "bind":
		s.completion(name, argv)
	default:
		return false
	}
	return true
}

// unset makes names hold nothing, or still what they held: whether the line
// runs is not always known.
func (s *shell) unset(args []arg) {
	for _, a := range args {
		name, ok := a.literal()
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		name = s.referred(name)
		s.sc.vars[name] = variable{alts: append(slices.Clone(s.lookup(name).alts), nil)}
	}
}

func (s *shell) execBuiltin(argv []arg) {
	args := argv[1:]
	for len(args) > 0 {
		v, ok := args[0].literal()
		if !ok || !strings.HasPrefix(v, "-") {
			break
		}
		args = args[1:]
		if v == "-a" && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 {
		s.run(args)
	}
}

func (s *shell) commandBuiltin(argv []arg) {
	args := argv[1:]
	for len(args) > 0 {
		v, _ := args[0].literal()
		switch v {
		case "-v", "-V":
			s.print(s.whichOutput(args[1:]))
			return
		case "-p", "--":
			args = args[1:]
			continue
		}
		break
	}
	if len(args) > 0 {
		if v, ok := args[0].literal(); ok && v != "" { // functions and aliases are passed over
			s.runNamed(v, args)
			return
		}
		s.run(args)
	}
}

func (s *shell) alias(args []arg) {
	for _, a := range args {
		name, _, ok := strings.Cut(a.prefix(), "=")
		if !ok {
			continue
		}
		body, known := a.cut(len(name) + 1).literal()
		if !known {
			s.deny(RuleUnknownCode, a, "", "an alias whose text can't be told beforehand", "write the command out")
		}
		s.sc.aliases[name] = body
	}
}

// setBuiltin sets positional parameters and options.
func (s *shell) setBuiltin(args []arg) {
	for i, a := range args {
		v, ok := a.literal()
		switch {
		case ok && v == "--":
			s.sc.params = texts(args[i+1:])
			return
		case ok && v == "-o" || v == "+o":
			continue
		case i > 0 && v != "" && args[i-1].is("-o"):
			s.sc.errexit = s.sc.errexit || v == "errexit"
			continue
		case ok && strings.HasPrefix(v, "-") && len(v) > 1:
			s.sc.errexit = s.sc.errexit || strings.Contains(v, "e")
			continue
		case ok && strings.HasPrefix(v, "+"):
			if strings.Contains(v, "e") {
				s.sc.errexit = false
			}
			continue
		}
		s.sc.params = texts(args[i:])
		return
	}
}

// read sets variables from the next line of input.
func (s *shell) read(args []arg) {
	var names []string
	list := false
	for i := 0; i < len(args); i++ {
		v, ok := args[i].literal()
		if ok && strings.HasPrefix(v, "-") && len(v) > 1 {
			list = list || strings.HasSuffix(v, "a")
			if strings.ContainsAny(v[len(v)-1:], "dinNptu") {
				i++
			}
			continue
		}
		s.evaluated([]text{args[i].text})
		if ok {
			names = append(names, v)
		}
	}
	line := unknown(dynamic)
	if in := s.sc.stdin; in != nil {
		line, _ = in.next()
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
	}
	fields := s.splitFields(asPieces(line, true)[0])
	if list {
		s.sc.vars[names[0]] = variable{list: fields, isList: true}
		return
	}
	for i, name := range names {
		var value text
		switch {
		case i == len(names)-1 && i < len(fields):
			for j, f := range fields[i:] {
				if j > 0 {
					value = value.with(seg{literal, " "})
				}
				value = value.with(f...)
			}
		case i < len(fields):
			value = fields[i]
		case line.worst() > literal:
			value = unknown(line.worst())
		}
		s.store(name, value, cover(args))
	}
}

func (s *shell) mapfile(args []arg) {
	name := "MAPFILE"
	for i := 0; i < len(args); i++ {
		v, ok := args[i].literal()
		switch {
		case v == "-C" && i+1 < len(args):
			s.runText(args[i+1].text, args[i+1], "mapfile")
			i++
		case strings.HasPrefix(v, "-") && strings.ContainsAny(v[len(v)-1:], "dnOsuc"):
			i++
		case strings.HasPrefix(v, "-"):
		default:
			s.evaluated([]text{args[i].text})
			if ok {
				name = v
			}
		}
	}
	list := []text{unknown(dynamic)}
	if s.sc.stdin != nil {
		list = s.sc.stdin.text.lines()
	}
	s.sc.vars[name] = variable{list: list, isList: true}
}

func (s *shell) echo(args []arg) {
	for len(args) > 0 {
		v, ok := args[0].literal()
		if !ok || len(v) < 2 || v[0] != '-' || strings.Trim(v[1:], "neE") != "" {
			break
		}
		if strings.Contains(v, "e") {
			for i := range args {
				if plain, ok := args[i].literal(); ok {
					args[i].text = lit(ansiC(plain))
				}
			}
		}
		args = args[1:]
	}
	s.print(joinArgs(args).with(seg{literal, "\n"}))
}

// declareArgs handles declare and its like when they are called through
// something else and so did not parse as a clause.
func (s *shell) declareArgs(builtin string, args []arg) {
	for _, a := range args {
		s.document(a.text)
		name, _, ok := strings.Cut(a.prefix(), "=")
		if ok && syntax.ValidName(name) {
			value := a.cut(len(name) + 1)
			s.setting(name, arg{value, a.start, a.end}, true)
			s.set(name, []text{value}, false, false)
			if builtin == "export" {
				s.export(name, a)
			}
		}
	}
}

// isBuiltin says that a name means something that the shell does itself.
func (s *shell) isBuiltin(name string) bool {
	switch name {
	case "cd", "echo", "printf", "read", "test", "[", ":", "true", "false", "set", "shift", "pwd", "local", "declare",
		"type", "wait", "exit", "return", "unset", "command", "builtin", "pushd", "popd":
		return true
	}
	return false
}

func (s *shell) testArgs(args []arg) {
	for i, a := range args {
		v, _ := a.literal()
		switch v {
		case "-v", "-R":
			if i+1 < len(args) {
				s.evaluated([]text{args[i+1].text})
			}
		}
	}
}

func (s *shell) enable(argv []arg) {
	for i, a := range argv {
		if v, _ := a.literal(); strings.HasPrefix(v, "-") && strings.Contains(v, "f") && i+1 < len(argv) {
			s.checkProgram(argv[i+1].known(), argv[i+1])
		}
	}
}

// historyBuiltin runs the editor of fc and the command of jobs -x, and checks
// the file that history writes.
func (s *shell) historyBuiltin(name string, argv []arg) {
	for i, a := range argv[1:] {
		prev, _ := argv[i].literal()
		switch {
		case name == "fc" && prev == "-e":
			s.isolated(func() { s.runText(a.text, a, name) })
		case name == "jobs" && prev == "-x":
			s.run(argv[i+1:])
			return
		case name == "history" && (prev == "-w" || prev == "-a"):
			s.check(opRedirect, a)
		}
	}
	s.print(unknown(dynamic))
}

// hash -p makes a name run any file.
func (s *shell) hash(argv []arg) {
	for i, a := range argv {
		if a.is("-p") && i+2 < len(argv) {
			if v, ok := argv[i+1].literal(); ok {
				s.sc.aliases[argv[i+2].known()] = v
				s.checkProgram(v, argv[i+1])
			}
		}
	}
}

func (s *shell) completion(name string, argv []arg) {
	for i, a := range argv {
		v, _ := a.literal()
		if i+1 < len(argv) && (v == "-C" && name != "bind" || v == "-x" && name == "bind" || v == "-W") {
			at := argv[i+1]
			if v == "-W" {
				s.document(at.text)
				continue
			}
			s.isolated(func() { s.runText(at.text, at, name) })
		}
	}
}
