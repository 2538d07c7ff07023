package program

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// systemTool denies what alters the machine rather than the workspace, and
// lets the forms through that only look.
func (s *Judge) systemTool(name string, argv []arg) bool {
	first := ""
	for _, a := range argv[1:] {
		if !strings.HasPrefix(a.Prefix(), "-") {
			first = a.Known()
			break
		}
	}
	looks := func(words ...string) bool { return first == "" || slices.Contains(words, first) }
	switch familyOf(name, systemRow) {
	case "apt":
		if looks("list", "show", "search", "info", "policy", "depends", "--version", "outdated", "config", "doctor", "help",
			"leaves", "deps", "--prefix", "madison") {
			break
		}
		s.denySystem(argv)
	case "dpkg":
		o := word.Parse(argv[1:], "")
		if o.Has("-i", "-U", "-e", "-r", "-P", "--install", "--remove", "--purge", "--erase", "--upgrade") {
			s.denySystem(argv)
		}
		return false
	case "systemctl":
		if looks("status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "cat", "list", "print",
			"is-failed") || strings.Contains(word.Cover(argv).Known(), " status") {
			break
		}
		s.denySystem(argv)
	case "crontab":
		if word.Parse(argv[1:], "u").Has("-l") {
			break
		}
		s.denySystem(argv)
	case "sysctl":
		if word.Parse(argv[1:], "").Has("-w", "--write", "-p", "--load") || strings.Contains(word.Cover(argv).Known(), "=") {
			s.denySystem(argv)
		}
		return false
	case "mount":
		if len(word.Parse(argv[1:], "to").Operands) == 0 {
			return false
		}
		s.denyMount(argv)
	case "umount":
		s.denyMount(argv)
	default:
		return s.machineTool(name, first, argv)
	}
	s.Print(word.Unknown(word.Dynamic))
	return true
}

// machineTool handles tools for users, devices and settings.
func (s *Judge) machineTool(name, first string, argv []arg) bool {
	looks := func(words ...string) bool { return first == "" || slices.Contains(words, first) }
	switch familyOf(name, systemRow) {
	case "useradd":
		if name == "ldconfig" && word.Parse(argv[1:], "").Has("-p") {
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
	s.Print(word.Unknown(word.Dynamic))
	return true
}

// homeTool denies those uses of a tool that write its settings in the home.
func (s *Judge) homeTool(name, first string, argv []arg) {
	line := word.Cover(argv[1:]).Known() + " "
	o := word.Parse(argv[1:], "ftbCNP")
	writes := false
	switch name {
	case "pip", "pip3":
		writes = first == "config" && (strings.Contains(line, "config set") || strings.Contains(line, "config unset") ||
			strings.Contains(line, "config edit")) || o.Has("--user", "--break-system-packages")
	case "poetry", "conda", "opam":
		writes = first == "config" && len(o.Operands) > 2 && !o.Has("--local", "--list", "--show")
	case "composer", "bundle":
		writes = first == "global" || first == "config" && o.Has("-g", "--global")
	case "helm":
		writes = first == "repo" && !strings.Contains(line, "list") || first == "plugin" && !strings.Contains(line, "list")
	case "terraform":
		writes = first == "login" || first == "logout"
	case "ssh-keygen":
		writes = len(o.Values("-f")) == 0 && !o.Has("-l", "-y", "-F")
	case "ssh-copy-id":
		writes = true
	case "code", "codium":
		writes = strings.Contains(line, "--install-extension") || strings.Contains(line, "--uninstall-extension")
	}
	if writes {
		s.homeConfig(argv)
	}
}

func (s *Judge) denySystem(argv []arg) {
	s.Deny(verdict.RuleSystem, word.Cover(argv), "", argv[0].String()+" would alter the system outside the workspace",
		"work with what is installed, below "+s.Workspace())
}

func (s *Judge) denyMount(argv []arg) {
	s.Deny(verdict.RuleLink, word.Cover(argv), "", argv[0].String()+" would change what the workspace is made of",
		"work in the workspace as it is")
}

// homeConfig denies a tool's own settings outside the workspace. Where the
// home itself may be written, as in a box of its own, so may they.
func (s *Judge) homeConfig(argv []arg) {
	home := word.Lit(s.Home())
	if v, ok := s.Vars["HOME"]; ok && len(v.Alts) > 0 {
		home = v.Alts[0]
	}
	where, abs := s.Locate(home, s.Dir(), false)
	if where.Writable() && len(home) > 0 {
		return
	}
	s.Deny(verdict.RuleHomeConfig, word.Cover(argv), abs, "this changes settings outside the workspace",
		"use settings in the project, or options for this one call")
}

// runSelf denies starting agents and changing the guard through its own
// command.
func (s *Judge) runSelf(name string, argv []arg) bool {
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i] // package@version
	}
	switch {
	case slices.Contains(guardPrograms(), name):
		s.guardCommand(argv)
	case slices.Contains(agentPrograms(), name):
		s.agentCommand(name, argv)
	default:
		return false
	}
	s.Print(word.Unknown(word.Dynamic))
	return true
}

func (s *Judge) guardCommand(argv []arg) {
	words := strings.Fields(word.Cover(argv[1:]).Known())
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
	s.Deny(verdict.RuleSelf, word.Cover(argv), "", "this command would change the guard or its boxes from inside",
		"leave that to the user")
}

func (s *Judge) agentCommand(name string, argv []arg) {
	if len(argv) == 2 {
		switch argv[1].Known() {
		case "--version", "-v", "-V", "--help", "-h", "help", "doctor":
			return
		}
	}
	if name == "pi" && (len(argv) == 1 || !strings.HasPrefix(argv[1].Prefix(), "-")) {
		s.generic(argv) // a short name that other programs have too
		return
	}
	s.Deny(verdict.RuleAgent, word.Cover(argv), "", name+" would start an agent or change its settings outside this guard",
		"do the work in this session")
}

// kill denies ending the guard, the agent or everything.
func (s *Judge) kill(argv []arg) {
	name := argv[0].Known()
	for i, a := range argv[1:] {
		if s.sought && a.Worst() >= word.Dynamic {
			s.Deny(verdict.RuleSelf, a, "", "this may end a process of the guard or the agent",
				"end only processes that you started")
		}
		v := a.Known()
		for _, part := range a.Split(" \n\t|") {
			w := strings.Trim(part.Known(), `^$"'.*[]()\`)
			if slices.Contains(guardPrograms(), w) || slices.Contains(agentPrograms(), w) || strings.HasPrefix(w, "cco-") ||
				strings.HasPrefix(w, "cco guard") {
				s.Deny(verdict.RuleSelf, a, "", "this would end a process of the guard or the agent",
					"end only processes that you started")
			}
		}
		everything := v == "1" || v == "-1" || v == "$PPID" || v == "0"
		if everything && !strings.HasSuffix(name, "killall") && (i > 0 || v != "-1") && !argv[i].Is("-s") &&
			!argv[i].Is("-n") {
			s.Deny(verdict.RuleSelf, a, "", "this would end processes that are not yours", "end only processes that you started")
		}
	}
}
