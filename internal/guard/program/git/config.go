package git

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// shared judges the subcommands that change what a linked worktree has in
// common with its host; true if nothing more is to be looked at.
func (g *call) shared() bool {
	s := g.s
	linked := g.own && s.Policy.Linked
	first := ""
	if i := slices.IndexFunc(g.args, func(a arg) bool { return !strings.HasPrefix(a.Prefix(), "-") }); i >= 0 {
		first = g.args[i].Known()
	}
	deny := func(what string) {
		s.Deny(verdict.RuleGitShared, g.at, "", "git "+g.sub+" would change "+what+
			", which this worktree shares with the host",
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
		if linked && !slices.Contains([]string{"verify", "exists", "list"}, first) &&
			!word.Parse(g.args, "").Has("--dry-run", "-n") {
			deny("objects and refs")
		}
	case "maintenance":
		deny("the schedule of this machine or the shared objects")
	case "reflog":
		if linked && (first == "expire" || first == "delete" || first == "drop") {
			deny("the reflogs")
		}
	case "replace", "notes":
		if linked && (g.sub == "replace" && len(g.args) > 0 && !word.Parse(g.args, "").Has("-l", "--list") ||
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
			s.HomeConfig(g.argv)
		}
	}
	return false
}

func (g *call) denyConfig(a arg, what string) {
	g.s.Deny(verdict.RuleGitConfig, a, "", "this would change "+what+
		" in configuration that is shared with the host or runs programs",
		"pass settings for one command with -c, or leave them as they are")
}

// config allows looking, and in a clone of its own setting what runs nothing.
func (g *call) config(linked bool) {
	o := word.Parse(g.args, "ft", "--file", "--blob", "--type", "--default", "--value", "--comment", "--url")
	files := o.Values("-f", "--file")
	for _, a := range files {
		g.optionPath(a)
		g.s.Check(land.Write, a)
	}
	ops := o.Operands
	first := ""
	if len(ops) > 0 {
		first = ops[0].Known()
	}
	switch {
	case o.Has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--get-color", "--get-colorbool") ||
		first == "get" || first == "list" || first == "get-color":
		return
	case first == "set" || first == "unset" || first == "edit" || first == "remove-section" || first == "rename-section":
		ops = ops[1:]
	case len(ops) == 1 && !o.Has("--unset", "--unset-all", "--remove-section", "--edit", "-e", "--add"):
		return // git config KEY prints it
	case len(ops) == 0 && !o.Has("--edit", "-e"):
		return
	}
	if len(files) > 0 {
		g.configValue(ops)
		return
	}
	if o.Has("--global", "--system") {
		if o.Has("--system") {
			g.denyConfig(g.at, "the system's settings")
		}
		g.s.HomeConfig(g.argv)
	} else if linked {
		g.denyConfig(g.at, "a setting")
	}
	g.configValue(ops)
}

func (g *call) configValue(ops []arg) {
	if len(ops) > 1 {
		g.s.configPair(arg{Text: ops[0].Plus("=").With(ops[1].Text...), Start: ops[0].Start, End: ops[1].End})
		if key, _ := ops[0].Literal(); strings.HasPrefix(strings.ToLower(key), "remote.") ||
			strings.HasPrefix(strings.ToLower(key), "submodule.") {
			g.remote(ops[1])
		}
	}
}

// configPair judges key=value as -c gives it, or a key set for good.
func (s *Git) configPair(a arg) {
	key, _, _ := strings.Cut(a.Prefix(), "=")
	if key == "" && len(a.Text) > 0 {
		if a.First() == word.Environ {
			return
		}
		s.Deny(verdict.RuleGitConfig, a, "", "the setting given to git can't be told beforehand", "write it out")
	}
	value := a.After(min(len(key)+1, len(a.Prefix())))
	lower := strings.ToLower(key)
	section, _, dotted := strings.Cut(lower, ".")
	if !dotted {
		return // git knows no such key
	}
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	switch {
	case section == "alias":
		if body, ok := value.Literal(); ok {
			s.Aliases["git "+key[len("alias."):]] = body
			if text, shell := strings.CutPrefix(body, "!"); shell {
				s.Isolated(func() { s.RunText(word.Lit(text), a, "a git alias") })
			}
			return
		}
		s.Deny(verdict.RuleGitConfig, a, "", "a git alias that can't be told beforehand", "call git directly")
	case runsProgram(section, last, lower):
		v := value.Known()
		if value.Worst() > word.Environ {
			s.Deny(verdict.RuleGitConfig, a, "", key+" names a program that can't be told beforehand", "leave it out")
		}
		if v == "" || v == "true" || v == "false" {
			return
		}
		text := strings.TrimPrefix(v, "!")
		s.Isolated(func() { s.SuspiciousRun(text, a) })
		s.Mentions(value.Text, value)
	case namesPath(last, lower):
		s.repository(value, key)
	case section == "protocol":
		if value.Is("always") {
			s.Deny(verdict.RuleGitConfig, a, "", "allowing this protocol lets URLs run programs", "leave it out")
		}
	case section == "url":
		i := strings.LastIndexByte(key, '.')
		base := a.Hold(word.Lit(key[len("url."):max(i, len("url."))]))
		if strings.HasPrefix(base.Prefix(), "ext::") {
			s.Deny(verdict.RuleGitConfig, a, "", "URLs would run a program", "leave it out")
		}
		if strings.HasPrefix(base.Prefix(), "/") || strings.HasPrefix(base.Prefix(), ".") ||
			strings.HasPrefix(base.Prefix(), "file:") {
			s.repository(a.Hold(word.Lit(strings.TrimPrefix(base.Known(), "file://"))), key)
		}
	case section == "remote" && (last == "url" || last == "pushurl"):
		s.Mentions(value.Text, value)
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
	return word.Listed(" core.hookspath core.worktree init.templatedir include.path core.attributesfile "+
		"core.excludesfile commit.template http.cookiefile core.gitdir blame.ignorerevsfile "+
		"gpg.ssh.allowedsignersfile ", key) ||
		strings.HasPrefix(key, "includeif.") && last == "path" || strings.HasPrefix(key, "trace2.") &&
		strings.HasSuffix(last, "target")
}

// Setting judges a GIT_* variable.
func (s *Git) Setting(name string, value arg) {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR",
		"GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_ATTR_SOURCE_FILE":
		if len(value.Text) > 0 {
			s.repository(value, name)
		}
	case "GIT_ALTERNATE_OBJECT_DIRECTORIES":
		for _, t := range value.Split(":") {
			s.repository(value.Hold(t), name)
		}
	case "GIT_CONFIG_PARAMETERS":
		if len(value.Text) > 0 {
			s.Deny(verdict.RuleGitConfig, value, "", "GIT_CONFIG_PARAMETERS is git's own, and no place for settings",
				"pass settings for one command with -c")
		}
	case "GIT_EXEC_PATH":
		s.CheckProgram(s.Absolute(value.Known()), value)
	case "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF",
		"GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_MERGE_VERBOSITY_COMMAND":
		s.ProgramSetting(value)
	}
	if strings.HasPrefix(name, "GIT_TRACE") && strings.HasPrefix(value.Prefix(), "/") {
		s.Check(land.Write, value)
	}
}

// variables judges settings that reach git through its environment.
func (s *Git) variables(at arg) {
	for name, v := range s.Vars {
		if !strings.HasPrefix(name, "GIT_CONFIG_KEY_") {
			continue
		}
		for _, key := range v.Values() {
			for _, value := range s.Lookup("GIT_CONFIG_VALUE_" + name[len("GIT_CONFIG_KEY_"):]).Alts {
				s.configPair(at.Hold(key.Plus("=").With(value...)))
			}
		}
	}
}

// executes runs the commands that git subcommands are given.
func (g *call) executes() {
	s := g.s
	run := func(a arg) { s.Isolated(func() { s.RunText(a.Text, a, "git "+g.sub) }) }
	each := func(valued string, long []string, names ...string) {
		for _, a := range word.Parse(g.args, valued, long...).Values(names...) {
			if len(a.Text) > 0 {
				run(a)
			}
		}
	}
	switch g.sub {
	case "apply", "am":
		if word.Parse(g.args, "").Has("--unsafe-paths") {
			s.Deny(verdict.RuleGitOutside, g.at, "", "--unsafe-paths lets a patch write outside the workspace", "leave it out")
		}
		if s.Stdin != nil {
			s.PatchText(s.Stdin.Text, g.at)
		}
	case "init":
		o := word.Parse(g.args, "b", "--initial-branch", "--template", "--separate-git-dir", "--object-format")
		if made := g.makes(o.Operands, 0); o.Has("--separate-git-dir") && slices.Contains(s.Land.Own, made) {
			s.Deny(verdict.RuleGitShared, g.at, "", "--separate-git-dir would move the repository of the workspace",
				"leave it out")
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
		o := word.Parse(g.args, "uobcj", "--upload-pack", "--exec", "--branch", "--origin", "--config", "--depth",
			"--reference", "--template", "--separate-git-dir", "--jobs")
		for _, a := range o.Values("-u", "--upload-pack", "--exec") {
			run(a)
		}
		for _, a := range o.Values("-c", "--config") {
			s.configPair(a)
		}
		if g.sub == "clone" && len(o.Operands) > 0 {
			g.remote(o.Operands[0])
			g.makes(o.Operands, 1)
		}
	case "bisect":
		if len(g.args) > 1 && g.args[0].Is("run") {
			s.Isolated(func() { s.Exec(g.args[1:]) })
		}
	case "submodule":
		g.submodule()
	case "send-email":
		each("", []string{"--smtp-server", "--sendmail-cmd"}, "--sendmail-cmd", "--smtp-server")
	case "subtree":
		for i, a := range g.args {
			if i > 0 && strings.ContainsAny(a.Known(), "/.:") && !strings.HasPrefix(a.Prefix(), "-") {
				g.remote(a)
			}
		}
	case "for-each-repo", "hook", "instaweb", "daemon", "http-backend", "shell", "cvsserver", "remote-ext", "remote-fd":
		s.Deny(verdict.RuleGitShared, g.at, "", "git "+g.sub+" reaches beyond this repository", "leave it out")
	}
}

// makes remembers the repository that operand i names, and says where it is.
func (g *call) makes(operands []arg, i int) string {
	dir := "."
	if i < len(operands) {
		dir = operands[i].Known()
	} else if i > 0 {
		dir = strings.TrimSuffix(path.Base(operands[0].Known()), ".git")
	}
	dir = g.s.Absolute(dir)
	g.s.Made[dir], g.s.Made[dir+"/.git"] = true, true
	return dir
}

// sweeps denies taking away the hook's registration with everything else that
// is not in the repository.
func (g *call) sweeps() {
	o := word.Parse(g.args, "em", "--exclude", "--message")
	acts := g.sub == "clean" && o.Has("-f", "--force") && !o.Has("-n", "--dry-run")
	acts = acts || g.sub == "stash" && o.Has("-u", "--include-untracked", "-a", "--all")
	if !acts || !g.own {
		return
	}
	for _, r := range roster.All() {
		if r.Local != "" && !spared(o, path.Dir(r.Local)) {
			g.sweepsAway(r.Local)
		}
	}
}

// spared says whether options leave a directory out.
func spared(o word.Options, dir string) bool {
	return slices.ContainsFunc(o.Values("-e", "--exclude"), func(a arg) bool {
		return strings.HasPrefix(strings.TrimPrefix(a.Known(), "/"), dir)
	}) || slices.ContainsFunc(o.Operands, func(a arg) bool {
		return strings.HasPrefix(a.Known(), ":!"+dir) || strings.HasPrefix(a.Known(), ":^"+dir)
	})
}

func (g *call) sweepsAway(local string) {
	for _, at := range g.s.Dirs {
		name := at + "/" + local
		if e, _ := g.s.Land.Lookup(name); e == land.EntryFile {
			dir := path.Dir(local)
			g.s.Deny(verdict.RuleSelf, g.at, name, "git "+g.sub+" would take away "+local+", which belongs to the guard",
				"leave it out: git clean -e "+dir+", git stash push -u -- ':!"+dir+"'")
		}
	}
}

func (g *call) submodule() {
	o := word.Parse(g.args, "bj", "--branch", "--name", "--reference", "--depth", "--jobs")
	if len(o.Operands) < 2 {
		return
	}
	switch o.Operands[0].Known() {
	case "foreach":
		rest := o.Operands[1:]
		g.s.Isolated(func() { g.s.RunText(word.JoinArgs(rest), word.Cover(rest), "git submodule") })
	case "add":
		g.remote(o.Operands[1])
	case "set-url":
		if len(o.Operands) > 2 {
			g.remote(o.Operands[2])
		}
	}
}
