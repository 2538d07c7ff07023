package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The refs that the publisher in a box may put into an output bundle.
const (
	OutRef = "refs/cco/out"
	WipRef = "refs/cco/wip"
)

// KeptRef is above the refs of a bundle that holds what is beside a session's branch.
const KeptRef = "refs/cco/kept/"

// QuarantineOptions are the knobs of a quarantine.
type QuarantineOptions struct {
	Limits   Limits
	Progress ProgressFunc
	// Kept takes refs below KeptRef as well. Nothing needs to build on the base then: no branch will move.
	Kept bool
	// Also are commits of the user's repository, beside the base, that the bundle may build on: they came from the same
	// box.
	Also []string
}

// Quarantine is a bare repository of our own that borrows the user's objects. One bundle goes through Unpack, Examine
// and Import, in this order.
type Quarantine struct {
	Dir string

	repo     *Repo
	host     host
	options  QuarantineOptions
	limits   Limits
	found    Found
	pack     string          // name of the pack, without its ending
	commits  map[string]bool // in the pack
	tolerate []string        // what git's own checks said about objects, where it may be about old ones
	used     bool
	adopted  bool // all that came was in the user's repository before, so that this is no excuse
	examined bool
}

// Found is what an unpacked bundle holds. Tip is Base when only leftovers were published, Wip is "" without leftovers.
type Found struct {
	Base, Tip, Wip string
	Kept           []KeptCommit
}

// KeptCommit is what a ref below KeptRef holds.
type KeptCommit struct{ Name, OID string }

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
func (q *Quarantine) sent() []string { return append([]string{q.found.Base}, q.options.Also...) }

// Quarantine makes a quarantine repository in the new directory dir.
func (r *Repo) Quarantine(ctx context.Context, dir string, o QuarantineOptions) (*Quarantine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := writeBare(dir, r.ObjectFormat, nil); err != nil {
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	q := &Quarantine{Dir: dir, repo: r, options: o}
	if err := q.borrow(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	// Small windows onto the user's packs, so that the limit on address space measures the bundle and not them.
	settings := append(hardening(), setting{"core.packedGitWindowSize", "32m"}, setting{"core.packedGitLimit", "512m"},
		setting{"pack.indexVersion", "2"},
		setting{"core.bigFileThreshold", strconv.FormatInt(o.Limits.withDefaults(0).ObjectBytes, 10)})
	q.host = host{dir: dir, env: environment(settings)}.with("GIT_DIR=" + dir)
	// Delta chains without end make every later look at an object slow, so all of them are bounded.
	q.host.limit = func(pid int) error { return q.confine(pid) }
	return q, nil
}

// borrow makes the user's objects visible here, those that the user's repository borrows too, and cuts history where
// the user's is cut.
func (q *Quarantine) borrow() error {
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

// Preview is the user's repository with the new objects in sight, for questions before anything is imported.
func (q *Quarantine) Preview() *Repo {
	r := *q.repo
	dir := filepath.Join(q.Dir, "objects")
	if strings.ContainsAny(dir, ":\"\n") {
		dir = strconv.Quote(dir)
	}
	r.host = r.host.with("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + dir)
	return &r
}

// Close removes the quarantine directory.
func (q *Quarantine) Close() error { return os.RemoveAll(q.Dir) }
