package git

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program/table"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// alters denies what the row of the subcommand says of its words. Most of it is only denied in a linked worktree.
func (g *call) alters(linked bool) {
	s := g.s
	r := table.Altering("git-"+g.sub, g.words)
	if r == nil {
		return
	}
	switch {
	case r.Denial == table.TheHome:
		s.HomeConfig(g.at)
	case !linked && r.Denial != table.OtherOnes:
	case r.Denial == table.TheRefs:
		g.denyRef(g.at, "what git "+g.sub+" changes here")
	case r.Denial == table.TheSettings:
		g.denyConfig("what git " + g.sub + " names")
	case r.Denial != 0:
		s.Deny(verdict.RuleGitShared, g.at, "", "git "+g.sub+" would change what is shared with the host or reach beyond it",
			"leave the repository's housekeeping to the user")
	}
}

func (g *call) denyConfig(what string) {
	g.s.Deny(verdict.RuleGitConfig, g.at, "", "this would change "+what+
		" in configuration that is shared with the host or runs programs",
		"pass settings for one command with -c, or leave them as they are")
}

// config allows looking, and in a clone of its own setting what runs nothing.
func (g *call) config(shared bool) {
	s, o, ops := g.s, g.o, g.o.Operands
	switch {
	case table.Altering("git-config", g.words) == nil:
		return
	case o.Has("-f", "--file"):
	case o.Has("--global"):
		s.HomeConfig(g.at)
	case shared || o.Has("--system"):
		g.denyConfig("a setting")
	}
	if n := len(ops); n > 1 { // a subcommand may stand before them
		s.configPair(arg{Text: ops[n-2].Plus("=").With(ops[n-1].Text...), Start: ops[n-2].Start, End: ops[n-1].End})
	}
}

// configPair judges key=value as -c gives it, or a key set for good.
func (s *Git) configPair(a arg) {
	key, _, _ := strings.Cut(a.Prefix(), "=")
	value := a.After(min(len(key)+1, len(a.Prefix())))
	section, name, _ := strings.Cut(key, ".")
	switch section = strings.ToLower(section); {
	case key == "" && len(a.Text) > 0:
		s.Deny(verdict.RuleGitConfig, a, "", "the setting given to git can't be told beforehand", "write it out")
	case section == "alias":
		command := word.Lit("git ").With(value.Text...)
		if strings.HasPrefix(value.Prefix(), "!") {
			command = value.Cut(1)
		}
		s.Isolated(func() { s.RunText(command, a, "a git alias") })
	case word.Listed(" user author committer safe ", section): // which name nothing that is run or written
	case section == "protocol" && value.Is("always"):
		s.Deny(verdict.RuleGitConfig, a, "", "allowing this protocol lets URLs run programs", "leave it out")
	case section == "url":
		s.remote(a.Hold(word.Lit(name[:max(strings.LastIndexByte(name, '.'), 0)])))
	default:
		s.obeyed(value, a)
	}
}

// obeyed judges the value of a setting: any may be run, or name where something is.
func (s *Git) obeyed(value, at arg) {
	v := value.Known()
	if _, written := s.Files[s.Absolute(v)]; written || strings.Contains(v, " ") {
		s.Isolated(func() { s.SuspiciousRun(strings.TrimPrefix(v, "!"), at) })
		return
	}
	s.inside(value)
}

// Setting judges a GIT_* variable.
func (s *Git) Setting(name string, value arg) {
	switch {
	case name == "GIT_CONFIG_PARAMETERS":
		s.Deny(verdict.RuleGitConfig, value, "", name+" is git's own", "pass settings for one command with -c")
	case word.Listed(" GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_TEMPLATE_DIR "+
		"GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_ALTERNATE_OBJECT_DIRECTORIES ", name):
		for _, t := range value.Split(":") {
			s.aimed(value.Hold(t), name)
		}
	case strings.HasPrefix(name, "GIT_TRACE") && strings.HasPrefix(value.Prefix(), "/"):
		s.Check(land.Write, value)
	case !strings.HasPrefix(name, "GIT_AUTHOR_") && !strings.HasPrefix(name, "GIT_COMMITTER_"):
		s.obeyed(value, value)
	}
}

