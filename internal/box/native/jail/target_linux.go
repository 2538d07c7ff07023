package jail

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// attach puts a cloned tree at its place in the box. It follows no link on the way: the program of an earlier run may
// have put one there.
func attach(root, tree int, m Mount) error {
	defer closeFD(tree)
	rel := strings.TrimPrefix(path.Clean(m.Target), "/")
	dir, err := openDir(root, path.Dir(rel))
	if err != nil {
		return m.unless(err)
	}
	defer closeFD(dir)
	base := path.Base(rel)
	if m.File {
		err = unix.Mknodat(dir, base, unix.S_IFREG|0o644, 0)
	} else {
		err = unix.Mkdirat(dir, base, 0o755)
	}
	if err == nil {
		return unix.MoveMount(tree, "", dir, base, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if !errors.Is(err, unix.EEXIST) {
		return m.unless(err)
	}
	at, err := beneath(dir, base)
	if err != nil {
		return m.unless(err)
	}
	defer closeFD(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// unless ignores the error of placing a mount if the mount is soft.
func (m Mount) unless(err error) error {
	if m.Soft {
		return nil
	}
	return err
}

// coverItself puts a cloned tree over its own source. Programs on the host may replace or remove the source at any
// moment.
func coverItself(root, tree int, m Mount) error {
	defer closeFD(tree)
	at, err := beneath(root, strings.TrimPrefix(path.Clean(m.Target), "/"))
	if err == nil {
		err = unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		_ = unix.Close(at)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func closeFD(fd int) { _ = unix.Close(fd) }

func beneath(dir int, rel string) (int, error) {
	return unix.Openat2(dir, rel, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// openDir opens a directory of the box and makes missing directories on the way.
func openDir(root int, rel string) (int, error) {
	rel = strings.Trim(rel, "/")
	if rel == "" {
		rel = "."
	}
	if fd, err := beneath(root, rel); !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	parent, err := openDir(root, path.Dir(rel))
	if err != nil {
		return -1, err
	}
	defer closeFD(parent)
	if err := unix.Mkdirat(parent, path.Base(rel), 0o755); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return beneath(parent, path.Base(rel))
}

func makeDir(root int, name string) error {
	fd, err := openDir(root, path.Clean(name))
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func writeFile(root int, f File) error {
	dir, err := openDir(root, path.Dir(f.Path))
	if err != nil {
		return err
	}
	defer closeFD(dir)
	fd, err := unix.Openat(dir, path.Base(f.Path),
		unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, f.Mode)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	for data := f.Data; len(data) > 0; {
		n, err := unix.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
