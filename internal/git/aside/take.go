package aside

import (
	"bufio"
	"bytes"
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

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/aside/wire"
	"github.com/cco-dev/cco/internal/safetext"
)

// Take brings over what is new in the worktree's private repository, while the agent may go on. Killed at any point, it
// can be repeated: nothing is lost, and the user's repository is whole.
func (r *Repo) Take(ctx context.Context, run Inside) (Report, error) { return r.take(ctx, run, false) }

// End is Take when nothing in the cage is alive any more. After it Refresh may replace what is inside. It also brings
// over what is new in submodules.
func (r *Repo) End(ctx context.Context, run Inside) (Report, error) { return r.take(ctx, run, true) }

func (r *Repo) take(ctx context.Context, run Inside, last bool) (Report, error) {
	var report Report
	var subs []Submodule
	// The worktree's own comes last: until then all is pending.
	for _, p := range slices.Backward(r.parts) {
		if p.sub != "" && !last {
			continue
		}
		rep, err := p.take(ctx, run, last)
		if p.sub == "" {
			report = rep
		}
		if err != nil && (p.sub == "" || ctx.Err() != nil) {
			return report, fmt.Errorf("bring over what is new: %w", err)
		}
		kept := append(rep.Kept, rep.Refused...)
		if p.sub != "" && (err != nil || len(kept) > 0) {
			s := Submodule{Path: p.sub, Kept: kept}
			if err != nil {
				s.Left = safetext.Line(git.Clip(err.Error()))
			}
			subs = append(subs, s)
		}
	}
	report.Submodules = subs
	return report, nil
}

// take brings over what is new in one repository.
func (p *part) take(ctx context.Context, run Inside, last bool) (Report, error) {
	b, err := p.load()
	if err != nil {
		return Report{}, err
	}
	if b == nil {
		return Report{}, nil // nothing was ever shown to a cage
	}
	if err := p.linkTheirs(); err != nil { // the last cage may have been of another kind
		return Report{}, err
	}
	tmp := filepath.Join(p.dir, "taking")
	if err := os.RemoveAll(tmp); err != nil {
		return Report{}, err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return Report{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	t := &taking{part: p, b: b, run: run, tmp: tmp}
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
	plan.report.Refused = append(plan.report.Refused, t.tooMany...)
	// From here on, finishing is safer than stopping.
	ctx = context.WithoutCancel(ctx)
	if err := t.carryOut(ctx, &plan); err != nil {
		return plan.report, err
	}
	return plan.report, t.record(ctx, plan, last)
}

// taking is one Take of one repository.
type taking struct {
	*part
	b   *began
	run Inside
	tmp string // a directory of ours

	was     []byte // the user's index when the cage began
	now     state
	said    wire.Said
	pack    string            // the file that holds the stream
	start   int64             // of the pack in it
	size    int64             // of the pack
	fresh   map[string]bool   // commits that no ref of the user's leads to
	refused map[string]string // by object: why it can't come
	tooMany []Kept            // branches beyond what one Take brings
}

// maxBranches is how many branches may come at a time: each costs a few gits.
const maxBranches = 500

// trim leaves out branches that moved, if there are too many of them.
func (t *taking) trim() {
	moved := 0
	for _, branch := range slices.Sorted(maps.Keys(t.said.Heads)) {
		oid, was := t.said.Heads[branch], t.b.Refs["refs/heads/"+branch].OID
		if oid == was {
			continue
		}
		if moved++; moved <= maxBranches || t.b.Own[branch] {
			continue
		}
		t.tooMany = append(t.tooMany, Kept{Branch: branch, Commit: oid, Why: "too many branches moved"})
		if t.said.Heads[branch] = was; was == "" {
			delete(t.said.Heads, branch)
		}
	}
}

// look asks the cage what is new, and the user's repository how it is now.
func (t *taking) look(ctx context.Context) (err error) {
	if t.was, err = t.loadIndex(t.b); err != nil {
		return err
	}
	if t.said, err = t.ask(ctx, nil); err != nil {
		return err
	}
	t.trim()
	if t.now, err = t.part.now(ctx, ""); err != nil {
		return err
	}
	tips := slices.Collect(maps.Values(t.said.Heads))
	if t.said.Head.OID != "" {
		tips = append(tips, t.said.Head.OID)
	}
	slices.Sort(tips)
	tips = slices.Compact(tips)
	reached, err := t.user.Reachable(ctx, tips, passing+"*")
	if err != nil {
		return err
	}
	t.fresh, t.refused = map[string]bool{}, map[string]string{}
	for _, oid := range tips {
		if !reached[oid] {
			t.fresh[oid] = true
		}
	}
	return nil
}

// ask runs cco's program in the cage, copies what it writes, within bounds, and reads the header. With only, the pack
// holds what these objects need.
func (t *taking) ask(ctx context.Context, only []string) (said wire.Said, err error) {
	job := wire.Job{GitDir: t.inside, WorkTree: t.user.Top, Not: t.had(), Only: only,
		NoIndex: t.sub != ""}
	if t.sub != "" {
		job.WorkTree = t.inside
	}
	line, err := json.Marshal(job)
	if err != nil {
		return said, err
	}
	f, err := os.Create(filepath.Join(t.tmp, "stream"))
	if err != nil {
		return said, err
	}
	defer func() { _ = f.Close() }()
	soon, cancel := context.WithTimeoutCause(ctx, t.options.Time, errors.New("the cage takes too long to say what is new"))
	defer cancel()
	most := t.packLimit() + wire.MaxHeader
	err = t.run(soon, []string{"aside"}, io.MultiReader(bytes.NewReader(append(line, '\n')), bytes.NewReader(t.was)),
		&bounded{w: f, left: most})
	if cause := context.Cause(soon); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return said, fmt.Errorf("ask the cage: %w", err)
	}
	return t.parse(f)
}

func (t *taking) packLimit() int64 {
	if t.options.Limits.PackBytes > 0 {
		return t.options.Limits.PackBytes
	}
	return 2 << 30
}

// parse reads the header of a stream, and finds the pack in it.
func (t *taking) parse(f *os.File) (said wire.Said, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return said, err
	}
	end := make([]byte, len(wire.End))
	if _, err := f.ReadAt(end, max(0, size-int64(len(end)))); err != nil || string(end) != wire.End {
		return said, errors.New("what the cage says broke off")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return said, err
	}
	said, t.start, err = wire.Read(bufio.NewReaderSize(f, 64<<10), t.user.OIDLen())
	if err != nil {
		return said, err
	}
	t.pack, t.size = f.Name(), size-int64(len(end))-t.start
	return said, nil
}

