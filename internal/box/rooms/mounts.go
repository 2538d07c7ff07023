package rooms

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// closed are the places of the host that no box ever sees.
func closed() []string {
	return []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/etc"}
}

// CheckMount refuses what would open the host: its root, its kernel's interfaces, the sockets of its daemons, and
// whatever cco itself keeps.
func CheckMount(b *box.Box, name string) error {
	_, err := NewChecker(b).Check(name)
	return err
}

// Checker checks the mounts of one box, which may be many.
type Checker struct{ data []string }

// NewChecker finds what cco keeps.
func NewChecker(b *box.Box) Checker {
	var c Checker
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

// Check is CheckMount, and gives the path without links.
func (c Checker) Check(name string) (real string, err error) {
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("mount %q: not an absolute path", name)
	}
	real, err = filepath.EvalSymlinks(name)
	if err != nil {
		return "", fmt.Errorf("mount %s: %w", name, err)
	}
	for _, path := range []string{filepath.Clean(name), real} {
		if path == "/" {
			return "", fmt.Errorf("mount %s: that is the whole host", name)
		}
		for _, dir := range closed() {
			if paths.Within(path, dir) {
				return "", fmt.Errorf("mount %s: nothing of %s is shown in a box", name, dir)
			}
		}
		for _, dir := range []string{"/workspace", "/exchange", jail.Home} {
			if path == dir || paths.Within(dir, path) {
				return "", fmt.Errorf("mount %s: the box has its own", name)
			}
		}
		if strings.HasSuffix(path, ".sock") {
			return "", fmt.Errorf("mount %s: no sockets of the host", name)
		}
	}
	if st, err := os.Stat(real); err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return "", fmt.Errorf("mount %s: neither a file nor a directory", name)
	}
	for _, data := range c.data {
		if paths.Within(real, data) || paths.Within(data, real) {
			return "", fmt.Errorf("mount %s: cco keeps its own state there", name)
		}
	}
	return real, nil
}

// Within says whether a clean path is dir or below it.
func Within(name, dir string) bool { return paths.Within(name, dir) }
