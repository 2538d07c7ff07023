package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
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

// worktrees keeps the uncommitted work and the HEAD of the worktrees that the agent made of its repository.
func (k *keeping) worktrees(ctx context.Context) {
	if k.gitDir != "" {
		return // a repository of our own
	}
	parent := filepath.Join(adminDir(k.job.Workspace), "worktrees")
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.reportLost("its worktrees can't be listed: %v", err)
	}
	if len(entries) == 0 {
		return
	}
	led, all := leading(k.job.Workspace, parent)
	n := 0
	for i, e := range entries {
		admin := filepath.Join(parent, e.Name())
		places, why := checkedOut(admin, k.job.Workspace, led[admin])
		if why == "" && len(places) == 0 && !all {
			why = "too many files to find where it is"
		}
		if why != "" {
			k.reportLost("worktree %s: %s", e.Name(), why)
		}
		if n += max(1, len(places)); n > maxTrees {
			k.reportLost("%d more worktrees: too many to look into", len(entries)-i)
			return
		}
		if err := k.worktree(ctx, admin, fmt.Sprintf("worktree/%d", i+1), places); err != nil {
			k.reportLost("worktree %s: %v", e.Name(), firstOf("", err))
		}
	}
}

func (k *keeping) worktree(ctx context.Context, admin, name string, places []string) (err error) {
	from := "worktree " + filepath.Base(admin)
	w := &repo{dir: k.dir, gitDir: admin}
	k.halfway(admin)
	if err := w.readSettings(ctx, k.job); err != nil {
		return err
	}
	at, err := find(ctx, *w, "HEAD")
	if err != nil {
		if len(places) == 0 {
			return nil // nothing is left of it
		}
		return err
	}
	k.all = append(k.all, found{name + "/head", from, at.head})
	// These are the refs that each worktree has for itself.
	out, err := w.text(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)", "refs/worktree", "refs/bisect",
		"refs/rewritten")
	for line := range strings.Lines(out) {
		oid, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		k.all = append(k.all, found{"other/" + oid, ref + " of " + from, oid})
	}
	for i, dir := range places {
		j := k.job
		j.Message, j.Workspace = "", dir
		l, failed := leftovers(ctx, j, repo{dir: dir, gitDir: admin, names: w.names}, at)
		for _, words := range l.lost {
			k.reportLost("%s: %s", from, words)
		}
		again := ""
		if i > 0 {
			again = fmt.Sprintf("-%d", i+1)
		}
		if l.commit != "" {
			k.all = append(k.all, found{name + "/uncommitted" + again, from, l.commit})
		}
		if l.staged != "" {
			k.all = append(k.all, found{name + "/index" + again, "the index of " + from, l.staged})
		}
		err = errors.Join(err, failed)
	}
	return err
}

// leading finds the directories of a workspace that claim to be worktrees, by their targets below parent. One that was
// moved or copied is not where git has recorded it.
func leading(workspace, parent string) (led map[string][]string, all bool) {
	led, n := map[string][]string{}, 0
	_ = filepath.WalkDir(workspace, func(path string, e fs.DirEntry, err error) error {
		if n++; n > maxSwept {
			return filepath.SkipAll
		}
		if err != nil || e.Name() != ".git" {
			return nil // unreadable files are reported where the files are taken
		}
		if e.IsDir() {
			return filepath.SkipDir
		}
		dir := filepath.Dir(path)
		if admin := adminDir(dir); filepath.Dir(admin) == parent {
			led[admin] = append(led[admin], dir)
		}
		return nil
	})
	return led, n <= maxSwept
}

// checkedOut is where a worktree's files are: first where git has recorded it, if that leads back. If they are not
// visible, why says so.
func checkedOut(admin, workspace string, led []string) (places []string, why string) {
	text, err := readSmall(filepath.Join(admin, "gitdir"))
	dir := filepath.Dir(strings.TrimSpace(text))
	if err != nil || text == "" {
		return led, ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(admin, dir)
	}
	if adminDir(dir) == admin {
		same := func(other string) bool { return sameFile(dir, other) }
		return append([]string{dir}, slices.DeleteFunc(led, same)...), ""
	}
	if len(led) > 0 {
		return led, ""
	}
	info, err := os.Stat(dir)
	if _, none := os.Lstat(filepath.Join(dir, ".git")); err == nil && info.IsDir() && errors.Is(none, fs.ErrNotExist) {
		return []string{dir}, ""
	}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	if !paths.Within(filepath.Clean(dir), workspace) {
		return nil, "its files in " + dir + ", outside the workspace, can't be seen"
	}
	return nil, ""
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, also := os.Stat(b)
	return err == nil && also == nil && os.SameFile(x, y)
}

// maxIgnored is how many ignored files are counted.
const maxIgnored = 200_000

// Ignored are files that are never saved.
type Ignored struct {
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	More  bool  `json:"more,omitempty"` // there are more of them
}

// Plus adds them up.
func (n Ignored) Plus(m Ignored) Ignored {
	return Ignored{Files: n.Files + m.Files, Bytes: n.Bytes + m.Bytes, More: n.More || m.More}
}

// ignored counts the files that git was told to ignore.
func ignored(ctx context.Context, work repo) (n Ignored) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	c := work.cmd("ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	c.Stdout = &names{do: func(name string) error {
		if n.Files == maxIgnored {
			n.More = true
			return errors.New("enough")
		}
		if info, err := os.Lstat(filepath.Join(work.dir, name)); err == nil && !info.IsDir() {
			n.Files, n.Bytes = n.Files+1, n.Bytes+info.Size()
		}
		return nil
	}}
	if err := proc.Run(ctx, c); err != nil {
		n.More = true
	}
	return n
}

// names calls do for each of git's output names, which end with NUL.
type names struct {
	do   func(string) error
	rest []byte
}

func (n *names) Write(p []byte) (int, error) {
	whole := append(n.rest, p...)
	for {
		name, rest, ok := bytes.Cut(whole, []byte{0})
		if !ok {
			n.rest = slices.Clone(whole)
			return len(p), nil
		}
		whole = rest
		if err := n.do(string(name)); err != nil {
			return 0, err
		}
	}
}
