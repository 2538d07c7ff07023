package aside

import (
	"maps"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// Report says what was brought over, and what was not.
type Report struct {
	Moved   []Moved  `json:"moved,omitempty"`
	Kept    []Kept   `json:"kept,omitempty"`    // commits that are beside the user's branches now
	Deleted []string `json:"deleted,omitempty"` // branches that the agent deleted, and the user still has
	Refused []Kept   `json:"refused,omitempty"` // what stayed inside, because it is hostile or broken

	Head     string `json:"head,omitempty"`      // the branch that was checked out
	HeadLeft string `json:"head_left,omitempty"` // why HEAD did not follow

	Index     int    `json:"index,omitempty"`      // how many paths of the index changed
	Staged    string `json:"-"`                    // a commit of what the index is now, if it is not HEAD
	IndexLeft []Left `json:"index_left,omitempty"` // what of the index stayed inside

	Submodules []Kept `json:"submodules,omitempty"` // commits in submodules, where nothing moves
}

// Moved is a branch of the user's that moved, or was made.
type Moved struct {
	Branch string `json:"branch"`
	From   string `json:"from,omitempty"`
	To     string `json:"to"`
}

// Kept is a branch of the agent's that did not become the user's. Ref is where its commit is now, "" if it is inside.
type Kept struct {
	Branch string `json:"branch"` // "HEAD" for commits on no branch
	Commit string `json:"commit"`
	Ref    string `json:"ref,omitempty"`
	Why    string `json:"why"`
}

// Left is a path of the index that stayed inside, or all of it with no path.
type Left struct {
	Path string `json:"path,omitempty"`
	Why  string `json:"why"`
}

// facts are what decide needs to know beside what was, is and was said.
type facts struct {
	sub       bool              // of a submodule nothing moves
	elsewhere map[string]string // branches that other worktrees use, and how
	gitlinks  map[string]string // by commit: where it has a gitlink that the user never had
	fresh     map[string]bool   // commits that no ref of the user's leads to
	refused   map[string]string // by commit or object: why it can't come
	busy      string            // what is unfinished in the user's worktree
}

// plan is what is to be done, in this order: the index, branches, HEAD.
type plan struct {
	index string // a commit of what the index is to be, "" to leave it
	at    string // the commit that HEAD will be at then
	move  []Moved
	keep  []Kept
	have  []Moved // branches that the user has already as the agent has them
	head  string  // the branch that HEAD is to be on, "" to leave it

	report Report
}

// decide says what becomes of what the agent did. It changes nothing.
func decide(b *began, now state, said said, f facts) plan {
	var p plan
	for _, branch := range slices.Sorted(maps.Keys(said.heads)) {
		p.branch(branch, b, now, said.heads[branch], f)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Refs)) {
		branch, ok := strings.CutPrefix(name, "refs/heads/")
		if _, there := now.refs[name]; ok && there && said.heads[branch] == "" && b.Refs[name].Symref == "" {
			p.report.Deleted = append(p.report.Deleted, branch)
		}
	}
	if p.decideHead(b, now, said, f) {
		p.index, p.at = said.index, said.head.OID
		if why := f.refused[said.index]; said.index == "" || why != "" {
			p.index = said.head.OID // at least what is committed
		}
	}
	for _, m := range p.move {
		if p.index == "" && "refs/heads/"+m.Branch == now.head.Symref { // the user's HEAD stays, and its branch moves
			p.index, p.at = m.To, m.To
		}
	}
	return p
}

// odd says why a branch of this name is not made, although git may allow it.
func odd(branch string) string {
	switch {
	case strings.ContainsFunc(branch, safetext.Steers):
		return "its name has characters that steer a terminal"
	case branch == "" || branch == "HEAD" || branch == "@" || branch[0] == '-' || len(branch) > maxName ||
		strings.HasSuffix(branch, "_HEAD"):
		return "git's commands take its name for something else, or it is too long"
	}
	return ""
}

