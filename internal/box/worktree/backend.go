package worktree

import "github.com/cco-dev/cco/internal/box"

// Backend describes worktree boxes.
func Backend() box.Backend {
	return box.Backend{
		Name: "worktree", Help: "your machine and toolchains at their own paths; on Linux the kernel keeps all of it\n" +
			"read-only but the session's own files",
		Strength: 1,
	}
}
