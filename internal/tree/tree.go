// Package tree removes trees that an agent could write, and nothing else in cco removes them: they may be closed to
// their owner, lead out by links, and be deeper than any path or table of descriptors. It also puts back what was
// in one before an agent wrote there.
package tree

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// Remove removes name, whatever it is. It follows no link. It is not an error if name does not exist.
func Remove(name string) error {
	// The common case is quick: it holds one descriptor a level.
	if os.RemoveAll(name) == nil {
		return nil
	}
	_, err := Part(name, func() bool { return true })
	return err
}

// Part removes as much of name as it can while more says so, and says whether all of it is gone. It asks after every
// few hundred files, and goes on where it was when it is called again.
func Part(name string, more func() bool) (gone bool, err error) {
	parent, err := os.OpenRoot(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = parent.Close() }()
	base := filepath.Base(name)
	info, err := parent.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		if gone, err := empty(parent, base, more); err != nil || !gone {
			return false, err
		}
	}
	return true, parent.Remove(base)
}

// empty removes everything in a directory.
func empty(parent *os.Root, name string, more func() bool) (done bool, err error) {
	if err := makeAccessible(parent, name); err != nil {
		return false, err
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	return flatten(root, more)
}

// flatten removes the directories in root one by one, after moving those in each up to its own level.
func flatten(root *os.Root, more func() bool) (done bool, err error) {
	prefix := ".cco-" + rand.Text() + "-" // a name that cannot exist yet
	todo, n := []string{"."}, 0
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := makeAccessible(root, dir); err != nil {
			return false, err
		}
		done, err := clearFiles(root, dir, more, func(name string) error {
			if dir == "." {
				todo = append(todo, name)
				return nil
			}
			// Moving a directory requires the right to write to it.
			if err := makeAccessible(root, path.Join(dir, name)); err != nil {
				return err
			}
			n++
			up := prefix + strconv.Itoa(n)
			todo = append(todo, up)
			return root.Rename(path.Join(dir, name), up)
		})
		if err != nil || !done {
			return false, err
		}
		if dir != "." {
			if err := root.RemoveAll(dir); err != nil { // nothing is in it, or what came while it was read
				return false, err
			}
		}
	}
	return true, nil
}

// makeAccessible gives the owner all rights to a directory. It leaves everything else alone.
func makeAccessible(root *os.Root, name string) error {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return root.Chmod(name, 0o700)
}

// clearFiles removes everything in a directory but directories, which it hands over.
func clearFiles(root *os.Root, dir string, more func() bool, each func(name string) error) (done bool, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	for {
		if !more() {
			return false, nil
		}
		entries, err := f.ReadDir(1 << 9)
		for _, e := range entries {
			if e.IsDir() {
				err = errors.Join(err, each(e.Name()))
			} else {
				err = errors.Join(err, root.Remove(path.Join(dir, e.Name())))
			}
		}
		if err == io.EOF { //nolint:errorlint // joined with another error it is no end
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
