package canary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
)

// clear moves away what is where something else, or nothing, was.
func (u *undo) clear(o *Outcome) error {
	f := o.Finding
	path := string(f.Path)
	was := entryAt(u.shot.Files, f.Path)
	switch {
	case f.Whole:
		return u.move(o, path)
	case f.Found == nil, was != nil && was.Type == f.Found.Type && was.Type != typeLink:
		return nil
	case f.Found.Type == typeDir && f.Kind != KindWorktree:
		// What was in it has been moved already. If it isn't empty, something new is in it, and it stays.
		if err := os.Remove(path); err != nil {
			return errChanged
		}
		return nil
	}
	return u.move(o, path)
}

// move moves something to a place where nothing runs it.
func (u *undo) move(o *Outcome, path string) error {
	to, err := u.spare(path)
	if err != nil {
		return err
	}
	if err := u.parents(path); err != nil {
		return err
	}
	if err := os.Rename(path, to); err != nil {
		return fmt.Errorf("move it aside: %w", err)
	}
	o.Kept = to
	return nil
}

// spare names a place below .git/cco-undone for what is taken from path. It is on the same file system, so that
// anything can be moved there.
func (u *undo) spare(path string) (string, error) {
	if u.aside == "" {
		dir := filepath.Join(u.shot.Common, "cco-undone", u.shot.Own.ID)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		for n := 1; u.aside == ""; n++ {
			try := filepath.Join(dir, strconv.Itoa(n))
			if err := os.Mkdir(try, 0o700); err == nil {
				u.aside = try
			} else if !errors.Is(err, fs.ErrExist) {
				return "", err
			}
		}
	}
	rel := label(u.shot.Common, path)
	if filepath.IsAbs(rel) {
		rel = filepath.Join("outside", rel)
	}
	to := filepath.Join(u.aside, filepath.FromSlash(rel))
	for u.taken(to) {
		to += "~"
	}
	return to, os.MkdirAll(filepath.Dir(to), 0o700)
}

func (u *undo) taken(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// parents refuses to go through a link that replaced a directory.
func (u *undo) parents(path string) error {
	base := u.shot.Common
	for _, dir := range u.shot.Outside {
		if paths.Within(path, dir) {
			base = dir
		}
	}
	for dir := filepath.Dir(path); paths.Within(dir, base); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", clean(dir))
		}
	}
	return nil
}

// restore puts back what was there.
func (u *undo) restore(o *Outcome) error {
	if o.Finding.Whole {
		return u.restoreWhole(string(o.Finding.Path))
	}
	was := entryAt(u.shot.Files, o.Finding.Path)
	if was == nil {
		return nil
	}
	return u.put(o, string(o.Finding.Path), was)
}

// restoreWhole makes a directory anew, from the top down.
func (u *undo) restoreWhole(root string) error {
	var list []string
	for path := range u.shot.Files {
		if paths.Within(string(path), root) {
			list = append(list, string(path))
		}
	}
	slices.SortFunc(list, strings.Compare)
	for _, path := range list {
		if err := u.put(nil, path, entryAt(u.shot.Files, Raw(path))); err != nil {
			return err
		}
	}
	return nil
}

// put makes one entry as it was. With an outcome, what is there now must be what was found.
func (u *undo) put(o *Outcome, path string, was *Entry) error {
	if dir := filepath.Dir(path); paths.Within(dir, filepath.Join(u.shot.Common, "worktrees")) {
		// A linked worktree whose whole directory was removed.
		if err := os.MkdirAll(dir, 0o755); err != nil { // as git makes it
			return err
		}
	}
	if err := u.parents(path); err != nil {
		return err
	}
	switch was.Type {
	case typeDir:
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return os.Chmod(path, was.Mode)
	case typeLink:
		return os.Symlink(string(was.Link), path)
	default:
		return u.putFile(o, path, was)
	}
}

// putFile replaces a file as git does: it takes the lock, checks the content again, and renames the new file over the
// old one, whose content a second name keeps.
func (u *undo) putFile(o *Outcome, path string, was *Entry) (err error) {
	content, err := u.shot.content(was.Sum)
	if err != nil {
		return err
	}
	lock := path + ".lock"
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another git seems to be at work: %s exists", clean(lock))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(lock)
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(was.Mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	// Git assumes that an index that is newer than a file has seen the file.
	if err = os.Chtimes(lock, was.Time, was.Time); err != nil {
		return err
	}
	if o != nil && o.Kept == "" && o.Finding.Found != nil {
		is, err := now(path)
		if err != nil {
			return err
		}
		if !same(is, o.Finding.Found) {
			return errChanged
		}
		to, err := u.spare(path)
		if err != nil {
			return err
		}
		if err := os.Link(path, to); err != nil {
			return fmt.Errorf("keep what is there: %w", err)
		}
		o.Kept = to
	}
	return os.Rename(lock, path)
}
