package canary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what is looked at, in all, and of what is read and kept. Beyond maxHashed a file is known by its size and
// time.
const (
	maxTime    = time.Minute
	maxEntries = 2 << 20
	maxFiles   = 100_000
	maxDepth   = 64
	maxHashed  = 256 << 20
	maxCopy    = 1 << 20
	maxCopies  = 32 << 20
	maxIndex   = 64 << 20
	maxPacked  = 64 << 20
	maxLog     = 16 << 20
)

// picture is a repository at one moment: what steers git, and what would surprise it.
type picture struct {
	Own     Own               `json:"own"`
	Top     string            `json:"top"` // the worktree
	Common  string            `json:"common"`
	Format  string            `json:"format"` // of object ids
	Dev     uint64            `json:"dev"`    // which directory Common is
	Ino     uint64            `json:"ino"`
	Outside []string          `json:"outside,omitempty"`
	Time    time.Time         `json:"time"`
	Files   map[string]*Entry `json:"files"` // by path from .git, or by full path outside
	Refs    map[string]string `json:"refs"`  // what each holds: an object, or "ref: " and another
	Stashes []stash           `json:"stashes,omitempty"`

	dir string
	// The state of one look.
	ctx            context.Context
	keep           func(path string, e Entry, content []byte) error
	packed         map[string]string
	entries, depth int
}

// Entry is one file that is compared by its content, or one thing that is neither a file nor a directory.
type Entry struct {
	Type  string `json:"type"`
	Mode  uint32 `json:"mode,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Time  int64  `json:"time,omitempty"` // in nanoseconds
	Sum   string `json:"sum,omitempty"`  // of a file that was read
	Link  string `json:"link,omitempty"`
	Names uint64 `json:"names,omitempty"` // of a file that has more than one
}

const (
	typeFile = "file"
	typeDir  = "directory"
	typeLink = "link"
)

// odd says whether git would be led elsewhere, or made to wait, by what is there.
func (e *Entry) odd() bool { return e != nil && (e.Type != typeFile || e.Names > 1) }

func same(a, b Entry) bool {
	if a.Sum != "" && b.Sum != "" {
		a.Time, b.Time = 0, 0
	}
	return a == b
}

func (p *picture) copyOf(e Entry) string { return filepath.Join(p.dir, copiesDir, e.Sum) }

// look fills the picture. Content that can be kept goes to keep.
func (p *picture) look(ctx context.Context, keep func(string, Entry, []byte) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it takes longer than %s", maxTime))
	defer cancel()
	p.ctx, p.keep = ctx, keep
	p.Files, p.Refs, p.packed = map[string]*Entry{}, map[string]string{}, map[string]string{}
	dir, err := openDir(unix.AT_FDCWD, p.Common)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // only read
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	p.Dev, p.Ino = uint64(st.Dev), st.Ino //nolint:unconvert // Dev is signed on macOS
	if err := p.walk(dir, ""); err != nil {
		return err
	}
	for name, value := range p.packed {
		if _, loose := p.Refs[name]; !loose {
			p.Refs[name] = value
		}
	}
	for _, name := range p.Outside {
		if err := p.visit(unix.AT_FDCWD, name, name); err != nil {
			return err
		}
	}
	return nil
}

// walk visits everything in a directory.
func (p *picture) walk(dir *os.File, below string) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep", clean(below), maxDepth)
	}
	defer func() { p.depth-- }()
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if err := p.visit(int(dir.Fd()), name, path.Join(below, label(name))); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// visit looks at one name in an open directory. What vanishes meanwhile is not there; what turns into something else
// is told as such.
func (p *picture) visit(at int, name, path string) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if p.entries++; p.entries > maxEntries || len(p.Files)+len(p.Refs) > maxFiles {
		return fmt.Errorf("%s: there are too many files", clean(path))
	}
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return ignore(err, unix.ENOENT, unix.ENOTDIR)
	}
	e := Entry{Type: typeOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777} //nolint:unconvert // 16 bits on macOS
	switch e.Type {
	case typeDir:
		dir, err := openDir(at, name)
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
			e.Type = "directory that can't be opened"
			p.Files[path] = &e
			return nil
		}
		if err != nil {
			return ignore(err, unix.ENOENT)
		}
		defer func() { _ = dir.Close() }() // only read
		return p.walk(dir, path)
	case typeFile:
		e.Size, e.Time = st.Size, st.Mtim.Nano()
		if n := uint64(st.Nlink); n > 1 && !sharedByClones(path) { //nolint:unconvert // 16 bits on macOS
			e.Names = n
		}
		return p.file(at, name, path, e)
	case typeLink:
		to := make([]byte, 4096)
		n, err := unix.Readlinkat(at, name, to)
		e.Mode, e.Link = 0, label(string(to[:max(n, 0)]))
		p.Files[path] = &e
		return ignore(err, unix.ENOENT, unix.EINVAL)
	}
	p.Files[path] = &e
	return nil
}

// file records a regular file as its place requires.
func (p *picture) file(at int, name, path string, e Entry) error {
	how := p.Own.classOf(path)
	if e.Names > 1 {
		p.Files[path] = &e
	}
	if how == asLock {
		p.Files[path] = &Entry{Type: e.Type, Names: e.Names}
	}
	if how == asLock || how == byType {
		return nil
	}
	f, err := openFile(at, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		e.Type = "file that can't be opened"
		p.Files[path] = &e
		return ignore(err, unix.ELOOP, unix.ENXIO, unix.EACCES, unix.EPERM, errSpecial)
	}
	defer func() { _ = f.Close() }() // only read
	switch how {
	case asRef:
		return p.looseRef(path, f)
	case asPacked:
		return p.packedRefs(f)
	case asStashes:
		return p.stashLog(f)
	}
	limit := int64(maxCopy)
	if isIndex(path) {
		limit = maxIndex
	}
	if e.Size > maxHashed {
		p.Files[path] = &e
		return nil
	}
	sum := sha256.New()
	content, err := readAll(io.TeeReader(f, sum), limit)
	if errors.Is(err, errLarge) {
		_, err = io.Copy(sum, io.LimitReader(f, maxHashed))
		content = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", clean(path), err)
	}
	e.Sum = hex.EncodeToString(sum.Sum(nil))
	p.Files[path] = &e
	if content == nil {
		return nil
	}
	return p.keep(path, e, content)
}

var errSpecial = errors.New("not a regular file")

func openDir(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: clean(name), Err: err}
	}
	return os.NewFile(uintptr(fd), "directory"), nil
}

// openFile opens a regular file; it does not wait for whatever else may be there by now.
func openFile(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "file")
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.Join(err, errSpecial)
	}
	return f, nil
}

var errLarge = errors.New("too large")

// readAll reads at most limit bytes; errLarge says that there are more.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errLarge
	}
	return content, err
}

func typeOf(mode uint32) string {
	types := map[uint32]string{unix.S_IFREG: typeFile, unix.S_IFDIR: typeDir, unix.S_IFLNK: typeLink, unix.S_IFIFO: "FIFO",
		unix.S_IFSOCK: "socket"}
	return cmp.Or(types[mode&unix.S_IFMT], "device")
}

func ignore(err error, these ...error) error {
	for _, e := range these {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
