package git

import (
	"context"
	"errors"
	"time"
)

var errThin = errors.ErrUnsupported

// Progress is one step of something that takes long: "Compressing objects", 10 of 200. Total is 0 when it isn't known.
type Progress struct {
	Step        string
	Done, Total int64
}

// ProgressFunc receives progress, from one goroutine at a time. It must not block.
type ProgressFunc func(Progress)

// Repo is a user's repository with a worktree.
type Repo struct {
	Top          string // the worktree
	GitDir       string // of this worktree
	CommonDir    string // of all worktrees
	ObjectFormat string // "sha1" or "sha256"
}

// Open finds the repository that dir is in.
func Open(ctx context.Context, dir string) (*Repo, error) { return nil, errThin }

// Key is stable for a repository as long as it stays where it is: all its worktrees share it. It is 16 hex digits.
func (r *Repo) Key() string { return "" }

// Head is a branch and the commit it is at.
type Head struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Head says what is checked out. It gives a *DetachedError or *UnbornError where there is no branch or no commit.
func (r *Repo) Head(ctx context.Context) (Head, error) { return Head{}, errThin }

// Commit resolves a branch; a *BranchGoneError says that there is none.
func (r *Repo) Branch(ctx context.Context, branch string) (commit string, err error) { return "", errThin }

// Dirty lists tracked files that differ from HEAD and untracked ones, at most limit of them (0: all).
func (r *Repo) Dirty(ctx context.Context, limit int) ([]string, error) { return nil, errThin }

// Identity is what git would put into a commit; empty where the user has not said.
type Identity struct{ Name, Email string }

// Identity gives user.name and user.email.
func (r *Repo) Identity() Identity { return Identity{} }

// IsShallow says whether history is cut off.
func (r *Repo) IsShallow() bool { return false }

// IsPartial says whether objects may be missing until a remote is asked for them.
func (r *Repo) IsPartial() bool { return false }

// CheckComplete gives a *MissingObjectsError if a partial clone lacks objects of the last depth commits before commit
// (0: all history). It costs nothing for a repository that isn't partial.
func (r *Repo) CheckComplete(ctx context.Context, commit string, depth int) error { return errThin }

// Survey is what a push should warn about.
type Survey struct {
	Submodules []string // paths
	LFS        bool     // large files travel as pointers
	Filters    []string // other filters named by .gitattributes
}

// Survey looks through the tree of a commit.
func (r *Repo) Survey(ctx context.Context, commit string) (Survey, error) { return Survey{}, errThin }

// FileState says how a file relates to a commit.
type FileState int

// The states of a file. The zero value is the one that promises nothing.
const (
	FileOutside   FileState = iota // not in this worktree, after symlinks are resolved
	FileUntracked                  // in the worktree, not in the commit
	FileModified                   // in the commit, with other content
	FileCommitted                  // in the commit exactly as it is
)

// File is a file of the worktree, seen from a commit.
type File struct {
	State FileState
	Path  string // inside the repository; "" when outside
	Real  string // absolute, symlinks resolved
}

// FileAt says whether the file at path is in commit as it stands.
func (r *Repo) FileAt(ctx context.Context, commit, path string) (File, error) { return File{}, errThin }

// BundleRequest says what travels.
type BundleRequest struct {
	Branch   string
	Commit   string
	Have     []string // commits that the other side has; unknown ones are ignored
	Progress ProgressFunc
}

// BundleResult is a written bundle.
type BundleResult struct {
	// Nothing is true when the other side has it all. No file is written then, because git refuses an empty bundle.
	Nothing       bool
	Prerequisites []string
	Size          int64
	SHA256        string
}

// Bundle writes HEAD and the branch, both at Commit, to a new file at path. It appears there whole or not at all.
func (r *Repo) Bundle(ctx context.Context, path string, q BundleRequest) (BundleResult, error) {
	return BundleResult{}, errThin
}

// ShallowRequest says what a shallow repository holds.
type ShallowRequest struct {
	Branch   string
	Commit   string
	Depth    int // 0: as much history as there is
	Progress ProgressFunc
}

// Shallow writes a bare repository to the new directory dir, with HEAD on the branch and its last Depth commits.
// A bundle can't carry a shallow history, so this is also what a shallow clone sends.
func (r *Repo) Shallow(ctx context.Context, dir string, q ShallowRequest) error { return errThin }

// Copied is a file that was copied out.
type Copied struct {
	Size   int64
	SHA256 string
}

// CopyOut copies the file name (slashes, below dir) to the new file dst, out of the reach of whoever can write to dir.
// No link is followed below dir, the file must be a regular one with a single link of at most limit bytes, and it must
// not change while it is read. A *RefusedError says what it was instead.
func CopyOut(ctx context.Context, dir, name, dst string, limit int64) (Copied, error) {
	return Copied{}, errThin
}

// Limits bound what a bundle may do. A zero field takes its default.
type Limits struct {
	PackBytes   int64         // of the pack, as it comes
	ObjectBytes int64         // of one object, expanded
	TotalBytes  int64         // of all objects, expanded
	Objects     int           // number of objects
	Commits     int           // number of new commits
	Entries     int           // new tree entries, summed over all commits
	Depth       int           // of directories
	PathBytes   int           // of a path
	CPU         time.Duration // of git index-pack (Linux)
	Memory      int64         // of git index-pack (Linux)
}

// Quarantine is a bare repository of our own that borrows the user's objects.
type Quarantine struct{ Dir string }

// QuarantineOptions are the knobs of a quarantine.
type QuarantineOptions struct {
	Limits   Limits
	Progress ProgressFunc
}

