package aside

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside/wire"
)

// Take brings over what is new in the worktree's private repository, while the agent may go on. Killed at any point, it
// can be repeated: nothing is lost, and the user's repository is whole.
func (r *Repo) Take(ctx context.Context, run Inside) (Report, error) {
	return r.parts[0].take(ctx, run, false)
}

// End is Take when nothing in the cage is alive any more. After it Refresh may replace what is inside. It also brings
// over what is new in submodules.
func (r *Repo) End(ctx context.Context, run Inside) (Report, error) {
	var subs []Kept
	for _, p := range r.parts[1:] { // the worktree's own comes last: until then all is pending
		rep, err := p.take(ctx, run, true)
		if ctx.Err() != nil {
			return Report{}, err
		}
		if err != nil {
			rep.Kept = append(rep.Kept, Kept{Branch: "what is new", Why: words(err)})
		}
		for _, k := range append(rep.Kept, rep.Refused...) {
			k.Branch = p.sub + ": " + k.Branch
			subs = append(subs, k)
		}
	}
	report, err := r.parts[0].take(ctx, run, true)
	report.Submodules = subs
	return report, err
}

// take brings over what is new in one repository.
func (p *part) take(ctx context.Context, run Inside, last bool) (_ Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bring over what is new: %w", err)
		}
	}()
	b, err := p.load()
	if err != nil || b == nil { // nothing was ever shown to a cage
		return Report{}, err
	}
	if err := p.linkTheirs(); err != nil { // the last cage may have been of another kind
		return Report{}, err
	}
	t := &taking{part: p, b: b, run: run, tmp: filepath.Join(p.dir, "taking"), refused: map[string]string{}}
	if err := os.RemoveAll(t.tmp); err != nil {
		return Report{}, err
	}
	if err := os.Mkdir(t.tmp, 0o700); err != nil {
		return Report{}, err
	}
	defer func() { _ = os.RemoveAll(t.tmp) }()
	if t.was, err = p.withIndex(filepath.Join(t.tmp, "index"), b.Index); err != nil {
		return Report{}, err
	}
	if err := t.look(ctx); err != nil {
		return Report{}, err
	}
	if err := t.bring(ctx); err != nil {
		return Report{}, err
	}
	f, err := t.facts(ctx)
	if err != nil {
		return Report{}, err
	}
	plan := decide(b, t.now, t.said, f)
	// From here on, finishing is safer than stopping.
	ctx = context.WithoutCancel(ctx)
	if err = t.carryOut(ctx, &plan); err == nil {
		err = t.record(ctx, plan, last)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUser, err)
	}
	return plan.report, err
}

// taking is one Take of one repository.
type taking struct {
	*part
	b   *began
	run Inside
	tmp string   // a directory of ours
	was git.Host // with a copy of the index that the cage was given: changes to it count once all is done

	now     state
	said    said
	pack    string            // the file in which it is
	start   int64             // where it begins
	fresh   map[string]bool   // commits that no ref of the user's leads to
	refused map[string]string // by commit: why it can't come
}

// said is what the cage says, sorted.
type said struct {
	heads  map[string]string // branches
	others map[string]string // refs that stay inside
	head   git.Ref
	index  string // a commit of the index, "" for none
	left   string // why not all of it
}

// maxBranches is how many branches may come at a time: each costs a few gits.
const maxBranches = 500

// look asks the cage what is new, and the user's repository how it is now.
func (t *taking) look(ctx context.Context) (err error) {
	if t.now, err = t.part.now(ctx); err != nil {
		return err
	}
	all, err := t.ask(ctx, nil)
	if err != nil {
		return err
	}
	t.said = said{heads: map[string]string{}, others: map[string]string{}, index: all.Index, left: all.Left,
		head: git.Ref{OID: all.Head, Symref: string(all.Symref)}}
	tips := []string{all.Head, all.Index}
	moved := 0
	for _, ref := range all.Refs {
		branch, ok := strings.CutPrefix(string(ref.Name), "refs/heads/")
		if !ok {
			t.said.others[string(ref.Name)] = ref.OID
			continue
		}
		t.said.heads[branch] = ref.OID
		if ref.OID != t.b.Refs[string(ref.Name)].OID {
			moved++
			tips = append(tips, ref.OID)
		}
	}
	if moved > maxBranches {
		return fmt.Errorf("more than %d branches moved", maxBranches)
	}
	reached, err := t.user.Reachable(ctx, tips, passing+"*")
	if err != nil {
		return err
	}
	t.fresh = map[string]bool{}
	for _, oid := range tips {
		if oid != "" && !reached[oid] {
			t.fresh[oid] = true
		}
	}
	return nil
}

// patience is how long the cage may take to say what is new.
const patience = 10 * time.Minute

