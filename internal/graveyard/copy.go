package graveyard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/tree"
)

// moveAcross moves a directory to another file system: nothing is removed before all of it is there and the same.
func moveAcross(from, to string) error {
	half := to + ".half"
	if err := tree.Remove(half); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(half, 0o700), copyTree(from, half, anything)); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if err := same(from, half); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(half, to), Sync(filepath.Dir(to))); err != nil {
		return err
	}
	return tree.Remove(from)
}

// finishCopy goes on with a move that was broken off before the end, and refuses what is none.
func finishCopy(from, to string) error {
	if err := same(from, to); err != nil {
		return fmt.Errorf("%s is in the way: %w", to, err)
	}
	return tree.Remove(from)
}

// Files copies the plain files of a workspace to a new directory: no links, nothing special, and nothing that skip
// names. What is executable stays so.
func Files(from, to string, skip func(name string) bool) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	err := copyTree(from, to, func(name string, info fs.FileInfo) (fs.FileMode, bool) {
		if skip(name) || !info.IsDir() && !info.Mode().IsRegular() {
			return 0, false
		}
		if info.IsDir() || info.Mode().Perm()&0o100 != 0 {
			return info.Mode().Type() | 0o700, true
		}
		return 0o600, true
	})
	if err != nil {
		return errors.Join(err, tree.Remove(to))
	}
	return nil
}

// anything takes everything that holds something: pipes, sockets and devices don't.
func anything(_ string, info fs.FileInfo) (fs.FileMode, bool) {
	kind := info.Mode().Type()
	return info.Mode(), kind == 0 || kind == fs.ModeDir || kind == fs.ModeSymlink
}

// copyTree copies what take wants to an empty directory, with the mode that it gives, and syncs it. It holds one
// directory open on each side at a time.
func copyTree(from, to string, take func(name string, info fs.FileInfo) (fs.FileMode, bool)) error {
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
	type closed struct {
		name string
		info fs.FileInfo
		mode fs.FileMode
	}
	var dirs []closed // their modes come last: an agent may have made them unwritable
	err = each(src, ".", func(name string, info fs.FileInfo) error {
		mode, ok := take(filepath.Base(name), info)
		if !ok {
			return fs.SkipDir
		}
		switch {
		case info.IsDir():
			dirs = append(dirs, closed{name, info, mode})
			return dst.Mkdir(name, 0o700)
		case info.Mode().IsRegular():
			return copyFile(src, dst, name, name, info, mode)
		}
		target, err := src.Readlink(name)
		if err == nil {
			err = dst.Symlink(target, name)
		}
		return errors.Join(err, own(dst, name, info))
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		d := dirs[i]
		err = errors.Join(syncIn(dst, d.name), own(dst, d.name, d.info), dst.Chmod(d.name, d.mode.Perm()))
	}
	if err != nil {
		return err
	}
	if info, err := os.Lstat(from); err == nil {
		if mode, ok := take("", info); ok {
			return errors.Join(syncIn(dst, "."), own(dst, ".", info), os.Chmod(to, mode.Perm()|0o700))
		}
	}
	return syncIn(dst, ".")
}

// each walks a tree without following links. A directory that is closed is opened first: it belongs to a grave.
func each(root *os.Root, dir string, do func(name string, info fs.FileInfo) error) error {
	todo := []string{dir}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := list(root, dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			name = filepath.Join(dir, name)
			info, err := root.Lstat(name)
			if err != nil {
				return err
			}
			switch err := do(name, info); {
			case errors.Is(err, fs.SkipDir):
			case err != nil:
				return fmt.Errorf("%s: %w", name, err)
			case info.IsDir():
				todo = append(todo, name)
			}
		}
	}
	return nil
}

