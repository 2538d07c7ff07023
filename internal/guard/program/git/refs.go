package git

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// refs judges the subcommands that move refs; true if nothing more is to be
// looked at. In a repository that is not shared, refs are the agent's own.
func (g *call) refs() bool {
	shared := g.own && g.s.Policy.Linked
	switch g.sub {
	case "push":
		g.push(shared)
		return true
	case "fetch", "pull", "fetch-pack", "ls-remote":
		g.fetch(shared)
		return true
	case "remote":
		return g.remotes(shared)
	}
	if !shared {
		return false
	}
	switch g.sub {
	case "branch":
		g.branch()
	case "checkout", "switch":
		g.checkout()
	case "tag":
		g.tag()
	case "update-ref", "symbolic-ref":
		g.updateRef()
	case "rebase":
		g.rebase()
	case "commit", "merge", "cherry-pick", "revert", "am", "reset":
		g.onOwnBranch()
	case "stash":
		if len(g.args) > 0 && g.args[0].Is("branch") {
			g.denyRef(g.at, "a new branch")
		}
	}
	return false
}

func (g *call) denyRef(a arg, what string) {
	own := g.s.Policy.Branch
	instead := "commit to the current branch"
	if own != "" {
		instead = "commit to " + own + ", the branch of this workspace"
	}
	g.s.Deny(verdict.RuleGitRefs, a, "", what+" is a ref of the repository that this worktree shares with the host",
		instead)
}

// isOwn says whether a name means the agent's own branch, or one that was made
// in the workspace.
func (g *call) isOwn(a arg) bool {
	own := g.s.Policy.Branch
	v, ok := a.Literal()
	v = strings.TrimPrefix(strings.TrimPrefix(v, "refs/"), "heads/")
	return ok && (v == "HEAD" || own != "" && v == own || g.s.Made[madeBranch+v])
}

// madeBranch begins the entry of a branch among the things that were made.
const madeBranch = "branch "

