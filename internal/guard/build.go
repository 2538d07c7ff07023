package guard

import (
	"path"
	"strings"
)

// make runs a makefile; what the command line adds to it is read.
func (s *shell) make(argv []arg) {
	o := parseOptions(argv[1:], "CfIjloWE", "--directory", "--file", "--makefile", "--eval", "--jobs", "--include-dir",
		"--old-file", "--what-if")
	outer := s.sc.dirs
	for _, a := range o.values("-C", "--directory") {
		s.moveTo(a, false)
	}
	for _, a := range o.values("-I", "--include-dir") {
		s.checkProgram(s.absolute(a.known()), a)
	}
	for _, a := range o.values("--eval", "-E") {
		s.recipe(a.text, a)
	}
	files := o.values("-f", "--file", "--makefile")
	for _, a := range files {
		if v, ok := a.literal(); ok && v != "-" {
			s.checkProgram(s.absolute(v), a)
			if content, ok := s.sc.files[s.absolute(v)]; ok {
				s.recipe(content, a)
			}
		}
		if a.is("-") && s.sc.stdin != nil {
			s.recipe(s.sc.stdin.text, a)
		} else if a.is("-") {
			s.awaits(a, "make")
		}
	}
	if len(files) == 0 {
		for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
			if content, ok := s.sc.files[s.absolute(name)]; ok {
				s.recipe(content, argv[0])
			}
		}
	}
	for _, a := range o.operands {
		name, _, assigned := strings.Cut(a.prefix(), "=")
		if !assigned {
			continue
		}
		value := arg{a.cut(len(name) + 1), a.start, a.end}
		if !carriesText(lastWord(name), value) {
			s.unmentioned(value.text, value)
		}
		if strings.TrimRight(name, ":?+") == "SHELL" {
			s.isolated(func() { s.withStdin(&stream{}, func() { s.runText(value.text, value, "make") }) })
			continue
		}
		if strings.ContainsAny(value.known(), " ;$(`") {
			s.suspicious(value)
			s.makeShell(value)
			continue
		}
		s.setTo(name, value)
	}
	s.sc.dirs = outer
	s.print(unknown(dynamic))
}

// makeShell runs what $(shell …) would.
func (s *shell) makeShell(a arg) {
	if _, rest, ok := strings.Cut(a.known(), "$(shell "); ok {
		text, _, _ := strings.Cut(rest, ")")
		s.isolated(func() { s.runText(lit(text), a, "make") })
	}
}

// recipe runs the command lines of a makefile that this command has written.
func (s *shell) recipe(t text, at arg) {
	for _, line := range strings.Split(t.known(), "\n") {
		command, ok := strings.CutPrefix(line, "\t")
		if !ok {
			if _, after, found := strings.Cut(line, ";"); found {
				command, ok = after, true
			}
		}
		if strings.Contains(line, "$(shell ") {
			s.makeShell(arg{lit(line), at.start, at.end})
		}
		if name, value, found := strings.Cut(line, "="); found && !ok &&
			strings.TrimRight(strings.TrimSpace(name), ":?!") == "SHELL" {
			command, ok = strings.TrimSpace(value), true
		}
		if !ok {
			continue
		}
		command = strings.TrimLeft(strings.ReplaceAll(command, "$$", "$"), "@-+ ")
		if command == "" || strings.HasPrefix(command, "#") || strings.Contains(command, "$(") &&
			!strings.Contains(command, "/") {
			continue
		}
		s.isolated(func() { s.suspiciousRun(command, at) })
	}
}

// suspiciousRun runs text that another language may have decorated: if it
// doesn't parse as shell, it is only searched for outside paths.
func (s *shell) suspiciousRun(command string, at arg) {
	if _, _, err := parseBash(command); err != nil {
		s.suspicious(arg{lit(command), at.start, at.end})
		return
	}
	s.runText(lit(command), at, "a script")
}

// compiler reads its inputs and writes by -o.
func (s *shell) compiler(argv []arg) {
	for i, a := range argv[1:] {
		v := a.prefix()
		prev, _ := argv[i].literal()
		switch {
		case prev == "-o" || prev == "--out-dir" || prev == "-MF" || prev == "-dumpdir" || prev == "--emit":
			s.check(opWrite, a)
		case strings.HasPrefix(v, "-o") && len(v) > 2:
			s.check(opWrite, arg{a.cut(2), a.start, a.end})
		case strings.HasPrefix(v, "-wrapper") || strings.HasPrefix(v, "-fplugin=") || strings.HasPrefix(v, "-specs="):
			s.suspicious(a)
		case prev == "-wrapper":
			s.run(commaWords(a))
		case strings.HasPrefix(v, "--out-dir=") || strings.HasPrefix(v, "-Clinker=") || strings.HasPrefix(v, "--emit="):
			s.loose(a)
		case strings.HasPrefix(v, "-") && !compilerReads(v) || strings.HasPrefix(prev, "-") && !compilerReads(prev) &&
			!strings.Contains(prev, "=") && len(prev) > 3:
			s.unmentioned(a.text, a)
		}
	}
	s.runOperands(argv)
	s.print(unknown(dynamic))
}

