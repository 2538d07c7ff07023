package cage

import (
	"crypto/rand"
	"os"
	"path"
	"strconv"

	"github.com/cco-dev/cco/internal/box/native/jail"
)

// CopyTree copies into a directory that belongs to the user.
func (u User) CopyTree(from, to string) error {
	return jail.CopyTree(from, to, func(root *os.Root, name string) error {
		if !u.foreign() {
			return nil
		}
		return root.Lchown(name, u.UID, u.GID)
	})
}

// RemoveAll removes a tree that programs in a box wrote, also where they took their own rights away or went so deep
// that nobody can hold every level open.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := flatten(root); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// flatten removes the directories in root one by one, after bringing what is below each up to its own level.
func flatten(root *os.Root) error {
	todo, err := subdirectories(root, ".")
	if err != nil {
		return err
	}
	prefix := ".cco-" + rand.Text() + "-" // a name that nobody can have taken
	for n := 0; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := root.Chmod(dir, 0o700); err != nil {
			return err
		}
		below, err := subdirectories(root, dir)
		if err != nil {
			return err
		}
		for _, name := range below {
			old := path.Join(dir, name)
			if err := root.Chmod(old, 0o700); err != nil {
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

func subdirectories(root *os.Root, dir string) ([]string, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs, nil
}
