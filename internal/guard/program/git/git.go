// Package git judges git: the repository it is aimed at, its configuration, the refs that it moves and the paths
// that it names.
package git

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
	"github.com/cco-dev/cco/internal/paths"
)

// Short names of what every function here speaks of.
type (
	arg  = word.Arg
	text = word.Text
)

// Host is what git needs of the judge of programs.
type Host interface {
	Mentions(t text, at arg)
	SuspiciousRun(command string, at arg)
	Mentioned(t text) (where land.Place, abs string, found bool)
	HomeConfig(argv []arg)
	HoldsSettings(abs string) bool
	PatchText(t text, at arg)
	ProgramSetting(value arg)
	RunFile(content text, argv []arg)
}

// Git judges what git is told in a call.
type Git struct {
	*bash.Shell
	Host
}

// call is one git command being judged.
type call struct {
	s    *Git
	argv []arg
	sub  string
	args []arg // after the subcommand
	own  bool  // in the workspace, and so on the shared repository
	at   arg
}

// Command judges a git command: its repository, its configuration, the refs that
// it moves and the paths that it names.
func (s *Git) Command(argv []arg) {
	s.variables(argv[0])
	o, rest := word.Leading(argv[1:], "Cc", []string{"--git-dir", "--work-tree", "--namespace", "--super-prefix",
		"--config-env", "--attr-source"})
	for _, f := range o.Flags {
		s.global(f.Name, f.Value)
	}
	if len(rest) == 0 {
		s.Print(word.Unknown(word.Dynamic))
		return
	}
	sub, ok := rest[0].Literal()
	if !ok {
		s.Deny(verdict.RuleUnknownCode, rest[0], "", "the git subcommand can't be told beforehand", "name it directly")
	}
	g := &call{s: s, argv: argv, sub: sub, args: rest[1:], at: word.Cover(argv)}
	for _, dir := range s.Dirs {
		dir = s.Land.Resolve(dir)
		g.own = g.own || land.WithinAny(dir, s.Land.Own) && !s.ownRepository(dir)
	}
	if alias, ok := s.Aliases["git "+sub]; ok {
		g.alias(alias)
		return
	}
	if !g.refs() && !g.shared() {
		g.executes()
		g.paths()
	}
	s.Print(g.output())
}

// ownRepository says that a directory of the workspace is in a repository of
// its own, which shares nothing.
func (s *Git) ownRepository(dir string) bool {
	for ; land.WithinAny(dir, s.Land.Own) && !slices.Contains(s.Land.Own, dir); dir = path.Dir(dir) {
		git := dir + "/.git"
		if s.Made[git] {
			return true
		}
		if e, _ := s.Land.Lookup(git); e == land.EntryDir {
			e, _ = s.Land.Lookup(git + "/commondir") // by which it would be part of another
			return e == land.EntryMissing
		} else if e != land.EntryMissing {
			return false
		}
	}
	return false
}

// global judges an option before the subcommand.
func (s *Git) global(name string, value arg) {
	switch name {
	case "-C":
		s.enter(value)
	case "--git-dir", "--work-tree":
		s.repository(value, name)
		if name == "--work-tree" && value.Worst() == word.Literal {
			s.enter(value)
		}
	case "--exec-path":
		s.CheckProgram(s.Absolute(value.Known()), value)
	case "-c":
		s.configPair(value)
	case "--config-env":
		key, variable, _ := strings.Cut(value.Known(), "=")
		for _, t := range s.Lookup(variable).Alts {
			s.configPair(value.Hold(word.Lit(key + "=").With(t...)))
		}
	}
}

// enter follows -C, which must stay inside.
func (s *Git) enter(a arg) {
	var to []string
	for _, dir := range s.Dirs {
		where, abs := s.Locate(a.Text, dir, false)
		switch {
		case where.Writable():
		case where == land.Unknown:
			s.Deny(verdict.RuleUnknownPath, a, "", "git would run in "+a.String()+", which can't be told beforehand",
				"run it in the workspace, without -C")
		default:
			s.denyOutside(a, abs)
		}
		to = append(to, abs)
	}
	s.Dirs = to
}

