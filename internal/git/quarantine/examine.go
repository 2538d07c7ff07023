package quarantine

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// Report is the result of an examination that refused nothing.
type Report struct {
	Commits int `json:"commits"`
}

// Examine walks every commit since the base, not only the last, and refuses new entries that could harm the user. An
// entry that is at the same place in a parent or in the base is the user's own, and allowed. It comes after Unpack.
func (q *Repo) Examine(ctx context.Context) (Report, error) {
	if q.found.Base == "" {
		return Report{}, errors.New("examine: nothing was unpacked")
	}
	commits, err := q.newCommits(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("examine: %w", q.packError(err))
	}
	if err := q.examine(ctx, commits, q.complaints()); err != nil {
		return Report{}, fmt.Errorf("examine: %w", q.packError(err))
	}
	q.examined = true
	return Report{Commits: len(commits)}, nil
}

// examine walks commits, of which git had something to say about some objects.
func (q *Repo) examine(ctx context.Context, commits []commitInfo, complaints map[string]string) error {
	cat, err := q.host.CatFile(ctx)
	if err != nil {
		return err
	}
	defer cat.Close()
	x := &examiner{ctx: ctx, q: q, cat: cat, roots: map[string]string{}, modules: map[string]bool{},
		complaints: complaints,
		trees:      trees{cat: cat, oidBytes: q.repo.OIDLen() / 2, limit: max(q.limits.ObjectBytes, 1<<30)}}
	return x.run(commits)
}

// Fork is where the unpacked commits left the history of the base, "" if they have nothing in common with it.
func (q *Repo) Fork(ctx context.Context) string {
	at, err := q.host.Line(ctx, "merge-base", q.found.Base, q.found.Tip)
	if err != nil {
		return "" // git's way to say that there is none
	}
	return at
}

// commitInfo is a new commit.
type commitInfo struct {
	oid, tree string // hex
	parents   []string
}

// newCommits lists what the tips add to the base, parents first, and checks that the tips build on it.
func (q *Repo) newCommits(ctx context.Context) ([]commitInfo, error) {
	base, tips := q.found.Base, q.found.tips()
	if len(tips) == 0 {
		return nil, nil
	}
	out, err := q.host.Feed(ctx, git.Revisions(tips, q.sent()), "rev-list", "--topo-order", "--reverse",
		fmt.Sprintf("--max-count=%d", q.limits.Commits+1), "--format=%H %T %P", "--stdin")
	if err != nil {
		return nil, err
	}
	var list []commitInfo
	onBase := map[string]bool{base: true}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "commit" {
			continue
		}
		c := commitInfo{oid: f[0], tree: f[1], parents: f[2:]}
		if !q.commits[c.oid] {
			return nil, refuse(RuleBase, "commit %s is neither in the bundle nor part of what was sent", git.Short(c.oid))
		}
		if onBase[c.oid] = slices.ContainsFunc(c.parents,
			func(p string) bool { return onBase[p] }); len(list) == q.limits.Commits {
			return nil, refuse(RuleTree, "more than %d new commits", q.limits.Commits)
		}
		list = append(list, c)
	}
	for _, tip := range []string{q.found.Tip, q.found.Wip} {
		if tip != "" && !onBase[tip] && !q.options.Kept {
			return nil, refuse(RuleBase, "%s does not build on %s, which was sent", git.Short(tip), git.Short(base))
		}
	}
	return list, nil
}

// examiner walks trees.
type examiner struct {
	ctx   context.Context
	q     *Repo
	cat   *git.CatFile
	trees trees
	roots map[string]string // commit to its tree, binary

	now     commitInfo // being examined
	root    string     // its tree, binary
	base    string     // tree of the base, binary
	entries int        // new ones so far
	work    int        // old and new ones looked at so far
	modules map[string]bool
	tricky  []link          // links that another one could redirect
	linked  map[string]bool // paths of new links in all commits; nil until the base's tricky ones are known
	turned  bool            // this commit may have redirected one

	complaints map[string]string // git's own findings that may be about old entries, by object
}

