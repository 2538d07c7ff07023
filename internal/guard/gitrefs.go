package guard

import (
	"path"
	"strings"
)

// refs judges the subcommands that move refs; true if nothing more is to be
// looked at. In a repository that is not shared, refs are the agent's own.
func (g *gitCall) refs() bool {
	shared := g.own && g.s.policy.Linked
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
		if len(g.args) > 0 && g.args[0].is("branch") {
			g.denyRef(g.at, "a new branch")
		}
	}
	return false
}

func (g *gitCall) denyRef(a arg, what string) {
	own := g.s.policy.Branch
	instead := "commit to the current branch"
	if own != "" {
		instead = "commit to " + own + ", the branch of this workspace"
	}
	g.s.deny(RuleGitRefs, a, "", what+" is a ref of the repository that this worktree shares with the host", instead)
}

// isOwn says whether a name means the agent's own branch, or one that was made
// in the workspace.
func (g *gitCall) isOwn(a arg) bool {
	own := g.s.policy.Branch
	v, ok := a.literal()
	v = strings.TrimPrefix(strings.TrimPrefix(v, "refs/"), "heads/")
	return ok && (v == "HEAD" || own != "" && v == own || g.s.sc.made[madeBranch+v])
}

// madeBranch begins the entry of a branch among the things that were made.
const madeBranch = "branch "

// newBranch allows a branch that does not exist yet, which moves nobody's. Git
// itself refuses a name that is taken, but a script may go on after that.
func (g *gitCall) newBranch(a arg, switches bool) {
	s := g.s
	name, ok := a.literal()
	if ok && s.policy.GitCommonDir != "" {
		if e, _ := s.land.lookup(path.Join(s.policy.GitCommonDir, "refs/heads", name)); e == EntryFile || e == EntryLink {
			g.denyRef(a, "the branch "+a.String())
		}
	}
	if known := a.prefix(); known == "" || known[0] == '-' || known[0] == '/' || strings.Contains(known, "..") {
		g.denyRef(a, "the branch "+a.String())
	}
	if !ok {
		return // git refuses it if it is there, and the shell stays on its branch
	}
	s.sc.made[madeBranch+name] = true
	if switches {
		s.sc.branch = name
	}
}

// onOwnBranch denies moving a branch that an earlier checkout switched to.
func (g *gitCall) onOwnBranch() {
	own := g.s.policy.Branch
	if own == "" || g.s.sc.branch == "" || g.s.sc.branch == own || g.s.sc.made[madeBranch+g.s.sc.branch] {
		return
	}
	if g.sub == "reset" && len(parseOptions(g.args, "").operands) == 0 {
		return
	}
	g.denyRef(g.at, g.s.sc.branch)
}

func (g *gitCall) branch() {
	o := parseOptions(g.args, "u", "--sort", "--format", "--contains", "--no-contains", "--merged", "--no-merged",
		"--points-at", "--set-upstream-to", "--column", "--abbrev", "--color")
	lists := o.has("-l", "--list", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--show-current", "--contains",
		"--no-contains", "--merged", "--no-merged", "--points-at", "--format", "--sort", "--column")
	switch {
	case o.has("-d", "-D", "--delete", "-m", "-M", "--move", "-c", "-C", "--copy"):
		g.denyRef(g.at, "the branch")
	case o.has("-f", "--force") && len(o.operands) > 0 && !g.isOwn(o.operands[0]):
		g.denyRef(o.operands[0], o.operands[0].String())
	case o.has("-u", "--set-upstream-to", "--unset-upstream", "--edit-description", "-t", "--track"):
		g.denyConfig(g.at, "a branch's settings")
	case !lists && len(o.operands) > 0 && !g.isOwn(o.operands[0]):
		g.newBranch(o.operands[0], false)
	}
}

// checkout allows files, other commits and new branches; one that is moved is a
// ref of the host's.
func (g *gitCall) checkout() {
	s := g.s
	paths := false
	for _, a := range g.args {
		paths = paths || a.is("--")
	}
	valued := "bB"
	if g.sub == "switch" {
		valued = "cC"
	}
	o := parseOptions(g.args, valued, "--orphan", "--create", "--force-create", "--conflict", "--source",
		"--pathspec-from-file")
	for _, a := range o.values("-B", "-C", "--force-create") {
		if !g.isOwn(a) {
			g.denyRef(a, "the branch "+a.String())
		}
	}
	if made := o.values("-b", "-c", "--orphan", "--create"); len(made) > 0 {
		if !g.isOwn(made[0]) {
			g.newBranch(made[0], true)
		}
		return
	}
	if o.has("-t", "--track") {
		g.denyRef(g.at, "a new branch")
	}
	if paths || len(o.operands) != 1 || o.has("--detach", "-d", "--patch", "-p", "--ours", "--theirs") {
		return
	}
	name, ok := o.operands[0].literal()
	switch {
	case !ok:
		s.sc.branch = "an unknown branch"
	case name == "-" || g.isOwn(o.operands[0]):
		s.sc.branch = s.policy.Branch
		if s.sc.made[madeBranch+name] {
			s.sc.branch = name
		}
	case name == "." || strings.HasPrefix(name, "HEAD") || strings.ContainsAny(name, "~^@:*") ||
		s.land.isFile(s.absolute(name)) || strings.Contains(name, "."):
	default:
		s.sc.branch = name
	}
}

func (g *gitCall) tag() {
	o := parseOptions(g.args, "mFun", "--sort", "--format", "--contains", "--merged", "--points-at", "--message",
		"--no-contains", "--no-merged", "--column", "--file", "--local-user")
	if o.has("-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort",
		"--format", "-v", "--verify", "--column") || len(o.operands) == 0 && !o.has("-d", "--delete") {
		return
	}
	g.denyRef(g.at, "a tag")
}

