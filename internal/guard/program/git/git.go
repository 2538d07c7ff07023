// Package git judges git: the repository it is aimed at, its configuration, the refs that it moves and the paths
// that it names.
package git

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/bash"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
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
	HomeConfig(at arg)
	HoldsSettings(abs string) bool
	PatchText(t text, at arg)
	RunFile(content text, argv []arg)
}

// Git judges what git is told in a call.
type Git struct {
	*bash.Shell
	Host
}

// call is one git command being judged.
type call struct {
	s   *Git
	sub string
	// words begin with the subcommand, args behind it, and o is args taken apart as the row says.
	words, args []arg
	row         *table.Row
	o           word.Options
	own         bool // in the workspace, and so on the shared repository
	at          arg
}

// Command judges a git command: its repository, its configuration, the refs that it moves and the paths that it names.
func (s *Git) Command(argv []arg) {
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
	g := &call{s: s, sub: sub, words: rest, args: rest[1:], row: table.Subcommand(sub), at: word.Cover(argv)}
	valued, long := g.row.Options()
	g.o = word.Parse(g.args, valued, long...)
	for _, dir := range s.Dirs {
		dir = s.Land.Resolve(dir)
		g.own = g.own || s.Land.Place(dir) != land.Scratch && !s.ownRepository(dir)
	}
	shared := g.own && s.Policy.Linked
	g.alters(shared)
	if shared {
		g.refs()
	}
	g.settings()
	g.operands(shared)
	s.Print(g.output())
}

// ownRepository says that a directory of the workspace is in a repository of its own, which shares nothing.
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
		s.Dirs = s.aimed(value, "where git would run")
	case "--git-dir":
		s.aimed(value, name)
	case "--work-tree":
		if to := s.aimed(value, name); value.Worst() == word.Literal {
			s.Dirs = to
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

// aimed denies a place outside that git is aimed at, and says where it is. The git directory of the workspace is what
// git uses anyway. A place that can't be told passes if it has no name.
func (s *Git) aimed(a arg, name string) (to []string) {
	for _, dir := range s.Dirs {
		where, abs := s.Locate(a.Text, dir, false)
		switch {
		case where.Writable() || where == land.Git || s.isGitDir(abs):
		case where == land.Unknown && name == "":
		case where == land.Unknown:
			s.Deny(verdict.RuleUnknownPath, a, "", name+" can't be told beforehand", "leave it out and run git in the workspace")
		default:
			s.denyOutside(a, abs)
		}
		to = append(to, abs)
	}
	return to
}

// isGitDir says that a path lies in the git directory of the workspace.
func (s *Git) isGitDir(abs string) bool {
	return s.Policy.GitDir != "" && paths.Within(abs, s.Land.Resolve(s.Policy.GitDir))
}

func (s *Git) denyOutside(a arg, abs string) {
	s.Deny(verdict.RuleGitOutside, a, abs, "git is aimed at "+verdict.Clip(abs, 200)+", outside the workspace",
		"run git in "+s.Workspace()+" on its own repository and with paths below it")
}

// output is what git prints, where it is used as a path.
func (g *call) output() text {
	s, o := g.s, g.o
	switch {
	case o.Has("--show-toplevel") && g.own:
		return word.Lit(s.Workspace() + "\n")
	case o.Has("--show-toplevel"):
		return word.Lit(s.Dir() + "\n")
	case o.Has("--git-common-dir", "--show-superproject-working-tree") && g.own:
		return word.Lit(s.Policy.GitCommonDir + "\n")
	case o.Has("--git-dir", "--absolute-git-dir", "--git-path") && g.own:
		return word.Lit(s.Policy.GitDir + "\n")
	case o.Has("--show-cdup", "--name-only") || g.sub == "ls-files":
		return word.Unknown(word.Below)
	case o.Has("--show-current") ||
		word.Listed(" rev-parse describe rev-list merge-base symbolic-ref hash-object write-tree commit-tree ", g.sub):
		return word.Unknown(word.Token)
	case g.sub == "worktree":
		return word.Lit(s.Land.Host + "\n")
	}
	return word.Unknown(word.Dynamic)
}

// path checks one operand. Words that git takes for revisions never resolve to the outside.
func (g *call) path(a arg) {
	s, t := g.s, a.Text
	if i := strings.IndexByte(t.Prefix(), ')'); i > 0 && strings.HasPrefix(t.Prefix(), ":(") {
		t = t.Cut(i + 1)
	}
	v := t.Prefix()
	if !word.PathLike(t) || t.First() >= word.Environ || strings.Contains(v, "^{/") || len(v) > 1 && v[0] == ':' &&
		strings.IndexByte("!^/", v[1]) >= 0 {
		return
	}
	for _, dir := range s.Dirs {
		where, abs := s.Locate(t, dir, false)
		if where.Writable() && g.sub != "clean" && s.HoldsSettings(abs) {
			where = land.Protected
		}
		switch {
		case where.Writable() || where == land.Unknown:
		case where != land.Git && where != land.Protected:
			s.denyOutside(a, abs)
		case word.Listed(" checkout restore rm mv clean apply checkout-index stash reset update-index ", g.sub): // writes it
			s.Refuse(land.Write, a, where, abs)
		}
	}
}

// inside denies a value that names a place outside, but for the git directory of the workspace.
func (s *Git) inside(a arg) {
	if where, abs, found := s.Mentioned(a.Text); found && where != land.Protected && !s.isGitDir(abs) {
		s.denyOutside(a, abs)
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
