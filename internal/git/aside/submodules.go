package aside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/git"
)

// Bounds of the search for submodules.
const (
	maxSubmodules = 500
	maxDeep       = 8
)

// addSubmodules finds the repositories of the worktree's submodules, which are below its git directory, and theirs.
// They are opened there: the files in the worktree that lead to them could be an agent's.
func (r *Repo) addSubmodules(ctx context.Context) error {
	own := r.parts[0]
	return r.submodulesBelow(ctx, filepath.Join(own.user.GitDir, "modules"), 0)
}

func (r *Repo) submodulesBelow(ctx context.Context, dir string, deep int) error {
	entries, err := os.ReadDir(dir)
	if err != nil || deep > maxDeep {
		return nil //nolint:nilerr // there are none
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() || len(r.parts) > maxSubmodules {
			continue
		}
		if _, err := os.Lstat(filepath.Join(at, "HEAD")); err != nil { // a name with a slash
			if err := r.submodulesBelow(ctx, at, deep+1); err != nil {
				return err
			}
			continue
		}
		p, err := r.submodule(ctx, at)
		if err != nil {
			return err
		}
		r.parts = append(r.parts, p)
		if err := r.submodulesBelow(ctx, filepath.Join(at, "modules"), deep+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) submodule(ctx context.Context, at string) (*part, error) {
	own := r.parts[0]
	sub, err := filepath.Rel(own.user.CommonDir, at)
	if err != nil {
		return nil, err
	}
	user, worktree, err := git.OpenSubmodule(ctx, at)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(sub))
	p := r.newPart(user, filepath.Join(r.dir, "submodules", hex.EncodeToString(sum[:8])),
		filepath.Join(own.common, sub), sub)
	p.worktree, p.name = worktree, own.name
	return p, nil
}