func (s *Git) denyOutside(a arg, abs string) {
	s.Deny(verdict.RuleGitOutside, a, abs, "git is aimed at "+verdict.Clip(abs, 200)+", outside the workspace",
		"run git in "+s.Workspace()+" on its own repository and with paths below it")
}

// repository checks a repository or work tree given by name. The worktree's own
// git directory is what git uses anyway.
func (s *Git) repository(a arg, what string) {
	for _, dir := range s.Dirs {
		where, abs := s.Locate(a.Text, dir, false)
		switch {
		case where.Writable() || where == land.Git:
		case where == land.Unknown && a.First() == word.Environ:
		case where == land.Unknown:
			s.Deny(verdict.RuleUnknownPath, a, "", what+" can't be told beforehand", "leave it out and run git in the workspace")
		case s.Policy.GitDir != "" && abs == s.Land.Resolve(s.Policy.GitDir):
		default:
			s.denyOutside(a, abs)
		}
	}
}

// alias runs an alias that was set on the command line or in this script.
func (g *call) alias(body string) {
	s := g.s
	if text, ok := strings.CutPrefix(body, "!"); ok {
		s.RunText(word.Lit(text).Plus(" ").With(word.JoinArgs(g.args)...), g.at, "a git alias")
		return
	}
	delete(s.Aliases, "git "+g.sub)
	words := append([]arg{g.argv[0]}, word.Literals(g.argv[0], strings.Fields(body)...)...)
	s.Exec(append(words, g.args...))
}

