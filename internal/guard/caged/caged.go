// Package caged starts an agent on the user's own worktree, in the cage of a worktree box: the machine is read-only,
// git works on a private repository, what the agent needs of its home is shown or copied, and caches are layers that
// are never written back. The network is the user's own.
package caged

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
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
	// Ready is waited for before the program starts: what the cage shows may be made while it is planned.
	Ready func() error
	// Alone has no network, no home and no caches: it is for cco's own steps on the private repository.
	Alone bool
}

// User is whose machine it is.
type User struct {
	Home   string
	Path   string
	Env    []string
	Hidden []string    // files that hold keys, beside those that are known
	Shown  []box.Mount // what the user shows by name
	Pass   []string    // variables of the user's that are passed, beside those that are known
}

// Mount shows a file or directory of the host at another place.
type Mount struct {
	Source, Target string
	File, Write    bool
}

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
	dirs, files := settings()
	for _, name := range append(dirs, files...) {
		if _, err := os.Lstat(filepath.Join(c.Worktree, name)); errors.Is(err, os.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names
}

// settings are what starts something later in a worktree, or tells agents what to do: whole directories of agents, and
// single files.
func settings() (dirs, files []string) {
	names, _ := roster.Settings()
	for _, name := range append(names, ".mcp.json") {
		if dir, _, nested := strings.Cut(name, "/"); nested {
			dirs = append(dirs, dir)
		} else {
			files = append(files, name)
		}
	}
	slices.Sort(dirs)
	slices.Sort(files)
	return slices.Compact(dirs), slices.Compact(files)
}
