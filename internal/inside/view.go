package inside

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/tree"
)

// openView makes a repository of cco's own, which shows by links what the agent's holds: refs, logs, objects, where its
// history is cut. None of its settings is among that, so that no hook, filter, attribute or include of the agent's can
// run, be waited for or change what is kept. What git can't read by it is for a person: it is not dug for.
func openView(j Job) (work repo, leave func(), err error) {
	theirs := filepath.Join(j.Workspace, ".git")
	dir, err := os.MkdirTemp("", "cco-view-")
	if err != nil {
		return work, nil, err
	}
	leave = func() { _ = tree.Remove(dir) }
	if err := fillView(dir, theirs, j); err != nil {
		leave()
		return work, nil, fmt.Errorf("git can't read .git: %w", err)
	}
	work = repo{dir: j.Workspace, gitDir: dir}
	if j.Store != "" {
		work.env = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(j.Store, "objects")}
	}
	return work, leave, nil
}

func fillView(dir, theirs string, j Job) error {
	if info, err := os.Lstat(theirs); err != nil || !info.IsDir() {
		return errors.Join(err, errors.New("it is not a directory"))
	}
	for name, kind := range map[string]fs.FileMode{"objects": fs.ModeDir, "refs": fs.ModeDir, "logs": fs.ModeDir,
		"worktrees": fs.ModeDir, "packed-refs": 0, "shallow": 0, borrowed: 0} {
		if name == "shallow" && !j.Shallow {
			continue // history that the agent cut itself would come in part, which quarantine refuses with all beside it
		}
		info, err := os.Lstat(filepath.Join(theirs, name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && (name == "objects" || name == "refs"):
			return fmt.Errorf("it has no %s", name)
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.Mode().Type() != kind: // a link could lead to a repository of the user's
			return fmt.Errorf("%s is something else than git makes", name)
		}
		if name == borrowed {
			continue // it is shown with the objects
		}
		if err := os.Symlink(filepath.Join(theirs, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	head, err := readSmall(filepath.Join(theirs, "HEAD"))
	if err != nil || !validHead(strings.TrimSpace(head)) {
		head = "ref: refs/heads/" + j.Branch + "\n"
	}
	// What the user or the agent has excluded for this clone alone is no work.
	exclude, _ := readUpTo(filepath.Join(theirs, "info", "exclude"), maxExclude)
	err = errors.Join(os.MkdirAll(filepath.Join(dir, plain, "refs"), 0o700),
		os.Symlink("../objects", filepath.Join(dir, plain, "objects")),
		os.Symlink("../shallow", filepath.Join(dir, plain, "shallow")))
	for _, dir := range []string{dir, filepath.Join(dir, plain)} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, "info"), 0o700),
			os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head), 0o600),
			os.WriteFile(filepath.Join(dir, "config"), []byte(coreText(j, false)), 0o600),
			os.WriteFile(filepath.Join(dir, "info", "exclude"), []byte(exclude), 0o600))
	}
	return err
}

// borrowed names the places of further objects.
const borrowed = "objects/info/alternates"

// plain is a repository in the view that has no refs.
const plain = "plain"

// plain shows the objects alone, for work with known commits: git waits for a FIFO among refs where it needs none.
func (r repo) plain() repo {
	r.gitDir = filepath.Join(r.gitDir, plain)
	return r
}

const maxExclude = 1 << 20 // bytes

// validHead says whether git takes a directory with such a HEAD for a repository. After a crash it may be zeros.
func validHead(head string) bool {
	_, err := hex.DecodeString(head)
	return strings.HasPrefix(head, "ref: refs/") || err == nil && len(head) >= 40
}