func list(root *os.Root, dir string) ([]string, error) {
	info, err := root.Lstat(dir)
	if err == nil {
		err = unclose(root, dir, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// unclose lets the owner of a directory into it.
func unclose(root *os.Root, dir string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o500 == 0o500 {
		return nil
	}
	return root.Chmod(dir, info.Mode().Perm()|0o700)
}

// open opens a plain file, which may be closed to its owner.
func open(root *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	if info.Mode().Perm()&0o400 == 0 {
		if err := root.Chmod(name, info.Mode().Perm()|0o400); err != nil {
			return nil, err
		}
	}
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// copyFile copies a file without its holes: one of a terabyte costs an agent nothing.
func copyFile(src, dst *os.Root, name, to string, info fs.FileInfo, mode fs.FileMode) error {
	in, err := open(src, name, info)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := dst.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = parts(in, info.Size(), func(at, n int64) error {
		_, err := io.Copy(io.NewOffsetWriter(out, at), io.NewSectionReader(in, at, n))
		return err
	})
	return errors.Join(err, out.Truncate(info.Size()), own(dst, to, info), out.Chmod(mode.Perm()), out.Sync(),
		out.Close())
}

// parts calls do for each part of a file that is no hole.
func parts(f *os.File, size int64, do func(at, n int64) error) error {
	for at := int64(0); at < size; {
		begin, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, syscall.ENXIO) {
			return nil // the rest is a hole
		}
		if err != nil {
			return do(at, size-at) // this file system knows no holes
		}
		end, err := unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
		if err != nil || end <= begin {
			end = size
		}
		if err := do(begin, end-begin); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// own gives a copy to the owner of what it was copied from. Only root can, and only root needs it.
func own(dst *os.Root, name string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Getuid() != 0 {
		return nil
	}
	return dst.Lchown(name, int(st.Uid), int(st.Gid))
}

func syncIn(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// same says what of one directory another has not, if there is anything.
func same(from, to string) error {
	a, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	return each(a, ".", func(name string, info fs.FileInfo) error {
		if _, ok := anything(name, info); !ok {
			return fs.SkipDir
		}
		there, err := b.Lstat(name)
		if err != nil {
			return err
		}
		differs := errors.New("its copy is not the same")
		switch {
		case there.Mode().Type() != info.Mode().Type():
			return differs
		case info.IsDir():
			return unclose(b, name, there)
		case !info.Mode().IsRegular():
			x, err := a.Readlink(name)
			y, also := b.Readlink(name)
			if err != nil || also != nil || x != y {
				return errors.Join(err, also, differs)
			}
			return nil
		case there.Size() != info.Size():
			return differs
		}
		return sameFile(a, b, name, info, there, differs)
	})
}

func sameFile(a, b *os.Root, name string, info, there fs.FileInfo, differs error) error {
	x, err := open(a, name, info)
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	y, err := open(b, name, there)
	if err != nil {
		return err
	}
	defer func() { _ = y.Close() }()
	one, two := make([]byte, 64<<10), make([]byte, 64<<10)
	return parts(x, info.Size(), func(at, n int64) error {
		for n > 0 {
			part := min(n, int64(len(one)))
			_, err := x.ReadAt(one[:part], at)
			_, also := y.ReadAt(two[:part], at)
			if err != nil || also != nil || !bytes.Equal(one[:part], two[:part]) {
				return errors.Join(err, also, differs)
			}
			at, n = at+part, n-part
		}
		return nil
	})
}

// Link gives a store the files of another that it lacks. Both are cco's own: their files are named by what they hold,
// are never changed, and no agent could write them.
func Link(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil { // the box has no stores yet
		return err
	}
	dst, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer func() { _ = dst.Close() }()
	give := func(name string, info fs.FileInfo) error {
		at := filepath.Join(filepath.Base(to), name)
		switch _, err := dst.Lstat(at); {
		case err == nil || !info.IsDir() && !info.Mode().IsRegular():
			return nil
		case info.IsDir():
			return errors.Join(dst.Mkdir(at, 0o700), own(dst, at, info), dst.Chmod(at, info.Mode().Perm()))
		}
		err := os.Link(filepath.Join(from, name), filepath.Join(to, name))
		if errors.Is(err, syscall.EXDEV) {
			return copyFile(src, dst, name, at, info, info.Mode())
		}
		return err
	}
	info, err := src.Lstat(".")
	if err == nil {
		err = give(".", info)
	}
	if err != nil {
		return err
	}
	return each(src, ".", give)
}

// Replace puts a directory of a grave into a home, in the place of what is there. It follows no link in either.
func Replace(from, home, name string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(".")
	if err != nil {
		return err
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		err := root.Mkdir(name[:i], 0o700)
		if err == nil {
			err = own(root, name[:i], info)
		}
		if ignoreExist(err) != nil {
			return err
		}
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	return Move(from, filepath.Join(home, name))
}
