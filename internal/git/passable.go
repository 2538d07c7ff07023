package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// WaitError says that git would wait in a repository for what is no file, such as a FIFO, or that it does wait.
type WaitError struct {
	Path string
	Does bool // for what could not be found out: its settings can name any file
}

func (e *WaitError) Error() string {
	if e.Does {
		return fmt.Sprintf("git waits for something in %s: see what its settings include",
			Quote(e.Path))
	}
	return fmt.Sprintf("git would wait at %s, which is no file: remove it",
		Quote(e.Path))
}

// WrongState marks a StateError.
func (e *WaitError) WrongState() {}

// Bounds of what Passable looks at. Opening a repository takes git no longer either.
const (
	passableTime  = time.Minute
	passableNames = 2 << 20
)

// Passable refuses a directory in whose repository git would wait for ever: an agent may have been able to write there.
// It starts nothing, and follows links as git would.
func Passable(ctx context.Context, dir string) error {
	dir = above(dir)
	ctx, cancel := context.WithTimeout(ctx, passableTime)
	defer cancel()
	w := walker{ctx: ctx, seen: map[[2]uint64]bool{}, left: passableNames}
	// What a worktree has, what that leads to, and what is common to all worktrees.
	for next, n := filepath.Join(dir, ".git"), 0; next != "" && n < 3; next, n = leads(next), n+1 {
		if err := w.walk(next); err != nil {
			return err
		}
	}
	return nil
}

// above is the directory with a repository that a directory is in.
func above(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

type walker struct {
	ctx  context.Context
	seen map[[2]uint64]bool // directories, by device and number
	left int
}

func (w *walker) walk(name string) error {
	if waits(name) {
		return &WaitError{Path: name}
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return nil // git finds out by itself
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id := [2]uint64{uint64(st.Dev), st.Ino} //nolint:unconvert // Dev is signed on macOS
		if w.seen[id] {
			return nil
		}
		w.seen[id] = true
	}
	entries, _ := os.ReadDir(name) // in one that can't be read, git can't read anything either
	if w.left -= len(entries); w.left < 0 || w.ctx.Err() != nil {
		return fmt.Errorf("there is too much in %s to see whether git would wait there", Quote(name))
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			continue
		}
		if err := w.walk(filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// waits says whether git would wait for what is at a path.
func waits(name string) bool {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) == 0 {
		return false
	}
	real, err := filepath.EvalSymlinks(name)
	return err != nil || real != os.DevNull
}

// patience is how long git may take before included looks for what it waits for.
const patience = 2 * time.Second

// included finds what git waits for in the files that a repository's settings include, whatever their conditions are;
// "" if there is nothing, or nothing that can be seen from here.
func included(ctx context.Context, dir string) string {
	var files []string
	for next, n := filepath.Join(above(dir), ".git"), 0; next != "" && n < 3; next, n = leads(next), n+1 {
		files = append(files, filepath.Join(next, "config"), filepath.Join(next, "config.worktree"))
	}
	seen := map[string]bool{}
	for len(files) > 0 && len(seen) < 1000 {
		f := files[0]
		if files = files[1:]; seen[f] {
			continue
		}
		if seen[f] = true; waits(f) {
			return f
		}
		// In the root directory git reads no repository's settings beside these.
		all, _ := NewHost("/").Out(ctx, "config", "--file", f, "--no-includes", "-z", "--list") // most don't exist
		for _, s := range ParseConfig(all) {
			if strings.HasPrefix(s.Key, "include") && strings.HasSuffix(s.Key, ".path") {
				files = append(files, inSettings(s.Value, filepath.Dir(f)))
			}
		}
	}
	return ""
}

// inSettings is where a path leads to that stands in settings.
func inSettings(value, dir string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = filepath.Join(os.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(dir, value)
	}
	return value
}

// leads is where a git file leads to, or the commondir of a git directory; "" if nowhere.
func leads(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "commondir")
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	to := strings.TrimSpace(strings.TrimPrefix(readLine(name), "gitdir: "))
	if to != "" && !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(name), to)
	}
	return to
}
