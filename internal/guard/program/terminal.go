package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/word"

	"github.com/cco-dev/cco/internal/guard/program/table"
)

// multiplexer runs arguments in a terminal of its own.
func (s *Judge) multiplexer(name string, argv []arg) {
	for i, a := range argv {
		if i > 0 && (a.Is("send-keys") || a.Is("send")) {
			s.typedKeys(argv[i+1:])
			return
		}
	}
	for i, a := range argv[1:] {
		if prev := argv[i]; prev.Is("-c") && name == "tmux" {
			s.Isolated(func() { s.MoveTo(a, false) })
			continue
		}
		if first, _, _ := strings.Cut(a.Known(), " "); name == "tmux" && strings.Contains(first, "-") &&
			strings.Contains(a.Known(), " ") {
			s.Isolated(func() { s.RunText(word.Lit("tmux ").With(a.Text...), a, name) }) // a command of tmux itself
		} else if strings.ContainsAny(a.Known(), " ;&|") {
			s.Isolated(func() { s.RunText(a.Text, a, name) })
		} else {
			s.Loose(a)
		}
	}
	for i, a := range argv {
		if v, _ := a.Literal(); i > 0 && (table.InterpreterOf(v) != "" || v == "git" || v == "cd") {
			s.Isolated(func() { s.Exec(argv[i:]) })
			return
		}
	}
}

// typedKeys reads the keys that tmux is told to type as the lines that a shell
// would get.
func (s *Judge) typedKeys(args []arg) {
	o := word.Parse(args, "tN", "")
	var line text
	for _, a := range o.Operands {
		switch a.Known() {
		case "Enter", "C-m", "KPEnter":
			line = line.Plus("\n")
		case "Space":
			line = line.Plus(" ")
		case "C-c", "C-d", "C-l", "C-u", "Escape", "Up", "Down", "Tab", "q":
		default:
			line = line.With(a.Text...)
		}
	}
	if len(line) > 0 {
		s.Isolated(func() { s.RunText(line, word.Cover(args), "tmux") })
	}
}

// ssh runs elsewhere, unless elsewhere is here.
func (s *Judge) ssh(argv []arg) {
	o, rest := word.Leading(argv[1:], "BbcDEeFIiJLlmOopQRSWw", nil)
	for _, a := range o.Values("-o") {
		if i := strings.IndexAny(a.Prefix(), "= "); i > 0 && strings.HasSuffix(strings.ToLower(a.Prefix()[:i]), "command") {
			value := a.After(i + 1)
			s.Isolated(func() { s.RunText(value.Text, value, "ssh") })
		}
	}
	for _, a := range o.Values("-E") {
		s.Check(land.Write, a)
	}
	for _, a := range o.Values("-F") { // it may name commands
		s.loadedFile(a)
	}
	s.Print(word.Unknown(word.Dynamic))
	if len(rest) == 1 && isHere(rest[0].Known()) {
		s.Awaits(rest[0], "ssh")
	}
	if len(rest) < 2 {
		return
	}
	if host, _ := rest[0].Literal(); isHere(host) || host == "" || rest[0].Worst() > word.Literal {
		s.Isolated(func() {
			s.Dirs = []string{s.Home()}
			s.RunText(word.JoinArgs(rest[1:]), word.Cover(rest[1:]), "ssh")
		})
	}
}

// isHere says that a host, with a user before it or not, is this machine.
func isHere(host string) bool {
	host = host[strings.LastIndexByte(host, '@')+1:]
	return host == "localhost" || host == "::1" || host == "[::1]" || strings.HasPrefix(host, "127.")
}
