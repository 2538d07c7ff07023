//go:build !linux

package native

import "github.com/cco-dev/cco/internal/box"

// New makes a driver that says why there are no native boxes here.
func New(Options) box.Driver {
	return box.Refusing("the native backend", "it needs Linux", "use --backend worktree")
}