func (g *gitCall) updateRef() {
	o := parseOptions(g.args, "m")
	if g.sub == "symbolic-ref" && len(o.operands) < 2 && !o.has("-d", "--delete") {
		return
	}
	if o.has("--stdin") || o.has("-d", "--delete") || len(o.operands) == 0 {
		g.denyRef(g.at, "what it names")
	}
	target := o.operands[0]
	if g.sub == "symbolic-ref" {
		target = o.operands[len(o.operands)-1]
	}
	if !g.isOwn(target) {
		g.denyRef(target, target.String())
	}
}

// rebase moves the branch it is on, or the one that it names last.
func (g *gitCall) rebase() {
	o := parseOptions(g.args, "xsXCS", "--onto", "--exec", "--strategy", "--strategy-option", "--empty", "--whitespace")
	if o.has("--update-refs") {
		g.denyRef(g.at, "each branch on the way")
	}
	if n := len(o.operands); n > 1 && !g.isOwn(o.operands[n-1]) || n > 0 && o.has("--root") && !g.isOwn(o.operands[n-1]) {
		g.denyRef(o.operands[len(o.operands)-1], o.operands[len(o.operands)-1].String())
	}
	g.onOwnBranch()
}

// remote checks a repository given by name, path or URL, and says whether it
// is reached over the network.
func (g *gitCall) remote(a arg) bool {
	s := g.s
	v, ok := a.literal()
	if !ok {
		if a.first() >= environ {
			return true
		}
		v = a.known()
	}
	if url, known := s.policy.Remotes[v]; known {
		v = url
		if !strings.Contains(v, "://") && strings.HasPrefix(v, ".") {
			v = s.land.workspace + "/" + v
		}
	}
	for _, scheme := range []string{"ext::", "fd::", "transport::"} {
		if strings.HasPrefix(v, scheme) {
			text := strings.TrimPrefix(v, scheme)
			s.isolated(func() { s.runText(lit(text), a, "git") })
			s.deny(RuleGitOutside, a, "", "the URL "+clip(v, 120)+" runs a program", "use a network URL")
		}
	}
	v = strings.TrimPrefix(strings.TrimPrefix(v, "file:"), "//")
	if strings.Contains(v, "://") || !pathLike(lit(v)) {
		return true
	}
	if !strings.ContainsAny(v, "/.~") {
		return true // a remote by name
	}
	if strings.HasPrefix(v, "~") {
		v = s.land.home + v[1:]
	}
	for _, dir := range s.sc.dirs {
		if where, abs := s.locate(lit(v), dir, false); !where.writable() {
			s.denyGit(a, abs)
		}
	}
	return false
}

func (g *gitCall) push(shared bool) {
	o := parseOptions(g.args, "o", "--repo", "--receive-pack", "--exec", "--push-option",
		"--recurse-submodules", "--signed")
	for _, a := range o.values("--receive-pack", "--exec") {
		g.s.isolated(func() { g.s.runText(a.text, a, "git push") })
	}
	for _, a := range o.values("--repo") {
		g.remote(a)
	}
	if len(o.operands) == 0 {
		return
	}
	network := g.remote(o.operands[0])
	if network || !shared {
		return
	}
	if o.has("--all", "--mirror", "--tags", "--prune", "--branches", "-d", "--delete") {
		g.denyRef(g.at, "what it pushes to")
	}
	for _, a := range o.operands[1:] {
		g.refspec(a)
	}
}

// refspec denies a refspec whose destination is another ref than the own
// branch or a remote-tracking one.
func (g *gitCall) refspec(a arg) {
	src, dst, ok := strings.Cut(strings.TrimPrefix(a.known(), "+"), ":")
	if !ok {
		if g.sub != "push" {
			return
		}
		dst = src
	}
	if dst == "" && g.sub != "push" || strings.HasPrefix(dst, "refs/remotes/") || g.isOwn(arg{lit(dst), a.start, a.end}) {
		return
	}
	g.denyRef(a, dst)
}

func (g *gitCall) fetch(shared bool) {
	o := parseOptions(g.args, "jo", "--upload-pack", "--depth", "--shallow-since", "--refmap", "--server-option",
		"--negotiation-tip", "--strategy", "--exec")
	for _, a := range o.values("--upload-pack", "--exec") {
		g.s.isolated(func() { g.s.runText(a.text, a, "git fetch") })
	}
	if g.sub == "pull" && shared {
		g.onOwnBranch()
	}
	if len(o.operands) == 0 {
		return
	}
	if o.has("--multiple") {
		for _, a := range o.operands {
			g.remote(a)
		}
		return
	}
	g.remote(o.operands[0])
	if !shared || g.sub == "ls-remote" {
		return
	}
	for _, a := range append(o.operands[1:], o.values("--refmap")...) {
		g.refspec(a)
	}
}

// remotes judges git remote: looking is fine, changing writes shared
// configuration.
func (g *gitCall) remotes(shared bool) bool {
	o := parseOptions(g.args, "tm")
	if len(o.operands) == 0 {
		return true
	}
	switch sub := o.operands[0].known(); sub {
	case "show", "get-url", "update", "prune":
		for _, a := range o.operands[1:] {
			g.remote(a)
		}
		return true
	}
	if shared {
		g.denyConfig(g.at, "the list of remotes")
	}
	for _, a := range o.operands[1:] {
		g.remote(a)
	}
	return true
}