// ask runs cco's program in the cage, copies what it writes, within bounds, and reads what comes before the pack. With
// only, the pack holds what these commits need.
func (t *taking) ask(ctx context.Context, only []string) (s wire.Said, err error) {
	job := wire.Job{GitDir: t.inside, WorkTree: t.user.Top, Not: t.have(), Only: only, NoIndex: t.sub != ""}
	if t.sub != "" {
		job.WorkTree = t.inside
	}
	line, err := json.Marshal(job)
	if err != nil {
		return s, err
	}
	f, err := os.Create(filepath.Join(t.tmp, "stream"))
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	soon, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the cage takes too long to say what is new"))
	defer cancel()
	most := cmp.Or(t.options.Limits.PackBytes, 2<<30) + wire.MaxHeader
	out := &bounded{w: f, left: most}
	err = t.run(soon, []string{"aside"}, bytes.NewReader(line), out)
	if cause := context.Cause(soon); err != nil && cause != nil {
		err = cause
	}
	// A cage only breaks off what can't be written, and may have ended well by then.
	if err = cmp.Or(out.err, err); err != nil {
		return s, fmt.Errorf("ask the cage: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return s, err
	}
	t.pack = f.Name()
	s, t.start, err = wire.Read(f, t.user.OIDLen())
	return s, err
}

// have are the commits that the user's refs lead to, of which the cage sees the objects.
func (t *taking) have() []string {
	oids := []string{t.now.head.OID}
	for _, ref := range t.now.refs {
		oids = append(oids, ref.OID)
	}
	slices.Sort(oids)
	return slices.DeleteFunc(slices.Compact(oids), func(oid string) bool { return oid == "" })
}

// bounded passes on so many bytes, and fails at one more. It keeps what went wrong.
type bounded struct {
	w    io.Writer
	left int64
	err  error
}

func (b *bounded) Write(data []byte) (n int, err error) {
	if b.left -= int64(len(data)); b.left < 0 {
		err = errors.New("it says too much")
	} else {
		n, err = b.w.Write(data)
	}
	b.err = cmp.Or(b.err, err)
	return n, err
}

// facts looks at the user's repository, which has everything by now that may come.
func (t *taking) facts(ctx context.Context) (f facts, err error) {
	f = facts{sub: t.sub != "", refused: t.refused, fresh: t.fresh, elsewhere: map[string]string{},
		gitlinks: map[string]string{}}
	if f.sub {
		return f, nil
	}
	for name, what := range map[string]string{"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick",
		"REVERT_HEAD": "a revert", "rebase-merge": "a rebase", "rebase-apply": "a rebase"} {
		if _, err := os.Lstat(filepath.Join(t.user.GitDir, name)); err == nil {
			f.busy = what
		}
	}
	for branch, oid := range t.said.heads {
		if t.refused[oid] != "" || t.b.Refs["refs/heads/"+branch].OID == oid && "refs/heads/"+branch != t.said.head.Symref {
			continue
		}
		use, err := t.user.Use(ctx, branch)
		if err != nil {
			return f, err
		}
		if use != nil && use.Worktree != t.user.Top {
			f.elsewhere[branch] = use.How + " in " + git.Quote(use.Worktree)
		}
		if _, seen := f.gitlinks[oid]; seen {
			continue
		}
		if f.gitlinks[oid], err = t.newGitlink(ctx, oid); err != nil {
			return f, err
		}
	}
	return f, nil
}

// maxBoundary is how many commits that a branch builds on are looked at for gitlinks.
const maxBoundary = 50

// newGitlink gives the path of a gitlink that a commit has, and that none of the user's commits has on which it builds.
// What is beside the user's branches because of one does not count as the user's.
func (t *taking) newGitlink(ctx context.Context, tip string) (string, error) {
	var have []string
	for name, ref := range t.now.refs {
		if !strings.HasPrefix(name, beside) {
			have = append(have, ref.OID)
		}
	}
	h := t.user.Host()
	out, err := h.Feed(ctx, git.Revisions([]string{tip}, have), "rev-list", "--boundary", "--stdin")
	if err != nil || len(out) == 0 {
		return "", err
	}
	var builds []string
	for line := range strings.Lines(string(out)) {
		if oid, ok := strings.CutPrefix(strings.TrimSpace(line), "-"); ok && len(builds) < maxBoundary {
			builds = append(builds, oid)
		}
	}
	if len(builds) == 0 {
		empty, err := h.Feed(ctx, strings.NewReader(""), "hash-object", "-t", "tree", "--stdin")
		if err != nil {
			return "", err
		}
		builds = []string{strings.TrimSpace(string(empty))}
	}
	links := map[string]int{}
	for _, oid := range builds {
		all, err := differ(ctx, h, "diff-tree", "-r", tip, oid)
		if err != nil {
			return "", err
		}
		for path, e := range all {
			if e.mode == git.ModeGitlink && !e.isInstead(git.ModeGitlink) {
				links[path]++
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(links)) {
		if links[path] == len(builds) {
			return git.Quote(git.Clip(path)), nil
		}
	}
	return "", nil
}
