package git

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/unit"
)

// StateError is every error that says "not now": nothing was touched, and the user can remove the obstacle. Find it
// with errors.As.
type StateError interface {
	error
	WrongState()
}

// NotRepositoryError says that a directory is in no git repository.
type NotRepositoryError struct{ Dir string }

func (e *NotRepositoryError) Error() string { return "not a git repository: " + Quote(e.Dir) }

// WrongState marks a StateError.
func (e *NotRepositoryError) WrongState() {}

// BareError says that a repository has no worktree.
type BareError struct{ Dir string }

func (e *BareError) Error() string {
	return "bare repository: " + Quote(e.Dir) + " (a repository with a worktree is needed)"
}

// WrongState marks a StateError.
func (e *BareError) WrongState() {}

// OwnershipError says that git won't open a repository of another user.
type OwnershipError struct{ Dir string }

func (e *OwnershipError) Error() string {
	return fmt.Sprintf("repository %s belongs to another user: if you trust it, run `git config --global --add "+
		"safe.directory %s`",
		Quote(e.Dir), proc.ShellWord(e.Dir))
}

// WrongState marks a StateError.
func (e *OwnershipError) WrongState() {}

// DetachedError says that HEAD is on no branch.
type DetachedError struct{ Commit string }

func (e *DetachedError) Error() string {
	return fmt.Sprintf("HEAD is detached at %s: check out a branch first (`git switch -c NAME`)", Short(e.Commit))
}

// WrongState marks a StateError.
func (e *DetachedError) WrongState() {}

// UnbornError says that the branch has no commit yet.
type UnbornError struct{ Branch string }

func (e *UnbornError) Error() string {
	return fmt.Sprintf("branch %s has no commits yet: make a first commit", Quote(e.Branch))
}

// WrongState marks a StateError.
func (e *UnbornError) WrongState() {}

// MissingObjectsError says that a partial clone lacks objects that have to travel.
type MissingObjectsError struct {
	Missing int    // how many are missing, counted up to a bound
	Remote  string // the promisor remote
}

func (e *MissingObjectsError) Error() string {
	return fmt.Sprintf("partial clone lacks %s: run `git fetch --refetch --no-filter %s`",
		unit.Count(e.Missing, "object"), proc.ShellWord(e.Remote))
}

// WrongState marks a StateError.
func (e *MissingObjectsError) WrongState() {}

// DivergedError says that a branch can't be fast-forwarded, because it has moved on.
type DivergedError struct {
	Branch string
	Now    string // where the branch is
	Tip    string // where it should have gone
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("branch %s has diverged: it is at %s, the new work is at %s", Quote(e.Branch), Short(e.Now),
		Short(e.Tip))
}

// WrongState marks a StateError.
func (e *DivergedError) WrongState() {}

// ConflictError says that commits can't be joined without a person.
type ConflictError struct{ Files []string }

func (e *ConflictError) Error() string {
	names := make([]string, 0, len(e.Files))
	for _, f := range e.Files[:min(5, len(e.Files))] {
		names = append(names, Quote(f))
	}
	return "both sides have changed the same lines: " + strings.Join(names, ", ")
}

// WrongState marks a StateError.
func (e *ConflictError) WrongState() {}

// MergesError says that commits can't be made anew one after the other.
type MergesError struct{ Commit string }

func (e *MergesError) Error() string {
	return Short(e.Commit) + " is a merge, which can't be made anew on top: merge the work instead"
}

// WrongState marks a StateError.
func (e *MergesError) WrongState() {}

// BranchGoneError says that the branch was deleted meanwhile.
type BranchGoneError struct{ Branch string }

func (e *BranchGoneError) Error() string { return "branch " + Quote(e.Branch) + " no longer exists" }

// WrongState marks a StateError.
func (e *BranchGoneError) WrongState() {}

// BranchExistsError says that a new branch exists already, and doesn't fast-forward to the tip.
type BranchExistsError struct{ Branch, Now, Tip string }

func (e *BranchExistsError) Error() string {
	return fmt.Sprintf("branch %s exists at %s and does not fast-forward to %s", Quote(e.Branch), Short(e.Now),
		Short(e.Tip))
}

// WrongState marks a StateError.
func (e *BranchExistsError) WrongState() {}

// BranchNameError says that git does not allow a name for a branch.
type BranchNameError struct{ Branch string }

func (e *BranchNameError) Error() string { return "not a valid branch name: " + Quote(e.Branch) }

// WrongState marks a StateError.
func (e *BranchNameError) WrongState() {}

// CheckedOutError says that a branch is in use by another worktree, or by a rebase or bisect.
type CheckedOutError struct {
	Branch   string
	Worktree string
	How      string // "checked out", "being rebased", "being bisected"
}

func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("branch %s is %s in worktree %s", Quote(e.Branch), e.How, Quote(e.Worktree))
}

// WrongState marks a StateError.
func (e *CheckedOutError) WrongState() {}

// BusyError says that a merge, cherry-pick or revert is unfinished in the worktree.
type BusyError struct{ What string }

func (e *BusyError) Error() string { return e.What + " in progress: finish or abort it first" }

// WrongState marks a StateError.
func (e *BusyError) WrongState() {}

// LockedError says that another git holds a lock, or a dead one left it.
type LockedError struct{ Path string }

func (e *LockedError) Error() string {
	return "another git process seems to be running: " + Quote(e.Path) + " exists (remove it if none is)"
}

// WrongState marks a StateError.
func (e *LockedError) WrongState() {}

// DirtyFile is a file in the worktree that a fast-forward would overwrite.
type DirtyFile struct {
	Path string `json:"path"`
	Why  string `json:"why"` // "modified", "staged", "conflicted", "untracked", "submodule"
}

// DirtyError lists what a fast-forward would overwrite.
type DirtyError struct{ Files []DirtyFile }

func (e *DirtyError) Error() string {
	const most = 10
	var names []string
	for _, f := range e.Files[:min(most, len(e.Files))] {
		names = append(names, Quote(f.Path)+" ("+f.Why+")")
	}
	words := "would overwrite " + strings.Join(names, ", ")
	if more := len(e.Files) - most; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

// WrongState marks a StateError.
func (e *DirtyError) WrongState() {}

// RefChangedError says that a ref was not where it had to be at the moment of writing.
type RefChangedError struct{ Ref string }

func (e *RefChangedError) Error() string { return "ref " + Quote(e.Ref) + " changed meanwhile" }

// WrongState marks a StateError.
func (e *RefChangedError) WrongState() {}
