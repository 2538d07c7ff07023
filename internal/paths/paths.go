// Package paths compares and joins paths by their names alone.
package paths

import (
	"path"
	"strings"
)

// Held is where boxes and cages that the kernel holds show that they are: a read-only mount is exactly there.
const Held = "/run/cco/held"

// Within says whether name is dir or lies below it. Both are clean; links are not followed.
func Within(name, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// From is the clean path of what is called name in dir, which may be absolute.
func From(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
