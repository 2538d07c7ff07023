package quarantine

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/git"
)

// PackLoose moves every loose object into a pack, if it is what its name says. Git reads loose objects without checking
// that, and prefers those in packs: if packs are out of an agent's reach, it can't replace anything in them.
func PackLoose(ctx context.Context, r *git.Repo) error {
	good, _, err := CheckLoose(ctx, r)
	if err != nil || len(good) == 0 {
		return err
	}
	if err := packList(ctx, r, good); err != nil {
		return fmt.Errorf("pack loose objects: %w", err)
	}
	return nil
}

// CheckLoose lists the loose objects that are what their names say, and the paths of those that are not.
func CheckLoose(ctx context.Context, r *git.Repo) (good, bad []string, err error) {
	names, err := looseNames(r)
	if err != nil {
		return nil, nil, fmt.Errorf("list loose objects: %w", err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		oid := strings.ReplaceAll(name, "/", "")
		switch path := filepath.Join(r.CommonDir, "objects", name); {
		case checkLoose(r, path, oid) == nil:
			good = append(good, oid)
		case exists(path): // otherwise it was packed or collected meanwhile
			bad = append(bad, path)
		}
	}
	return good, bad, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// looseNames lists the files in the place of loose objects, as "ab/cdef…".
func looseNames(r *git.Repo) ([]string, error) {
	objects := filepath.Join(r.CommonDir, "objects")
	var names []string
	for i := range 256 {
		dir := fmt.Sprintf("%02x", i)
		entries, err := os.ReadDir(filepath.Join(objects, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			return nil, err
		}
		for _, e := range entries {
			if git.IsOID(e.Name(), r.OIDLen()-2) {
				names = append(names, dir+"/"+e.Name())
			}
		}
	}
	return names, nil
}

// maxLoose bounds what a small file can expand to.
const maxLoose = 4 << 30

var errNotLoose = errors.New("not the object that its name says")

// checkLoose reads a loose object as strictly as git does, and compares it with its name. It opens nothing but files.
func checkLoose(r *git.Repo, path, oid string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return errors.Join(err, errNotLoose)
	}
	raw := bufio.NewReader(f)
	z, err := zlib.NewReader(raw)
	if err != nil {
		return err
	}
	text := bufio.NewReader(io.LimitReader(z, maxLoose))
	header, err := looseHeader(text)
	if err != nil {
		return err
	}
	sum := r.NewHash()
	sum.Write(header)
	n, err := io.Copy(sum, text)
	if err != nil {
		return err
	}
	_, size, _ := bytes.Cut(header[:len(header)-1], []byte(" "))
	if string(size) != strconv.FormatInt(n, 10) || hex.EncodeToString(sum.Sum(nil)) != oid {
		return errNotLoose
	}
	if _, err := raw.ReadByte(); err != io.EOF {
		return errNotLoose // git wants nothing after it
	}
	return nil
}

// looseHeader reads "<kind> <size>" and the zero byte after it.
func looseHeader(text *bufio.Reader) ([]byte, error) {
	peek, err := text.Peek(32)
	end := bytes.IndexByte(peek, 0)
	if end < 0 {
		return nil, errors.Join(err, errNotLoose)
	}
	kind, _, _ := bytes.Cut(peek[:end], []byte(" "))
	switch string(kind) {
	case "blob", "tree", "commit", "tag":
	default:
		return nil, errNotLoose
	}
	header := bytes.Clone(peek[:end+1])
	_, err = text.Discard(len(header))
	return header, err
}

// packList packs objects, and removes the loose ones. The names in a pack's index are computed again from the pack's
// contents, so that nothing can be slipped in between.
func packList(ctx context.Context, r *git.Repo, oids []string) error {
	f, err := os.CreateTemp(filepath.Join(r.CommonDir, "objects", "pack"), "tmp_cco_")
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	c := r.Host().Cmd("pack-objects", "--stdout", "--incremental", "--window=0", "-q")
	c.Stdin, c.Stdout = strings.NewReader(strings.Join(oids, "\n")+"\n"), f
	if err := r.Host().Finish(ctx, c); err != nil {
		return err
	}
	// The last bytes of a pack's header count its objects: all of them may have been in packs already.
	var count [4]byte
	if _, err := f.ReadAt(count[:], 8); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(count[:]) > 0 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := r.Host().Run(ctx, f, "index-pack", "--stdin"); err != nil {
			return err
		}
	}
	return r.Host().Run(ctx, nil, "prune-packed", "-q")
}
