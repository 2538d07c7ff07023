package guard

import (
	"path"
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
	switch name {
	case "sort", "iconv", "msgcat", "shuf", "tree":
		for _, a := range parseOptions(args, "okStTfP", "--output").values("-o", "--output") {
			s.check(opWrite, a)
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
	case "less", "man", "more":
		for _, a := range parseOptions(args, "oOP", "--log-file").values("-o", "-O", "--log-file", "-P") {
			if strings.Contains(a.known(), " ") {
				s.isolated(func() { s.runText(a.text, a, name) })
			} else {
				s.check(opWrite, a)
			}
		}
	}
	if !s.printed(name, argv) {
		s.print(unknown(dynamic))
	}
	return true
}

// compress handles filters that replace their operand unless told to print.
func (s *shell) compress(name string, args []arg) {
	o := parseOptions(args, "oSuicCr", "--output", "-out", "-in", "-keyout", "-CAcreateserial")
	for _, a := range o.values("-o", "--output", "-out", "-keyout") {
		s.check(opWrite, a)
	}
	if name == "openssl" || name == "gpg" || o.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test") {
		return
	}
	for _, a := range o.operands {
		s.operand(a)
	}
}

func (s *shell) copy(name string, args []arg) {
	o := parseOptions(args, "tSmgo", "--target-directory", "--suffix", "--mode", "--group", "--owner")
	targets := o.values("-t", "--target-directory")
	sources := o.operands
	switch {
	case name == "install" && o.has("-d", "--directory"):
		targets, sources = o.operands, nil
	case len(targets) == 0 && len(sources) > 0:
		targets, sources = sources[len(sources)-1:], sources[:len(sources)-1]
	}
	linked := name != "install" && o.has("-l", "--link", "-s", "--symbolic-link")
	for _, a := range sources {
		if linked {
			s.check(opLinkTo, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
		}
	}
	for _, a := range targets {
		s.check(opWrite, a)
		for _, source := range sources {
			if source.worst() == matched || strings.HasSuffix(source.known(), "/.") {
				s.fills(a)
			}
		}
	}
	s.carry(sources, targets)
}

// intoDirectory checks where a source lands if the target is a directory:
// copying settings.json into .claude writes .claude/settings.json.
func (s *shell) intoDirectory(target, source arg) {
	v, ok := source.literal()
	if !ok {
		return
	}
	s.check(opWrite, arg{target.with(seg{literal, "/" + path.Base(v)}), target.start, target.end})
}

// carry takes the content of a written script along to its copy.
func (s *shell) carry(sources, targets []arg) {
	if len(sources) != 1 || len(targets) != 1 {
		return
	}
	from, ok1 := sources[0].literal()
	to, ok2 := targets[0].literal()
	if !ok1 || !ok2 {
		return
	}
	if content, ok := s.sc.files[s.absolute(from)]; ok {
		s.sc.files[s.absolute(to)] = content
		s.sc.files[s.absolute(path.Join(to, path.Base(from)))] = content
	}
}

func (s *shell) move(args []arg) {
	o := parseOptions(args, "tS", "--target-directory", "--suffix")
	targets := o.values("-t", "--target-directory")
	sources := o.operands
	if len(targets) == 0 && len(sources) > 0 {
		targets, sources = sources[len(sources)-1:], sources[:len(sources)-1]
	}
	for _, a := range sources {
		if a.first() < environ || a.worst() == hidden { // a variable is data here, as in mv "$f" "$f.bak"
			s.check(opRemove, a)
		}
		for _, t := range targets {
			s.intoDirectory(t, a)
		}
	}
	for _, a := range targets {
		s.check(opWrite, a)
		if where, abs := s.locate(a.text, s.sc.dirs[0], false); where.writable() && s.land.isProtected(abs, true) && !within(s.land.workspace, abs) {
			s.refuse(opWrite, a, placeProtected, abs) // moving something into the place of .claude
		}
	}
	s.carry(sources, targets)
}

// link denies links whose target lies outside, seen from where the link is.
func (s *shell) link(args []arg) {
	o := parseOptions(args, "tS", "--target-directory", "--suffix")
	targets := o.operands
	var place arg
	switch vs := o.values("-t", "--target-directory"); {
	case len(vs) > 0:
		place = vs[0]
	case len(targets) > 1:
		place, targets = targets[len(targets)-1], targets[:len(targets)-1]
	default:
		place = arg{lit("."), 0, 0}
	}
	s.check(opWrite, place)
	dir := s.sc.dirs[0]
	if v, ok := place.literal(); ok && o.has("-s", "--symbolic") && !o.has("-r", "--relative") {
		at := s.absolute(v)
		if e, _ := s.land.lookup(at); e == EntryDir || strings.HasSuffix(v, "/") || v == "." || s.sc.made[at] || len(targets) > 1 {
			dir = at
		} else {
			dir = path.Dir(at)
		}
	}
	for _, a := range targets {
		if where, abs := s.locate(a.text, dir, false); !where.writable() && where != placeProtected || where == placeUnknown {
			if where == placeUnknown && a.worst() < hidden && a.first() != dynamic {
				continue
			}
			s.refuse(opLinkTo, a, where, abs)
		}
		s.intoDirectory(place, a)
		if v, ok := a.literal(); ok {
			s.remember(place, v, dir)
		}
	}
}

// remember keeps in mind that a link was made, by refusing nothing but
// carrying written content along.
func (s *shell) remember(place arg, target, dir string) {
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	if content, ok := s.sc.files[target]; ok {
		if v, ok := place.literal(); ok {
			s.sc.files[s.absolute(v)] = content
		}
	}
}

func (s *shell) remove(args []arg) {
	o := parseOptions(args, "nsg", "--random-source", "--size", "--iterations", "--glob")
	for _, a := range o.operands {
		s.check(opRemove, a)
	}
}

func (s *shell) mkdir(args []arg) {
	o := parseOptions(args, "mZ", "--mode", "--context")
	for _, a := range o.operands {
		s.check(opWrite, a)
		if v, ok := a.literal(); ok {
			abs := s.absolute(v)
			for dir := abs; dir != "/" && dir != "." && withinAny(dir, s.land.own); dir = path.Dir(dir) {
				s.sc.made[dir] = true
			}
			s.sc.made[abs] = true
		}
	}
}

// change checks the files of chmod and chown, whose first operand is a mode.
func (s *shell) change(args []arg) {
	var o options
	byReference := false
	for _, a := range args {
		v := a.prefix()
		byReference = byReference || strings.HasPrefix(v, "--reference")
		if strings.HasPrefix(v, "--reference=") || strings.HasPrefix(v, "-") && strings.Trim(v, "-rwxXstugo+,=") != "" {
			o.flags = append(o.flags, flag{name: v})
			continue
		}
		o.operands = append(o.operands, a)
	}
	if len(o.operands) == 0 {
		return
	}
	for i, a := range o.operands {
		if i == 0 && !byReference {
			continue
		}
		s.check(opWrite, a)
		if where, abs := s.locate(a.text, s.sc.dirs[0], false); where.writable() && s.isSettingsDir(abs) {
			s.refuse(opWrite, a, placeProtected, abs)
		}
	}
}

// isSettingsDir says that a directory directly holds guarded files.
func (s *shell) isSettingsDir(abs string) bool {
	for _, p := range s.land.protected {
		if path.Dir(p) == abs && !within(s.land.workspace, abs) && abs != s.land.home {
			return true
		}
	}
	return false
}

// fills denies putting whatever a tree or archive holds into a directory with
// guarded files.
func (s *shell) fills(target arg) {
	if where, abs := s.locate(target.text, s.sc.dirs[0], false); where.writable() && s.isSettingsDir(abs) {
		s.refuse(opWrite, target, placeProtected, abs)
	}
}

func (s *shell) touch(name string, argv []arg) {
	o := parseOptions(argv[1:], "rdtsolm", "--reference", "--date", "--time", "--size", "--mode")
	for _, a := range o.operands {
		s.operand(a)
	}
	if name == "tee" || name == "sponge" {
		s.printed("tee", argv)
	}
}

func (s *shell) dd(args []arg) {
	for _, a := range args {
		if strings.HasPrefix(a.prefix(), "of=") {
			s.check(opRedirect, arg{a.cut(3), a.start, a.end})
		}
	}
	s.print(s.decoded("dd"))
}

func (s *shell) rsync(argv []arg) {
	o := parseOptions(argv[1:], "eTBfM", "--rsh", "--rsync-path", "--log-file", "--backup-dir", "--partial-dir", "--temp-dir", "--exclude", "--include", "--files-from", "--exclude-from", "--compare-dest", "--link-dest", "--write-batch")
	for _, a := range o.values("-e", "--rsh", "--rsync-path") {
		s.isolated(func() { s.runText(a.text, a, "rsync") })
	}
	for _, a := range o.values("--log-file", "--backup-dir", "--partial-dir", "-T", "--temp-dir", "--write-batch") {
		s.check(opWrite, a)
	}
	s.lastWritten(o)
	if n := len(o.operands); n > 1 && (o.has("--delete", "--del") || strings.HasSuffix(o.operands[0].known(), "/")) {
		s.fills(o.operands[n-1])
	}
}

// lastWritten checks the last operand as a place to be written, and the
// others too if the options say that sources are removed.
func (s *shell) lastWritten(o options) {
	n := len(o.operands)
	if n == 0 {
		return
	}
	if o.has("--remove-source-files") {
		for _, a := range o.operands[:n-1] {
			s.check(opRemove, a)
		}
	}
	if last := o.operands[n-1]; n > 1 && (pathLike(last.text) || last.first() != literal) {
		s.check(opWrite, last)
		for _, a := range o.operands[:n-1] {
			s.intoDirectory(last, a)
		}
	}
}

func (s *shell) scp(argv []arg) {
	o := parseOptions(argv[1:], "cDFiJloPSX")
	for _, a := range o.values("-S") {
		s.isolated(func() { s.runText(a.text, a, "scp") })
	}
	s.lastWritten(o)
}
