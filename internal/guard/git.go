package guard

import (
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// gitCall is one git command being judged.
type gitCall struct {
	s    *shell
	argv []arg
	sub  string
	args []arg // after the subcommand
	own  bool  // in the workspace, and so on the shared repository
	at   arg
}

// git judges a git command: its repository, its configuration, the refs that
// it moves and the paths that it names.
func (s *shell) git(argv []arg) {
	s.gitVariables(argv[0])
	outer := s.sc.dirs
	defer func() { s.sc.dirs = outer }()
	rest := s.gitGlobals(argv)
	s.gitDirectory(argv)
	if len(rest) == 0 {
		s.print(unknown(dynamic))
		return
	}
	sub, ok := rest[0].literal()
	if !ok {
		s.deny(RuleUnknownCode, rest[0], "", "the git subcommand can't be told beforehand", "name it directly")
	}
	g := &gitCall{s: s, argv: argv, sub: sub, args: rest[1:], at: cover(argv)}
	for _, dir := range s.sc.dirs {
		dir = s.land.resolve(dir)
		g.own = g.own || withinAny(dir, s.land.own) && !s.ownRepository(dir)
	}
	if alias, ok := s.sc.aliases["git "+sub]; ok {
		g.alias(alias)
		return
	}
	g.run()
	s.print(g.output())
}

// ownRepository says that a directory of the workspace is in a repository of
// its own, which shares nothing.
func (s *shell) ownRepository(dir string) bool {
	for ; withinAny(dir, s.land.own) && !contains(s.land.own, dir); dir = path.Dir(dir) {
		git := dir + "/.git"
		if s.sc.made[git] {
			return true
		}
		if e, _ := s.land.lookup(git); e == EntryDir {
			e, _ = s.land.lookup(git + "/commondir") // by which it would be part of another
			return e == EntryMissing
		} else if e != EntryMissing {
			return false
		}
	}
	return false
}

// gitGlobals reads the options before the subcommand and returns the rest.
func (s *shell) gitGlobals(argv []arg) []arg {
	args := argv[1:]
	for len(args) > 0 {
		v := args[0].prefix()
		if !strings.HasPrefix(v, "-") {
			if args[0].first() != literal && args[0].first() >= environ && len(args) > 1 {
				return args
			}
			break
		}
		name, _, glued := strings.Cut(v, "=")
		if len(v) > 2 && (v[:2] == "-C" || v[:2] == "-c") {
			s.gitGlobal(v[:2], arg{args[0].cut(2), args[0].start, args[0].end})
			args = args[1:]
			continue
		}
		value := arg{args[0].cut(len(name) + 1), args[0].start, args[0].end}
		used := 1
		if takes := name == "-C" || name == "-c" || !glued &&
			contains([]string{"--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source",
				"--exec-path"}, name); takes {
			if name == "--exec-path" && !glued {
				args = args[1:]
				continue
			}
			if strings.HasPrefix(v, "-c") || strings.HasPrefix(v, "-C") || !glued {
				if len(args) < 2 {
					return nil
				}
				value, used = args[1], 2
			}
		}
		s.gitGlobal(name, value)
		args = args[used:]
	}
	return args
}

func (s *shell) gitGlobal(name string, value arg) {
	switch name {
	case "-C":
		s.gitEnter(value)
	case "--git-dir", "--work-tree":
		s.gitPath(value, name)
		if name == "--work-tree" && value.worst() == literal {
			s.gitEnter(value)
		}
	case "--exec-path":
		s.checkProgram(s.absolute(value.known()), value)
	case "-c":
		s.gitConfigPair(value)
	case "--config-env":
		key, variable, _ := strings.Cut(value.known(), "=")
		for _, t := range s.lookup(variable).alts {
			s.gitConfigPair(arg{lit(key + "=").with(t...), value.start, value.end})
		}
	}
}

// gitEnter follows -C, which must stay inside.
func (s *shell) gitEnter(a arg) {
	var to []string
	for _, dir := range s.sc.dirs {
		where, abs := s.locate(a.text, dir, false)
		switch {
		case where.writable():
		case where == placeUnknown:
			s.deny(RuleUnknownPath, a, "", "git would run in "+a.String()+", which can't be told beforehand",
				"run it in the workspace, without -C")
		default:
			s.denyGit(a, abs)
		}
		to = append(to, abs)
	}
	s.sc.dirs = to
}

func (s *shell) denyGit(a arg, abs string) {
	s.deny(RuleGitOutside, a, abs, "git is aimed at "+clip(abs, 200)+", outside the workspace",
		"run git in "+s.land.workspace+" on its own repository and with paths below it")
}

// gitPath checks a repository or work tree given by name. The worktree's own
// git directory is what git uses anyway.
func (s *shell) gitPath(a arg, what string) {
	for _, dir := range s.sc.dirs {
		where, abs := s.locate(a.text, dir, false)
		switch {
		case where.writable() || where == placeGit:
		case where == placeUnknown && a.first() == environ:
		case where == placeUnknown:
			s.deny(RuleUnknownPath, a, "", what+" can't be told beforehand", "leave it out and run git in the workspace")
		case s.policy.GitDir != "" && abs == s.land.resolve(s.policy.GitDir):
		default:
			s.denyGit(a, abs)
		}
	}
}

// gitDirectory denies git outside, which a call that starts there can meet.
func (s *shell) gitDirectory(argv []arg) {
	for _, dir := range s.sc.dirs {
		if where := s.land.place(s.land.resolve(dir)); !where.writable() && where != placeProtected && where != placeGit {
			s.denyGit(cover(argv), dir)
		}
	}
}

// run judges the subcommand.
func (g *gitCall) run() {
	if g.refs() || g.shared() {
		return
	}
	g.executes()
	g.paths()
}

// alias runs an alias that was set on the command line or in this script.
func (g *gitCall) alias(body string) {
	s := g.s
	if text, ok := strings.CutPrefix(body, "!"); ok {
		s.runText(lit(text).with(seg{literal, " "}).with(joinArgs(g.args)...), g.at, "a git alias")
		return
	}
	delete(s.sc.aliases, "git "+g.sub)
	words := append([]arg{g.argv[0]}, literals(g.argv[0], strings.Fields(body)...)...)
	s.run(append(words, g.args...))
}

// output is what git prints, where it is used as a path.
func (g *gitCall) output() text {
	s := g.s
	o := parseOptions(g.args, "")
	top := lit(s.sc.dirs[0])
	if g.own {
		top = lit(s.land.workspace)
	}
	switch {
	case g.sub == "rev-parse" && o.has("--show-toplevel"):
		return top.with(seg{literal, "\n"})
	case g.sub == "rev-parse" && o.has("--show-cdup"):
		return unknown(below)
	case g.sub == "rev-parse" && (o.has("--git-common-dir") || o.has("--show-superproject-working-tree")) && g.own &&
		s.policy.GitCommonDir != "":
		return lit(s.policy.GitCommonDir + "\n")
	case g.sub == "rev-parse" && (o.has("--git-dir") || o.has("--absolute-git-dir") || o.has("--git-path")) && g.own &&
		s.policy.GitDir != "":
		return lit(s.policy.GitDir + "\n")
	case g.sub == "rev-parse" || g.sub == "describe" || g.sub == "rev-list" || g.sub == "merge-base" ||
		g.sub == "symbolic-ref" || g.sub == "hash-object" || g.sub == "write-tree" || g.sub == "commit-tree":
		return unknown(token)
	case g.sub == "branch" && o.has("--show-current"):
		return unknown(token)
	case g.sub == "ls-files" || g.sub == "ls-tree" && o.has("--name-only") || o.has("--name-only"):
		return unknown(below)
	case g.sub == "worktree":
		return lit(s.land.host + "\n")
	}
	return unknown(dynamic)
}

// textOptions are the options of git commands whose value is text, not a path.
func textOptions() (short string, long []string) {
	return "mSGeCcULnMBXl", []string{"--message", "--grep", "--author", "--committer", "--format", "--pretty", "--date",
		"--since", "--until", "--after", "--before", "--sort", "--contains", "--no-contains",
		"--merged", "--no-merged", "--points-at", "--trailer", "--fixup", "--squash", "--reuse-message", "--reedit-message",
		"--max-count", "--skip", "--diff-filter", "--word-diff-regex", "--glob", "--branches", "--tags",
		"--exclude", "--strategy", "--strategy-option", "--onto", "--source", "--branch", "--origin", "--depth",
		"--inter-hunk-context", "--unified", "--color", "--encoding", "--cleanup", "--subject", "--in-reply-to", "--to",
		"--cc"}
}

// paths denies path operands outside, even to be read.
func (g *gitCall) paths() {
	short, long := textOptions()
	switch g.sub {
	case "commit", "tag", "notes", "merge", "stash":
		short += "F"
	case "grep":
		short = "eCABmO"
	case "clean", "shortlog":
		short += "e"
	case "bisect", "help", "config", "check-ref-format", "rev-parse", "show-ref", "for-each-ref", "var", "check-attr",
		"interpret-trailers", "cat-file", "name-rev":
		short = ""
	case "apply", "am", "archive", "bundle", "format-patch", "checkout-index", "clone", "init", "read-tree":
		short = "mSGb"
	}
	o := parseOptions(g.args, short, long...)
	g.fileOptions(o)
	operands := o.operands
	if g.sub == "grep" && len(o.values("-e")) == 0 && len(operands) > 0 {
		operands = operands[1:]
	}
	for _, a := range operands {
		g.path(a)
	}
}

// path checks one operand. Words that git takes for revisions never resolve
// to the outside.
func (g *gitCall) path(a arg) {
	s := g.s
	t := a.text
	if strings.HasPrefix(t.prefix(), ":(") {
		if i := strings.IndexByte(t.prefix(), ')'); i > 0 {
			t = t.cut(i + 1)
		}
	}
	if strings.HasPrefix(t.prefix(), ":!") || strings.HasPrefix(t.prefix(), ":^") || strings.HasPrefix(t.prefix(), ":/") {
		return
	}
	if strings.HasPrefix(t.prefix(), "file://") {
		t = t.cut(len("file://"))
	}
	if !pathLike(t) || t.first() >= environ || strings.Contains(t.prefix(), "^{/") {
		return
	}
	for _, dir := range s.sc.dirs {
		where, abs := s.locate(t, dir, false)
		switch {
		case where.writable() || where == placeUnknown:
		case where == placeGit && !gitWritesFiles(g.sub):
		case where == placeProtected && !gitWritesFiles(g.sub):
		case where == placeProtected:
			s.refuse(opWrite, a, where, abs)
		case where == placeGit:
			s.refuse(opWrite, a, where, abs)
		default:
			s.denyGit(a, abs)
		}
		if gitWritesFiles(g.sub) && g.sub != "clean" && where.writable() && s.isSettingsDir(abs) {
			s.refuse(opWrite, a, placeProtected, abs)
		}
	}
}

// gitWritesFiles says whether a subcommand writes the paths that it is given.
func gitWritesFiles(sub string) bool {
	switch sub {
	case "checkout", "restore", "rm", "mv", "clean", "apply", "checkout-index", "stash", "reset", "update-index":
		return true
	}
	return false
}

// fileOptions checks the options that name files or directories.
func (g *gitCall) fileOptions(o options) {
	for _, f := range o.flags {
		if !f.has || f.value.first() >= environ {
			continue
		}
		switch f.name {
		case "--output", "--output-directory", "--prefix", "--separate-git-dir", "--template", "--reference",
			"--reference-if-able", "--directory", "--file",
			"--git-dir", "--work-tree", "--exclude-from", "--exclude-per-directory", "--pathspec-from-file",
			"--ignore-revs-file", "--attach", "--signature-file", "--contents", "--local", "--index-output", "--stdin-paths",
			"--dissociate", "--bundle-uri", "--export-marks", "--import-marks", "--separate", "--super-prefix",
			"--smtp-server-cert":
			g.optionPath(f.value)
		case "--remote", "--repo", "--url":
			g.remote(f.value)
		}
	}
	_, texts := textOptions()
	for _, a := range g.args {
		name, _, glued := strings.Cut(a.prefix(), "=")
		if !glued || !strings.HasPrefix(name, "--") || contains(texts, name) {
			continue
		}
		if m, ok := g.s.mentioned(a.cut(len(name) + 1)); ok && m.where != placeProtected && !g.s.isOwnGit(m.abs) {
			g.s.denyGit(a, m.abs)
		}
	}
	// Short options mean different things to different commands.
	short := map[string]string{"archive": "o", "format-patch": "o", "commit": "F", "tag": "F", "notes": "F", "merge": "F",
		"diff": "O", "log": "O", "am": "", "blame": "S", "ls-files": "X"}[g.sub]
	for i, a := range g.args {
		v := a.prefix()
		if short == "" || len(v) < 2 || v[:2] != "-"+short {
			continue
		}
		if len(v) > 2 {
			g.optionPath(arg{a.cut(2), a.start, a.end})
		} else if i+1 < len(g.args) {
			g.optionPath(g.args[i+1])
		}
	}
}

// isOwnGit says that a path lies in the git directory of the workspace.
func (s *shell) isOwnGit(abs string) bool {
	return s.policy.GitDir != "" && paths.Within(abs, s.land.resolve(s.policy.GitDir))
}

// optionPath checks a file named by an option: scratch is fine, outside not.
func (g *gitCall) optionPath(a arg) {
	if a.is("-") || !pathLike(a.text) {
		return
	}
	s := g.s
	for _, dir := range s.sc.dirs {
		where, abs := s.locate(a.text, dir, false)
		if !where.writable() && where != placeUnknown {
			s.denyGit(a, path.Clean(abs))
		}
	}
}
