package guard

import (
	"path"
	"strings"
)

// shared judges the subcommands that change what a linked worktree has in
// common with its host; true if nothing more is to be looked at.
func (g *gitCall) shared() bool {
	s := g.s
	linked := g.own && s.policy.Linked
	first := ""
	for _, a := range g.args {
		if !strings.HasPrefix(a.prefix(), "-") {
			first = a.known()
			break
		}
	}
	deny := func(what string) {
		s.deny(RuleGitShared, g.at, "", "git "+g.sub+" would change "+what+", which this worktree shares with the host",
			"leave the repository's housekeeping to the user")
	}
	switch g.sub {
	case "config":
		g.config(linked)
		return true
	case "worktree":
		if linked && first != "list" && first != "" {
			deny("the list of worktrees")
		}
	case "gc", "prune", "repack", "pack-refs", "prune-packed", "filter-branch", "filter-repo", "fast-import",
		"multi-pack-index", "commit-graph", "unpack-objects", "index-pack", "pack-objects", "backfill", "refs":
		if linked && !contains([]string{"verify", "exists", "list"}, first) &&
			!parseOptions(g.args, "").has("--dry-run", "-n") {
			deny("objects and refs")
		}
	case "maintenance":
		deny("the schedule of this machine or the shared objects")
	case "reflog":
		if linked && (first == "expire" || first == "delete" || first == "drop") {
			deny("the reflogs")
		}
	case "replace", "notes":
		if linked && (g.sub == "replace" && len(g.args) > 0 && !parseOptions(g.args, "").has("-l", "--list") ||
			g.sub == "notes" && first != "" && first != "show" && first != "list" && first != "get-ref") {
			deny("refs")
		}
	case "sparse-checkout", "lfs", "flow", "svn", "p4", "scalar":
		if linked && (g.sub == "sparse-checkout" && first != "list" || first == "install" || first == "uninstall" ||
			first == "init" || g.sub == "scalar") {
			deny("configuration")
		}
	case "credential", "credential-store", "credential-cache":
		if first != "fill" && first != "get" {
			s.homeConfig(g.argv)
		}
	case "bundle", "fast-export":
	}
	return false
}

func (g *gitCall) denyConfig(a arg, what string) {
	g.s.deny(RuleGitConfig, a, "", "this would change "+what+
		" in configuration that is shared with the host or runs programs",
		"pass settings for one command with -c, or leave them as they are")
}

// config allows looking, and in a clone of its own setting what runs nothing.
func (g *gitCall) config(linked bool) {
	o := parseOptions(g.args, "ft", "--file", "--blob", "--type", "--default", "--value", "--comment", "--url")
	files := o.values("-f", "--file")
	for _, a := range files {
		g.optionPath(a)
		g.s.check(opWrite, a)
	}
	ops := o.operands
	first := ""
	if len(ops) > 0 {
		first = ops[0].known()
	}
	switch {
	case o.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--get-color", "--get-colorbool") ||
		first == "get" || first == "list" || first == "get-color":
		return
	case first == "set" || first == "unset" || first == "edit" || first == "remove-section" || first == "rename-section":
		ops = ops[1:]
	case len(ops) == 1 && !o.has("--unset", "--unset-all", "--remove-section", "--edit", "-e", "--add"):
		return // git config KEY prints it
	case len(ops) == 0 && !o.has("--edit", "-e"):
		return
	}
	if len(files) > 0 {
		g.configValue(ops)
		return
	}
	if o.has("--global", "--system") {
		if o.has("--system") {
			g.denyConfig(g.at, "the system's settings")
		}
		g.s.homeConfig(g.argv)
	} else if linked {
		g.denyConfig(g.at, "a setting")
	}
	g.configValue(ops)
}

func (g *gitCall) configValue(ops []arg) {
	if len(ops) > 1 {
		g.s.gitConfigPair(arg{ops[0].with(seg{literal, "="}).with(ops[1].text...), ops[0].start, ops[1].end})
		if key, _ := ops[0].literal(); strings.HasPrefix(strings.ToLower(key), "remote.") ||
			strings.HasPrefix(strings.ToLower(key), "submodule.") {
			g.remote(ops[1])
		}
	}
}

