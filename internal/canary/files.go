package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Bounds of what is read and kept. Beyond them a file is known by its size and time.
const (
	maxHashed  = 256 << 20 // of one file
	maxKept    = 4 << 20   // of one file
	maxIndex   = 64 << 20  // of one index, which a repository needs
	maxAll     = 48 << 20  // of all files but indexes
	maxEntries = 20000
)

// Entry is one file, directory or link.
type Entry struct {
	Type string      `json:"type"` // file, dir, link, or a special file
	Mode fs.FileMode `json:"mode"` // permissions alone
	Size int64       `json:"size,omitempty"`
	Time time.Time   `json:"time,omitzero"` // of a file
	Sum  string      `json:"sum,omitempty"` // of a file that was read
	Link Raw         `json:"link,omitempty"`
	Kept bool        `json:"kept,omitempty"` // its content is saved under its sum
	// Bare is a directory that is only checked to be one, because a link in its place would lead git elsewhere.
	Bare bool `json:"bare,omitempty"`
}

const (
	typeFile = "file"
	typeDir  = "dir"
	typeLink = "link"
)

// same says whether two entries are the same thing with the same content.
func same(a, b *Entry) bool {
	if a == nil || b == nil {
		return a == b || isBare(a) || isBare(b)
	}
	if a.Bare && b.Bare {
		return a.Type == b.Type && a.Link == b.Link
	}
	if a.Type != b.Type || a.Mode != b.Mode || a.Link != b.Link || a.Size != b.Size {
		return false
	}
	if a.Sum == "" || b.Sum == "" {
		return a.Sum == b.Sum && a.Time.Equal(b.Time)
	}
	return a.Sum == b.Sum
}

// isBare says that an entry is a bare directory: git makes and removes those by itself, so that means nothing.
func isBare(e *Entry) bool { return e != nil && e.Bare && e.Type == typeDir }

// errTooMany says that a directory has too many entries to look at.
var errTooMany = fmt.Errorf("more than %d files", maxEntries)

// scanner walks files, and keeps the content of some.
type scanner struct {
	files map[Raw]Entry
	keep  func(sum string, content []byte) error // nil keeps nothing
	used  int64
	count int
}

// walk records everything at and below root. What isn't there is no error.
func (s *scanner) walk(root string) error {
	e, err := s.look(root)
	if err != nil || e == nil {
		return err
	}
	if s.count++; s.count > maxEntries {
		return errTooMany
	}
	s.files[Raw(root)] = *e
	if e.Type != typeDir {
		return nil
	}
	d, err := os.OpenFile(root, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // its mode, which is recorded, says so
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			if err := s.walk(filepath.Join(root, name)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// mark records a directory without what is in it.
func (s *scanner) mark(dir string) error {
	e, err := s.look(dir)
	if err != nil || e == nil {
		return err
	}
	e.Bare = true
	s.files[Raw(dir)] = *e
	return nil
}

// look describes one path, without following it. It is nil if nothing is there.
func (s *scanner) look(path string) (*Entry, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := &Entry{Mode: info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)}
	switch t := info.Mode().Type(); {
	case t == 0:
		e.Type, e.Size, e.Time = typeFile, info.Size(), info.ModTime()
		return e, s.read(path, e)
	case t == fs.ModeDir:
		e.Type = typeDir
	case t == fs.ModeSymlink:
		e.Type, e.Mode = typeLink, 0
		var to string
		to, err = os.Readlink(path)
		e.Link = Raw(to)
	case t&fs.ModeNamedPipe != 0:
		e.Type = "FIFO"
	case t&fs.ModeSocket != 0:
		e.Type = "socket"
	default:
		e.Type = "device"
	}
	return e, err
}

// read sums up a file, and keeps it if there is room. A file that can't be read is left without a sum.
func (s *scanner) read(path string, e *Entry) error {
	if e.Size > maxHashed {
		return nil
	}
	f, err := openRegular(path)
	if err != nil {
		return nil // known by size and time, as it says above
	}
	defer func() { _ = f.Close() }() // only read
	limit := int64(maxKept)
	index := filepath.Base(path) == "index"
	if index {
		limit = maxIndex
	}
	if s.keep == nil || e.Size > limit || !index && s.used+e.Size > maxAll {
		sum := sha256.New()
		n, err := io.Copy(sum, io.LimitReader(f, maxHashed))
		if err == nil && n == e.Size {
			e.Sum = hex.EncodeToString(sum.Sum(nil))
		}
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(content)) != e.Size {
		return nil // it changes while we read it: known by size and time
	}
	if !index {
		s.used += e.Size
	}
	e.Sum, e.Kept = sumOf(content), true
	return s.keep(e.Sum, content)
}

// openRegular opens a regular file: it follows no link, and does not block on a FIFO.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s: not a regular file", path))
	}
	return f, nil
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return content, err
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// now describes one path as it is at this moment.
func now(path string) (*Entry, error) { return (&scanner{}).look(path) }
