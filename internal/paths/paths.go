// Package paths compares paths by their names alone.
package paths

import "strings"

// Within says whether name is dir or lies below it. Both are clean; links are not followed.
func Within(name, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}
