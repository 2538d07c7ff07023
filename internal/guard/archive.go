package guard

import "strings"

// tar reads or writes by its mode, and runs programs by several options.
func (s *shell) tar(argv []arg) {
	args := argv[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0].prefix(), "-") && args[0].prefix() != "" {
		args = oldTarStyle(args)
	}
	o := parseOptions(args, "fCTXIbgHVKNFL", "--file", "--directory", "--files-from", "--exclude", "--exclude-from",
		"--use-compress-program",
		"--to-command", "--checkpoint-action", "--rsh-command", "--info-script", "--new-volume-script", "--transform",
		"--one-top-level", "--owner", "--group", "--mtime")
	for _, a := range o.values("-I", "--use-compress-program", "--to-command", "--rsh-command", "-F", "--info-script",
		"--new-volume-script") {
		s.isolated(func() { s.runText(a.text, a, "tar") })
	}
	for _, a := range o.values("--checkpoint-action") {
		if rest, ok := strings.CutPrefix(a.prefix(), "exec="); ok {
			s.isolated(func() { s.runText(lit(rest).with(a.text[1:]...), a, "tar") })
		}
	}
	extracts := o.has("-x", "--extract", "--get")
	creates := o.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--concatenate")
	if extracts && o.has("-P", "--absolute-names") {
		s.deny(RuleWrite, cover(argv), "", "tar -P writes absolute names from the archive", "extract without -P")
	}
	if creates {
		for _, a := range o.values("-f", "--file") {
			if pathLike(a.text) && !a.is("-") {
				s.check(opWrite, a)
			}
		}
	}
	if o.has("--remove-files") {
		for _, a := range append(o.operands, o.values("-C", "--directory")...) {
			s.check(opRemove, a)
		}
	}
	if extracts {
		for _, a := range o.values("-C", "--directory", "--one-top-level") {
			s.check(opWrite, a)
			s.fills(a)
		}
		for _, a := range o.operands { // members that overwrite guarded files
			s.check(opWrite, a)
		}
	}
	s.print(unknown(dynamic))
}

