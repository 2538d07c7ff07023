package quarantine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// The refs that the publisher in a box may put into an output bundle.
const (
	OutRef = "refs/cco/out"
	WipRef = "refs/cco/wip"
)

// KeptRef is above the refs of a bundle that holds what is beside a session's branch.
const KeptRef = "refs/cco/kept/"

// Options are the knobs of a quarantine.
type Options struct {
	Limits   Limits
	Progress git.ProgressFunc
	// Kept accepts refs below KeptRef as well. Then nothing needs to build on the base: no branch will move.
	Kept bool
	// Also are commits of the user's repository, beside the base, that the bundle may build on: they came from the same
	// box.
	Also []string
}

// Repo is a bare repository of our own that borrows the user's objects. One bundle goes through Unpack, Examine
// and Import, in this order.
type Repo struct {
	Dir string

	repo     *git.Repo
	host     git.Host
	options  Options
	limits   Limits
	found    Found
	needs    []string        // what the bundle builds on
	pack     string          // name of the pack, without its ending
	commits  map[string]bool // in the pack
	tolerate []string        // what git's own checks said about objects, where it may be about old ones
	used     bool
	examined bool
}

// Found is what an unpacked bundle holds. Tip is Base when only leftovers were published, Wip is "" without leftovers.
type Found struct {
	Base, Tip, Wip string
	Kept           []git.NamedRef // of refs below KeptRef
}

// tips are the commits that were found, beside the base.
func (f Found) tips() []string {
	all := []string{f.Tip, f.Wip}
	for _, k := range f.Kept {
		all = append(all, k.OID)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(oid string) bool { return oid == "" || oid == f.Base })
}

// sent are the commits that the box was known to have.
func (q *Repo) sent() []string { return append([]string{q.found.Base}, q.options.Also...) }

// New makes a quarantine for a user's repository in the new directory dir.
func New(ctx context.Context, r *git.Repo, dir string, o Options) (*Repo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := git.WriteBare(dir, r.ObjectFormat, nil); err != nil {
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	q := &Repo{Dir: dir, repo: r, options: o}
	if err := q.borrow(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	// Small windows onto the user's packs, so that the limit on address space measures the bundle and not them.
	q.host = git.Bare(dir,
		git.Setting{Key: "core.packedGitWindowSize", Value: "32m"},
		git.Setting{Key: "core.packedGitLimit", Value: "512m"},
		git.Setting{Key: "pack.indexVersion", Value: "2"},
		git.Setting{Key: "core.bigFileThreshold",
			Value: strconv.FormatInt(o.Limits.withDefaults(0).ObjectBytes, 10)})
	// Endless delta chains would slow down every later read of an object, so they are bounded.
	q.host.Limit = func(pid int) error { return q.confine(pid) }
	return q, nil
}

// borrow makes the user's objects visible here, those that the user's repository borrows too, and cuts history where
// the user's is cut.
func (q *Repo) borrow() error {
	objects := filepath.Join(q.repo.CommonDir, "objects")
	line := objects
	if strings.ContainsAny(line, "\n\"#\\") {
		line = strconv.Quote(line)
	}
	if err := os.WriteFile(filepath.Join(q.Dir, "objects", "info", "alternates"), []byte(line+"\n"), 0o600); err != nil {
		return err
	}
	shallow, err := os.ReadFile(filepath.Join(q.repo.CommonDir, "shallow"))
	if os.IsNotExist(err) || err == nil && len(shallow) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(q.Dir, "shallow"), shallow, 0o600)
}

// Preview is the user's repository with the new objects visible, for questions before anything is imported.
func (q *Repo) Preview() *git.Repo {
	dir := filepath.Join(q.Dir, "objects")
	if strings.ContainsAny(dir, ":\"\n") {
		dir = strconv.Quote(dir)
	}
	return q.repo.Through(q.repo.Host().With("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + dir))
}

// Inside is the quarantine itself, for a look at what came.
func (q *Repo) Inside() *git.Repo { return q.repo.Through(q.host) }

// Close removes the quarantine directory.
func (q *Repo) Close() error { return os.RemoveAll(q.Dir) }

// Summary sums up the new commits, before they are imported.
func (q *Repo) Summary(ctx context.Context) (git.Summary, error) {
	if q.found.Base == "" {
		return git.Summary{}, fmt.Errorf("sum up: nothing was unpacked")
	}
	return q.Inside().Summary(ctx, q.found.Base, q.found.Tip)
}

// CommitLines is the same without files.
func (q *Repo) CommitLines(ctx context.Context) (git.Summary, error) {
	return q.Inside().CommitLines(ctx, q.found.Base, q.found.Tip)
}

// Diff writes the patch from the base to the tip.
func (q *Repo) Diff(ctx context.Context, w io.Writer, style git.DiffStyle) error {
	if q.found.Base == "" {
		return fmt.Errorf("diff: nothing was unpacked")
	}
	return q.Inside().Diff(ctx, w, q.found.Base, q.found.Tip, style)
}
