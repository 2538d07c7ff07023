//go:build !linux

package jail

import "os"

// clone always fails, so that files are copied.
func clone(_, _ *os.File) bool { return false }