// OnBranch says which branch HEAD is on, if that is known, and whether it was
// made in the workspace.
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
	name, ok := a.Literal()
	if ok && s.Policy.GitCommonDir != "" {
		if e, _ := s.Land.Lookup(path.Join(s.Policy.GitCommonDir, "refs/heads", name)); e == land.EntryFile ||
			e == land.EntryLink {
			g.denyRef(a, "the branch "+a.String())
		}
	}
	if known := a.Prefix(); known == "" || known[0] == '-' || known[0] == '/' || strings.Contains(known, "..") {
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

// onOwnBranch denies moving a branch that an earlier checkout switched to.
func (g *call) onOwnBranch() {
	own := g.s.Policy.Branch
	if own == "" || g.s.Branch == "" || g.s.Branch == own || g.s.Made[madeBranch+g.s.Branch] {
		return
	}
	if g.sub == "reset" && len(word.Parse(g.args, "").Operands) == 0 {
		return
	}
	g.denyRef(g.at, g.s.Branch)
}

func (g *call) branch() {
	o := word.Parse(g.args, "u", "--sort", "--format", "--contains", "--no-contains", "--merged", "--no-merged",
		"--points-at", "--set-upstream-to", "--column", "--abbrev", "--color")
	lists := o.Has("-l", "--list", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--show-current", "--contains",
		"--no-contains", "--merged", "--no-merged", "--points-at", "--format", "--sort", "--column")
	switch {
	case o.Has("-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy"):
		g.denyRef(g.at, "the branch")
	case o.Has("-f", "--force") && len(o.Operands) > 0 && !g.isOwn(o.Operands[0]):
		g.denyRef(o.Operands[0], o.Operands[0].String())
	case o.Has("-u", "--set-upstream-to", "--unset-upstream", "--edit-description", "-t", "--track"):
		g.denyConfig(g.at, "a branch's settings")
	case !lists && len(o.Operands) > 0 && !g.isOwn(o.Operands[0]):
		g.newBranch(o.Operands[0], false)
	}
}

// checkout allows files, other commits and new branches; one that is moved is a
// ref of the host's.
func (g *call) checkout() {
	s := g.s
	paths := slices.ContainsFunc(g.args, func(a arg) bool { return a.Is("--") })
	valued := "bB"
	if g.sub == "switch" {
		valued = "cC"
	}
	o := word.Parse(g.args, valued, "--orphan", "--create", "--force-create", "--conflict", "--source",
		"--pathspec-from-file")
	for _, a := range o.Values("-B", "-C", "--force-create") {
		if !g.isOwn(a) {
			g.denyRef(a, "the branch "+a.String())
		}
	}
	if made := o.Values("-b", "-c", "--orphan", "--create"); len(made) > 0 {
		if !g.isOwn(made[0]) {
			g.newBranch(made[0], true)
		}
		return
	}
	if o.Has("-t", "--track") {
		g.denyRef(g.at, "a new branch")
	}
	if paths || len(o.Operands) != 1 || o.Has("--detach", "-d", "--patch", "-p", "--ours", "--theirs") {
		return
	}
	name, ok := o.Operands[0].Literal()
	switch {
	case !ok:
		s.Branch = "an unknown branch"
	case name == "-" || g.isOwn(o.Operands[0]):
		s.Branch = s.Policy.Branch
		if s.Made[madeBranch+name] {
			s.Branch = name
		}
	case name == "." || strings.HasPrefix(name, "HEAD") || strings.ContainsAny(name, "~^@:*") ||
		s.Land.IsFile(s.Absolute(name)) || strings.Contains(name, "."):
	default:
		s.Branch = name
	}
}

func (g *call) tag() {
	o := word.Parse(g.args, "mFun", "--sort", "--format", "--contains", "--merged", "--points-at", "--message",
		"--no-contains", "--no-merged", "--column", "--file", "--local-user")
	if o.Has("-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort",
		"--format", "-v", "--verify", "--column") || len(o.Operands) == 0 && !o.Has("-d", "--delete") {
		return
	}
	g.denyRef(g.at, "a tag")
}

func (g *call) updateRef() {
	o := word.Parse(g.args, "m")
	if g.sub == "symbolic-ref" && len(o.Operands) < 2 && !o.Has("-d", "--delete") {
		return
	}
	if o.Has("--stdin") || o.Has("-d", "--delete") || len(o.Operands) == 0 {
		g.denyRef(g.at, "what it names")
	}
	target := o.Operands[0]
	if g.sub == "symbolic-ref" {
		target = o.Operands[len(o.Operands)-1]
	}
	if !g.isOwn(target) {
		g.denyRef(target, target.String())
	}
}

// rebase moves the branch it is on, or the one that it names last.
func (g *call) rebase() {
	o := word.Parse(g.args, "xsXCS", "--onto", "--exec", "--strategy", "--strategy-option", "--empty", "--whitespace")
	if o.Has("--update-refs") {
		g.denyRef(g.at, "each branch on the way")
	}
	if n := len(o.Operands); n > 1 && !g.isOwn(o.Operands[n-1]) || n > 0 && o.Has("--root") && !g.isOwn(o.Operands[n-1]) {
		g.denyRef(o.Operands[len(o.Operands)-1], o.Operands[len(o.Operands)-1].String())
	}
	g.onOwnBranch()
}

// remote checks a repository given by name, path or URL, and says whether it
// is reached over the network.
func (g *call) remote(a arg) bool {
	s := g.s
	v, ok := a.Literal()
	if !ok {
		if a.First() >= word.Environ {
			return true
		}
		v = a.Known()
	}
	if url, known := s.Policy.Remotes[v]; known {
		v = url
		if !strings.Contains(v, "://") && strings.HasPrefix(v, ".") {
			v = s.Workspace() + "/" + v
		}
	}
	for _, scheme := range []string{"ext::", "fd::", "transport::"} {
		if strings.HasPrefix(v, scheme) {
			text := strings.TrimPrefix(v, scheme)
			s.Isolated(func() { s.RunText(word.Lit(text), a, "git") })
			s.Deny(verdict.RuleGitOutside, a, "", "the URL "+verdict.Clip(v, 120)+" runs a program", "use a network URL")
		}
	}
	v = strings.TrimPrefix(strings.TrimPrefix(v, "file:"), "//")
	if strings.Contains(v, "://") || !word.PathLike(word.Lit(v)) {
		return true
	}
	if !strings.ContainsAny(v, "/.~") {
		return true // a remote by name
	}
	if strings.HasPrefix(v, "~") {
		v = s.Home() + v[1:]
	}
	for _, dir := range s.Dirs {
		if where, abs := s.Locate(word.Lit(v), dir, false); !where.Writable() {
			s.denyOutside(a, abs)
		}
	}
	return false
}

func (g *call) push(shared bool) {
	o := word.Parse(g.args, "o", "--repo", "--receive-pack", "--exec", "--push-option",
		"--recurse-submodules", "--signed")
	for _, a := range o.Values("--receive-pack", "--exec") {
		g.s.Isolated(func() { g.s.RunText(a.Text, a, "git push") })
	}
	for _, a := range o.Values("--repo") {
		g.remote(a)
	}
	if len(o.Operands) == 0 {
		return
	}
	network := g.remote(o.Operands[0])
	if network || !shared {
		return
	}
	if o.Has("--all", "--mirror", "--tags", "--prune", "--branches", "-d", "--delete") {
		g.denyRef(g.at, "what it pushes to")
	}
	for _, a := range o.Operands[1:] {
		g.refspec(a)
	}
}

// refspec denies a refspec whose destination is another ref than the own
// branch or a remote-tracking one.
func (g *call) refspec(a arg) {
	src, dst, ok := strings.Cut(strings.TrimPrefix(a.Known(), "+"), ":")
	if !ok {
		if g.sub != "push" {
			return
		}
		dst = src
	}
	if dst == "" && g.sub != "push" || strings.HasPrefix(dst, "refs/remotes/") || g.isOwn(a.Hold(word.Lit(dst))) {
		return
	}
	g.denyRef(a, dst)
}

func (g *call) fetch(shared bool) {
	o := word.Parse(g.args, "jo", "--upload-pack", "--depth", "--shallow-since", "--refmap", "--server-option",
		"--negotiation-tip", "--strategy", "--exec")
	for _, a := range o.Values("--upload-pack", "--exec") {
		g.s.Isolated(func() { g.s.RunText(a.Text, a, "git fetch") })
	}
	if g.sub == "pull" && shared {
		g.onOwnBranch()
	}
	if len(o.Operands) == 0 {
		return
	}
	if o.Has("--multiple") {
		for _, a := range o.Operands {
			g.remote(a)
		}
		return
	}
	g.remote(o.Operands[0])
	if !shared || g.sub == "ls-remote" {
		return
	}
	for _, a := range append(o.Operands[1:], o.Values("--refmap")...) {
		g.refspec(a)
	}
}

// remotes judges git remote: looking is fine, changing writes shared
// configuration.
func (g *call) remotes(shared bool) bool {
	o := word.Parse(g.args, "tm")
	if len(o.Operands) == 0 {
		return true
	}
	if shared && !word.Listed(" show get-url update prune ", o.Operands[0].Known()) {
		g.denyConfig(g.at, "the list of remotes")
	}
	for _, a := range o.Operands[1:] {
		g.remote(a)
	}
	return true
}