// settings judges the options of the subcommand by its row: what they run, set and name.
func (g *call) settings() {
	s := g.s
	for _, f := range g.o.Flags {
		switch mark := g.row.Mark(f.Name); {
		case !f.Has:
		case mark == table.ShellOf:
			s.Isolated(func() { s.RunText(f.Value.Text, f.Value, "git "+g.sub) })
		case mark == table.Setting:
			s.configPair(f.Value)
		case mark == table.Judged:
			s.aimed(f.Value, "")
		case mark == 0:
			s.inside(f.Value)
		}
	}
}

// operands judges what the subcommand is given beside options, which mostly are paths.
func (g *call) operands(shared bool) {
	s, list := g.s, g.o.Operands
	switch g.sub {
	case "config":
		g.config(shared)
		return
	case "push", "fetch", "pull", "fetch-pack", "ls-remote":
		g.transfer(shared)
		return
	case "bisect", "submodule", "remote", "subtree":
		if _, words := word.Leading(g.args, "", nil); len(words) > 1 && (words[0].Is("run") || words[0].Is("foreach")) {
			g.runs(words[1:])
			return
		}
		for _, a := range list[min(1, len(list)):] {
			s.remote(a)
		}
	case "grep":
		if !g.o.Has("-e") {
			list = list[min(1, len(list)):]
		}
	case "apply", "am":
		if g.o.Has("--unsafe-paths") {
			s.Deny(verdict.RuleGitOutside, g.at, "", "--unsafe-paths lets a patch write outside the workspace", "leave it out")
		}
		if s.Stdin != nil {
			s.PatchText(s.Stdin.Text, g.at)
		}
	case "init":
		if made := g.makes(list, 0); g.o.Has("--separate-git-dir") && slices.Contains(s.Land.Own, made) {
			s.Deny(verdict.RuleGitShared, g.at, "", "--separate-git-dir would move the repository of the workspace",
				"leave it out")
		}
	case "clone":
		if len(list) > 0 {
			s.remote(list[0])
			g.makes(list, 1)
		}
	case "clean", "stash":
		g.sweeps()
	}
	for _, a := range list {
		g.path(a)
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

// runs judges a command that git runs: one word is text of the shell.
func (g *call) runs(words []arg) {
	s := g.s
	_, command := word.Leading(words, "", nil)
	s.Isolated(func() {
		if len(command) == 1 {
			s.RunText(command[0].Text, command[0], "git "+g.sub)
		} else {
			s.Exec(command)
		}
	})
}

// sweeps denies taking away the hook's registration with everything else that is not in the repository.
func (g *call) sweeps() {
	s, o := g.s, g.o
	if !g.own || o.Has("-n", "--dry-run") || !o.Has("-f", "--force", "-u", "--include-untracked", "-a", "--all") {
		return
	}
	for _, r := range roster.All() {
		dir := path.Dir(r.Local)
		spared := slices.ContainsFunc(o.Values("-e", "--exclude"), func(a arg) bool {
			return strings.HasPrefix(strings.TrimPrefix(a.Known(), "/"), dir)
		}) || slices.ContainsFunc(o.Operands, func(a arg) bool {
			return strings.HasPrefix(a.Known(), ":!"+dir) || strings.HasPrefix(a.Known(), ":^"+dir)
		})
		for _, at := range s.Dirs {
			if name := at + "/" + r.Local; r.Local != "" && !spared && s.Land.IsFile(name) {
				s.Deny(verdict.RuleSelf, g.at, name, "git "+g.sub+" would take away "+r.Local+", which belongs to the guard",
					"leave it out: git clean -e "+dir+", git stash push -u -- ':!"+dir+"'")
			}
		}
	}
}
