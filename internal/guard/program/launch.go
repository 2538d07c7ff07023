package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// launch handles the programs that run commands in a way of their own.
func (s *Judge) launch(name string, argv []arg) bool {
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
		if !word.Parse(args, "cOIBTmEo", "--command").Has("-c", "--command") && !onlyAsks(argv) {
			s.Awaits(argv[0], name)
		}
		s.textOption(argv, "cOIBTmEo", []string{"--command"}, "-c", "--command")
	case "su":
		if !word.Parse(args, "cgGsw", "--command", "--shell").Has("-c", "--command") {
			s.Awaits(argv[0], name)
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
		if len(args) == 0 || !args[0].Is("-l") {
			s.denySystem(argv) // it would run when nobody watches
		}
	case "expect":
		s.plumbing(name, argv)
	case "start-stop-daemon":
		s.startStop(argv)
	case "nix-shell":
		s.textOption(argv, "pAIc", []string{"--run", "--command"}, "--run", "--command", "-c")
	case "direnv":
		if len(args) > 2 && args[0].Is("exec") {
			s.Isolated(func() { s.MoveTo(args[1], false); s.Exec(args[2:]) })
		}
	case "mpirun":
		s.debugger(name, argv)
	default:
		return false
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

// parallel runs a template over the words after :::.
func (s *Judge) parallel(argv []arg) {
	_, rest := word.Leading(argv[1:], "jNnIaSdCL", []string{"--jobs", "--max-args", "--arg-file", "--joblog", "--results",
		"--workdir", "--colsep"})
	for i, a := range argv[1:] {
		if strings.HasPrefix(a.Prefix(), "--") {
			s.Loose(a)
		}
		if argv[i].Is("--workdir") || argv[i].Is("--wd") || argv[i].Is("--results") || argv[i].Is("--joblog") {
			s.Check(land.Write, a)
		}
	}
	template, items := rest, []text{}
	for i, a := range rest {
		if strings.HasPrefix(a.Prefix(), ":::") {
			template, items = rest[:i], nil
			for _, b := range rest[i+1:] {
				items = append(items, b.Text)
			}
			break
		}
	}
	if len(items) == 0 {
		items = []text{word.Unknown(word.Dynamic)}
		if s.Stdin != nil {
			items = s.Stdin.Text.Lines()
		}
	}
	for _, item := range items {
		line := word.Substituted([]arg{word.Cover(template)}, "{}", item)[0]
		if len(template) == 0 {
			line = argv[0].Hold(item)
		} else if !strings.Contains(word.JoinArgs(template).Known(), "{}") {
			line.Text = line.Plus(" ").With(item...)
		}
		s.Isolated(func() { s.RunText(line.Text, line, "parallel") })
	}
}

// flock runs its arguments or the text of -c while it holds a lock file.
func (s *Judge) flock(args []arg) {
	_, rest := word.Leading(args, "wEo", []string{"--timeout", "--wait", "--conflict-exit-code"})
	if len(rest) == 0 {
		return
	}
	if strings.Trim(rest[0].Known(), "0123456789") != "" {
		s.Check(land.Write, rest[0])
	}
	rest = rest[1:]
	if len(rest) > 1 && (rest[0].Is("-c") || rest[0].Is("--command")) {
		s.RunText(rest[1].Text, rest[1], "flock")
		return
	}
	if len(rest) > 0 {
		s.Exec(rest)
	}
}

// textOption runs the value of an option as shell text and checks the other
// arguments as any program's.
func (s *Judge) textOption(argv []arg, valued string, long []string, names ...string) {
	o := word.Parse(argv[1:], valued, long...)
	for _, a := range o.Values(names...) {
		s.Isolated(func() { s.RunText(a.Text, a, argv[0].Known()) })
	}
	for _, a := range o.Operands {
		s.operand(a)
	}
	s.Print(word.Unknown(word.Dynamic))
}

// eachText runs every operand as shell text.
func (s *Judge) eachText(argv []arg) {
	for i, a := range argv[1:] {
		switch prev, _ := argv[i].Literal(); {
		case strings.HasPrefix(a.Prefix(), "-"):
			s.Loose(a)
		case strings.HasPrefix(prev, "--export-") || prev == "-o" || prev == "--output":
			s.Check(land.Write, a)
		case prev == "-n" || prev == "-N" || prev == "-w" || prev == "-r" || prev == "-m" || prev == "-M" || prev == "-c" &&
			!strings.Contains(a.Known(), " ") ||
			strings.HasPrefix(prev, "--") && !strings.Contains(prev, "=") &&
				!slices.Contains([]string{"--prepare", "--setup", "--cleanup", "--conclude", "--show-output", "--kill-others",
					"--raw",
					"--ignore-failure"}, prev):
		default:
			s.Isolated(func() { s.RunText(a.Text, a, argv[0].Known()) })
		}
	}
	s.Print(word.Unknown(word.Dynamic))
}

// watcher runs commands when files change.
func (s *Judge) watcher(argv []arg) {
	if argv[0].Is("entr") && len(argv) > 2 && strings.HasPrefix(argv[1].Prefix(), "-") &&
		strings.Contains(argv[1].Prefix(), "s") {
		a := argv[2]
		s.Isolated(func() { s.RunText(a.Text, a, "entr") })
		return
	}
	o, rest := word.Leading(argv[1:], "xewic", []string{"--exec", "--ext", "--watch", "--ignore", "--delay", "--exts",
		"--command"})
	for _, a := range o.Values("-x", "--exec", "-c", "--command") {
		s.Isolated(func() { s.RunText(a.Text, a, argv[0].Known()) })
	}
	if argv[0].Is("entr") || argv[0].Is("watchexec") || argv[0].Is("reflex") {
		if len(rest) > 0 {
			s.Isolated(func() { s.Exec(rest) })
		}
		return
	}
	s.generic(argv)
}

// plumbing finds the commands in the arguments of socat, nc and expect.
func (s *Judge) plumbing(name string, argv []arg) {
	for i, a := range argv[1:] {
		prev, _ := argv[i].Literal()
		upper := strings.ToUpper(a.Prefix())
		for _, scheme := range []string{"EXEC:", "SYSTEM:", "SHELL:"} {
			if name == "socat" && strings.HasPrefix(upper, scheme) {
				t := a.Cut(len(scheme))
				s.Isolated(func() { s.RunText(t, a, name) })
			}
		}
		for _, scheme := range []string{"OPEN:", "CREATE:", "GOPEN:", "FILE:"} {
			if name == "socat" && strings.HasPrefix(upper, scheme) {
				s.Check(land.Write, a.Hold(a.Cut(len(scheme)).Split(",")[0]))
			}
		}
		switch {
		case name != "socat" && slices.Contains([]string{"-e", "-c", "--exec", "--sh-exec"}, prev):
			text := strings.ReplaceAll(a.Known(), "spawn ", "")
			s.Isolated(func() { s.RunText(word.Lit(text), a, name) })
		case name == "expect":
			s.operand(a)
		}
	}
	s.Print(word.Unknown(word.Dynamic))
}

func (s *Judge) startStop(argv []arg) {
	var prog *arg
	for i, a := range argv[1:] {
		switch prev, _ := argv[i].Literal(); prev {
		case "--chdir", "-d":
			s.MoveTo(a, false)
		case "--exec", "-x", "--startas", "-a":
			prog = &a
		case "--pidfile", "-p", "--output", "-O":
			s.Check(land.Write, a)
		}
		if a.Is("--") && prog != nil {
			s.Exec(append([]arg{*prog}, argv[i+2:]...))
			return
		}
	}
	if prog != nil {
		s.Exec([]arg{*prog})
	}
}

// debugger runs a program under control, with commands of its own.
func (s *Judge) debugger(name string, argv []arg) {
	if (name == "gdb" || name == "lldb") && !onlyAsks(argv) && !strings.Contains(word.JoinArgs(argv[1:]).Known(),
		"-batch") {
		s.Awaits(argv[0], name)
	}
	for i, a := range argv[1:] {
		prev, _ := argv[i].Literal()
		if (prev == "-p" || prev == "--pid" || prev == "attach") && s.sought && a.Worst() >= word.Dynamic {
			s.Deny(verdict.RuleSelf, a, "", "this may change a process of the guard or the agent",
				"look only at processes that you started")
		}
		if slices.Contains([]string{"-ex", "-iex", "--eval-command", "-o", "--one-line", "--ex"}, prev) &&
			(name == "gdb" || name == "lldb") {
			v := strings.TrimSpace(a.Known())
			for _, part := range []string{"shell ", "!", "platform shell ", "pipe "} {
				if rest, ok := strings.CutPrefix(v, part); ok {
					s.Isolated(func() { s.RunText(word.Lit(rest), a, name) })
				}
			}
			if rest, ok := strings.CutPrefix(v, "cd "); ok {
				s.Isolated(func() { s.MoveTo(a.Hold(word.Lit(rest)), false) })
			}
			s.Isolated(func() { s.code("python", word.Lit(v), a, nil) })
		}
	}
	for i, a := range argv[1:] {
		if a.Is("--args") || a.Is("--") || i > 0 && !strings.HasPrefix(a.Prefix(), "-") && (name == "perf" && i > 0) {
			rest := argv[i+1:]
			if a.Is("--args") || a.Is("--") {
				rest = argv[i+2:]
			}
			if len(rest) > 0 {
				s.Isolated(func() { s.Exec(rest) })
			}
			break
		}
	}
	s.generic(argv)
}
