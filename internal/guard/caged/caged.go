// Package caged starts an agent on the user's own worktree, in the cage of a worktree box: the machine is read-only,
// git works on a private repository, what the agent needs of its home is shown or copied, and caches are layers that
// are never written back. The network is the user's own.
//
// Where there are no user namespaces, rules hold the same without mounts: git and caches are reached by variables.
package caged

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// Cage says what a program is shown of the user's machine.
type Cage struct {
	Tool     string // cco-box
	Data     string // cco's data, which no program sees
	Dir      string // what is kept for this worktree, below Data
	Worktree string // the real path of what the program may write
	Program  string // what is started, by which its agent is known
	User     User
	// Kept are files and directories in the worktree that can't be changed or replaced, and Empty directories in which
	// nothing can be made.
	Kept, Empty []string
	// Repo shows the private repository in place of the user's. It comes after everything else.
	Repo []Mount
	// GitDir is the private repository where it is not mounted over the user's. With Wrap a git first on PATH frees calls
	// from it that it would break.
	GitDir string
	Wrap   bool
	Way    Way
	// Ready is waited for before the program starts: what the cage shows may be made while it is planned.
	Ready func() error
	// Alone has no network, no home and no caches: it is for cco's own steps on the private repository.
	Alone bool

	found func() *host.Shown
}

// Way is what holds a program.
type Way string

// Auto is the first way that can be had.
const Auto = "auto"

// The ways. The first holds most, the last nothing at all.
const (
	Namespaces Way = "namespaces"
	Landlock   Way = "landlock"
	Seatbelt   Way = "seatbelt"
	Nothing    Way = "nothing"
)

// ErrNotBuilt says that the system refused a cage, in which nothing has run.
var ErrNotBuilt = errors.New("the cage could not be made")

// NotHeld is what rules alone can't hold or give, for the user to know.
const NotHeld = "chmod, utime and xattr of your files by a program; .git and agents' settings in the worktree while " +
	"it runs (they are put back); names of files and processes, which can be listed; priorities of processes; signals " +
	"below version 6 of Landlock; and gives no /tmp, /var/tmp and /dev/shm to write: TMPDIR names a directory"

// bare says that rules alone hold the program: nothing is mounted.
func (c *Cage) bare() bool { return c.Way == Landlock || c.Way == Seatbelt }

// User is whose machine it is.
type User struct {
	Home   string
	Path   string
	Env    []string
	Hidden []string    // files that hold keys, beside those that are known
	Shown  []box.Mount // what the user shows by name
	Pass   []string    // variables of the user's that are passed, beside those that are known
	Git    []byte      // the user's own settings of git without logins and hooks
	Named  []string    // files that they name
	// Sockets are agents of keys that the user shows, by their names.
	Sockets []string
}

// Mount shows a file or directory of the host, or hides it.
type Mount = jail.Mount

// Await waits until everything is there that the cage shows.
func (c *Cage) Await() error {
	if c.Ready == nil {
		return nil
	}
	return c.Ready()
}

// Missing are the settings that the worktree lacks, in whose place the cage puts something. Git is to overlook them.
func (c *Cage) Missing() (names []string) {
	c.Release() // of a cage that was killed
	for _, name := range settings() {
		if _, err := os.Lstat(filepath.Join(c.Worktree, name)); errors.Is(err, os.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names
}

// settings are what starts something later in a worktree, or tells agents what to do: whole directories of agents, and
// single places in directories that are not theirs alone.
func settings() (names []string) {
	names = []string{".mcp.json"}
	for _, row := range roster.All() {
		for _, name := range row.Settings {
			if dir, _, nested := strings.Cut(name, "/"); nested && row.Owns(dir) {
				name = dir
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func unavailable() error {
	return &box.Unavailable{What: "the cage that guard.cage asks for", Why: "this system has none",
		Mend: "set it to " + Auto + ", or use a box: cco run PLAN"}
}
