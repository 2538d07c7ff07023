package rooms

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// closed are the places of the host that no box ever sees.
func closed() []string {
	return []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc"}
}

// CheckMount refuses mounts that would open the host: its root, its kernel's interfaces, the sockets of its daemons,
// and cco's own data.
func CheckMount(b *box.Box, name string) error {
	_, _, err := NewChecker(b).Check(name)
	return err
}

// CheckSpec refuses mounts that fail a backend's own check, and weaker modes that the backend doesn't have.
func CheckSpec(b *box.Box, mount func(b *box.Box, name string) error, modes ...string) error {
	for _, m := range b.Spec.Mounts {
		if err := mount(b, m.Path); err != nil {
			return err
		}
	}
	modes = append(modes, box.AcceptNoGuard)
	for _, name := range b.Spec.Accept {
		if !slices.Contains(modes, name) {
			last := len(modes) - 1
			return fmt.Errorf("unknown weaker mode %q: there are %s and %s", name, strings.Join(modes[:last], ", "),
				modes[last])
		}
	}
	return nil
}

// Checker checks the mounts of one box, of which there may be many.
type Checker struct {
	data  []string
	paths Resolver
}

// NewChecker finds the directories that hold cco's data.
func NewChecker(b *box.Box) Checker {
	c := Checker{paths: Resolver{}}
	for _, dir := range []string{b.Dir, b.Exchange} {
		if dir == "" {
			continue
		}
		// The data directory is the parent of both: boxes/<name> and exchange.
		if data, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
			c.data = append(c.data, data)
		}
	}
	return c
}

// Check does what CheckMount does, and returns the path without links and its file info.
func (c Checker) Check(name string) (real string, st fs.FileInfo, err error) {
	if !filepath.IsAbs(name) {
		return "", nil, fmt.Errorf("mount %q: not an absolute path", name)
	}
	real, st, err = c.paths.Real(name)
	if err == nil {
		err = c.check(name, real, st)
	}
	if err != nil {
		return "", nil, fmt.Errorf("mount %s: %w", name, err)
	}
	return real, st, nil
}

func (c Checker) check(name, real string, st fs.FileInfo) error {
	for _, path := range []string{filepath.Clean(name), real} {
		if path == "/" {
			return errors.New("that is the whole host")
		}
		for _, dir := range closed() {
			if paths.Within(path, dir) {
				return fmt.Errorf("nothing of %s is shown in a box", dir)
			}
		}
		for _, dir := range []string{"/workspace", "/exchange", jail.Home} {
			if path == dir || paths.Within(dir, path) {
				return errors.New("the box has its own")
			}
		}
		if strings.HasSuffix(path, ".sock") {
			return errors.New("no sockets of the host")
		}
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return errors.New("neither a file nor a directory")
	}
	for _, data := range c.data {
		if paths.Within(real, data) || paths.Within(data, real) {
			return errors.New("cco keeps its own state there")
		}
	}
	return nil
}
