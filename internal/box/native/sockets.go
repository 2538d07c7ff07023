//go:build linux

package native

import (
	"bytes"
	"os"
	"path/filepath"
)

// boundSockets are the paths of all sockets that processes on the host have bound, as the kernel lists them. It misses
// sockets that were bound by a relative path, and those of other network namespaces.
func boundSockets() []string {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // this kernel has no unix sockets
	}
	return socketPaths(table, filepath.EvalSymlinks)
}

// socketPaths parses the kernel's list. It follows links on the way, because mounts are known by their real paths.
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
			continue // each accepted connection has the same name
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
