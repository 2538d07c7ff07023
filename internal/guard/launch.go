package guard

import (
	"strings"
)

// launch handles the programs that run commands in a way of their own.
func (s *shell) launch(name string, argv []arg) bool {
	args := argv[1:]
	switch familyOf(name, launcherRow) {
	case "xargs":
		s.xargs(argv)
	case "parallel":
		s.parallel(argv)
	case "find":
		s.find(argv)
	case "fd":
		s.fd(argv)
	case "flock":
		s.flock(args)
	case "script":
		if !parseOptions(args, "cOIBTmEo", "--command").has("-c", "--command") && !onlyAsks(argv) {
			s.awaits(argv[0], name)
		}
		s.textOption(argv, "cOIBTmEo", []string{"--command"}, "-c", "--command")
	case "su":
		if !parseOptions(args, "cgGsw", "--command", "--shell").has("-c", "--command") {
			s.awaits(argv[0], name)
		}
		s.textOption(argv, "cgGsw", []string{"--command", "--shell"}, "-c", "--command")
	case "concurrently":
		s.eachText(argv)
	case "nodemon":
		s.watcher(argv)
	case "npx":
		return s.packageRunner(name, argv)
	case "tmux":
		s.multiplexer(name, argv)
	case "ssh":
		s.ssh(argv)
	case "at":
		if len(args) == 0 || !args[0].is("-l") {
			s.denySystem(argv) // it would run when nobody watches
		}
	case "expect":
		s.plumbing(name, argv)
	case "start-stop-daemon":
		s.startStop(argv)
	case "nix-shell":
		s.textOption(argv, "pAIc", []string{"--run", "--command"}, "--run", "--command", "-c")
	case "direnv":
		if len(args) > 2 && args[0].is("exec") {
			s.isolated(func() { s.moveTo(args[1], false); s.run(args[2:]) })
		}
	case "mpirun":
		s.debugger(name, argv)
	default:
		return false
	}
	return true
}

// xargs appends what it reads to a command.
func (s *shell) xargs(argv []arg) {
	o, rest := leading(argv[1:], "IiLlnPsEdaJR", []string{"--replace", "--max-args", "--max-procs", "--arg-file",
		"--delimiter", "--max-lines", "--max-chars"})
	at := argv[0]
	var items []text
	switch {
	case len(o.values("-a", "--arg-file")) > 0:
		items = s.fileStream(o.values("-a", "--arg-file")[0]).text.split(xargsSeparators(o))
	case s.sc.stdin == nil:
		items = []text{unknown(dynamic)}
	default:
		items = s.sc.stdin.text.split(xargsSeparators(o))
	}
	if len(rest) == 0 {
		rest = literals(at, "echo")
	}
	marker := ""
	if vs := o.values("-I", "--replace", "-J"); len(vs) > 0 {
		marker = vs[0].known()
	} else if o.has("-i", "--replace") {
		marker = "{}"
	}
	if len(items) > maxRounds {
		items = items[:maxRounds]
	}
	if marker == "" {
		full := append([]arg{}, rest...)
		for _, item := range items {
			full = append(full, arg{item, at.start, at.end})
		}
		s.withStdin(nil, func() { s.run(full) })
		return
	}
	for _, item := range items {
		s.withStdin(nil, func() { s.run(substituted(rest, marker, item)) })
	}
}

// xargsSeparators are the bytes between the items that xargs reads.
func xargsSeparators(o options) string {
	switch vs := o.values("-d", "--delimiter"); {
	case o.has("-0", "--null"):
		return "\x00"
	case len(vs) > 0:
		return ansiC(vs[0].known())
	case o.has("-I", "-i", "--replace"):
		return "\n"
	}
	return " \t\n"
}

// substituted replaces marker in every argument.
func substituted(argv []arg, marker string, with text) []arg {
	out := make([]arg, len(argv))
	for i, a := range argv {
		out[i] = a
		if marker == "" || !strings.Contains(a.known(), marker) {
			continue
		}
		var t text
		for _, piece := range a.text {
			if piece.kind != literal {
				t = t.with(piece)
				continue
			}
			for j, part := range strings.Split(piece.text, marker) {
				if j > 0 {
					t = t.with(with...)
				}
				t = t.with(seg{literal, part})
			}
		}
		out[i].text = t
	}
	return out
}