// compilerReads names the options of compilers that say where to look.
func compilerReads(v string) bool {
	for _, name := range []string{"-I", "-L", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-F", "-B",
		"-l", "--sysroot", "-isysroot", "-Wl,-rpath", "-D", "-Wall", "-x", "-T",
		"--extern", "--cfg", "-std", "-ffile-prefix-map", "-fdebug-prefix-map", "-fmacro-prefix-map", "--remap-path-prefix",
		"-target", "--target"} {
		if strings.HasPrefix(v, name) {
			return true
		}
	}
	return false
}

func commaWords(a arg) []arg {
	var out []arg
	for _, t := range a.split(",") {
		out = append(out, arg{t, a.start, a.end})
	}
	return out
}

// golang knows go's options that run programs.
func (s *shell) golang(argv []arg) {
	outer := s.sc.dirs
	for i, a := range argv[1:] {
		name, _, glued := strings.Cut(a.prefix(), "=")
		value := arg{a.cut(len(name) + 1), a.start, a.end}
		if !glued && i+2 < len(argv) {
			value = argv[i+2]
		}
		switch "-" + strings.TrimLeft(name, "-") {
		case "-toolexec", "-exec", "-vettool":
			if strings.HasPrefix(name, "-") {
				s.isolated(func() { s.runText(value.text, value, "go") })
				s.suspicious(value)
			}
		case "-C":
			if strings.HasPrefix(name, "-C") {
				s.moveTo(value, false)
			}
		}
	}
	if len(argv) > 2 && argv[1].is("env") && (argv[2].is("-w") || argv[2].is("-u")) || len(argv) > 2 &&
		argv[1].is("telemetry") {
		s.homeConfig(argv)
	}
	for i, a := range argv[1:] {
		if a.is("-args") || a.is("--args") {
			break // the test's own, and it is a program of the workspace
		}
		switch option := optionOf(argv, i+1); option {
		case "run", "bench", "skip", "tags", "fuzz", "list":
			continue
		case "ldflags", "gcflags", "asmflags":
			s.linkerFlags(a)
			continue
		}
		if readsByOption(argv[i], a) {
			continue
		}
		s.loose(a)
		s.unmentioned(a.text, a)
	}
	s.runOperands(argv)
	s.sc.dirs = outer
	if len(argv) > 1 && argv[1].is("env") {
		s.print(unknown(token))
		return
	}
	s.print(unknown(dynamic))
}

// linkerFlags judges -ldflags, in which -X sets a string.
func (s *shell) linkerFlags(a arg) {
	skip := false
	for _, t := range a.split(" \t\n") {
		if !skip {
			s.unmentioned(t, a)
		}
		skip = t.is("-X") || strings.HasSuffix(t.known(), "=-X")
	}
}

// cargo knows cargo's subcommands that run text.
func (s *shell) cargo(argv []arg) {
	if len(argv) > 1 && argv[1].is("watch") {
		o := parseOptions(argv[2:], "xswiedB", "--exec", "--shell", "--watch")
		for _, a := range o.values("-s", "--shell") {
			s.isolated(func() { s.runText(a.text, a, "cargo") })
		}
		for _, a := range o.values("-x", "--exec") {
			t := lit("cargo ").with(a.text...)
			s.isolated(func() { s.runText(t, a, "cargo") })
		}
		return
	}
	if len(argv) > 1 && (argv[1].is("login") || argv[1].is("logout")) {
		s.homeConfig(argv)
	}
	for i, a := range argv[1:] {
		if argv[i].is("--config") && strings.Contains(a.known(), "runner") || argv[i].is("--config") &&
			strings.Contains(a.known(), "wrapper") || argv[i].is("--config") && strings.Contains(a.known(), "linker") {
			s.suspicious(a)
		}
	}
	s.generic(argv)
}

