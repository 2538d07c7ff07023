// Package tree removes trees that an agent could write, and nothing else in cco removes them: they may be closed to
// their owner, lead out by links, and be deeper than any path or table of descriptors. It also puts back what was
// in one before an agent wrote there.
package tree

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// Remove removes name, whatever it is. It follows no link. It is not an error if name does not exist.
func Remove(name string) error {
	// The common case is quick: it holds one descriptor a level.
	err := os.RemoveAll(name)
	if err == nil {
		return nil
	}
	parent, openErr := os.OpenRoot(filepath.Dir(name))
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer func() { _ = parent.Close() }()
	if err := empty(parent, filepath.Base(name)); err != nil {
		return err
	}
	return os.RemoveAll(name)
}

// empty removes everything in a directory but files.
func empty(parent *os.Root, name string) error {
	if err := makeAccessible(parent, name); err != nil {
		return err
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return flatten(root)
}

// flatten removes the directories in root one by one, after moving the content of each up to its own level.
func flatten(root *os.Root) error {
	todo, err := directories(root, ".")
	if err != nil {
		return err
	}
	prefix := ".cco-" + rand.Text() + "-" // a name that cannot exist yet
	for n := 0; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := makeAccessible(root, dir); err != nil {
			return err
		}
		below, err := directories(root, dir)
		if err != nil {
			return err
		}
		for _, name := range below {
			old := path.Join(dir, name)
			// Moving a directory requires the right to write to it.
			if err := makeAccessible(root, old); err != nil {
				return err
			}
			n++
			up := prefix + strconv.Itoa(n)
			if err := root.Rename(old, up); err != nil {
				return err
			}
			todo = append(todo, up)
		}
		if err := root.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeAccessible gives the owner all rights to a directory. It leaves everything else alone.
func makeAccessible(root *os.Root, name string) error {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return root.Chmod(name, 0o700)
}

func directories(root *os.Root, dir string) ([]string, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var dirs []string
	for {
		entries, err := f.ReadDir(1 << 10)
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return dirs, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