// ahead is how many commits are read at a time.
const ahead = 64

func (x *examiner) run(commits []commitInfo) error {
	var err error
	if x.base, err = x.rootOf(x.q.found.Base); err != nil {
		return err
	}
	for i, c := range commits {
		if i%ahead == 0 {
			if err := x.readAhead(commits[i:min(i+ahead, len(commits))]); err != nil {
				return err
			}
		}
		if err := x.commit(c); err != nil {
			if no, ok := errors.AsType[*RefusedError](err); ok && no.Commit == "" {
				no.Commit = c.oid
			}
			return err
		}
	}
	return x.explained()
}

// readAhead reads what some commits change in their first parents.
func (x *examiner) readAhead(commits []commitInfo) error {
	var pairs []pair
	for _, c := range commits {
		tree, err := hex.DecodeString(c.tree)
		if err != nil {
			return err
		}
		x.roots[c.oid] = string(tree)
		p := pair{to: string(tree)}
		if len(c.parents) > 0 {
			if p.from, err = x.rootOf(c.parents[0]); err != nil {
				return err
			}
		}
		if p.from != p.to {
			pairs = append(pairs, p)
		}
	}
	return x.trees.prefetch(pairs)
}

// rootOf gives the tree of a commit.
func (x *examiner) rootOf(commit string) (string, error) {
	if tree, ok := x.roots[commit]; ok {
		return tree, nil
	}
	o, err := x.cat.Get(commit, 64<<20)
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(o.Data, []byte("\n"))
	oid, ok := bytes.CutPrefix(line, []byte("tree "))
	tree := make([]byte, len(oid)/2)
	if _, err := hex.Decode(tree, oid); err != nil || !ok || o.Kind != "commit" {
		return "", fmt.Errorf("commit %s is %s", git.Short(commit), o.Kind)
	}
	x.roots[commit] = string(tree)
	return string(tree), nil
}

func (x *examiner) commit(c commitInfo) error {
	x.now, x.root, x.turned = c, x.roots[c.oid], false
	var parents []string
	for _, p := range c.parents {
		tree, err := x.rootOf(p)
		if err != nil {
			return err
		}
		parents = append(parents, tree)
	}
	if slices.Contains(parents, x.root) {
		return nil
	}
	if err := x.tree(x.root, parents, ""); err != nil {
		return err
	}
	if !x.turned {
		return nil
	}
	return x.recheckLinks()
}

// tree examines what is new in a tree against those at the same path in the parents.
func (x *examiner) tree(oid string, olds []string, dir string) error {
	es, err := x.trees.load(oid)
	if err != nil {
		return err
	}
	before := make([][]entry, len(olds))
	for i, old := range olds {
		if before[i], err = x.trees.load(old); err != nil {
			return err
		}
	}
	// A hostile history can turn few objects into endless work: the same large trees again and again.
	if x.work += 1 + len(es); x.work > 50*x.q.limits.Entries {
		return refuse(RuleTree, "too many entries to look at")
	}
	var fresh []entry
	for _, e := range es {
		if !skipTo(before, e) {
			fresh = append(fresh, e)
		} else if len(x.complaints) > 0 && looksOdd(e) {
			delete(x.complaints, hex.EncodeToString([]byte(oid)))
		}
	}
	for _, e := range fresh {
		var subs []string
		if e.dir() {
			subs = subtrees(olds, e.name, &x.trees)
		}
		if err := x.entry(e, subs, dir); err != nil {
			return err
		}
	}
	return x.collisions(es, fresh, dir)
}

// looksOdd says whether an entry that the user had before explains a complaint of git's about its tree.
func looksOdd(e entry) bool {
	return checkName(e.name) != nil || !usualMode(e.mode) || e.mode == git.ModeLink && isSteering(e.name)
}