// gitConfigPair judges key=value as -c gives it, or a key set for good.
func (s *shell) gitConfigPair(a arg) {
	key, _, _ := strings.Cut(a.prefix(), "=")
	if key == "" && len(a.text) > 0 {
		if a.first() == environ {
			return
		}
		s.deny(RuleGitConfig, a, "", "the setting given to git can't be told beforehand", "write it out")
	}
	value := arg{a.cut(min(len(key)+1, len(a.prefix()))), a.start, a.end}
	lower := strings.ToLower(key)
	section, _, _ := strings.Cut(lower, ".")
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	switch {
	case section == "alias":
		if body, ok := value.literal(); ok {
			s.sc.aliases["git "+key[len("alias."):]] = body
			if text, shell := strings.CutPrefix(body, "!"); shell {
				s.isolated(func() { s.runText(lit(text), a, "a git alias") })
			}
			return
		}
		s.deny(RuleGitConfig, a, "", "a git alias that can't be told beforehand", "call git directly")
	case runsProgram(section, last, lower):
		v := value.known()
		if value.worst() > environ {
			s.deny(RuleGitConfig, a, "", key+" names a program that can't be told beforehand", "leave it out")
		}
		if v == "" || v == "true" || v == "false" {
			return
		}
		text := strings.TrimPrefix(v, "!")
		s.isolated(func() { s.suspiciousRun(text, a) })
		s.suspicious(value)
	case namesPath(last, lower):
		s.gitPath(value, key)
	case section == "protocol":
		if value.is("always") {
			s.deny(RuleGitConfig, a, "", "allowing this protocol lets URLs run programs", "leave it out")
		}
	case section == "url":
		i := strings.LastIndexByte(key, '.')
		base := arg{lit(key[len("url."):max(i, len("url."))]), a.start, a.end}
		if strings.HasPrefix(base.prefix(), "ext::") {
			s.deny(RuleGitConfig, a, "", "URLs would run a program", "leave it out")
		}
		if strings.HasPrefix(base.prefix(), "/") || strings.HasPrefix(base.prefix(), ".") ||
			strings.HasPrefix(base.prefix(), "file:") {
			s.gitPath(arg{lit(strings.TrimPrefix(base.known(), "file://")), a.start, a.end}, key)
		}
	case section == "remote" && (last == "url" || last == "pushurl"):
		s.suspicious(value)
	}
}

// runsProgram names the settings whose value git runs.
func runsProgram(section, last, key string) bool {
	switch key {
	case "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.gitproxy", "core.askpass",
		"core.alternaterefscommand", "diff.external", "sequence.editor", "gpg.program",
		"interactive.difffilter", "web.browser", "uploadpack.packobjectshook", "credential.helper", "sendemail.smtpserver",
		"sendemail.sendmailcmd", "instaweb.httpd", "fsmonitor.hook", "init.templatehook":
		return true
	}
	switch section {
	case "pager":
		return true
	case "diff", "difftool", "merge", "mergetool", "filter", "man", "browser", "credential", "gpg", "trailer", "tar",
		"remote", "submodule", "hook", "guitool":
		switch last {
		case "command", "cmd", "textconv", "driver", "clean", "smudge", "process", "helper", "program", "path", "uploadpack",
			"receivepack", "vcs", "update", "defaultkeycommand":
			return last != "update" || section == "submodule"
		}
	}
	return false
}

// namesPath names the settings whose value is a path that git uses.
func namesPath(last, key string) bool {
	switch key {
	case "core.hookspath", "core.worktree", "init.templatedir", "include.path", "core.attributesfile", "core.excludesfile",
		"commit.template", "http.cookiefile", "core.gitdir", "blame.ignorerevsfile", "gpg.ssh.allowedsignersfile":
		return true
	}
	return strings.HasPrefix(key, "includeif.") && last == "path" || strings.HasPrefix(key, "trace2.") &&
		strings.HasSuffix(last, "target")
}

// gitSetting judges a GIT_* variable.
func (s *shell) gitSetting(name string, value arg) {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR",
		"GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_ATTR_SOURCE_FILE":
		if len(value.text) > 0 {
			s.gitPath(value, name)
		}
	case "GIT_ALTERNATE_OBJECT_DIRECTORIES":
		for _, t := range value.split(":") {
			s.gitPath(arg{t, value.start, value.end}, name)
		}
	case "GIT_CONFIG_PARAMETERS":
		if len(value.text) > 0 {
			s.deny(RuleGitConfig, value, "", "GIT_CONFIG_PARAMETERS is git's own, and no place for settings",
				"pass settings for one command with -c")
		}
	case "GIT_EXEC_PATH":
		s.checkProgram(s.absolute(value.known()), value)
	case "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF",
		"GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_MERGE_VERBOSITY_COMMAND":
		s.programSetting(value)
	}
	if strings.HasPrefix(name, "GIT_TRACE") && strings.HasPrefix(value.prefix(), "/") {
		s.check(opWrite, value)
	}
}

// gitVariables judges settings that reach git through its environment.
func (s *shell) gitVariables(at arg) {
	for name, v := range s.sc.vars {
		if !strings.HasPrefix(name, "GIT_CONFIG_KEY_") {
			continue
		}
		for _, key := range v.values() {
			for _, value := range s.lookup("GIT_CONFIG_VALUE_" + name[len("GIT_CONFIG_KEY_"):]).alts {
				s.gitConfigPair(arg{key.with(seg{literal, "="}).with(value...), at.start, at.end})
			}
		}
	}
}

