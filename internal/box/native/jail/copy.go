package jail

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// CopyTree copies what is in one directory into another, which exists. What programs in a box wrote there is not
// trusted: links are copied as links, nothing is followed out of either directory, and what is neither a file, a
// directory nor a link stays behind. Each new entry is shown to own.
func CopyTree(from, to string, own func(root *os.Root, name string) error) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = dst.Close() }()
	return copyDir(src, dst, ".", own)
}

func copyDir(src, dst *os.Root, dir string, own func(*os.Root, string) error) error {
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
		if err := copyEntry(src, dst, path.Join(dir, e.Name()), e.Type(), own); err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(src, dst *os.Root, name string, kind fs.FileMode, own func(*os.Root, string) error) error {
	var err error
	switch kind {
	case fs.ModeDir:
		if err = dst.Mkdir(name, 0o700); err == nil {
			err = copyDir(src, dst, name, own)
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
	if err != nil {
		return err
	}
	return own(dst, name)
}

func copyFile(src, dst *os.Root, name string) error {
	in, err := src.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
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
	if !clone(out, in) {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}
