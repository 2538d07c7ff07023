package program

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// runTool handles the programs whose arguments need to be understood.
func (s *Judge) runTool(name string, argv []arg) bool {
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
func (s *Judge) runService(name string, argv []arg) bool {
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
		if word.Parse(argv[1:], "nM", "--namespace").Has("-k", "--kill") {
			for _, a := range argv[1:] {
				s.Loose(a)
			}
		}
		s.Print(word.Unknown(word.Dynamic))
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
func (s *Judge) reader(name string, argv []arg) bool {
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
		o := word.Parse(args, "")
		if o.Has("-i", "--inplace", "--in-place", "-w", "--write") {
			for _, a := range o.Operands {
				s.operand(a)
			}
		}
		s.Print(word.Unknown(word.Dynamic))
		return true
	}
	if !readsOnly(name) {
		return false
	}
	s.readerOptions(name, argv)
	if !s.printed(name, argv) {
		s.Print(word.Unknown(word.Dynamic))
	}
	return true
}

// readerOptions judges the options by which such programs write or run.
func (s *Judge) readerOptions(name string, argv []arg) {
	args := argv[1:]
	switch name {
	case "sort", "iconv", "msgcat", "shuf", "tree":
		o := word.Parse(args, "okStTfP", "--output", "--compress-program")
		for _, a := range o.Values("-o", "--output") {
			s.Check(land.Write, a)
		}
		for _, a := range o.Values("--compress-program") {
			s.Exec([]arg{a})
		}
	case "uniq", "xxd":
		if ops := word.Parse(args, "fswlcs").Operands; len(ops) > 1 {
			s.Check(land.Write, ops[1])
		}
	case "rg":
		for _, a := range word.Parse(args, "efgtT", "--pre").Values("--pre") {
			s.Suspicious(a)
			s.Exec([]arg{a})
		}
	case "date":
		if word.Parse(args, "s", "--set").Has("-s", "--set") {
			s.Deny(verdict.RuleSystem, word.Cover(argv), "", "setting the clock alters the system", "leave it out")
		}
	case "less", "man", "more", "most":
		s.Awaits(argv[0], name)
		for _, a := range word.Parse(args, "oOP", "--log-file").Values("-o", "-O", "--log-file", "-P") {
			if strings.Contains(a.Known(), " ") {
				s.Isolated(func() { s.RunText(a.Text, a, name) })
			} else {
				s.Check(land.Write, a)
			}
		}
	}
}

// calculator finds the commands that a program of dc runs.
func (s *Judge) calculator(argv []arg) {
	prog := word.JoinArgs(argv[1:])
	if s.Stdin != nil {
		prog = prog.Plus("\n").With(s.Stdin.Text...)
	} else if len(argv) == 1 {
		s.Awaits(argv[0], "dc")
	}
	for _, line := range strings.Split(prog.Known(), "\n") {
		if _, command, ok := strings.Cut(line, "!"); ok && !strings.ContainsAny(command[:min(1, len(command))], "<>=") {
			s.Isolated(func() { s.RunText(word.Lit(command), word.Cover(argv), "dc") })
		}
	}
	s.Print(word.Unknown(word.Dynamic))
}

// compress handles filters that replace their operand unless told to print.
func (s *Judge) compress(name string, args []arg) {
	o := word.Parse(args, "oSuicCr", "--output", "-out", "-in", "-keyout", "-CAcreateserial")
	for _, a := range o.Values("-o", "--output", "-out", "-keyout") {
		s.Check(land.Write, a)
	}
	if name == "zstd" && o.Has("-o", "--output") && !o.Has("--rm") || name == "openssl" || name == "gpg" ||
		o.Has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test") {
		return
	}
	for _, a := range o.Operands {
		s.operand(a)
	}
}
