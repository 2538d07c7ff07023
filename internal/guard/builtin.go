package guard

import (
	"path"
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
	case "read":
		s.read(args)
	case "mapfile", "readarray":
		s.mapfile(args)
	case "printf":
		s.printf(argv)
	case "echo":
		s.echo(args)
	case "declare", "typeset", "local", "export", "readonly":
		s.declareArgs(args)
	case "unset", "let", "getopts", "wait":
		s.evaluated(texts(args))
	case "test", "[":
		s.testArgs(args)
	case "enable":
		s.enable(argv)
	case "hash":
		s.hash(argv)
	case "complete", "compgen", "bind":
		s.completion(name, argv)
	case ":", "true", "false", "exit", "return", "break", "continue", "shopt", "umask", "ulimit", "times",
		"jobs", "fg", "bg", "disown", "suspend", "history", "fc", "dirs", "help", "caller", "logout", "compopt", "type":
		if name == "type" || name == "help" || name == "history" || name == "dirs" {
			s.print(unknown(dynamic))
		}
	case "pwd":
		s.print(lit(s.sc.dirs[0] + "\n"))
	default:
		return false
	}
	return true
}

// cd changes directory; every place that it may lead to must be inside.
func (s *shell) cd(argv []arg) {
	target, given, physical := arg{}, false, false
	for i, a := range argv[1:] {
		v, ok := a.literal()
		if ok && v == "--" {
			if i+2 < len(argv) {
				target, given = argv[i+2], true
			}
			break
		}
		if ok && len(v) > 1 && v[0] == '-' && strings.Trim(v[1:], "LPe@") == "" {
			physical = physical || strings.Contains(v, "P")
			continue
		}
		target, given = a, true
		break
	}
	switch {
	case !given:
		target = arg{lit(s.land.home), argv[0].start, argv[len(argv)-1].end}
	case target.is("-"):
		s.sc.dirs, s.sc.old = s.sc.old, s.sc.dirs
		return
	case len(target.text) == 0:
		return // cd "" stays
	}
	s.moveTo(target, physical)
}

// moveTo makes target the current directory.
func (s *shell) moveTo(target arg, physical bool) {
	from := s.sc.dirs
	var to []string
	for _, dir := range from {
		s.cdpath(target, dir)
		to = union(to, []string{s.directory(target, dir, physical)})
	}
	name, known := target.literal()
	if known && !s.sc.errexit && !path.IsAbs(name) && len(from) == 1 && !s.sc.made[to[0]] && s.land.missing(to[0]) {
		to = union(to, from) // this cd will fail, and the shell stays
	}
	s.sc.old, s.sc.dirs = from, to
}

// directory checks one directory that is about to be entered.
func (s *shell) directory(target arg, from string, physical bool) string {
	where, abs := s.locate(target.text, from, false)
	logical := abs
	if v, ok := target.literal(); ok && !physical {
		logical = v
		if !path.IsAbs(v) {
			logical = path.Join(from, v)
		}
		logical = path.Clean(logical)
		if p := s.land.place(s.land.resolve(logical)); !p.writable() && p != placeProtected {
			where, abs = p, logical
		}
	}
	switch where {
	case placeWorkspace, placeScratch, placeProtected, placeGit:
		return logical
	case placeUnknown:
		s.deny(RuleUnknownPath, target, "", "cd to "+target.String()+" can't be followed beforehand",
			"use a path below "+s.land.workspace+" that is written out")
	}
	s.deny(RuleDirectory, target, abs, "cd to "+clip(abs, 200)+" leaves the workspace",
		"use a path below "+s.land.workspace)
	return ""
}

// cdpath denies a directory that would be found through CDPATH.
func (s *shell) cdpath(target arg, from string) {
	v, ok := s.sc.vars["CDPATH"]
	if !ok || strings.HasPrefix(target.prefix(), "/") || strings.HasPrefix(target.prefix(), ".") {
		return
	}
	for _, t := range v.values() {
		for _, dir := range t.split(":") {
			s.directory(arg{dir.with(seg{literal, "/"}).with(target.text...), target.start, target.end}, from, false)
		}
	}
}

func (s *shell) pushd(argv []arg) {
	var target *arg
	for i := range argv[1:] {
		v, _ := argv[i+1].literal()
		if v == "-n" || v == "--" {
			continue
		}
		target = &argv[i+1]
		break
	}
	top := s.sc.dirs
	switch {
	case target == nil || strings.HasPrefix(target.prefix(), "+"):
		if n := len(s.sc.stack); n > 0 {
			s.sc.dirs = s.sc.stack[n-1]
			s.sc.stack = append(s.sc.stack[:n-1:n-1], top)
		}
	default:
		s.moveTo(*target, false)
		s.sc.stack = append(s.sc.stack[:len(s.sc.stack):len(s.sc.stack)], top)
	}
}

