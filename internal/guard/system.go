package guard

import "strings"

// systemTool denies what alters the machine rather than the workspace, and
// lets the forms through that only look.
func (s *shell) systemTool(name string, argv []arg) bool {
	first := ""
	for _, a := range argv[1:] {
		if !strings.HasPrefix(a.prefix(), "-") {
			first = a.known()
			break
		}
	}
	looks := func(words ...string) bool { return first == "" || contains(words, first) }
	switch familyOf(name, systemRow) {
	case "apt":
		if looks("list", "show", "search", "info", "policy", "depends", "--version", "outdated", "config", "doctor", "help",
			"leaves", "deps", "--prefix", "madison") {
			break
		}
		s.denySystem(argv)
	case "dpkg":
		o := parseOptions(argv[1:], "")
		if o.has("-i", "-U", "-e", "-r", "-P", "--install", "--remove", "--purge", "--erase", "--upgrade") {
			s.denySystem(argv)
		}
		return false
	case "systemctl":
		if looks("status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "cat", "list", "print",
			"is-failed") || strings.Contains(cover(argv).known(), " status") {
			break
		}
		s.denySystem(argv)
	case "crontab":
		if parseOptions(argv[1:], "u").has("-l") {
			break
		}
		s.denySystem(argv)
	case "sysctl":
		if parseOptions(argv[1:], "").has("-w", "--write", "-p", "--load") || strings.Contains(cover(argv).known(), "=") {
			s.denySystem(argv)
		}
		return false
	case "mount":
		if len(parseOptions(argv[1:], "to").operands) == 0 {
			return false
		}
		s.denyMount(argv)
	case "umount":
		s.denyMount(argv)
	default:
		return s.machineTool(name, first, argv)
	}
	s.print(unknown(dynamic))
	return true
}

// machineTool handles tools for users, devices and settings.
func (s *shell) machineTool(name, first string, argv []arg) bool {
	looks := func(words ...string) bool { return first == "" || contains(words, first) }
	switch familyOf(name, systemRow) {
	case "useradd":
		if name == "ldconfig" && parseOptions(argv[1:], "").has("-p") {
			break
		}
		s.denySystem(argv)
	case "defaults":
		if looks("read", "get", "list", "list-keys", "list-schemas", "query", "dump") {
			break
		}
		s.homeConfig(argv)
	case "pip":
		s.homeTool(name, first, argv)
		return false
	default:
		return false
	}
	s.print(unknown(dynamic))
	return true
}

// homeTool denies those uses of a tool that write its settings in the home.
func (s *shell) homeTool(name, first string, argv []arg) {
	line := cover(argv[1:]).known() + " "
	o := parseOptions(argv[1:], "ftbCNP")
	writes := false
	switch name {
	case "pip", "pip3":
		writes = first == "config" && (strings.Contains(line, "config set") || strings.Contains(line, "config unset") ||
			strings.Contains(line, "config edit")) || o.has("--user", "--break-system-packages")
	case "poetry", "conda", "opam":
		writes = first == "config" && len(o.operands) > 2 && !o.has("--local", "--list", "--show")
	case "composer", "bundle":
		writes = first == "global" || first == "config" && o.has("-g", "--global")
	case "helm":
		writes = first == "repo" && !strings.Contains(line, "list") || first == "plugin" && !strings.Contains(line, "list")
	case "terraform":
		writes = first == "login" || first == "logout"
	case "ssh-keygen":
		writes = len(o.values("-f")) == 0 && !o.has("-l", "-y", "-F")
	case "ssh-copy-id":
		writes = true
	case "code", "codium":
		writes = strings.Contains(line, "--install-extension") || strings.Contains(line, "--uninstall-extension")
	}
	if writes {
		s.homeConfig(argv)
	}
}

func (s *shell) denySystem(argv []arg) {
	s.deny(RuleSystem, cover(argv), "", argv[0].String()+" would alter the system outside the workspace",
		"work with what is installed, below "+s.land.workspace)
}

func (s *shell) denyMount(argv []arg) {
	s.deny(RuleLink, cover(argv), "", argv[0].String()+" would change what the workspace is made of",
		"work in the workspace as it is")
}

// homeConfig denies a tool's own settings outside the workspace. Where the
// home itself may be written, as in a box of its own, so may they.
func (s *shell) homeConfig(argv []arg) {
	home := lit(s.land.home)
	if v, ok := s.sc.vars["HOME"]; ok && len(v.alts) > 0 {
		home = v.alts[0]
	}
	where, abs := s.locate(home, s.sc.dirs[0], false)
	if where.writable() && len(home) > 0 {
		return
	}
	s.deny(RuleHomeConfig, cover(argv), abs, "this changes settings outside the workspace",
		"use settings in the project, or options for this one call")
}

// runSelf denies starting agents and changing the guard through its own
// command.
func (s *shell) runSelf(name string, argv []arg) bool {
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i] // package@version
	}
	switch {
	case contains(guardPrograms(), name):
		s.guardCommand(argv)
	case contains(agentPrograms(), name):
		s.agentCommand(name, argv)
	default:
		return false
	}
	s.print(unknown(dynamic))
	return true
}

func (s *shell) guardCommand(argv []arg) {
	words := strings.Fields(cover(argv[1:]).known())
	line := strings.Join(words, " ") + " "
	for _, harmless := range []string{"guard check ", "guard doctor ", "guard log ", "guard env ", "guard hook ",
		"version ", "--version ", "-v ", "help ", "--help ", "-h ", "box list ", "box status ", "guard --help "} {
		if strings.HasPrefix(line, harmless) {
			return
		}
	}
	if len(words) == 0 || words[len(words)-1] == "--help" {
		return
	}
	s.deny(RuleSelf, cover(argv), "", "this command would change the guard or its boxes from inside",
		"leave that to the user")
}

func (s *shell) agentCommand(name string, argv []arg) {
	if len(argv) == 2 {
		switch argv[1].known() {
		case "--version", "-v", "-V", "--help", "-h", "help", "doctor":
			return
		}
	}
	if name == "pi" && (len(argv) == 1 || !strings.HasPrefix(argv[1].prefix(), "-")) {
		s.generic(argv) // a short name that other programs have too
		return
	}
	s.deny(RuleAgent, cover(argv), "", name+" would start an agent or change its settings outside this guard",
		"do the work in this session")
}

// kill denies ending the guard, the agent or everything.
func (s *shell) kill(argv []arg) {
	name := argv[0].known()
	for i, a := range argv[1:] {
		if s.sought && a.worst() >= dynamic {
			s.deny(RuleSelf, a, "", "this may end a process of the guard or the agent", "end only processes that you started")
		}
		v := a.known()
		for _, word := range a.split(" \n\t|") {
			w := strings.Trim(word.known(), `^$"'.*[]()\`)
			if contains(guardPrograms(), w) || contains(agentPrograms(), w) || strings.HasPrefix(w, "cco-") ||
				strings.HasPrefix(w, "cco guard") {
				s.deny(RuleSelf, a, "", "this would end a process of the guard or the agent", "end only processes that you started")
			}
		}
		everything := v == "1" || v == "-1" || v == "$PPID" || v == "0"
		if everything && !strings.HasSuffix(name, "killall") && (i > 0 || v != "-1") && !argv[i].is("-s") &&
			!argv[i].is("-n") {
			s.deny(RuleSelf, a, "", "this would end processes that are not yours", "end only processes that you started")
		}
	}
}
