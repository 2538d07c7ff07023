package program

import (
	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/word"

	"github.com/cco-dev/cco/internal/guard/program/table"
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
	case "npx":
		return s.packageRunner(name, argv)
	case "tmux":
		s.multiplexer(name, argv)
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
	at := argv[0]
	var items []text
	switch {
	case len(o.Values("-a", "--arg-file")) > 0:
		items = s.FileStream(o.Values("-a", "--arg-file")[0]).Text.Split(xargsSeparators(o))
	case s.Stdin == nil:
		items = []text{word.Unknown(word.Dynamic)}
	default:
		items = s.Stdin.Text.Split(xargsSeparators(o))
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
	if len(items) > bash.MaxRounds {
		items = items[:bash.MaxRounds]
	}
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
