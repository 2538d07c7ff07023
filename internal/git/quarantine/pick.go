package quarantine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cco-dev/cco/internal/git"
)

// Pick makes one commit of some paths of what was examined, and examines it too: a choice of paths can make of them
// what the whole was not, such as a link that leads elsewhere.
func (q *Repo) Pick(ctx context.Context, p git.Pick) (git.Picked, error) {
	if !q.examined {
		return git.Picked{}, errors.New("pick: not examined")
	}
	p.Base = q.found.Base
	made, err := q.Inside().Pick(ctx, p, filepath.Join(q.Dir, "cco-pick.index"))
	if err != nil {
		return made, err
	}
	tree, err := q.host.Line(ctx, "rev-parse", "--verify", made.Commit+"^{tree}")
	if err != nil {
		return made, err
	}
	err = q.examine(ctx, []commitInfo{{oid: made.Commit, tree: tree, parents: []string{p.Base}}}, nil)
	if err != nil {
		return made, fmt.Errorf("examine the chosen paths: %w", err)
	}
	return made, nil
}

// ImportPick copies a commit that was made here into the user's repository, which has the known ones. It comes after
// Import.
func (q *Repo) ImportPick(ctx context.Context, commit string, known ...string) error {
	return q.repo.Adopt(ctx, q.host, commit, append(append(q.found.tips(), q.found.Base), known...)...)
}
