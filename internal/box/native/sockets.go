//go:build linux

package native

import (
	"bytes"
	"os"
	"path/filepath"
)

// boundSockets are the paths of all sockets that somebody on the host has bound, as the kernel lists them. Those that
// were bound by a relative path can't be found, nor those of other network namespaces.
func boundSockets() []string {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // a kernel that has none
	}
	return socketPaths(table, filepath.EvalSymlinks)
}

// socketPaths reads the kernel's list. Links on the way are followed: what is shown is known by its real path.
func socketPaths(table []byte, resolve func(string) (string, error)) []string {
	var paths []string
	seen := map[string]bool{}
	dirs := map[string]string{}
	for line := range bytes.Lines(table) {
		at := bytes.Index(line, []byte(" /"))
		if at < 0 {
			continue
		}
		name := filepath.Clean(string(bytes.TrimSuffix(line[at+1:], []byte("\n"))))
		if seen[name] {
			continue // also each connection that was taken there has its name
		}
		seen[name] = true
		dir, known := dirs[filepath.Dir(name)]
		if !known {
			if real, err := resolve(filepath.Dir(name)); err == nil {
				dir = real
			}
			dirs[filepath.Dir(name)] = dir
		}
		if dir != "" {
			paths = append(paths, filepath.Join(dir, filepath.Base(name)))
		}
	}
	return paths
}