func usualMode(mode string) bool {
	switch mode {
	case git.ModeTree, git.ModeFile, git.ModeExec, git.ModeLink, git.ModeGitlink:
		return true
	}
	return false
}

// complaints sorts what git had to say by object.
func (q *Repo) complaints() map[string]string {
	all := map[string]string{}
	for _, line := range q.tolerate {
		if rest, ok := strings.CutPrefix(line, "warning: object "); ok {
			oid, _, _ := strings.Cut(rest, ":")
			all[oid] = line
		}
	}
	return all
}

// explained refuses what git has complained about, unless the walk has found an old entry of the user's that explains
// it. Our rules and git's should never differ; where they do, the stricter one counts.
func (x *examiner) explained() error {
	var oids []string
	for oid := range x.complaints {
		oids = append(oids, oid)
	}
	return x.q.repo.Host().Kinds(x.ctx, oids, func(o git.Object) error {
		if o.Kind == "missing" {
			return refuse(RuleObject, "git found a fault: %s", safetext.Line(x.complaints[o.OID]))
		}
		return nil
	})
}

// skipTo moves each list of old entries on to where e would be, and says whether one of them has exactly e.
func skipTo(before [][]entry, e entry) bool {
	known := false
	for i, list := range before {
		for len(list) > 0 && list[0].before(e) {
			list = list[1:]
		}
		if len(list) > 0 && list[0] == e {
			known = true
		}
		before[i] = list
	}
	return known
}

// subtrees gives the directories called name in the old trees. They have just been loaded.
func subtrees(olds []string, name string, t *trees) []string {
	var subs []string
	for _, old := range olds {
		e, ok, err := t.lookup(old, []string{name})
		if err == nil && ok && e.dir() {
			subs = append(subs, e.oid)
		}
	}
	return subs
}

// entry examines one new entry.
func (x *examiner) entry(e entry, olds []string, dir string) error {
	path := e.name
	if dir != "" {
		path = dir + "/" + e.name
	}
	if x.entries++; x.entries > x.q.limits.Entries {
		return refuse(RuleTree, "more than %d new entries", x.q.limits.Entries)
	}
	if len(path) > x.q.limits.PathBytes {
		return x.fault(path, e, &fault{RuleName, fmt.Sprintf("a path of more than %d bytes", x.q.limits.PathBytes)})
	}
	if f := checkName(e.name); f != nil {
		if err := x.fault(path, e, f); err != nil {
			return err
		}
	}
	if !usualMode(e.mode) {
		if err := x.fault(path, e, &fault{RuleMode, "an odd mode, " + git.Quote(git.Clip(e.mode))}); err != nil {
			return err
		}
	}
	switch {
	case e.dir() && strings.Count(path, "/") >= x.q.limits.Depth:
		return x.fault(path, e, &fault{RuleTree, fmt.Sprintf("directories more than %d deep", x.q.limits.Depth)})
	case e.dir():
		if len(olds) == 0 {
			if err := x.replaces(path); err != nil {
				return err
			}
		}
		return x.tree(e.oid, olds, path)
	case e.mode == git.ModeLink:
		return x.link(path, e)
	case e.mode != git.ModeGitlink && e.name == ".gitmodules":
		return x.modulesFile(path, e)
	}
	return nil
}

// fault refuses an entry, unless the base has the same at this path. A name counts as the same even with other content,
// but new content in what may be a .git directory never does.
func (x *examiner) fault(path string, e entry, f *fault) error {
	was, ok, err := x.trees.lookup(x.base, strings.Split(path, "/"))
	if err != nil {
		return err
	}
	if ok && was.mode == e.mode && (was.oid == e.oid || f.rule == RuleName) {
		return nil
	}
	return &RefusedError{Rule: f.rule, Commit: x.now.oid, Path: path, Reason: f.reason}
}
