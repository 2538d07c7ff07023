package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Forwarded says what a fast-forward did.
type Forwarded struct {
	Branch   string `json:"branch"`
	From     string `json:"from,omitempty"` // "" when the branch was made
	To       string `json:"to"`
	Moved    bool   `json:"moved"`    // false: the branch had it already
	Worktree bool   `json:"worktree"` // the worktree and index moved with it
	// Raw are files written without the filter (git-lfs, git-crypt) that they ask for.
	Raw []string `json:"raw,omitempty"`
}

// FastForward moves branch to to, if it is at from or between the two: with the worktree if it is checked out here.
// A StateError means that nothing was touched. Killed at any point, it can be repeated.
func (r *Repo) FastForward(ctx context.Context, branch, from, to string) (Forwarded, error) {
	f, err := r.plan(ctx, branch, from, to)
	if err != nil || !f.Moved {
		return f.Forwarded, err
	}
	if !f.Worktree {
		if err := r.moveRef(ctx, branch, f.From, to); err != nil {
			return Forwarded{}, err
		}
		return f.Forwarded, nil
	}
	if err := r.moveWorktree(ctx, f); err != nil {
		return Forwarded{}, err
	}
	f.Raw = r.raw(ctx, f.changes)
	return f.Forwarded, nil
}

// CanFastForward gives the error that FastForward would give, and touches nothing.
func (r *Repo) CanFastForward(ctx context.Context, branch, from, to string) error {
	_, err := r.plan(ctx, branch, from, to)
	return err
}

// CheckBranch gives a *BranchNameError for a name that git does not allow.
func (r *Repo) CheckBranch(ctx context.Context, branch string) error {
	if plainBranch(branch) {
		return nil
	}
	err := r.host.Run(ctx, nil, "check-ref-format", "refs/heads/"+branch)
	if err != nil && ctx.Err() == nil || strings.HasPrefix(branch, "-") || branch == "HEAD" {
		return &BranchNameError{Branch: branch}
	}
	return nil
}

// plainBranch says whether a name has nothing in it that git needs to be asked about.
func plainBranch(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, "-") || strings.ContainsFunc(part, func(c rune) bool {
			return c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
		}) {
			return false
		}
	}
	return name != "HEAD"
}

// CreateBranch makes a branch at a commit. One that exists is fast-forwarded, or it is a *BranchExistsError.
func (r *Repo) CreateBranch(ctx context.Context, branch, to string) (Forwarded, error) {
	now, err := r.canCreate(ctx, branch, to)
	if err != nil {
		return Forwarded{}, err
	}
	if now != "" {
		return r.FastForward(ctx, branch, now, to)
	}
	if err := r.moveRef(ctx, branch, r.zero(), to); err != nil {
		return Forwarded{}, err
	}
	return Forwarded{Branch: branch, To: to, Moved: true}, nil
}

// CanCreateBranch gives the error that CreateBranch would give, and touches nothing.
func (r *Repo) CanCreateBranch(ctx context.Context, branch, to string) error {
	_, err := r.canCreate(ctx, branch, to)
	return err
}

// canCreate gives the commit of a branch that can be fast-forwarded; "" if it is new.
func (r *Repo) canCreate(ctx context.Context, branch, to string) (now string, err error) {
	if err := r.CheckOID(to); err != nil {
		return "", err
	}
	if err := r.CheckBranch(ctx, branch); err != nil {
		return "", err
	}
	now, err = r.Branch(ctx, branch)
	if err == nil {
		err = r.CanFastForward(ctx, branch, now, to)
		if _, ok := errors.AsType[*DivergedError](err); ok {
			return "", &BranchExistsError{Branch: branch, Now: now, Tip: to}
		}
		return now, err
	}
	if _, gone := errors.AsType[*BranchGoneError](err); !gone {
		return "", err
	}
	// A branch without commits can be checked out, too.
	use, err := r.Use(ctx, branch)
	if use != nil {
		return "", use
	}
	return "", err
}

// forwardPlan is a fast-forward that nothing blocks.
type forwardPlan struct {
	Forwarded
	changes []change
	left    leftover
}

func (r *Repo) plan(ctx context.Context, branch, from, to string) (forwardPlan, error) {
	if err := r.CheckOID(from, to); err != nil {
		return forwardPlan{}, err
	}
	now, err := r.Branch(ctx, branch)
	if err != nil {
		return forwardPlan{}, err
	}
	f := forwardPlan{Forwarded: Forwarded{Branch: branch, From: now, To: to}}
	if now == to {
		return f, nil
	}
	if f.Moved, err = r.forwards(ctx, branch, from, now, to); err != nil || !f.Moved {
		return f, err
	}
	use, err := r.Use(ctx, branch)
	if err != nil {
		return forwardPlan{}, err
	}
	if use == nil {
		return f, nil
	}
	if use.Worktree != r.Top || use.How != checkedOut {
		return forwardPlan{}, use
	}
	f.Worktree = true
	if err := r.idle(); err != nil {
		return forwardPlan{}, err
	}
	f.changes, err = r.diffCommits(ctx, now, to)
	if err != nil {
		return forwardPlan{}, err
	}
	f.left, err = r.inTheWay(ctx, f.changes)
	return f, err
}

