package host

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
)

// BoundSockets are the paths of all sockets that processes on the host have bound, as the kernel lists them. It misses
// sockets that were bound by a relative path, and those of other network namespaces.
func BoundSockets() []string {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // this kernel has no unix sockets
	}
	return socketPaths(table, func(dir string) (string, error) {
		if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return dir, err
		}
		return filepath.EvalSymlinks(dir)
	})
}

// socketPaths parses the kernel's list. It follows links on the way, because mounts are known by their real paths;
// resolve follows the last part of one. Each directory is looked at once: most sockets have most of theirs in common.
func socketPaths(table []byte, resolve func(string) (string, error)) []string {
	var paths []string
	seen, dirs := map[string]bool{}, map[string]string{"/": "/"}
	var real func(dir string) string
	real = func(dir string) string {
		if found, known := dirs[dir]; known {
			return found
		}
		found := real(filepath.Dir(dir))
		if found != "" {
			var err error
			if found, err = resolve(filepath.Join(found, filepath.Base(dir))); err != nil {
				found = ""
			}
		}
		dirs[dir] = found
		return found
	}
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
		if dir := real(filepath.Dir(name)); dir != "" {
			paths = append(paths, filepath.Join(dir, filepath.Base(name)))
		}
	}
	return paths
}
