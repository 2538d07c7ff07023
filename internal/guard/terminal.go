package guard

import "strings"

// multiplexer runs arguments in a terminal of its own.
func (s *shell) multiplexer(name string, argv []arg) {
	for i, a := range argv {
		if i > 0 && (a.is("send-keys") || a.is("send")) {
			s.typedKeys(argv[i+1:])
			return
		}
	}
	for i, a := range argv[1:] {
		if prev := argv[i]; prev.is("-c") && name == "tmux" {
			s.isolated(func() { s.moveTo(a, false) })
			continue
		}
		if first, _, _ := strings.Cut(a.known(), " "); name == "tmux" && strings.Contains(first, "-") &&
			strings.Contains(a.known(), " ") {
			s.isolated(func() { s.runText(lit("tmux ").with(a.text...), a, name) }) // a command of tmux itself
		} else if strings.ContainsAny(a.known(), " ;&|") {
			s.isolated(func() { s.runText(a.text, a, name) })
		} else {
			s.loose(a)
		}
	}
	for i, a := range argv {
		if v, _ := a.literal(); i > 0 && (interpreterOf(v) != "" || v == "git" || v == "cd") {
			s.isolated(func() { s.run(argv[i:]) })
			return
		}
	}
}

// typedKeys reads the keys that tmux is told to type as the lines that a shell
// would get.
func (s *shell) typedKeys(args []arg) {
	o := parseOptions(args, "tN", "")
	var line text
	for _, a := range o.operands {
		switch a.known() {
		case "Enter", "C-m", "KPEnter":
			line = line.with(seg{literal, "\n"})
		case "Space":
			line = line.with(seg{literal, " "})
		case "C-c", "C-d", "C-l", "C-u", "Escape", "Up", "Down", "Tab", "q":
		default:
			line = line.with(a.text...)
		}
	}
	if len(line) > 0 {
		s.isolated(func() { s.runText(line, cover(args), "tmux") })
	}
}

// ssh runs elsewhere, unless elsewhere is here.
func (s *shell) ssh(argv []arg) {
	o, rest := leading(argv[1:], "BbcDEeFIiJLlmOopQRSWw", nil)
	for _, a := range o.values("-o") {
		if i := strings.IndexAny(a.prefix(), "= "); i > 0 && strings.HasSuffix(strings.ToLower(a.prefix()[:i]), "command") {
			value := arg{a.cut(i + 1), a.start, a.end}
			s.isolated(func() { s.runText(value.text, value, "ssh") })
		}
	}
	for _, a := range o.values("-E") {
		s.check(opWrite, a)
	}
	for _, a := range o.values("-F") { // it may name commands
		s.loadedFile(a)
	}
	s.print(unknown(dynamic))
	if len(rest) == 1 && isHere(rest[0].known()) {
		s.awaits(rest[0], "ssh")
	}
	if len(rest) < 2 {
		return
	}
	if host, _ := rest[0].literal(); isHere(host) || host == "" || rest[0].worst() > literal {
		s.isolated(func() {
			s.sc.dirs = []string{s.land.home}
			s.runText(joinArgs(rest[1:]), cover(rest[1:]), "ssh")
		})
	}
}

// isHere says that a host, with a user before it or not, is this machine.
func isHere(host string) bool {
	host = host[strings.LastIndexByte(host, '@')+1:]
	return host == "localhost" || host == "::1" || host == "[::1]" || strings.HasPrefix(host, "127.")
}
