package git

import (
	"context"
	"fmt"
	"os"
)

// OpenClone opens a repository of cco's own for the address of a remote, or makes it, with nothing in it. It has no
// files in its worktree; its objects come by Fetch and from quarantines.
func OpenClone(ctx context.Context, dir, address, format string) (*Repo, error) {
	if _, err := os.Stat(dir); err == nil {
		return Open(ctx, dir)
	}
	made := dir + ".new"
	if err := os.RemoveAll(made); err != nil {
		return nil, fmt.Errorf("make a clone: %w", err)
	}
	if err := os.MkdirAll(made, 0o700); err != nil {
		return nil, fmt.Errorf("make a clone: %w", err)
	}
	h := NewHost(made)
	if err := h.Run(ctx, nil, "init", "--quiet", "--template=", "--object-format="+format); err != nil {
		return nil, fmt.Errorf("make a clone: %w", err)
	}
	if err := h.Run(ctx, nil, "config", "remote.origin.url", address); err != nil {
		return nil, fmt.Errorf("make a clone: %w", err)
	}
	if err := os.Rename(made, dir); err != nil {
		return nil, fmt.Errorf("make a clone: %w", err)
	}
	return Open(ctx, dir)
}
