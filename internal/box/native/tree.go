//go:build linux

package native

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// copyTree copies what is in one directory into another, which exists. What programs in a box wrote there is not
// trusted: links are copied as links, nothing is followed out of either directory, and what is neither a file, a
// directory nor a link stays behind.
func (id identity) copyTree(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	return id.copyDir(src, dst, ".")
}

func (id identity) copyDir(src, dst *os.Root, dir string) error {
	f, err := src.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	_ = f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := id.copyEntry(src, dst, path.Join(dir, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (id identity) copyEntry(src, dst *os.Root, name string, kind fs.FileMode) error {
	var err error
	switch kind {
	case fs.ModeDir:
		if err = dst.Mkdir(name, 0o700); err == nil {
			err = id.copyDir(src, dst, name)
		}
	case fs.ModeSymlink:
		var target string
		if target, err = src.Readlink(name); err == nil {
			err = dst.Symlink(target, name)
		}
	case 0:
		err = copyFile(src, dst, name)
	default:
		return nil
	}
	if err != nil || os.Getuid() != 0 {
		return err
	}
	return dst.Lchown(name, id.uid, id.gid)
}

func copyFile(src, dst *os.Root, name string) error {
	in, err := src.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return nil
	}
	out, err := dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}

// removeAll removes a tree that programs in a box wrote, also where they took their own rights away.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		unlock(root, ".")
		_ = root.Close()
	} else if errors.Is(err, fs.ErrPermission) {
		_ = os.Chmod(dir, 0o700)
		if root, err := os.OpenRoot(dir); err == nil {
			unlock(root, ".")
			_ = root.Close()
		}
	}
	return os.RemoveAll(dir)
}

// unlock makes every directory below dir one that can be emptied, as far as that is possible.
func unlock(root *os.Root, dir string) {
	_ = root.Chmod(dir, 0o700)
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			unlock(root, path.Join(dir, e.Name()))
		}
	}
}
