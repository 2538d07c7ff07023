package program

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// launch handles the programs that run commands in a way of their own.
func (s *Judge) launch(name string, argv []arg) bool {
	r := table.Find(name, table.LauncherRow)
	if r == nil {
		return false
	}
	switch r.Family() {
	case "xargs":
		s.xargs(argv)
	case "find":
		s.find(argv)
	case "fd":
		s.fd(argv)
	case "tmux":
		s.multiplexer(r, name, argv)
	case "ssh":
		s.ssh(argv)
	default:
		s.described(r, name, argv)
	}
	return true
}

// xargs appends what it reads to a command.
func (s *Judge) xargs(argv []arg) {
	o, rest := word.Leading(argv[1:], "IiLlnPsEdaJR", []string{"--replace", "--max-args", "--max-procs", "--arg-file",
		"--delimiter", "--max-lines", "--max-chars"})
	at, in, items := argv[0], s.Stdin, []text{word.Unknown(word.Dynamic)}
	for _, a := range o.Values("-a", "--arg-file") {
		in = s.FileStream(a)
	}
	if in != nil {
		items = in.Text.Split(xargsSeparators(o))
	}
	if len(rest) == 0 {
		rest = word.Literals(at, "echo")
	}
	marker := ""
	if vs := o.Values("-I", "--replace", "-J"); len(vs) > 0 {
		marker = vs[0].Known()
	} else if o.Has("-i", "--replace") {
		marker = "{}"
	}
	items = items[:min(len(items), bash.MaxRounds)]
	if marker == "" {
		full := append([]arg{}, rest...)
		for _, item := range items {
			full = append(full, at.Hold(item))
		}
		s.WithStdin(nil, func() { s.Exec(full) })
		return
	}
	for _, item := range items {
		s.WithStdin(nil, func() { s.Exec(word.Substituted(rest, marker, item)) })
	}
}

// xargsSeparators are the bytes between the items that xargs reads.
func xargsSeparators(o word.Options) string {
	switch vs := o.Values("-d", "--delimiter"); {
	case o.Has("-0", "--null"):
		return "\x00"
	case len(vs) > 0:
		return word.AnsiC(vs[0].Known())
	case o.Has("-I", "-i", "--replace"):
		return "\n"
	}
	return " \t\n"
}

// runWrapper runs a command through the program in front of it.
func (s *Judge) runWrapper(name string, argv []arg) bool {
	if s.launch(name, argv) {
		return true
	}
	r := table.Find(name, table.WrapperRow)
	if r == nil {
		return false
	}
	valued, long := r.Options()
	flags, rest := word.Leading(argv[1:], valued, long)
	if r.Sub != "" {
		found := len(rest) > 0 && slices.Contains(strings.Fields(r.Sub), rest[0].Known())
		if found || r.Early {
			s.follow(r, flags, name)
		}
		switch {
		case found:
			flags, rest = word.Leading(rest[1:], valued, long)
		case name == "cross-env" || name == "dotenv":
		default:
			return false
		}
	}
	vars, out := s.Vars, s.Out
	s.follow(r, flags, name)
	if r.Skip > 0 && len(rest) > 0 {
		s.guess(rest[0])
		flags, rest = word.Leading(rest[1:], valued, long)
		s.follow(r, flags, name)
	}
	for r.Vars && len(rest) > 0 && isAssignment(rest[0]) {
		s.envArg(rest[0], rest[1:])
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		s.Print(word.Unknown(word.Dynamic))
	case r.Rest == table.JoinedOperands:
		s.RunText(word.JoinArgs(rest), word.Cover(rest), name)
	default:
		s.elevated(name, rest)
		s.Exec(rest)
	}
	s.Vars, s.Out = vars, out
	return true
}

// elevated denies what sudo would do to the system; reading as another user
// is left alone.
func (s *Judge) elevated(name string, argv []arg) {
	if name != "sudo" && name != "doas" && name != "pkexec" {
		return
	}
	v, ok := argv[0].Literal()
	if ok && table.ReadsOnly(v) || ok && (v == "-l" || v == "-v" || v == "git" || v == "rm" || v == "touch" || v == "cp" ||
		v == "mv") {
		return // judged by its own rules
	}
	s.Exec(argv)
	s.Deny(verdict.RuleSystem, word.Cover(argv), "", name+" would alter the system outside the workspace",
		"work without it, below "+s.Workspace())
}

// isAssignment says whether an argument is VAR=value.
func isAssignment(a arg) bool { // in env's sense, whose names may be odd
	name, _, ok := strings.Cut(a.Prefix(), "=")
	return ok && (strings.HasPrefix(name, bashFunction) || syntax.ValidName(name))
}

// envArg sets VAR=value for the command after it.
func (s *Judge) envArg(a arg, argv []arg) {
	name, _, _ := strings.Cut(a.Prefix(), "=")
	value := a.After(len(name) + 1)
	s.Set(name, value)
	s.Sees(name, value, argv)
	s.Vars = maps.Clone(s.Vars)
	s.Vars[name] = bash.Variable{Alts: []text{value.Text}}
}