// packageRunner runs node's package managers: their exec forms run commands.
func (s *shell) packageRunner(name string, argv []arg) bool {
	o, rest := leading(argv[1:], "Cpcwr", []string{"--prefix", "--cwd", "--dir", "--package", "--call", "--workspace",
		"--filter", "--userconfig", "--globalconfig", "--registry", "--cache", "--modules-folder", "--global-folder", "-F"})
	outer := s.sc.dirs
	defer func() { s.sc.dirs = outer }()
	for _, a := range o.values("-C", "--prefix", "--cwd", "--dir") {
		s.moveTo(a, false)
	}
	for _, a := range o.values("-c", "--call") {
		s.isolated(func() { s.runText(a.text, a, name) })
	}
	s.homeOptions(name, argv)
	if name == "npx" {
		if len(rest) > 0 {
			s.isolated(func() { s.run(rest) })
		}
		return true
	}
	if len(rest) > 0 {
		sub, _ := rest[0].literal()
		switch sub {
		case "exec", "x", "dlx":
			if eo, inner := leading(rest[1:], "cpw", []string{"--call", "--package"}); len(inner) > 0 || len(eo.flags) > 0 {
				for _, a := range eo.values("-c", "--call") {
					s.isolated(func() { s.runText(a.text, a, name) })
				}
				if len(inner) > 0 {
					s.isolated(func() { s.run(inner) })
				}
			}
			return true
		case "bin":
			s.print(lit(s.sc.dirs[0] + "/node_modules/.bin\n"))
			return true
		case "run", "run-script", "test", "start", "build", "t":
			s.packageScripts(argv[0])
			s.passedOn(argv)
			s.print(unknown(dynamic))
			return true
		}
	}
	if name == "bun" && s.runInterpreterFile("javascript", argv) {
		return true
	}
	s.generic(argv)
	return true
}

// settings handles programs that print variables to be evaluated. They are the
// user's own, and what they print is taken as harmless.
func (s *shell) settings(argv []arg) {
	s.capture(func() { s.generic(argv) })
	s.print(unknown(token))
}

// passedOn checks the arguments that a package script is given.
func (s *shell) passedOn(argv []arg) {
	for i := range argv[1:] {
		s.argument(argv, i+1)
	}
}

// packageScripts reads the scripts of a package.json that was just written.
func (s *shell) packageScripts(at arg) {
	content, ok := s.sc.files[s.absolute("package.json")]
	if !ok {
		return
	}
	for _, piece := range strings.Split(content.known(), `"`) {
		if strings.ContainsAny(piece, " /") && !strings.Contains(piece, "\n") {
			s.isolated(func() { s.suspiciousRun(piece, at) })
		}
	}
}

// homeOptions denies what package managers keep outside the workspace.
func (s *shell) homeOptions(name string, argv []arg) {
	words := []string{}
	global := false
	for _, a := range argv[1:] {
		v := a.known()
		if !strings.HasPrefix(v, "-") {
			words = append(words, v)
		}
		switch v {
		case "-g", "--global", "--location=global", "--location=user", "-ig":
			global = true
		}
	}
	line := strings.Join(words, " ") + " "
	if global && !strings.HasPrefix(line, "ls ") && !strings.HasPrefix(line, "list ") &&
		!strings.HasPrefix(line, "root ") && !strings.HasPrefix(line, "prefix ") && !strings.HasPrefix(line, "outdated ") &&
		!strings.HasPrefix(line, "config get") && !strings.HasPrefix(line, "bin ") {
		s.homeConfig(argv)
	}
	for _, prefix := range []string{"config set ", "config delete ", "config edit ", "set ", "login ", "adduser ",
		"logout ", "global ", "link ", "unlink "} {
		if !strings.HasPrefix(line, prefix) || name == "pnpm" && prefix == "link " && len(words) > 1 &&
			strings.HasPrefix(words[1], ".") {
			continue
		}
		if prefix == "config set " && strings.Contains(cover(argv).known(), "--location=project") || prefix == "global " &&
			name != "yarn" {
			continue
		}
		s.homeConfig(argv)
	}
}

// runOperands reads scripts and sources among the operands that this very
// command has written: running or compiling them is running their text.
func (s *shell) runOperands(argv []arg) {
	for _, a := range argv[1:] {
		v, ok := a.literal()
		if !ok || strings.HasPrefix(v, "-") {
			continue
		}
		content, ok := s.sc.files[s.absolute(v)]
		if !ok {
			continue
		}
		switch ext := path.Ext(v); ext {
		case ".sh", ".bash":
			s.isolated(func() { s.runText(content, a, "a script") })
		default:
			if lang := languageOf(ext); lang != "" {
				s.code(lang, content, a, nil)
			}
		}
	}
}

// runFile runs a script that this command has written, by its first line.
func (s *shell) runFile(content text, argv []arg) {
	first, _, _ := strings.Cut(content.known(), "\n")
	lang := "shell"
	if program, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(program)
		for len(words) > 1 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		if len(words) > 0 {
			lang = interpreterOf(path.Base(words[0]))
		}
	}
	if lang != "shell" {
		s.code(lang, content, argv[0], texts(argv[1:]))
		return
	}
	s.isolated(func() {
		s.sc.self, s.sc.params = argv[0].text, texts(argv[1:])
		s.runText(content, argv[0], "a script")
	})
}
