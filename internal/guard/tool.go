package guard

import (
	"strings"
)

// runTool handles the programs whose arguments need to be understood.
func (s *shell) runTool(name string, argv []arg) bool {
	if s.systemTool(name, argv) {
		return true
	}
	args := argv[1:]
	switch familyOf(name, toolRow) {
	case "git":
		s.git(argv)
	case "cp":
		s.copy(name, args)
	case "mv":
		s.move(args)
	case "ln":
		s.link(args)
	case "rm":
		s.remove(args)
	case "mkdir":
		s.mkdir(args)
	case "chmod":
		s.change(args)
	case "touch":
		s.touch(name, argv)
	case "dd":
		s.dd(args)
	case "rsync":
		s.rsync(argv)
	case "scp":
		s.scp(argv)
	case "tar":
		s.tar(argv)
	case "zip":
		s.zip(argv)
	case "unzip":
		s.unzip(argv)
	case "ssh-agent":
		s.settings(argv)
	case "bazel":
		s.labels(argv)
	case "sed":
		s.sed(argv)
	case "make":
		s.make(argv)
	default:
		return s.runService(name, argv)
	}
	return true
}

// runService handles programs that build, talk to services or run text.
func (s *shell) runService(name string, argv []arg) bool {
	switch familyOf(name, toolRow) {
	case "docker":
		s.container(argv)
	case "curl":
		s.download(name, argv)
	case "gcc":
		s.compiler(argv)
	case "go":
		s.golang(argv)
	case "cargo":
		s.cargo(argv)
	case "vim":
		s.editor(name, argv)
	case "sqlite3":
		s.database(name, argv)
	case "kill":
		s.kill(argv)
	case "dc":
		s.calculator(argv)
	case "fuser":
		if parseOptions(argv[1:], "nM", "--namespace").has("-k", "--kill") {
			for _, a := range argv[1:] {
				s.loose(a)
			}
		}
		s.print(unknown(dynamic))
	case "patch":
		s.patch(name, argv)
	case "kubectl":
		s.kubectl(argv)
	case "gh":
		s.client(name, argv)
	default:
		return s.reader(name, argv)
	}
	return true
}

// reader handles programs that only read, but for the options that write.
func (s *shell) reader(name string, argv []arg) bool {
	args := argv[1:]
	if !readsOnly(name) && s.printed(name, argv) {
		for _, a := range args {
			if name == "tee" {
				s.operand(a)
			}
		}
		if name != "yq" && name != "dasel" && name != "sd" {
			if name == "gzip" || name == "gunzip" || name == "bzip2" || name == "xz" || name == "zstd" || name == "openssl" ||
				name == "gpg" {
				s.compress(name, args)
			}
			return true
		}
	}
	switch name {
	case "yq", "dasel":
		o := parseOptions(args, "")
		if o.has("-i", "--inplace", "--in-place", "-w", "--write") {
			for _, a := range o.operands {
				s.operand(a)
			}
		}
		s.print(unknown(dynamic))
		return true
	}
	if !readsOnly(name) {
		return false
	}
	s.readerOptions(name, argv)
	if !s.printed(name, argv) {
		s.print(unknown(dynamic))
	}
	return true
}

// readerOptions judges the options by which such programs write or run.
func (s *shell) readerOptions(name string, argv []arg) {
	args := argv[1:]
	switch name {
	case "sort", "iconv", "msgcat", "shuf", "tree":
		o := parseOptions(args, "okStTfP", "--output", "--compress-program")
		for _, a := range o.values("-o", "--output") {
			s.check(opWrite, a)
		}
		for _, a := range o.values("--compress-program") {
			s.run([]arg{a})
		}
	case "uniq", "xxd":
		if ops := parseOptions(args, "fswlcs").operands; len(ops) > 1 {
			s.check(opWrite, ops[1])
		}
	case "rg":
		for _, a := range parseOptions(args, "efgtT", "--pre").values("--pre") {
			s.suspicious(a)
			s.run([]arg{a})
		}
	case "date":
		if parseOptions(args, "s", "--set").has("-s", "--set") {
			s.deny(RuleSystem, cover(argv), "", "setting the clock alters the system", "leave it out")
		}
	case "less", "man", "more", "most":
		s.awaits(argv[0], name)
		for _, a := range parseOptions(args, "oOP", "--log-file").values("-o", "-O", "--log-file", "-P") {
			if strings.Contains(a.known(), " ") {
				s.isolated(func() { s.runText(a.text, a, name) })
			} else {
				s.check(opWrite, a)
			}
		}
	}
}

// calculator finds the commands that a program of dc runs.
func (s *shell) calculator(argv []arg) {
	program := joinArgs(argv[1:])
	if s.sc.stdin != nil {
		program = program.with(seg{literal, "\n"}).with(s.sc.stdin.text...)
	} else if len(argv) == 1 {
		s.awaits(argv[0], "dc")
	}
	for _, line := range strings.Split(program.known(), "\n") {
		if _, command, ok := strings.Cut(line, "!"); ok && !strings.ContainsAny(command[:min(1, len(command))], "<>=") {
			s.isolated(func() { s.runText(lit(command), cover(argv), "dc") })
		}
	}
	s.print(unknown(dynamic))
}

// compress handles filters that replace their operand unless told to print.
func (s *shell) compress(name string, args []arg) {
	o := parseOptions(args, "oSuicCr", "--output", "-out", "-in", "-keyout", "-CAcreateserial")
	for _, a := range o.values("-o", "--output", "-out", "-keyout") {
		s.check(opWrite, a)
	}
	if name == "zstd" && o.has("-o", "--output") && !o.has("--rm") || name == "openssl" || name == "gpg" ||
		o.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test") {
		return
	}
	for _, a := range o.operands {
		s.operand(a)
	}
}