// executes runs the commands that git subcommands are given.
func (g *gitCall) executes() {
	s := g.s
	run := func(a arg) { s.isolated(func() { s.runText(a.text, a, "git "+g.sub) }) }
	each := func(valued string, long []string, names ...string) {
		for _, a := range parseOptions(g.args, valued, long...).values(names...) {
			if len(a.text) > 0 {
				run(a)
			}
		}
	}
	switch g.sub {
	case "apply", "am":
		if parseOptions(g.args, "").has("--unsafe-paths") {
			s.deny(RuleGitOutside, g.at, "", "--unsafe-paths lets a patch write outside the workspace", "leave it out")
		}
		if s.sc.stdin != nil {
			s.patchText(s.sc.stdin.text, g.at)
		}
	case "init":
		o := parseOptions(g.args, "b", "--initial-branch", "--template", "--separate-git-dir", "--object-format")
		if made := g.makes(o.operands, 0); o.has("--separate-git-dir") && contains(s.land.own, made) {
			s.deny(RuleGitShared, g.at, "", "--separate-git-dir would move the repository of the workspace", "leave it out")
		}
	case "clean", "stash":
		g.sweeps()
	case "rebase":
		each("xsXCS", []string{"--exec", "--onto"}, "-x", "--exec")
	case "difftool":
		each("xt", []string{"--extcmd", "--tool"}, "-x", "--extcmd")
	case "grep":
		each("eCABmO", []string{"--open-files-in-pager"}, "-O", "--open-files-in-pager")
	case "clone", "ls-remote", "archive":
		each("uobcj", []string{"--upload-pack", "--exec", "--branch", "--origin", "--config", "--depth"}, "-u",
			"--upload-pack", "--exec")
		for _, a := range parseOptions(g.args, "uobcj", "--config", "--branch", "--origin", "--depth").values("-c",
			"--config") {
			s.gitConfigPair(a)
		}
		if ops := parseOptions(g.args, "uobcj", "--upload-pack", "--branch", "--origin", "--config", "--depth", "--reference",
			"--template", "--separate-git-dir", "--jobs").operands; g.sub == "clone" && len(ops) > 0 {
			g.remote(ops[0])
			g.makes(ops, 1)
		}
	case "bisect":
		if len(g.args) > 1 && g.args[0].is("run") {
			s.isolated(func() { s.run(g.args[1:]) })
		}
	case "submodule":
		g.submodule()
	case "send-email":
		each("", []string{"--smtp-server", "--sendmail-cmd"}, "--sendmail-cmd", "--smtp-server")
	case "subtree":
		for i, a := range g.args {
			if i > 0 && strings.ContainsAny(a.known(), "/.:") && !strings.HasPrefix(a.prefix(), "-") {
				g.remote(a)
			}
		}
	case "for-each-repo", "hook", "instaweb", "daemon", "http-backend", "shell", "cvsserver", "remote-ext", "remote-fd":
		s.deny(RuleGitShared, g.at, "", "git "+g.sub+" reaches beyond this repository", "leave it out")
	}
}

// makes remembers the repository that operand i names, and says where it is.
func (g *gitCall) makes(operands []arg, i int) string {
	dir := "."
	if i < len(operands) {
		dir = operands[i].known()
	} else if i > 0 {
		dir = strings.TrimSuffix(path.Base(operands[0].known()), ".git")
	}
	dir = g.s.absolute(dir)
	g.s.sc.made[dir], g.s.sc.made[dir+"/.git"] = true, true
	return dir
}

// sweeps denies taking away the hook's registration with everything else that
// is not in the repository.
func (g *gitCall) sweeps() {
	s := g.s
	o := parseOptions(g.args, "em", "--exclude", "--message")
	acts := g.sub == "clean" && o.has("-f", "--force") && !o.has("-n", "--dry-run")
	acts = acts || g.sub == "stash" && o.has("-u", "--include-untracked", "-a", "--all")
	spared := false
	for _, a := range o.values("-e", "--exclude") {
		spared = spared || strings.HasPrefix(strings.TrimPrefix(a.known(), "/"), ".claude")
	}
	for _, a := range o.operands {
		spared = spared || strings.HasPrefix(a.known(), ":!.claude") || strings.HasPrefix(a.known(), ":^.claude")
	}
	if !acts || spared || !g.own {
		return
	}
	for _, dir := range s.sc.dirs {
		name := dir + "/.claude/settings.local.json"
		if e, _ := s.land.lookup(name); e == EntryFile {
			s.deny(RuleSelf, g.at, name, "git "+g.sub+" would take away .claude/settings.local.json, which belongs to the guard",
				"leave it out: git clean -e .claude, git stash push -u -- ':!.claude'")
		}
	}
}

func (g *gitCall) submodule() {
	o := parseOptions(g.args, "bj", "--branch", "--name", "--reference", "--depth", "--jobs")
	if len(o.operands) < 2 {
		return
	}
	switch o.operands[0].known() {
	case "foreach":
		rest := o.operands[1:]
		g.s.isolated(func() { g.s.runText(joinArgs(rest), cover(rest), "git submodule") })
	case "add":
		g.remote(o.operands[1])
	case "set-url":
		if len(o.operands) > 2 {
			g.remote(o.operands[2])
		}
	}
}