// oldTarStyle gives the first argument of tar its dash and moves values after
// the letters that take them.
func oldTarStyle(args []arg) []arg {
	letters := args[0].prefix()
	rest := args[1:]
	var out []arg
	for i := range len(letters) {
		out = append(out, arg{lit("-" + letters[i:i+1]), args[0].start, args[0].end})
		if strings.IndexByte("fCTXbHVKNgIFL", letters[i]) >= 0 && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

func (s *shell) zip(argv []arg) {
	o := parseOptions(argv[1:], "bnPtxisO", "-TT", "--unzip-command", "-tt", "-ws", "--out", "--temp-path")
	for _, a := range o.values("-TT", "--unzip-command") {
		s.isolated(func() { s.runText(a.text, a, "zip") })
	}
	for _, a := range o.values("-O", "--out", "-b", "--temp-path") {
		s.check(opWrite, a)
	}
	if len(o.operands) > 0 {
		s.check(opWrite, o.operands[0])
	}
	if o.has("-m", "--move") {
		for _, a := range o.operands[min(1, len(o.operands)):] {
			s.check(opRemove, a)
		}
	}
}

// unzip reads its archive and writes below the current directory or -d.
func (s *shell) unzip(argv []arg) {
	o := parseOptions(argv[1:], "dPx")
	s.print(unknown(dynamic))
	if o.has("-l", "-t", "-p", "-v", "-z", "-Z") {
		return
	}
	if o.has("-:") {
		s.deny(RuleWrite, cover(argv), "", "unzip -: writes names with .. from the archive", "extract without it")
	}
	for _, a := range o.values("-d") {
		s.check(opWrite, a)
		s.fills(a)
	}
	for _, a := range o.operands[min(1, len(o.operands)):] {
		s.operand(a)
	}
}

// labels handles build tools whose targets look like //path:name.
func (s *shell) labels(argv []arg) {
	var rest []arg
	for _, a := range argv {
		if !strings.HasPrefix(a.prefix(), "//") && !strings.HasPrefix(a.prefix(), "-//") &&
			!strings.HasPrefix(a.prefix(), "@") {
			rest = append(rest, a)
		}
	}
	s.generic(rest)
}

// download writes what it fetches to the file it is told.
func (s *shell) download(name string, argv []arg) {
	valued, long := "oDcKTduHAebFXrmYyzUxEtQPwC", []string{"--output", "--output-dir", "--dump-header", "--cookie-jar",
		"--trace", "--trace-ascii", "--stderr", "--data", "--header", "--request", "--user", "--write-out", "--form",
		"--etag-save", "--hsts", "--alt-svc", "--config", "--upload-file", "--url", "--data-binary", "--data-raw", "--cacert",
		"--cert", "--key", "--libcurl"}
	writes := []string{"-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace",
		"--trace-ascii", "--stderr", "--etag-save", "--hsts", "--alt-svc", "--libcurl"}
	if name == "wget" {
		valued, long = "OPoaiUtTQwelADRB", []string{"--output-document", "--directory-prefix", "--output-file",
			"--append-output", "--header", "--post-data", "--user", "--password", "--save-cookies", "--warc-file", "--execute",
			"--use-askpass"}
		writes = []string{"-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file", "-a",
			"--append-output", "--save-cookies", "--warc-file"}
	}
	if name == "aria2c" {
		valued, writes = "dolij", []string{"-d", "-o", "-l", "--dir", "--out", "--log"}
	}
	o := parseOptions(argv[1:], valued, long...)
	for _, a := range o.values(writes...) {
		if !a.is("-") {
			s.check(opWrite, a)
		}
	}
	for _, a := range o.values("--use-askpass") {
		s.run([]arg{a})
	}
	s.print(unknown(dynamic))
}

// container denies mounts that open a way out and ways into the host's
// namespaces; what runs inside is the container's.
func (s *shell) container(argv []arg) {
	_, rest := leading(argv[1:], "HcDl", []string{"--host", "--context", "--config", "--log-level"})
	s.print(unknown(dynamic))
	if len(rest) == 0 {
		return
	}
	if rest[0].is("container") || rest[0].is("buildx") || rest[0].is("image") {
		if rest = rest[1:]; len(rest) == 0 {
			return
		}
	}
	if rest[0].is("compose") {
		for i, a := range rest {
			if a.is("exec") || a.is("run") {
				rest = rest[:i] // what follows is the container's
				break
			}
		}
	}
	switch sub, _ := rest[0].literal(); sub {
	case "run", "create":
		s.containerRun(rest)
	case "exec":
		if parseOptions(rest[1:], "euw").has("--privileged") {
			s.deny(RuleLink, cover(rest), "", "a privileged container reaches the host", "run it without --privileged")
		}
	case "login", "logout", "context":
		s.homeConfig(argv)
	case "cp":
		for _, a := range parseOptions(rest[1:], "").operands {
			if !strings.Contains(a.known(), ":") {
				s.check(opWrite, a)
			}
		}
	case "ps", "images", "logs", "inspect", "info", "version", "stats", "top", "port", "pull", "push", "tag", "stop",
		"start", "restart", "rm", "rmi", "kill", "wait", "network", "system", "history", "events":
	default:
		for i, a := range rest[1:] {
			switch optionOf(rest, i+1) {
			case "build-arg", "label", "t", "tag", "e", "env", "target", "name", "platform":
				continue // the image's own
			}
			if !readsByOption(rest[i], a) {
				s.loose(a)
			}
		}
	}
}

func (s *shell) containerRun(rest []arg) {
	long := []string{"--volume", "--mount", "--name", "--network", "--net", "--env", "--env-file", "--workdir", "--user",
		"--entrypoint", "--publish", "--platform", "--memory", "--cpus", "--label",
		"--add-host", "--cap-add", "--cap-drop", "--device", "--hostname", "--restart", "--security-opt", "--shm-size",
		"--tmpfs", "--ulimit", "--cidfile", "--pull", "--pid", "--ipc", "--uts", "--userns", "--gpus", "--link", "--expose",
		"--log-driver", "--health-cmd", "--stop-signal", "--volumes-from", "--init-path", "--runtime"}
	o, _ := leading(rest[1:], "vepuwmlhac", long)
	for _, a := range o.values("-v", "--volume") {
		parts := a.split(":")
		if len(parts) > 0 && (strings.ContainsAny(parts[0].prefix(), "/.~") || parts[0].first() != literal) {
			s.mount(arg{parts[0], a.start, a.end})
		}
	}
	for _, a := range o.values("--mount") {
		for _, field := range a.split(",") {
			for _, key := range []string{"src=", "source="} {
				if strings.HasPrefix(field.prefix(), key) && !strings.Contains(a.known(), "type=volume") {
					s.mount(arg{field.cut(len(key)), a.start, a.end})
				}
			}
		}
	}
	for _, a := range o.values("--cidfile") {
		s.check(opWrite, a)
	}
	if o.has("--privileged") || o.has("--device", "--volumes-from") {
		s.deny(RuleLink, cover(rest), "", "this container could reach the host", "run it without host devices and privileges")
	}
	for _, a := range o.values("--pid", "--ipc", "--uts", "--userns", "--cap-add") {
		if a.is("host") || strings.Contains(strings.ToUpper(a.known()), "SYS") || strings.EqualFold(a.known(), "all") {
			s.deny(RuleLink, a, "", "this container could reach the host", "leave "+a.known()+" out")
		}
	}
}

// mount checks what a container would see of this machine.
func (s *shell) mount(a arg) {
	where, abs := s.locate(a.text, s.sc.dirs[0], false)
	if where.writable() || where == placeUnknown && a.worst() < dynamic {
		return
	}
	if where == placeUnknown {
		s.deny(RuleUnknownPath, a, "", "the mount source "+a.String()+" can't be told beforehand", "write it out")
	}
	s.deny(RuleLink, a, abs, "mounting "+clip(abs, 200)+" would open a way out of the workspace",
		"mount a directory below "+s.land.workspace)
}

// kubectl works elsewhere, but for copying.
func (s *shell) kubectl(argv []arg) {
	_, rest := leading(argv[1:], "nfl", []string{"--namespace", "--context", "--kubeconfig"})
	if len(rest) > 0 && rest[0].is("cp") {
		for _, a := range parseOptions(rest[1:], "cn").operands {
			s.operand(a)
		}
	}
	for i, a := range argv[1:] {
		if v, _ := argv[i].literal(); (v == "-o" || v == "--output" || v == "--output-directory" || v == "--dump") &&
			strings.Contains(a.known(), "/") {
			s.check(opWrite, a)
		}
	}
	if len(rest) > 0 && rest[0].is("config") && len(rest) > 1 && (strings.HasPrefix(rest[1].known(), "set") ||
		strings.HasPrefix(rest[1].known(), "use") || strings.HasPrefix(rest[1].known(), "delete")) {
		s.homeConfig(argv)
	}
	s.print(unknown(dynamic))
}

// client talks to a service: its operands are names there, and only options
// that name files matter.
func (s *shell) client(name string, argv []arg) {
	args := argv[1:]
	words := ""
	for _, a := range args {
		if !strings.HasPrefix(a.prefix(), "-") {
			words += a.known() + " "
		}
	}
	for _, w := range []string{"auth login", "auth logout", "auth setup-git", "config set", "alias set",
		"extension install", "configure"} {
		if strings.HasPrefix(words, w) {
			s.homeConfig(argv)
		}
	}
	o := parseOptions(args, "oDORd", "--dir", "--output", "--output-dir", "--destination", "--download-path")
	if name == "gh" || name == "glab" {
		for _, a := range append(o.values("-D", "-O"), o.values("--dir", "--output-dir", "--destination")...) {
			s.check(opWrite, a)
		}
		if strings.HasPrefix(words, "repo clone") || strings.HasPrefix(words, "gist clone") {
			for _, a := range o.operands[min(3, len(o.operands)):] {
				s.loose(a)
			}
		}
		s.print(unknown(dynamic))
		return
	}
	if n := len(o.operands); name == "aws" && n > 0 &&
		(strings.HasPrefix(words, "s3 cp") || strings.HasPrefix(words, "s3 sync")) {
		if last := o.operands[n-1]; !strings.HasPrefix(last.prefix(), "s3:") {
			s.loose(last)
		}
		args = nil
	}
	for _, a := range args {
		if where, _ := s.locate(a.text, s.sc.dirs[0], false); where == placeSystem {
			continue
		}
		if strings.HasPrefix(a.prefix(), "/") || strings.HasPrefix(a.prefix(), "..") || strings.HasPrefix(a.prefix(), "--") {
			s.loose(a)
		}
	}
	s.print(unknown(dynamic))
}
