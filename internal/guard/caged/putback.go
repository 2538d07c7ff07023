package caged

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// beforeFile is what starts something later in the worktree, as it was before the program started: what git outside
// believes, and the settings of agents. Where nothing holds it while the program runs, it is put back afterwards.
func (c *Cage) beforeFile() string { return filepath.Join(c.Dir, "before.json") }

// Record writes down what PutBack puts back, also after this process has been killed. Where mounts hold it, there is
// nothing to do.
func (c *Cage) Record() error {
	if !c.bare() {
		return nil
	}
	root, err := os.OpenRoot(c.Worktree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	names := settings()
	for _, at := range slices.Concat(c.Kept, c.Empty) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && slices.Contains(c.Kept, at) {
			return fmt.Errorf("%s is a worktree in this one, and %s can't hold it: put it elsewhere with git worktree move",
				at, c.Way)
		}
		name, err := filepath.Rel(c.Worktree, at)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	was, err := tree.Take(root, names)
	if err != nil {
		return err
	}
	data, err := json.Marshal(was)
	if err != nil {
		return err
	}
	return whole.Write(c.beforeFile(), data, 0o600)
}

// PutBack puts back what the program has changed of what Record wrote down, and says what. Nothing of the program may
// be alive.
func (c *Cage) PutBack() (changed []string, err error) {
	data, err := os.ReadFile(c.beforeFile())
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var was tree.Picture
	if err := json.Unmarshal(data, &was); err != nil {
		return nil, fmt.Errorf("read %s: %w", c.beforeFile(), err)
	}
	root, err := os.OpenRoot(c.Worktree)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if changed, err = was.PutBack(root); err != nil {
		return changed, err // the next start tries again
	}
	return changed, os.Remove(c.beforeFile())
}
