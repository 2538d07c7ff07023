package inside

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/tree"
)

// anew gathers the work in a new repository, in place of one that is gone or broken. With objects it has the agent's
// objects and refs; without, at least the files are kept.
func anew(ctx context.Context, j Job, objects bool) (r Result, err error) {
	if j.Store == "" && !objects {
		return r, errors.New("there is nothing to start from")
	}
	gitDir, err := os.MkdirTemp(j.Exchange, ".cco-salvage-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, tree.Remove(gitDir)) }()
	work := repo{dir: j.Workspace, gitDir: gitDir}
	err = skeleton(gitDir, j)
	if err == nil && j.Store != "" {
		err = borrow(gitDir, filepath.Join(j.Store, "objects"))
	}
	if err == nil && objects {
		work.index, err = inherit(gitDir, j)
	}
	if err == nil {
		err = work.run(ctx, "cat-file", "-e", j.Base+"^{commit}")
	}
	if err != nil {
		return r, err
	}
	return gather(ctx, work, j, Result{Salvaged: !objects, Others: Others{Lost: broken(j)}})
}

// broken names a repository that exists and can't be read. One that was removed holds nothing any more.
func broken(j Job) []string {
	if _, err := os.Lstat(filepath.Join(j.Workspace, ".git")); err != nil {
		return nil
	}
	return []string{"what else is in its repository, which is broken"}
}

// inherit gives a new repository the objects, the refs and the cuts in history of the agent's, which it reads without
// git, and gives the agent's index.
func inherit(gitDir string, j Job) (index string, err error) {
	admin := adminDir(j.Workspace)
	common := commonDir(admin)
	if err := borrow(gitDir, filepath.Join(common, "objects")); err != nil {
		return "", err
	}
	refs, branch := refsOf(common), "refs/heads/"+j.Branch
	head, _ := readSmall(filepath.Join(admin, "HEAD"))
	known := isHex(strings.TrimSpace(head)) || refs[strings.TrimPrefix(strings.TrimSpace(head), "ref: ")] != ""
	if refs[branch] == "" && !known {
		return "", errors.New("it has neither HEAD nor the branch")
	}
	if refs[branch] == "" {
		refs[branch] = j.Base
	}
	var packed strings.Builder
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed.WriteString(refs[name] + " " + name + "\n")
	}
	err = os.WriteFile(filepath.Join(gitDir, "packed-refs"), []byte(packed.String()), 0o600)
	if err == nil && known {
		err = os.WriteFile(filepath.Join(gitDir, "HEAD"), []byte(head), 0o600)
	}
	if cuts, _ := readUpTo(filepath.Join(common, "shallow"), maxSettings); err == nil && cuts != "" {
		err = os.WriteFile(filepath.Join(gitDir, "shallow"), []byte(cuts), 0o600)
	}
	return filepath.Join(admin, "index"), err
}

// refsOf reads what the refs of a repository hold. One with a name that git may refuse gets another.
func refsOf(common string) map[string]string {
	refs, n, shut := map[string]string{}, 0, 0
	add := func(name, oid string) {
		if !isHex(oid) {
			return
		}
		if oddRef(name) {
			name = "refs/odd/" + oid
		}
		refs[name] = oid
	}
	packed, _ := readUpTo(filepath.Join(common, "packed-refs"), maxListed)
	for line := range strings.Lines(packed) {
		oid, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		add(name, oid)
	}
	_ = filepath.WalkDir(filepath.Join(common, "refs"), func(path string, e fs.DirEntry, err error) error {
		if n++; n > maxSwept {
			return filepath.SkipAll
		}
		name, _ := filepath.Rel(common, path)
		name = filepath.ToSlash(name)
		// What can't be read is not what was packed before.
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil && shut == maxTries:
			clear(refs)
			return filepath.SkipAll
		case err != nil:
			shut++
			maps.DeleteFunc(refs, func(other, _ string) bool { return strings.HasPrefix(other, name+"/") })
		case !e.IsDir():
			delete(refs, name)
			oid, _ := readSmall(path)
			add(name, strings.TrimSpace(oid))
		}
		return nil
	})
	return refs
}

// oddRef says whether git may refuse a ref's name, or refuse others because of it.
func oddRef(name string) bool {
	return !strings.HasPrefix(name, "refs/") || keptName(name, "") == "other/" && name != "refs/stash" ||
		strings.Contains(name, "..") || strings.Contains(name, "//") || strings.Contains(name, "/.") ||
		strings.Contains(name, "./") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, "/") ||
		strings.Contains(name, ".lock")
}

// patience is how long git may take before somebody looks whether it waits.
const patience = 3 * time.Second

// feedPipes lets git go on that waits for a FIFO in the place of a file which it reads in a workspace, such as
// .gitignore, and removes that. It looks only if publishing takes long, and no longer when its result is called.
func feedPipes(ctx context.Context, j Job) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-time.After(patience):
		}
		n := 0
		_ = filepath.WalkDir(j.Workspace, func(path string, e fs.DirEntry, err error) error {
			if n++; n > maxSwept || ctx.Err() != nil {
				return filepath.SkipAll
			}
			if err != nil || e.Type()&fs.ModeNamedPipe == 0 ||
				!strings.Contains(strings.TrimPrefix(path, j.Workspace), "/.git") {
				return nil
			}
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0) // who waits gets it
			_ = os.Remove(path)
			if err == nil {
				_ = f.Close() // and reads nothing
			}
			return nil
		})
	}()
	return func() { cancel(); <-done }
}
