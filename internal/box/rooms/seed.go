package rooms

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/tree"
)

// seed copies the user's own caches into the box, once and only those that the settings name. What a program does to
// the copy stays in the box.
func (id Identity) seed(b *box.Box, o Options, report box.Report) error {
	home := o.Home
	for _, name := range b.Spec.Seeds {
		name = filepath.Clean(name)
		if !filepath.IsLocal(name) || name == "." {
			return fmt.Errorf("cache %q: not below home", name)
		}
		from := filepath.Join(home, name)
		if st, err := os.Stat(from); home == "" || errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir() {
			continue
		}
		private, err := o.privateIn(b, from)
		if err != nil {
			return err
		}
		to, err := id.seedPlace(b, name)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(to); err == nil {
			continue // an earlier attempt made it
		}
		report("copying %s", from)
		half := to + ".half"
		if err := errors.Join(tree.Remove(half), id.mkdir(half)); err != nil {
			return err
		}
		if err := id.CopyTree(from, half); err != nil {
			return fmt.Errorf("copy the cache %s: %w", from, err)
		}
		for _, name := range private {
			if err := tree.Remove(filepath.Join(half, name)); err != nil {
				return err
			}
		}
		if err := os.Rename(half, to); err != nil {
			return err
		}
	}
	return nil
}

// privateIn names the logins in a directory, which are not for a box. It refuses one that is itself a login, or that
// holds cco's own data and with it the copy.
func (o Options) privateIn(b *box.Box, from string) (names []string, err error) {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return nil, err
	}
	data := filepath.Dir(b.Exchange)
	if at, err := filepath.EvalSymlinks(data); err == nil {
		data = at
	}
	if paths.Within(data, real) || paths.Within(real, data) {
		return nil, fmt.Errorf("cache %s: it holds cco's own data, name directories beside that", from)
	}
	logins := o.Logins(o.Home, nil)
	for _, login := range logins {
		if paths.Within(real, login) {
			return nil, fmt.Errorf("cache %s: it holds a login or keys", from)
		}
		if rel, err := filepath.Rel(real, login); err == nil && paths.Within(login, real) {
			names = append(names, rel)
		}
	}
	return append(names, secondNames(real, logins)...), nil
}

// secondNames are the hard links in a directory that lead to files of logins.
func secondNames(dir string, logins []string) (names []string) {
	held := map[[2]uint64]bool{}
	linked := func(root string, each func(path string, id [2]uint64)) {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what can't be read isn't copied
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return nil
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
				each(path, [2]uint64{uint64(st.Dev), st.Ino}) //nolint:unconvert // Dev is signed on macOS
			}
			return nil
		})
	}
	for _, login := range logins {
		linked(login, func(_ string, id [2]uint64) { held[id] = true })
	}
	if len(held) == 0 {
		return nil
	}
	linked(dir, func(path string, id [2]uint64) {
		if rel, err := filepath.Rel(dir, path); err == nil && held[id] {
			names = append(names, rel)
		}
	})
	return names
}

// seedPlace is where a seed goes: into the cache that holds its place below the home, or into a cache of its own.
func (id Identity) seedPlace(b *box.Box, name string) (string, error) {
	for _, outer := range cacheNames(b) {
		if outer == name || !paths.Within(name, outer) {
			continue
		}
		dir := cacheDir(b, outer)
		if err := id.mkdir(dir); err != nil {
			return "", err
		}
		rel, err := filepath.Rel(outer, name)
		if err != nil {
			return "", err
		}
		for part := range strings.SplitSeq(filepath.Dir(rel), "/") {
			dir = filepath.Join(dir, part)
			if err := id.mkdir(dir); err != nil {
				return "", err
			}
		}
		return filepath.Join(dir, filepath.Base(rel)), nil
	}
	return cacheDir(b, name), nil
}

// mkdir makes a directory of the box's user, if it is missing.
func (id Identity) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return id.Own(dir)
}

// cacheNames are the places below the home of the box's caches.
func cacheNames(b *box.Box) []string {
	names := b.Spec.Caches
	if names == nil {
		names = DefaultCaches()
	}
	names = slices.Clone(names)
	for _, name := range b.Spec.Seeds {
		name = filepath.Clean(name)
		if !slices.ContainsFunc(names, func(outer string) bool { return paths.Within(name, filepath.Clean(outer)) }) {
			names = append(names, name)
		}
	}
	return names
}