// had are commits that the cage could see from its start, or that were brought over since.
func (t *taking) had() []string {
	oids := slices.Clone(t.b.Have)
	for _, ref := range t.b.Refs {
		oids = append(oids, ref.OID)
	}
	if t.b.Head.OID != "" {
		oids = append(oids, t.b.Head.OID)
	}
	slices.Sort(oids)
	return slices.Compact(oids)
}

// bounded passes on so many bytes, and fails at one more.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.left -= int64(len(data)); b.left < 0 {
		return 0, errors.New("it says too much")
	}
	return b.w.Write(data)
}

// facts looks at the user's repository, which has everything by now that may come.
func (t *taking) facts(ctx context.Context) (f facts, err error) {
	f = facts{sub: t.sub != "", refused: t.refused, fresh: t.fresh, elsewhere: map[string]string{},
		odd: func(name string) bool { return strings.ContainsFunc(name, safetext.Steers) }}
	if f.sub {
		return f, nil
	}
	list, err := t.user.Worktrees(ctx)
	if err != nil {
		return f, err
	}
	for _, w := range list {
		if w.Branch != "" && !sameDir(w.Path, t.user.Top) && !w.Bare && (!w.Prunable || w.Locked) {
			f.elsewhere[w.Branch] = git.Quote(w.Path)
		}
	}
	for name, what := range map[string]string{"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick",
		"REVERT_HEAD": "a revert", "rebase-merge": "a rebase", "rebase-apply": "a rebase"} {
		if _, err := os.Lstat(filepath.Join(t.user.GitDir, name)); err == nil {
			f.busy = what
		}
	}
	f.gitlinks, err = t.gitlinks(ctx)
	return f, err
}

func sameDir(a, b string) bool {
	ai, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}
