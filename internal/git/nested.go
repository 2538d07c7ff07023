package git

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/paths"
)

// maxNested bounds how many names in a worktree are looked at for repositories in it: an agent's start waits for that.
const maxNested = 5_000

// Nested finds repositories that lie in a worktree, those nearest to its top first. It looks at names alone, follows no
// link, and goes into none that it finds. What is known, such as a submodule's .git, is left out. It stops before the
// user would notice.
func Nested(top string, known []string) (found []string) {
	left := maxNested
	for dirs := []string{top}; len(dirs) > 0 && left > 0; dirs = dirs[1:] {
		entries, _ := os.ReadDir(dirs[0]) // one that can't be read shows nothing to the agent either
		left -= len(entries)
		parts := 0 // of a repository without a worktree, which git believes as well
		isRepo := func(e os.DirEntry) bool {
			if slices.Contains([]string{"HEAD", "objects", "refs"}, e.Name()) {
				parts++
			}
			return parts == 3 || e.Name() == ".git" && (e.IsDir() || e.Type().IsRegular())
		}
		if dirs[0] != top && slices.ContainsFunc(entries, isRepo) {
			found = append(found, dirs[0])
			continue
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != ".git" {
				dirs = append(dirs, filepath.Join(dirs[0], e.Name()))
			}
		}
	}
	return slices.DeleteFunc(found, func(dir string) bool {
		return slices.ContainsFunc(known, func(name string) bool {
			return name == filepath.Join(dir, ".git") || paths.Within(dir, name)
		})
	})
}
