package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// MakeDir makes a directory below root and all above it. What an agent has put there instead of one goes, so that it
// leads nowhere else.
func MakeDir(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := MakeDir(root, path.Dir(name)); err != nil {
		return err
	}
	st, err := root.Lstat(name)
	if err == nil && !st.IsDir() {
		err = errors.Join(root.Remove(name), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return root.Mkdir(name, 0o700)
	}
	return err
}