// parallel runs a template over the words after :::.
func (s *shell) parallel(argv []arg) {
	_, rest := leading(argv[1:], "jNnIaSdCL", []string{"--jobs", "--max-args", "--arg-file", "--joblog", "--results",
		"--workdir", "--colsep"})
	for i, a := range argv[1:] {
		if strings.HasPrefix(a.prefix(), "--") {
			s.loose(a)
		}
		if argv[i].is("--workdir") || argv[i].is("--wd") || argv[i].is("--results") || argv[i].is("--joblog") {
			s.check(opWrite, a)
		}
	}
	template, items := rest, []text{}
	for i, a := range rest {
		if strings.HasPrefix(a.prefix(), ":::") {
			template, items = rest[:i], nil
			for _, b := range rest[i+1:] {
				items = append(items, b.text)
			}
			break
		}
	}
	if len(items) == 0 {
		items = []text{unknown(dynamic)}
		if s.sc.stdin != nil {
			items = s.sc.stdin.text.lines()
		}
	}
	for _, item := range items {
		line := substituted([]arg{cover(template)}, "{}", item)[0]
		if len(template) == 0 {
			line = arg{item, argv[0].start, argv[0].end}
		} else if !strings.Contains(joinArgs(template).known(), "{}") {
			line.text = line.with(seg{literal, " "}).with(item...)
		}
		s.isolated(func() { s.runText(line.text, line, "parallel") })
	}
}

// flock runs its arguments or the text of -c while it holds a lock file.
func (s *shell) flock(args []arg) {
	_, rest := leading(args, "wEo", []string{"--timeout", "--wait", "--conflict-exit-code"})
	if len(rest) == 0 {
		return
	}
	if strings.Trim(rest[0].known(), "0123456789") != "" {
		s.check(opWrite, rest[0])
	}
	rest = rest[1:]
	if len(rest) > 1 && (rest[0].is("-c") || rest[0].is("--command")) {
		s.runText(rest[1].text, rest[1], "flock")
		return
	}
	if len(rest) > 0 {
		s.run(rest)
	}
}

// textOption runs the value of an option as shell text and checks the other
// arguments as any program's.
func (s *shell) textOption(argv []arg, valued string, long []string, names ...string) {
	o := parseOptions(argv[1:], valued, long...)
	for _, a := range o.values(names...) {
		s.isolated(func() { s.runText(a.text, a, argv[0].known()) })
	}
	for _, a := range o.operands {
		s.operand(a)
	}
	s.print(unknown(dynamic))
}

// eachText runs every operand as shell text.
func (s *shell) eachText(argv []arg) {
	for i, a := range argv[1:] {
		switch prev, _ := argv[i].literal(); {
		case strings.HasPrefix(a.prefix(), "-"):
			s.loose(a)
		case strings.HasPrefix(prev, "--export-") || prev == "-o" || prev == "--output":
			s.check(opWrite, a)
		case prev == "-n" || prev == "-N" || prev == "-w" || prev == "-r" || prev == "-m" || prev == "-M" || prev == "-c" &&
			!strings.Contains(a.known(), " ") ||
			strings.HasPrefix(prev, "--") && !strings.Contains(prev, "=") &&
				!contains([]string{"--prepare", "--setup", "--cleanup", "--conclude", "--show-output", "--kill-others", "--raw",
					"--ignore-failure"}, prev):
		default:
			s.isolated(func() { s.runText(a.text, a, argv[0].known()) })
		}
	}
	s.print(unknown(dynamic))
}

