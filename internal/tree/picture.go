package tree

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxPicture bounds what a picture holds.
const maxPicture = 32 << 20

// Picture is what was at some names in a directory, to be put back. It can be written down as JSON.
type Picture map[string]map[string]Entry // by the name, and by the path below it; nothing if it was missing

// Entry is a file, a directory or a link.
type Entry struct {
	Mode fs.FileMode
	Data []byte // a link's target
}

// Take takes a picture.
func Take(root *os.Root, names []string) (Picture, error) {
	p, left := Picture{}, int64(maxPicture)
	for _, name := range names {
		var err error
		if p[name], err = look(root, name, &left); err != nil {
			return nil, fmt.Errorf("keep %s as it is: %w", name, err)
		}
	}
	return p, nil
}

// look reads what is at a name, without following a link, and not more than is left of a budget.
func look(root *os.Root, name string, left *int64) (map[string]Entry, error) {
	found := map[string]Entry{}
	var walk func(string) error
	walk = func(at string) error {
		st, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		if *left -= st.Size() + 512; *left < 0 || !utf8.ValidString(at) {
			return errors.New("it is too large, or a name in it is not text")
		}
		e := Entry{Mode: st.Mode()}
		switch {
		case st.Mode().IsRegular():
			e.Data, err = root.ReadFile(at)
		case st.Mode()&fs.ModeSymlink != 0:
			var to string
			to, err = root.Readlink(at)
			e.Data = []byte(to)
		case !st.IsDir():
			err = errors.New("it is neither a file, a directory nor a link")
		}
		found[at] = e
		if err != nil || !st.IsDir() {
			return err
		}
		dir, err := root.Open(at)
		if err != nil {
			return err
		}
		names, err := dir.Readdirnames(-1)
		_ = dir.Close()
		for _, n := range names {
			err = errors.Join(err, walk(path.Join(at, n)))
		}
		return err
	}
	return found, walk(name)
}

// PutBack makes everything what it was again, whatever somebody has made of it, and names what had changed. That stays
// beside it, under another name. Nobody may write there meanwhile.
func (p Picture) PutBack(root *os.Root) (changed []string, err error) {
	equal := func(a, b Entry) bool { return a.Mode == b.Mode && string(a.Data) == string(b.Data) }
	for _, name := range slices.Sorted(maps.Keys(p)) {
		left := int64(2 * maxPicture)
		now, odd := look(root, name, &left)
		if odd == nil && maps.EqualFunc(p[name], now, equal) && (len(now) == 0 || realAbove(root, name)) {
			continue
		}
		changed = append(changed, name)
		if failed := putBack(root, name, p[name]); failed != nil {
			err = errors.Join(err, fmt.Errorf("put %s back: %w", name, failed))
		}
	}
	return changed, err
}

// realAbove says whether no link is on the way to a name.
func realAbove(root *os.Root, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if st, err := root.Lstat(dir); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

func putBack(root *os.Root, name string, was map[string]Entry) error {
	at := ""
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		at = path.Join(at, part)
		st, err := root.Lstat(at)
		if err == nil && !st.IsDir() {
			err = errors.Join(moveAway(root, at), fs.ErrNotExist)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = root.Mkdir(at, 0o755)
		} else if err == nil && st.Mode().Perm()&0o700 != 0o700 {
			err = root.Chmod(at, st.Mode().Perm()|0o700)
		}
		if err != nil {
			return err
		}
	}
	if _, err := root.Lstat(name); err == nil {
		if err := moveAway(root, name); err != nil {
			return err
		}
	}
	all := slices.Sorted(maps.Keys(was))
	for _, at := range all {
		var err error
		switch e := was[at]; {
		case e.Mode.IsDir():
			err = root.Mkdir(at, 0o700)
		case e.Mode&fs.ModeSymlink != 0:
			err = root.Symlink(string(e.Data), at)
		default:
			err = root.WriteFile(at, e.Data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	for _, at := range slices.Backward(all) {
		if was[at].Mode&fs.ModeSymlink == 0 {
			if err := root.Chmod(at, was[at].Mode.Perm()); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveAway gives something a name at which nobody looks for it, and which nobody could take before.
func moveAway(root *os.Root, name string) error {
	return root.Rename(name, name+".changed-"+strings.ToLower(rand.Text()[:8]))
}
