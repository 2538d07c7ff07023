package git

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// refs judges the subcommands that move refs of a repository that is shared. In others, refs are the agent's own.
func (g *call) refs() {
	s, o, list := g.s, g.o, g.o.Operands
	switch n := len(list); {
	case g.sub == "checkout" || g.sub == "switch":
		g.checkout()
	case n == 0:
	case g.sub == "update-ref" || g.sub == "branch" && o.Has("-f", "--force"):
		g.moves(list[0])
	case g.sub == "branch" && !o.Has(strings.Fields(g.row.Looks)...):
		g.newBranch(list[0], false)
	case g.sub == "symbolic-ref" && n > 1:
		g.moves(list[0])
		g.moves(list[1])
	case g.sub == "rebase" && (n > 1 || o.Has("--root")):
		g.moves(list[n-1])
	}
	// An earlier checkout may have switched to a branch that is not to be moved.
	if s.Policy.Branch != "" && s.Branch != "" && !g.isOwn(g.at.Hold(word.Lit(s.Branch))) &&
		(word.Listed(" commit merge cherry-pick revert am pull rebase ", g.sub) || g.sub == "reset" && len(list) > 0) {
		g.denyRef(g.at, s.Branch)
	}
}

// moves denies moving a ref that is not the agent's own.
func (g *call) moves(a arg) {
	if !g.isOwn(a) {
		g.denyRef(a, a.String())
	}
}

func (g *call) denyRef(a arg, what string) {
	g.s.Deny(verdict.RuleGitRefs, a, "", what+" is a ref of the repository that this worktree shares with the host",
		"commit to "+cmp.Or(g.s.Policy.Branch, "the current branch")+", which belongs to this workspace")
}

// isOwn says whether a name means the agent's own branch, or one that was made in the workspace.
func (g *call) isOwn(a arg) bool {
	own := g.s.Policy.Branch
	v, ok := a.Literal()
	v = strings.TrimPrefix(strings.TrimPrefix(v, "refs/"), "heads/")
	return ok && (v == "HEAD" || own != "" && v == own || g.s.Made[madeBranch+v])
}

// madeBranch begins the entry of a branch among the things that were made.
const madeBranch = "branch "

// OnBranch says which branch HEAD is on, if that is known, and whether it was made in the workspace.
func (s *Git) OnBranch(name string, madeHere bool) {
	if name != "" {
		s.Branch = name
	}
	if madeHere {
		s.Made[madeBranch+name] = true
	}
}

// newBranch allows a branch that does not exist yet, which moves nobody's. Git
// itself refuses a name that is taken, but a script may go on after that.
func (g *call) newBranch(a arg, switches bool) {
	s := g.s
	if g.isOwn(a) {
		return
	}
	name, ok := a.Literal()
	taken := ok && s.Policy.GitCommonDir != "" && s.Land.IsFile(path.Join(s.Policy.GitCommonDir, "refs/heads", name))
	if known := a.Prefix(); taken || known == "" || known[0] == '-' || known[0] == '/' || strings.Contains(known, "..") {
		g.denyRef(a, "the branch "+a.String())
	}
	if !ok {
		return // git refuses it if it is there, and the shell stays on its branch
	}
	s.Made[madeBranch+name] = true
	if switches {
		s.Branch = name
	}
}

// checkout allows files, other commits and new branches; one that is moved is a ref of the host's.
func (g *call) checkout() {
	s, o := g.s, g.o
	for _, a := range o.Values("-B", "-C", "--force-create") {
		g.moves(a)
	}
	if made := o.Values("-b", "-c", "--orphan", "--create"); len(made) > 0 {
		g.newBranch(made[0], true)
		return
	}
	if len(o.Operands) != 1 || o.Has("--detach", "-d", "--patch", "-p", "--ours", "--theirs") ||
		slices.ContainsFunc(g.args, func(a arg) bool { return a.Is("--") }) {
		return
	}
	name, ok := o.Operands[0].Literal()
	switch {
	case !ok:
		s.Branch = "an unknown branch"
	case name == "-" || name == "HEAD":
		s.Branch = s.Policy.Branch
	case g.isOwn(o.Operands[0]) ||
		!strings.HasPrefix(name, "HEAD") && !strings.ContainsAny(name, ".~^@:*") && !s.Land.IsFile(s.Absolute(name)):
		s.Branch = name
	}
}

// remote checks a repository given by name, path or URL, and says whether it is reached over the network.
func (s *Git) remote(a arg) bool {
	v := a.Known()
	if url, known := s.Policy.Remotes[v]; known {
		v = url
		if strings.HasPrefix(v, ".") {
			v = s.Workspace() + "/" + v
		}
	}
	if scheme, command, ok := strings.Cut(v, "::"); ok && word.Listed(" ext fd transport ", scheme) {
		s.Isolated(func() { s.RunText(word.Lit(command), a, "git") })
		s.Deny(verdict.RuleGitOutside, a, "", "the URL "+verdict.Clip(v, 120)+" runs a program", "use a network URL")
	}
	v = strings.TrimPrefix(strings.TrimPrefix(v, "file:"), "//")
	if a.First() >= word.Environ || strings.Contains(v, "://") || !word.PathLike(word.Lit(v)) ||
		!strings.ContainsAny(v, "/.~") { // it may be the name of one
		return true
	}
	s.aimed(a.Hold(s.Homed(v)), "the repository")
	return false
}

// transfer judges the repository that is pushed to or fetched from, and the refs that move.
func (g *call) transfer(shared bool) {
	o := g.o
	list := append(o.Values("--repo"), o.Operands...)
	if len(list) == 0 {
		return
	}
	pushes := g.sub == "push"
	if network := g.s.remote(list[0]); !shared || g.sub == "ls-remote" || pushes && network {
		return
	}
	if pushes && o.Has("--all", "--mirror", "--tags", "--prune", "--branches", "-d", "--delete") {
		g.denyRef(g.at, "what it pushes to")
	}
	for _, a := range append(list[1:], o.Values("--refmap")...) {
		g.refspec(a)
	}
}

// refspec denies a refspec whose destination is another ref than the own branch or a remote-tracking one.
func (g *call) refspec(a arg) {
	whole, pushes := strings.TrimPrefix(a.Known(), "+"), g.sub == "push"
	_, dst, named := strings.Cut(whole, ":")
	if pushes && !named {
		dst = whole
	}
	if dst == "" && !pushes || strings.HasPrefix(dst, "refs/remotes/") || g.isOwn(a.Hold(word.Lit(dst))) {
		return
	}
	g.denyRef(a, dst)
}