// watcher runs commands when files change.
func (s *shell) watcher(argv []arg) {
	if argv[0].is("entr") && len(argv) > 2 && strings.HasPrefix(argv[1].prefix(), "-") &&
		strings.Contains(argv[1].prefix(), "s") {
		a := argv[2]
		s.isolated(func() { s.runText(a.text, a, "entr") })
		return
	}
	o, rest := leading(argv[1:], "xewic", []string{"--exec", "--ext", "--watch", "--ignore", "--delay", "--exts",
		"--command"})
	for _, a := range o.values("-x", "--exec", "-c", "--command") {
		s.isolated(func() { s.runText(a.text, a, argv[0].known()) })
	}
	if argv[0].is("entr") || argv[0].is("watchexec") || argv[0].is("reflex") {
		if len(rest) > 0 {
			s.isolated(func() { s.run(rest) })
		}
		return
	}
	s.generic(argv)
}

// plumbing finds the commands in the arguments of socat, nc and expect.
func (s *shell) plumbing(name string, argv []arg) {
	for i, a := range argv[1:] {
		prev, _ := argv[i].literal()
		upper := strings.ToUpper(a.prefix())
		for _, scheme := range []string{"EXEC:", "SYSTEM:", "SHELL:"} {
			if name == "socat" && strings.HasPrefix(upper, scheme) {
				t := a.cut(len(scheme))
				s.isolated(func() { s.runText(t, a, name) })
			}
		}
		for _, scheme := range []string{"OPEN:", "CREATE:", "GOPEN:", "FILE:"} {
			if name == "socat" && strings.HasPrefix(upper, scheme) {
				s.check(opWrite, arg{a.cut(len(scheme)).split(",")[0], a.start, a.end})
			}
		}
		switch {
		case name != "socat" && contains([]string{"-e", "-c", "--exec", "--sh-exec"}, prev):
			text := strings.ReplaceAll(a.known(), "spawn ", "")
			s.isolated(func() { s.runText(lit(text), a, name) })
		case name == "expect":
			s.operand(a)
		}
	}
	s.print(unknown(dynamic))
}

func (s *shell) startStop(argv []arg) {
	var program *arg
	for i, a := range argv[1:] {
		switch prev, _ := argv[i].literal(); prev {
		case "--chdir", "-d":
			s.moveTo(a, false)
		case "--exec", "-x", "--startas", "-a":
			program = &a
		case "--pidfile", "-p", "--output", "-O":
			s.check(opWrite, a)
		}
		if a.is("--") && program != nil {
			s.run(append([]arg{*program}, argv[i+2:]...))
			return
		}
	}
	if program != nil {
		s.run([]arg{*program})
	}
}

// debugger runs a program under control, with commands of its own.
func (s *shell) debugger(name string, argv []arg) {
	if (name == "gdb" || name == "lldb") && !onlyAsks(argv) && !strings.Contains(joinArgs(argv[1:]).known(), "-batch") {
		s.awaits(argv[0], name)
	}
	for i, a := range argv[1:] {
		prev, _ := argv[i].literal()
		if (prev == "-p" || prev == "--pid" || prev == "attach") && s.sought && a.worst() >= dynamic {
			s.deny(RuleSelf, a, "", "this may change a process of the guard or the agent",
				"look only at processes that you started")
		}
		if contains([]string{"-ex", "-iex", "--eval-command", "-o", "--one-line", "--ex"}, prev) &&
			(name == "gdb" || name == "lldb") {
			v := strings.TrimSpace(a.known())
			for _, word := range []string{"shell ", "!", "platform shell ", "pipe "} {
				if rest, ok := strings.CutPrefix(v, word); ok {
					s.isolated(func() { s.runText(lit(rest), a, name) })
				}
			}
			if rest, ok := strings.CutPrefix(v, "cd "); ok {
				s.isolated(func() { s.moveTo(arg{lit(rest), a.start, a.end}, false) })
			}
			s.isolated(func() { s.code("python", lit(v), a, nil) })
		}
	}
	for i, a := range argv[1:] {
		if a.is("--args") || a.is("--") || i > 0 && !strings.HasPrefix(a.prefix(), "-") && (name == "perf" && i > 0) {
			rest := argv[i+1:]
			if a.is("--args") || a.is("--") {
				rest = argv[i+2:]
			}
			if len(rest) > 0 {
				s.isolated(func() { s.run(rest) })
			}
			break
		}
	}
	s.generic(argv)
}
