//go:build !linux

package jail

import "os"

// clone leaves it to copying.
func clone(_, _ *os.File) bool { return false }
