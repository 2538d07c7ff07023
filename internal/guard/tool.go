package guard

import (
	"strings"
)

// readsOnly names programs whose operands are only read or are no paths.
func readsOnly(name string) bool {
	switch name {
	case "cat", "ls", "dir", "vdir", "head", "tail", "less", "more", "most", "wc", "stat", "file", "diff", "cmp", "comm", "join",
		"paste", "cut", "tr", "od", "hexdump", "strings", "nm", "objdump", "readelf", "ldd", "size", "which", "whereis",
		"basename", "dirname", "realpath", "readlink", "pwd", "printenv", "id", "whoami", "who", "w", "groups", "hostname", "uname", "date",
		"cal", "uptime", "df", "du", "free", "ps", "top", "htop", "lsof", "pgrep", "pidof", "man", "info", "apropos", "whatis", "tree",
		"locate", "rg", "ag", "ack", "jq", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum",
		"cksum", "sum", "shasum", "md5", "column", "fold", "fmt", "nl", "tac", "rev", "expand", "unexpand", "seq", "sleep", "tput", "tty",
		"stty", "locale", "getconf", "lscpu", "lsblk", "lspci", "lsusb", "lsmod", "ss", "netstat", "ping", "dig", "nslookup", "host",
		"traceroute", "nproc", "arch", "zcat", "bzcat", "xzcat", "zgrep", "zless", "bat", "batcat", "exa", "eza", "lsd", "hexyl", "cloc", "tokei",
		"scc", "shellcheck", "grep", "egrep", "fgrep", "test", "[", "true", "false", "yes", "env", "getent", "tsort", "factor",
		"numfmt", "pr", "uuidgen", "nc", "vmstat", "iostat", "mpstat", "dmesg", "journalctl", "last", "ipcs", "pstree", "fuser", "cmake-lint",
		"base32", "base64", "zipinfo", "ffprobe", "identify", "exiftool", "mediainfo", "sw_vers", "sysctl", "logname", "users", "tldr", "diffstat", "colordiff", "delta",
		"difft", "xxd", "uniq", "iconv", "sort", "sha3sum", "tokenize", "gettext", "msgcat", "otool", "lipo", "codesign", "vercmp", "dpkg-query", "rpmquery", "rpm", "dpkg", "apt-cache",
		"echo", "printf", "cd", "pushd", "popd", ":", "type", "command", "help", "wslpath", "cygpath", "test-path", "pkg-config", "ldconfig", "lsb_release", "hostnamectl", "timedatectl", "loginctl",
		"whoami.sh", "pygmentize", "zdiff", "sdiff", "vimdiff", "look", "strace-log-merge", "fc-list", "xdpyinfo", "mount", "findmnt", "swapon", "blkid":
		return true
	}
	return false
}

// runTool handles the programs whose arguments need to be understood.
func (s *shell) runTool(name string, argv []arg) bool {
	if s.systemTool(name, argv) {
		return true
	}
	args := argv[1:]
	switch name {
	case "git":
		s.git(argv)
	case "cp", "gcp", "install", "ginstall":
		s.copy(name, args)
	case "mv", "gmv", "rename":
		s.move(args)
	case "ln", "gln", "link", "symlink":
		s.link(args)
	case "rm", "grm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put", "rimraf", "del-cli", "wipe":
		s.remove(args)
	case "mkdir", "gmkdir":
		s.mkdir(args)
	case "chmod", "chown", "chgrp", "gchmod":
		s.change(args)
	case "touch", "truncate", "tee", "mkfifo", "mknod", "sponge", "fallocate":
		s.touch(name, argv)
	case "dd":
		s.dd(args)
	case "rsync":
		s.rsync(argv)
	case "scp", "sftp":
		s.scp(argv)
	case "tar", "gtar", "bsdtar":
		s.tar(argv)
	case "zip":
		s.zip(argv)
	case "unzip", "bsdunzip":
		s.unzip(argv)
	case "ssh-agent", "dircolors", "lesspipe", "opam", "fnm", "starship", "zoxide", "luarocks", "minikube", "thefuck", "keychain":
		s.settings(argv)
	case "bazel", "bazelisk", "buck", "buck2", "pants", "plz":
		s.labels(argv)
	case "sed", "gsed":
		s.sed(argv)
	case "make", "gmake", "bmake", "remake":
		s.make(argv)
	default:
		return s.runService(name, argv)
	}
	return true
}

// runService handles programs that build, talk to services or run text.
func (s *shell) runService(name string, argv []arg) bool {
	switch name {
	case "docker", "podman", "nerdctl":
		s.container(argv)
	case "curl", "wget", "aria2c":
		s.download(name, argv)
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "tcc":
		s.compiler(argv)
	case "go":
		s.golang(argv)
	case "cargo":
		s.cargo(argv)
	case "vim", "vi", "nvim", "ex", "view", "gvim", "ed", "emacs", "emacsclient", "nano", "kak", "hx":
		s.editor(name, argv)
	case "sqlite3", "psql", "mysql", "mariadb", "duckdb":
		s.database(name, argv)
	case "kill", "pkill", "killall", "skill":
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
	case "patch", "apply_patch":
		s.patch(name, argv)
	case "kubectl", "oc":
		s.kubectl(argv)
	case "gh", "glab", "aws", "gcloud", "az", "http", "https", "httpie", "redis-cli", "ab", "hey", "wrk", "vegeta", "logger", "notify-send":
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
			if name == "gzip" || name == "gunzip" || name == "bzip2" || name == "xz" || name == "zstd" || name == "openssl" || name == "gpg" {
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
	if name == "zstd" && o.has("-o", "--output") && !o.has("--rm") || name == "openssl" || name == "gpg" || o.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test") {
		return
	}
	for _, a := range o.operands {
		s.operand(a)
	}
}
