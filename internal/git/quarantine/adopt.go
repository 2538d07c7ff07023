package quarantine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// Adopt takes commits that are in the user's repository already, because a worktree box shares it, in place of Unpack.
// They pass the same checks as those of a bundle. An agent could write the files of its objects, and git would not
// notice that one is not what its name says: so they are packed and read again, and Import brings that pack.
func (q *Repo) Adopt(ctx context.Context, base, tip, wip string) (Found, error) {
	var tips []string
	for _, oid := range []string{tip, wip} {
		if oid != "" && oid != base {
			tips = append(tips, oid)
		}
	}
	if err := q.repo.CheckOID(append(tips, base)...); err != nil {
		return Found{}, fmt.Errorf("adopt: %w", err)
	}
	q.limits, q.adopted = q.options.Limits.withDefaults(0), true
	q.found, q.commits = Found{Base: base, Tip: tip, Wip: wip}, map[string]bool{}
	list, err := q.news(ctx, tips, base)
	if err != nil || len(list) == 0 {
		return q.found, err
	}
	if err := q.repack(ctx, list); err != nil {
		return Found{}, fmt.Errorf("adopt: %w", err)
	}
	if err := q.measure(ctx, tips); err != nil {
		return Found{}, fmt.Errorf("adopt: %w", q.packError(err))
	}
	return q.found, q.genuine(list)
}

// news lists the objects that tips have and base lacks.
func (q *Repo) news(ctx context.Context, tips []string, base string) ([]string, error) {
	var list []string
	c := q.host.Cmd("rev-list", "--objects", "--no-object-names", "--stdin")
	c.Stdin = git.Revisions(tips, []string{base})
	err := q.host.Scan(ctx, c, '\n', func(line []byte) error {
		if list = append(list, string(line)); len(list) > q.limits.Objects {
			return refuse(RulePackLimit, "more than %d objects", q.limits.Objects)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", q.packError(err))
	}
	return list, nil
}

// repack packs the objects of the list, and unpacks that with every check that git has.
func (q *Repo) repack(ctx context.Context, list []string) error {
	f, err := os.Create(filepath.Join(q.Dir, "cco-copy.pack"))
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	c := q.host.Cmd("pack-objects", "--stdout", "--delta-base-offset", "-q")
	c.Stdin, c.Stdout = strings.NewReader(strings.Join(list, "\n")+"\n"), f
	if err := q.host.Finish(ctx, c); err != nil {
		return q.packError(err)
	}
	return q.indexPack(ctx, f, 0)
}

// genuine refuses an object whose name is not in the pack: its content did not match its name.
func (q *Repo) genuine(list []string) error {
	packed, err := readIndex(filepath.Join(q.Dir, "objects", "pack", q.pack+".idx"), q.repo.OIDLen(), q.limits.Objects)
	if err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	for _, oid := range list {
		if _, ok := slices.BinarySearch(packed, oid); !ok {
			return refuse(RuleObject, "object %s is not what its name says", git.Short(oid))
		}
	}
	return nil
}
