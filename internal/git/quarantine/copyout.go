package quarantine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/git"
)

// CopyOut copies the file name (slashes, below dir) to the new file dst, where those who write to dir have no access.
// No link is followed at dir or below it, the file must be a regular one with a single link of at most limit bytes,
// and it must not change while it is read. A *RefusedError says what it was instead. It gives the file's SHA-256.
func CopyOut(ctx context.Context, dir, name, dst string, limit int64) (sum string, err error) {
	src, err := openBelow(dir, name)
	if err != nil {
		return "", fmt.Errorf("copy out: %w", err)
	}
	defer src.close()
	return src.copyTo(ctx, dst, limit, nil)
}

// SumOut is what CopyOut would give, without a copy.
func SumOut(ctx context.Context, dir, name string) (string, error) {
	src, err := openBelow(dir, name)
	if err != nil {
		return "", fmt.Errorf("sum up: %w", err)
	}
	defer src.close()
	sum := sha256.New()
	n, err := src.pump(ctx, sum, src.stat.Size, nil)
	if err == nil {
		err = src.unchanged(n)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// source is an open file in a directory that someone else can write.
type source struct {
	parent int // the directory's descriptor
	base   string
	name   string // for messages
	file   *os.File
	stat   unix.Stat_t
}

func (s *source) close() { _, _ = unix.Close(s.parent), s.file.Close() }

// openBelow opens the file without following a link on the way, and without touching anything that isn't a file:
// opening a device can have effects, and opening a FIFO would wait for ever.
func openBelow(dir, name string) (*source, error) {
	parts := strings.Split(name, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, fmt.Errorf("not a plain relative path: %s", git.Quote(name))
		}
	}
	fd, err := openDir(unix.AT_FDCWD, dir)
	for i := 0; err == nil && i < len(parts)-1; i++ {
		outer := fd
		fd, err = openDir(outer, parts[i])
		_ = unix.Close(outer)
	}
	if err != nil {
		return nil, refuseOpen(name, err)
	}
	s := &source{parent: fd, base: parts[len(parts)-1], name: name}
	if err := s.open(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return s, nil
}

func openDir(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func (s *source) open() error {
	var before unix.Stat_t
	if err := unix.Fstatat(s.parent, s.base, &before, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return refuseOpen(s.name, err)
	}
	if err := checkRegular(s.name, &before); err != nil {
		return err
	}
	fd, err := unix.Openat(s.parent, s.base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return refuseOpen(s.name, err)
	}
	s.file = os.NewFile(uintptr(fd), s.name)
	err = unix.Fstat(fd, &s.stat)
	if err == nil {
		err = checkRegular(s.name, &s.stat)
	}
	if err != nil {
		_ = s.file.Close()
	}
	return err
}

func refuseOpen(name string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return &RefusedError{Rule: RuleMissing, Path: name, Reason: "no such file"}
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENOTDIR):
		return &RefusedError{Rule: RuleSymlinkFile, Path: name, Reason: "a symbolic link, or one on the way to it"}
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return &RefusedError{Rule: RuleSocket, Path: name, Reason: "a socket or FIFO, not a file"}
	}
	return &os.PathError{Op: "open", Path: name, Err: err}
}

func checkRegular(name string, st *unix.Stat_t) error {
	no := func(rule Rule, reason string) error { return &RefusedError{Rule: rule, Path: name, Reason: reason} }
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		return no(RuleSymlinkFile, "a symbolic link, not a file")
	case unix.S_IFIFO:
		return no(RuleFIFO, "a FIFO, not a file")
	case unix.S_IFDIR:
		return no(RuleDirectory, "a directory, not a file")
	case unix.S_IFSOCK:
		return no(RuleSocket, "a socket, not a file")
	default:
		return no(RuleDevice, "a device, not a file")
	}
	// A file with a second name may be one of the host's that the box could not read, but could link to.
	if st.Nlink != 1 {
		return no(RuleHardLink, fmt.Sprintf("it has %d links, not one", st.Nlink))
	}
	return nil
}

// copyTo copies to the new file dst. between, if given, runs after each piece: tests change the source there.
func (s *source) copyTo(ctx context.Context, dst string, limit int64, between func()) (sha string, err error) {
	if s.stat.Size > limit {
		return "", s.tooLarge(limit)
	}
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("copy out: %w", err)
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(dst)
		}
	}()
	sum := sha256.New()
	n, err := s.pump(ctx, io.MultiWriter(out, sum), limit, between)
	if err != nil {
		return "", err
	}
	if err := s.unchanged(n); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (s *source) tooLarge(limit int64) error {
	return &RefusedError{Rule: RuleTooLarge, Path: s.name, Reason: fmt.Sprintf("larger than the limit of %d bytes", limit)}
}

func (s *source) pump(ctx context.Context, w io.Writer, limit int64, between func()) (int64, error) {
	buf := make([]byte, min(s.stat.Size, 1<<20-1)+1)
	var n int64
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := s.file.Read(buf)
		n += int64(k)
		if n > limit {
			return n, s.tooLarge(limit)
		}
		if _, werr := w.Write(buf[:k]); werr != nil {
			return n, fmt.Errorf("copy out: %w", werr)
		}
		if between != nil {
			between()
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("copy out: %w", err)
		}
	}
}

// unchanged says whether the file is still the one that was opened, with the size that it had and that was read.
func (s *source) unchanged(read int64) error {
	var fd, name unix.Stat_t
	if err := unix.Fstat(int(s.file.Fd()), &fd); err != nil {
		return fmt.Errorf("copy out: %w", err)
	}
	// The name may be gone: then the other stat is empty, and differs.
	_ = unix.Fstatat(s.parent, s.base, &name, unix.AT_SYMLINK_NOFOLLOW)
	same := func(a, b *unix.Stat_t) bool {
		return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Nlink == b.Nlink && a.Mode == b.Mode &&
			a.Mtim == b.Mtim && a.Ctim == b.Ctim
	}
	if read != s.stat.Size || !same(&s.stat, &fd) || !same(&s.stat, &name) {
		return &RefusedError{Rule: RuleChanged, Path: filepath.ToSlash(s.name), Reason: "it changed while it was read"}
	}
	return nil
}
