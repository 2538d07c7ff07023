package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/paths"
)

// adminDir is where a workspace's repository is, even if .git is a file that names it.
func adminDir(workspace string) string {
	dir := filepath.Join(workspace, ".git")
	if text, err := readSmall(dir); err == nil {
		if to, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: "); ok {
			dir = to
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(workspace, dir)
			}
		}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// commonDir is where a repository keeps what its worktrees share.
func commonDir(admin string) string {
	text, err := readSmall(filepath.Join(admin, "commondir"))
	dir := strings.TrimSpace(text)
	switch {
	case err != nil:
		return admin
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(admin, dir)
}

// maxSwept is how many files of a repository are checked.
const maxSwept = 500_000

// writable is what access(2) calls the right to write.
const writable = 2

// sweep removes from a repository what git would wait for forever, and what holds nothing: pipes, sockets, devices, and
// locks among our own refs. If a directory of refs leads elsewhere, the repository is unusable; and if it may be one of
// the user's, or is one that can't be written, then whatever it is that leads out of the workspace.
func sweep(j Job) error {
	workspace, err := filepath.EvalSymlinks(j.Workspace)
	if err != nil {
		return err
	}
	top, n := adminDir(j.Workspace), 0
	leaves := func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && !paths.Within(real, workspace) &&
			(j.Confined || errors.Is(syscall.Access(real, writable), syscall.EROFS))
	}
	if leaves(top) || leaves(commonDir(top)) {
		return errors.New(".git leads out of the workspace")
	}
	return filepath.WalkDir(top, func(path string, e fs.DirEntry, werr error) error {
		if n++; n > maxSwept {
			return filepath.SkipAll
		}
		if werr != nil || e.IsDir() || path == top {
			return nil // git complains about what can't be read
		}
		rel, _ := filepath.Rel(top, path)
		rel = filepath.ToSlash(rel)
		kind := e.Type()
		part, _, _ := strings.Cut(rel, "/")
		if kind&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			if err != nil {
				return nil // leads nowhere
			}
			kind = info.Mode().Type()
			names := part == "refs" || part == "logs" || part == "worktrees"
			// Git only reads hooks and single objects, or replaces them without following them.
			reads := part == "hooks" || part == "objects"
			if kind.IsDir() && names || leaves(path) && (kind.IsDir() || kind == 0 && !reads) {
				return fmt.Errorf(".git/%s leads elsewhere", rel)
			}
		}
		if kind&^fs.ModeDir != 0 || strings.HasPrefix(rel, "refs/cco/") && strings.HasSuffix(rel, ".lock") {
			_ = os.Remove(path) // git complains about what stays in the way
		}
		return nil
	})
}

// outside names the worktrees that the agent made of its repository elsewhere, whose files stay there.
func outside(workspace string) (lost []string) {
	parent := filepath.Join(adminDir(workspace), "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{"its worktrees can't be listed: " + err.Error()}
	}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	for _, e := range entries {
		text, err := readSmall(filepath.Join(parent, e.Name(), "gitdir"))
		dir := filepath.Dir(strings.TrimSpace(text))
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(parent, e.Name(), dir)
		}
		if err == nil && !paths.Within(filepath.Clean(dir), workspace) {
			lost = append(lost, fmt.Sprintf("worktree %s: its files are in %s, outside the workspace", e.Name(), dir))
		}
	}
	return lost
}
