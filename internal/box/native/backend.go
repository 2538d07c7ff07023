package native

import "github.com/cco-dev/cco/internal/box"

// Backend describes native boxes.
func Backend() box.Backend {
	return box.Backend{
		Name: "native", Help: "Linux kernel isolation built into cco: no daemon, no root (default on Linux)",
		Strength: 3, System: "linux", Weaker: "--backend worktree --accept no-kernel", Plain: true,
	}
}