func (s *shell) popd() {
	if n := len(s.sc.stack); n > 0 {
		s.sc.dirs, s.sc.stack = s.sc.stack[n-1], s.sc.stack[:n-1:n-1]
	}
}

// eval joins its arguments and runs them.
func (s *shell) eval(argv []arg) {
	if len(argv) == 1 {
		return
	}
	s.runText(joinArgs(argv[1:]), cover(argv[1:]), "eval")
}

// runText runs shell text that a command was given. Text that is nothing but
// an unknown is denied.
func (s *shell) runText(t text, at arg, by string) {
	if len(t) == 1 && t[0].kind == token {
		return
	}
	if k := t.first(); k != literal && k != token && (k != matched) {
		s.deny(RuleUnknownCode, at, "", by+" would run text that can't be told beforehand", "write the command out")
	}
	s.script(t, at)
}

// joinArgs joins words with spaces.
func joinArgs(args []arg) text {
	var pieces []seg
	for i, a := range args {
		if i > 0 {
			pieces = append(pieces, seg{literal, " "})
		}
		pieces = append(pieces, a.text...)
	}
	return text{}.with(pieces...)
}

// cover points at all of args, and holds their text.
func cover(args []arg) arg {
	if len(args) == 0 {
		return arg{}
	}
	return arg{joinArgs(args), args[0].start, args[len(args)-1].end}
}

// sourceFile runs a script in the current shell.
func (s *shell) sourceFile(argv []arg) {
	if len(argv) < 2 {
		return
	}
	name := argv[1]
	v, ok := name.literal()
	if !ok {
		where, _ := s.locate(name.text, s.sc.dirs[0], false)
		if name.first() == environ || where == placeUnknown {
			s.deny(RuleUnknownCode, name, "", "the script "+name.String()+" can't be told beforehand", "name it directly")
		}
	}
	if v == "/dev/stdin" || v == "/dev/fd/0" || v == "/proc/self/fd/0" {
		s.runStdin(name, "source")
		return
	}
	if content, ok := s.sc.files[s.absolute(v)]; ok {
		s.runText(content, name, "source")
		return
	}
	if v != "" {
		s.checkProgram(s.absolute(v), name)
	}
}

// runStdin runs the standard input as shell text.
func (s *shell) runStdin(at arg, by string) {
	in := s.sc.stdin
	if in == nil {
		return // nothing is piped in: the agent's input is empty
	}
	if in.script {
		return // a file of the workspace
	}
	if len(in.text) == 0 {
		return
	}
	if in.text.worst() >= dynamic && in.text.first() != literal {
		s.deny(RuleUnknownCode, at, "", by+" would run input that can't be told beforehand", "write the commands out, or save and read them first")
	}
	t := in.text
	s.isolated(func() {
		s.withStdin(nil, func() { s.runText(t, at, by) })
	})
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

// trap runs its text now, since nobody knows when the shell will, unless it is
// for the end.
func (s *shell) trap(args []arg) {
	for len(args) > 0 {
		v, _ := args[0].literal()
		if !strings.HasPrefix(v, "-") {
			break
		}
		args = args[1:]
	}
	if len(args) < 2 || len(args[0].text) == 0 {
		return
	}
	at := args[0]
	if args[1].is("EXIT") || args[1].is("0") {
		s.traps = append(s.traps, trapped{at, s.sc})
		return
	}
	s.isolated(func() { s.runText(at.text, at, "trap") })
}

// exit runs the EXIT traps, with what their variables have come to hold.
func (s *shell) exit() {
	traps := s.traps
	s.traps = nil
	final := s.sc
	for _, t := range traps {
		s.sc = t.scope.clone()
		for name, v := range final.vars {
			s.sc.vars[name] = v
		}
		s.runText(t.at.text, t.at, "trap")
	}
	s.sc = final
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
	list, raw := false, false
	for i := 0; i < len(args); i++ {
		v, ok := args[i].literal()
		if ok && strings.HasPrefix(v, "-") && len(v) > 1 {
			list = list || strings.HasSuffix(v, "a")
			if strings.ContainsAny(v[len(v)-1:], "dinNptu") && v != "-p" || v == "-p" {
				i++
			}
			raw = raw || strings.Contains(v, "r")
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
func (s *shell) declareArgs(args []arg) {
	for _, a := range args {
		s.document(a.text)
		name, _, ok := strings.Cut(a.prefix(), "=")
		if ok && syntax.ValidName(name) {
			value := a.cut(len(name) + 1)
			s.setting(name, arg{value, a.start, a.end}, true)
			s.set(name, []text{value}, false, false)
		}
	}
}

func (s *shell) testArgs(args []arg) {
	for i, a := range args {
		v, _ := a.literal()
		switch v {
		case "-v", "-R":
			if i+1 < len(args) {
				s.evaluated([]text{args[i+1].text})
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			// test takes plain integers; only [[ evaluates them.
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