// forwards says whether the branch has to move. A branch that was set back before from has diverged as well: moving it
// would bring back what the user removed.
func (r *Repo) forwards(ctx context.Context, branch, from, now, to string) (bool, error) {
	after, err := r.IsAncestor(ctx, from, now)
	if err == nil && after {
		var before, has bool
		if before, err = r.IsAncestor(ctx, now, to); before || err != nil {
			return before, err
		}
		if has, err = r.IsAncestor(ctx, to, now); has {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	return false, &DivergedError{Branch: branch, Now: now, Tip: to}
}

// idle gives an error if a merge or the like is unfinished in the worktree, or another git is at work in it.
func (r *Repo) idle() error {
	for file, what := range map[string]string{"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick",
		"REVERT_HEAD": "a revert"} {
		if _, err := os.Lstat(filepath.Join(r.GitDir, file)); err == nil {
			return &BusyError{What: what}
		}
	}
	lock := filepath.Join(r.GitDir, "index.lock")
	if _, err := os.Lstat(lock); err == nil {
		return &LockedError{Path: lock}
	}
	return nil
}

const reflogMessage = "cco: fast-forward"

// moveRef moves a branch that is checked out nowhere.
func (r *Repo) moveRef(ctx context.Context, branch, from, to string) error {
	name := "refs/heads/" + branch
	in := strings.NewReader("update " + name + "\x00" + to + "\x00" + from + "\x00")
	err := r.host.Run(ctx, in, "update-ref", "-m", reflogMessage, "--stdin", "-z")
	return r.lostRace(ctx, branch, to, refError(err, name))
}

// lostRace says where another process moved the branch meanwhile.
func (r *Repo) lostRace(ctx context.Context, branch, to string, err error) error {
	if _, lost := errors.AsType[*RefChangedError](err); !lost {
		if err != nil {
			return fmt.Errorf("move branch %s: %w", Quote(branch), err)
		}
		return nil
	}
	now, err := r.Branch(ctx, branch)
	if err != nil {
		return err
	}
	return &DivergedError{Branch: branch, Now: now, Tip: to}
}

// moveWorktree moves the index, the worktree and the branch. The branch is locked first, at the commit that was
// planned for, and written last: nobody can move it in between, and a kill at any point leaves what idle and inTheWay
// can go on from.
func (r *Repo) moveWorktree(ctx context.Context, f forwardPlan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on, finishing is quicker and safer than stopping.
	ctx = context.WithoutCancel(ctx)
	tx, err := r.lockBranch(ctx, f.Branch, f.From, f.To)
	if err != nil {
		return r.lostRace(ctx, f.Branch, f.To, err)
	}
	return r.finish(ctx, tx, f)
}

// finish moves everything under the lock on the branch.
func (r *Repo) finish(ctx context.Context, tx *transaction, f forwardPlan) error {
	defer tx.abort()
	head, err := r.host.Line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil || head != "refs/heads/"+f.Branch {
		return &RefChangedError{Ref: "HEAD"}
	}
	if err := r.checkout(ctx, f); err != nil {
		return err
	}
	if err := tx.commit(); err != nil {
		err = fmt.Errorf("move branch %s: %w", Quote(f.Branch), err)
		if back := r.readTree(ctx, f.To, f.From); back != nil {
			err = errors.Join(err, fmt.Errorf("put the worktree back: %w", back))
		}
		return err
	}
	return nil
}

func (r *Repo) checkout(ctx context.Context, f forwardPlan) error {
	if f.left.all {
		return nil // git fails on a file that is now a directory
	}
	if len(f.left.written) > 0 {
		var in strings.Builder
		for _, c := range f.left.written {
			in.WriteString(c.mode + " " + c.oid + "\t" + c.path + "\x00")
		}
		if err := r.host.Run(ctx, strings.NewReader(in.String()), "update-index", "-z", "--add", "--replace",
			"--index-info"); err != nil {
			return r.checkoutError(err)
		}
	}
	err := r.readTree(ctx, f.From, f.To)
	if _, dirty := errors.AsType[*DirtyError](err); !dirty {
		return err
	}
	// Until this, files that were touched but not changed count as changed. It exits with 1 when some really are.
	if err := r.host.Run(ctx, nil, "update-index", "-q", "--refresh"); err != nil && proc.Code(err) != 1 {
		return r.checkoutError(err)
	}
	return r.readTree(ctx, f.From, f.To)
}

func (r *Repo) readTree(ctx context.Context, from, to string) error {
	return r.checkoutError(r.host.Run(ctx, nil, "-c", "checkout.workers=0", "-c",
		"checkout.thresholdForParallelism=32", "read-tree", "-m", "-u", "--no-recurse-submodules", from, to))
}

// checkoutError turns git's refusals, which come before it has touched anything, into ours.
func (r *Repo) checkoutError(err error) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return err
	}
	if path, ok := lockPath(exit.Stderr); ok {
		return &LockedError{Path: path}
	}
	// update-index -q says nothing about it.
	if lock := filepath.Join(r.GitDir, "index.lock"); exit.Stderr == "" {
		if _, err := os.Lstat(lock); err == nil {
			return &LockedError{Path: lock}
		}
	}
	if files := inItsWay(exit.Stderr); len(files) > 0 {
		return &DirtyError{Files: files}
	}
	return fmt.Errorf("update worktree: %w", err)
}

// raw lists changed files that a filter would have changed, had it run.
func (r *Repo) raw(ctx context.Context, changes []change) []string {
	if len(filtersOff(r.config)) == 0 {
		return nil
	}
	var in strings.Builder
	for _, c := range changes {
		if c.mode != "" {
			in.WriteString(c.path + "\x00")
		}
	}
	out, err := r.host.Feed(ctx, strings.NewReader(in.String()), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil
	}
	var files []string
	f := fields(out)
	for i := 0; i+2 < len(f); i += 3 {
		if f[i+2] != "unspecified" && f[i+2] != "unset" && f[i+2] != "set" {
			files = append(files, f[i])
		}
	}
	return files
}