// output is what git prints, where it is used as a path.
func (g *call) output() text {
	s := g.s
	o := word.Parse(g.args, "")
	top := word.Lit(s.Dir())
	if g.own {
		top = word.Lit(s.Workspace())
	}
	switch {
	case g.sub == "rev-parse" && o.Has("--show-toplevel"):
		return top.Plus("\n")
	case g.sub == "rev-parse" && o.Has("--show-cdup"):
		return word.Unknown(word.Below)
	case g.sub == "rev-parse" && (o.Has("--git-common-dir") || o.Has("--show-superproject-working-tree")) && g.own &&
		s.Policy.GitCommonDir != "":
		return word.Lit(s.Policy.GitCommonDir + "\n")
	case g.sub == "rev-parse" && (o.Has("--git-dir") || o.Has("--absolute-git-dir") || o.Has("--git-path")) && g.own &&
		s.Policy.GitDir != "":
		return word.Lit(s.Policy.GitDir + "\n")
	case g.sub == "rev-parse" || g.sub == "describe" || g.sub == "rev-list" || g.sub == "merge-base" ||
		g.sub == "symbolic-ref" || g.sub == "hash-object" || g.sub == "write-tree" || g.sub == "commit-tree":
		return word.Unknown(word.Token)
	case g.sub == "branch" && o.Has("--show-current"):
		return word.Unknown(word.Token)
	case g.sub == "ls-files" || g.sub == "ls-tree" && o.Has("--name-only") || o.Has("--name-only"):
		return word.Unknown(word.Below)
	case g.sub == "worktree":
		return word.Lit(s.Land.Host + "\n")
	}
	return word.Unknown(word.Dynamic)
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
func (g *call) paths() {
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
	o := word.Parse(g.args, short, long...)
	g.fileOptions()
	operands := o.Operands
	if g.sub == "grep" && len(o.Values("-e")) == 0 && len(operands) > 0 {
		operands = operands[1:]
	}
	for _, a := range operands {
		g.path(a)
	}
}

// path checks one operand. Words that git takes for revisions never resolve
// to the outside.
func (g *call) path(a arg) {
	s := g.s
	t := a.Text
	if strings.HasPrefix(t.Prefix(), ":(") {
		if i := strings.IndexByte(t.Prefix(), ')'); i > 0 {
			t = t.Cut(i + 1)
		}
	}
	if strings.HasPrefix(t.Prefix(), ":!") || strings.HasPrefix(t.Prefix(), ":^") || strings.HasPrefix(t.Prefix(), ":/") {
		return
	}
	if strings.HasPrefix(t.Prefix(), "file://") {
		t = t.Cut(len("file://"))
	}
	if !word.PathLike(t) || t.First() >= word.Environ || strings.Contains(t.Prefix(), "^{/") {
		return
	}
	for _, dir := range s.Dirs {
		where, abs := s.Locate(t, dir, false)
		switch {
		case where.Writable() || where == land.Unknown:
		case where == land.Git || where == land.Protected:
			if writesFiles(g.sub) {
				s.Refuse(land.Write, a, where, abs)
			}
		default:
			s.denyOutside(a, abs)
		}
		if writesFiles(g.sub) && g.sub != "clean" && where.Writable() && s.HoldsSettings(abs) {
			s.Refuse(land.Write, a, land.Protected, abs)
		}
	}
}

// writesFiles says whether a subcommand writes the paths that it is given.
func writesFiles(sub string) bool {
	return word.Listed(" checkout restore rm mv clean apply checkout-index stash reset update-index ", sub)
}

// fileOptions checks the options that name files or directories.
func (g *call) fileOptions() {
	_, texts := textOptions()
	for _, a := range g.args {
		name, _, glued := strings.Cut(a.Prefix(), "=")
		if !glued || !strings.HasPrefix(name, "--") || slices.Contains(texts, name) {
			continue
		}
		if where, abs, ok := g.s.Mentioned(a.Cut(len(name) + 1)); ok && where != land.Protected &&
			!g.s.isOwnGit(abs) {
			g.s.denyOutside(a, abs)
		}
	}
	// Short options mean different things to different commands.
	short := map[string]string{"archive": "o", "format-patch": "o", "commit": "F", "tag": "F", "notes": "F", "merge": "F",
		"diff": "O", "log": "O", "am": "", "blame": "S", "ls-files": "X"}[g.sub]
	for i, a := range g.args {
		v := a.Prefix()
		if short == "" || len(v) < 2 || v[:2] != "-"+short {
			continue
		}
		if len(v) > 2 {
			g.optionPath(a.After(2))
		} else if i+1 < len(g.args) {
			g.optionPath(g.args[i+1])
		}
	}
}

// isOwnGit says that a path lies in the git directory of the workspace.
func (s *Git) isOwnGit(abs string) bool {
	return s.Policy.GitDir != "" && paths.Within(abs, s.Land.Resolve(s.Policy.GitDir))
}

// optionPath checks a file named by an option: scratch is fine, outside not.
func (g *call) optionPath(a arg) {
	if a.Is("-") || !word.PathLike(a.Text) {
		return
	}
	s := g.s
	for _, dir := range s.Dirs {
		where, abs := s.Locate(a.Text, dir, false)
		if !where.Writable() && where != land.Unknown {
			s.denyOutside(a, path.Clean(abs))
		}
	}
}

// Wrote judges what is written into the git directory of a repository
// below the workspace: its hooks are run and its settings obeyed later.
func (s *Git) Wrote(name string, content text) {
	if content.First() != word.Literal || !strings.Contains(name, "/.git/") {
		return
	}
	at := arg{Text: word.Lit(name)}
	switch {
	case strings.Contains(name, "/.git/hooks/"):
		s.Isolated(func() { s.RunFile(content, []arg{at}) })
	case strings.HasSuffix(name, "/.git/config") || strings.HasSuffix(name, "/.git/config.worktree"):
		for _, line := range content.Lines() {
			if key, value, ok := strings.Cut(line.Known(), "="); ok && !strings.HasPrefix(strings.TrimSpace(key), "#") {
				s.Mentions(word.Lit(value), at)
			}
		}
	}
}
