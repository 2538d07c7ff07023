// Package graveyard moves directories that agents wrote out of boxes and back, wipes, measures and copies them. It
// follows no link, reads nothing in them but what it copies, and starts no program on them.
package graveyard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Yard is a directory with one directory for each grave.
type Yard struct{ Dir string }

// rubbish is what is removed little by little.
const rubbish = ".rubbish"

// nowhere keeps a git that is started in the graveyard by mistake from looking for a repository further up.
const nowhere = "gitdir: nowhere\n"

// Grave is the directory of one grave.
func (y Yard) Grave(name string) string { return filepath.Join(y.Dir, name) }

// Store is where the objects are that the workspaces of a box have borrowed, when the box is gone.
func (y Yard) Store(box string) string { return filepath.Join(y.Dir, ".stores", box) }

// Open makes the graveyard, closed to everyone else.
func (y Yard) Open() error {
	if err := os.MkdirAll(filepath.Join(y.Dir, rubbish), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(y.Dir, 0o700); err != nil { // a directory
		return err
	}
	f, err := os.OpenFile(filepath.Join(y.Dir, ".git"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(nowhere)
	return errors.Join(err, f.Close())
}

// Has says whether something is at a name, whatever it is.
func Has(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// Move moves a directory of which nothing runs any more, and can be repeated if it was broken off. The caller syncs the
// directories around it. On another file system it copies, compares, and removes only then.
func Move(from, to string) error {
	if !Has(from) {
		if Has(to) {
			return nil // it was moved before
		}
		return fmt.Errorf("move %s: %w", from, fs.ErrNotExist)
	}
	if err := noMounts(from); err != nil {
		return err
	}
	if err := movable(from); err != nil {
		return fmt.Errorf("move %s: %w", from, err)
	}
	if Has(to) {
		return finishCopy(from, to)
	}
	err := os.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		return moveAcross(from, to)
	}
	return err
}

// movable gives the owner of a directory the right to move it, which an agent may have taken away.
func movable(name string) error {
	parent, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	info, err := parent.Lstat(filepath.Base(name))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	if info.Mode().Perm()&0o700 == 0o700 {
		return nil
	}
	return parent.Chmod(filepath.Base(name), info.Mode().Perm()|0o700)
}

// Sync makes what was moved last, whatever becomes of the machine.
func Sync(dirs ...string) error {
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
	}
	return nil
}

// Wipe leaves of a home what is named in keep, without what is named in drop: directories, and files in them or beside
// them. Files that are dropped go at once, everything else becomes rubbish. It can be repeated if it was broken off.
func (y Yard) Wipe(home string, keep, drop []string) error {
	kept := home + ".kept"
	if info, err := os.Lstat(home); err == nil {
		if !info.IsDir() {
			return os.Remove(home)
		}
		if !Has(kept) {
			if err := sort(home, keep, drop); err != nil {
				return fmt.Errorf("wipe %s: %w", home, err)
			}
			if err := os.Rename(filepath.Join(home, sorted), kept); err != nil {
				return err
			}
		}
		if err := y.Throw(home); err != nil {
			return err
		}
	}
	return ignoreMissing(os.Rename(kept, home))
}

// sorted is where what stays of a home is put first.
const sorted = ".cco-kept"

// sort removes what is dropped, and moves what stays to a directory of its own.
func sort(home string, keep, drop []string) error {
	if err := movable(home); err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := ignoreExist(root.Mkdir(sorted, 0o700)); err != nil {
		return err
	}
	for _, name := range drop {
		info, err := reach(root, name)
		if info == nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if info.IsDir() {
			err = root.Rename(name, ".cco-"+rand.Text())
		} else {
			err = root.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range keep {
		info, err := reach(root, name)
		if err != nil {
			return err
		}
		if info == nil || !info.IsDir() {
			continue
		}
		to := path.Join(sorted, name)
		if err := errors.Join(root.MkdirAll(path.Dir(to), 0o700), root.Rename(name, to)); err != nil {
			return err
		}
	}
	return nil
}

// reach opens the directories on the way to a name, and what is there if it is a directory. It is nil if nothing is
// there, or a link is on the way.
func reach(root *os.Root, name string) (info fs.FileInfo, err error) {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		if info != nil && !info.IsDir() {
			return nil, nil
		}
		at = path.Join(at, part)
		if info, err = root.Lstat(at); err != nil {
			return nil, ignoreMissing(err)
		}
		if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			if err := root.Chmod(at, 0o700); err != nil {
				return nil, err
			}
		}
	}
	return info, nil
}

// Throw makes rubbish of a directory of the graveyard: it is out of sight at once, and removed when there is time.
func (y Yard) Throw(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return ignoreMissing(err)
	}
	if info.IsDir() {
		if err := errors.Join(noMounts(name), movable(name)); err != nil {
			return err
		}
	}
	return os.Rename(name, filepath.Join(y.Dir, rubbish, rand.Text()))
}

// Sweep removes rubbish while more says so, and says whether none is left.
func (y Yard) Sweep(more func() bool) (clean bool, err error) {
	dir := filepath.Join(y.Dir, rubbish)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true, ignoreMissing(err)
	}
	var errs []error
	clean = true
	for _, e := range entries {
		gone, err := tree.Part(filepath.Join(dir, e.Name()), more)
		clean, errs = clean && gone, append(errs, err)
	}
	return clean, errors.Join(errs...)
}

// Size adds up the files below a directory while more says so, and says whether these are all. It reads directories in
// parts: an agent can make one of a million names.
func Size(dir string, more func() bool) (bytes int64, all bool) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		if err == nil && info.Mode().IsRegular() {
			bytes = onDisk(info)
		}
		return bytes, true
	}
	const part = 256
	seen := 0
	var below func(dir string) bool
	below = func(dir string) bool {
		f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return true // what can't be read doesn't count
		}
		defer func() { _ = f.Close() }()
		for {
			entries, err := f.ReadDir(part)
			for _, e := range entries {
				if seen++; seen%part == 0 && !more() {
					return false
				}
				if e.IsDir() && !below(filepath.Join(dir, e.Name())) {
					return false
				}
				if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
					bytes += onDisk(info)
				}
			}
			if err != nil {
				return true
			}
		}
	}
	all = below(dir)
	return bytes, all
}

// onDisk is what a file takes: a hole costs nothing.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*512)
	}
	return info.Size()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func ignoreExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// MoveFile moves a file of cco's own, to another file system too.
func MoveFile(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = whole.Write(to, data, 0o600)
	}
	if err == nil {
		err = os.Remove(from)
	}
	return err
}