// another is a ref of the user's that is called by the name of a branch too: git would take the branch for it, or it
// for the branch.
func another(branch string, now state) string {
	for _, below := range []string{"refs/", "refs/tags/", "refs/remotes/"} {
		for _, name := range []string{below + branch, below + branch + "/HEAD"} {
			if _, ok := now.refs[name]; ok {
				return name
			}
		}
	}
	return ""
}

// maxName bounds the name of a branch.
const maxName = 1000

func (p *plan) branch(branch string, b *began, now state, oid string, f facts) {
	ref := "refs/heads/" + branch
	was, is := b.Refs[ref], now.refs[ref]
	if oid == was.OID {
		return
	}
	if why := f.refused[oid]; why != "" {
		p.report.Refused = append(p.report.Refused, Kept{Branch: branch, Commit: oid, Why: why})
		return
	}
	if oid == is.OID && !f.sub {
		p.have = append(p.have, Moved{Branch: branch, From: was.OID, To: oid})
		return
	}
	why := ""
	switch {
	case f.sub:
		why = "it is a submodule's"
	case was.OID != "" && !b.Own[branch]:
		why = "it was not checked out"
	case is.OID != was.OID && is.OID == "":
		why = "it was deleted meanwhile"
	case is.OID != was.OID:
		why = "it moved meanwhile"
	case is.Symref != "":
		why = "it stands for another"
	case f.elsewhere[branch] != "":
		why = "it is " + f.elsewhere[branch]
	case f.gitlinks[oid] != "":
		why = "it has a nested repository: " + f.gitlinks[oid]
	case odd(branch) != "":
		why = odd(branch)
	case was.OID == "" && another(branch, now) != "":
		why = "git would take its name for " + another(branch, now)
	case f.busy != "" && ref == now.head.Symref:
		why = f.busy + " is unfinished in the worktree"
	default:
		p.move = append(p.move, Moved{Branch: branch, From: was.OID, To: oid})
		return
	}
	p.keep = append(p.keep, Kept{Branch: branch, Commit: oid, Why: why})
}

// decideHead lets HEAD follow to a branch that came over, and says whether the agent's index belongs to it then.
func (p *plan) decideHead(b *began, now state, said said, f facts) bool {
	h := said.head
	switch {
	case f.sub && h.Symref != "":
		return false
	case h.Symref == "" && h == b.Head:
		return now.head == h
	case h.Symref == "":
		p.detached(h.OID, f)
		return false
	case h.Symref == now.head.Symref:
	case now.head.Symref != b.Head.Symref || now.head.Symref == "" && now.head != b.Head:
		if h.Symref != b.Head.Symref {
			p.report.HeadLeft = "it moved meanwhile"
		}
		return false
	}
	branch, ok := strings.CutPrefix(h.Symref, "refs/heads/")
	switch {
	case !ok || odd(branch) != "":
		p.report.HeadLeft = "it is on what is no branch"
	case h.Symref == now.head.Symref:
		return p.after(branch, now) == h.OID && f.busy == ""
	case h.OID == "":
		p.report.HeadLeft = "its branch has no commit"
	case p.after(branch, now) != h.OID:
		p.report.HeadLeft = "its branch did not come over"
	case f.elsewhere[branch] != "":
		p.report.HeadLeft = "its branch is " + f.elsewhere[branch]
	case f.busy != "":
		p.report.HeadLeft = f.busy + " is unfinished in the worktree"
	default:
		p.head = branch
		return true
	}
	return false
}

func (p *plan) detached(oid string, f facts) {
	p.report.HeadLeft = "it is on no branch"
	if why := f.refused[oid]; why != "" {
		p.report.Refused = append(p.report.Refused, Kept{Branch: "HEAD", Commit: oid, Why: why})
		return
	}
	if f.fresh[oid] {
		p.keep = append(p.keep, Kept{Branch: "HEAD", Commit: oid, Why: "it is on no branch"})
	}
}

// after is where a branch of the user's will be.
func (p *plan) after(branch string, now state) string {
	for _, m := range p.move {
		if m.Branch == branch {
			return m.To
		}
	}
	return now.refs["refs/heads/"+branch].OID
}