// Quarantine makes a quarantine repository in the new directory dir.
func (r *Repo) Quarantine(ctx context.Context, dir string, o QuarantineOptions) (*Quarantine, error) {
	return nil, errThin
}

// The refs that the publisher in a box may put into an output bundle.
const (
	OutRef = "refs/cco/out"
	WipRef = "refs/cco/wip"
)

// Found is what an unpacked bundle holds. Tip is Base when only leftovers were published, Wip is "" without leftovers.
type Found struct {
	Base, Tip, Wip string
}

// Unpack checks the bundle's header, and unpacks it with every check that git has, within the limits. The file must be
// out of the agent's reach. base is the commit that was sent.
func (q *Quarantine) Unpack(ctx context.Context, bundle, base string) (Found, error) {
	return Found{}, errThin
}

// Warning is something allowed that a person should look at before running it.
type Warning struct {
	Kind string `json:"kind"` // "ci", "hook", "agent", "executable", "attributes", "submodule", "environment"
	Path string `json:"path"`
}

// Report is the result of an examination that refused nothing.
type Report struct {
	Commits  int       `json:"commits"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Examine walks every commit since the base, and refuses new entries that could harm the user. It comes after Unpack.
func (q *Quarantine) Examine(ctx context.Context) (Report, error) { return Report{}, errThin }

// Imported is what an import wrote.
type Imported struct {
	Ref    string `json:"ref"`
	WipRef string `json:"wip_ref,omitempty"`
	// Kept are refs that now hold what Ref and WipRef held before, where the new commits don't contain it.
	Kept []string `json:"kept,omitempty"`
}

// Import moves the objects into the user's repository, and writes refs/cco/<id> and refs/cco/<id>-wip. It refuses
// unless Examine has passed. It can be repeated.
func (q *Quarantine) Import(ctx context.Context, id string) (Imported, error) {
	return Imported{}, errThin
}

// WriteBundle writes everything that was found, with its full history since the base, to a bundle at path.
func (q *Quarantine) WriteBundle(ctx context.Context, path string) error { return errThin }

// Close removes the quarantine directory.
func (q *Quarantine) Close() error { return errThin }

// Forwarded says what a fast-forward did.
type Forwarded struct {
	Branch   string `json:"branch"`
	From     string `json:"from,omitempty"` // "" when the branch was made
	To       string `json:"to"`
	Moved    bool   `json:"moved"`    // false: the branch had it already
	Worktree bool   `json:"worktree"` // the worktree and index moved with it
	// Raw are files written without the filter (LFS, git-crypt) that they ask for.
	Raw []string `json:"raw,omitempty"`
}

// FastForward moves branch from wherever it is between from and to, to to: with the worktree if it is checked out
// here. Every error but an I/O error is a StateError, and then nothing was touched.
func (r *Repo) FastForward(ctx context.Context, branch, from, to string) (Forwarded, error) {
	return Forwarded{}, errThin
}

// CanFastForward gives the error that FastForward would give, and touches nothing.
func (r *Repo) CanFastForward(ctx context.Context, branch, from, to string) error { return errThin }

// CreateBranch makes a branch at a commit. One that exists is fast-forwarded, or it is a *BranchExistsError.
func (r *Repo) CreateBranch(ctx context.Context, branch, to string) (Forwarded, error) {
	return Forwarded{}, errThin
}

// CommitLine is a commit for people. All text is safe to print.
type CommitLine struct {
	Commit  string    `json:"commit"`
	Short   string    `json:"short"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Date    time.Time `json:"date"`
}

// FileStat is one file of a diffstat. Path is safe to print.
type FileStat struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Summary is what happened between two commits.
type Summary struct {
	Commits []CommitLine `json:"commits"` // oldest first
	More    int          `json:"more,omitempty"`
	Files   []FileStat   `json:"files"`
	Added   int          `json:"added"`
	Deleted int          `json:"deleted"`
}

// Summary sums up what to adds to from.
func (r *Repo) Summary(ctx context.Context, from, to string) (Summary, error) {
	return Summary{}, errThin
}

// Summary sums up what was found, before it is imported.
func (q *Quarantine) Summary(ctx context.Context) (Summary, error) { return Summary{}, errThin }

// Diff gives the patch between two commits, without external diffs; colour only if asked.
func (r *Repo) Diff(ctx context.Context, from, to string, colour bool) ([]byte, error) { return nil, errThin }

// Worktree is one worktree of a repository.
type Worktree struct {
	Path     string
	Head     string // commit
	Branch   string // "" when detached
	Bare     bool
	Locked   bool
	Prunable bool
}

// Worktrees lists all worktrees, the main one first.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) { return nil, errThin }

// AddWorktree makes a worktree in the new directory dir, on the new branch at base.
func (r *Repo) AddWorktree(ctx context.Context, dir, branch, base string) error { return errThin }

// RemoveWorktree removes a worktree. Unless force, it refuses while files in it are changed or untracked.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string, force bool) error { return errThin }

// Snapshot is the state of a repository that an agent in a worktree box must not change.
type Snapshot struct {
	Head      string            `json:"head"`
	Refs      map[string]string `json:"refs"`
	Config    string            `json:"config"`
	Hooks     string            `json:"hooks"`
	Index     string            `json:"index"`
	Worktrees []string          `json:"worktrees"`
}

// Snapshot takes a snapshot: ids of refs and hashes of the rest.
func (r *Repo) Snapshot(ctx context.Context) (Snapshot, error) { return Snapshot{}, errThin }

// DiffSnapshots says in words what changed from a to b, except for the refs named.
func DiffSnapshots(a, b Snapshot, except ...string) []string { return nil }
