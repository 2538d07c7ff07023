package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Adopt takes commits that are in the user's repository already, because a worktree box shares it, in place of Unpack.
// They pass the same checks as those of a bundle. An agent could write the files of its objects, and git would not
// notice that one is not what its name says: so they are packed and read anew, and Import brings that pack.
func (q *Quarantine) Adopt(ctx context.Context, base, tip, wip string) (Found, error) {
	var tips []string
	for _, oid := range []string{tip, wip} {
		if oid != "" && oid != base {
			tips = append(tips, oid)
		}
	}
	if err := q.repo.checkOID(append(tips, base)...); err != nil {
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

// news lists the objects that tips have and base has not.
func (q *Quarantine) news(ctx context.Context, tips []string, base string) ([]string, error) {
	var list []string
	c := q.host.cmd("rev-list", "--objects", "--no-object-names", "--stdin")
	c.Stdin = revisions(tips, []string{base})
	err := q.host.scanLines(ctx, c, '\n', func(line []byte) error {
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
func (q *Quarantine) repack(ctx context.Context, list []string) error {
	f, err := os.Create(filepath.Join(q.Dir, "cco-copy.pack"))
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	c := q.host.cmd("pack-objects", "--stdout", "--delta-base-offset", "-q")
	c.Stdin, c.Stdout = strings.NewReader(strings.Join(list, "\n")+"\n"), f
	if err := q.host.finish(ctx, c); err != nil {
		return q.packError(err)
	}
	return q.indexPack(ctx, f, 0)
}

// genuine refuses an object whose name is not in the pack: it was another one that went by that name.
func (q *Quarantine) genuine(list []string) error {
	packed, err := readIndex(filepath.Join(q.Dir, "objects", "pack", q.pack+".idx"), q.repo.oidLen(), q.limits.Objects)
	if err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	for _, oid := range list {
		if _, ok := slices.BinarySearch(packed, oid); !ok {
			return refuse(RuleObject, "object %s is not what its name says", short(oid))
		}
	}
	return nil
}

// Has says whether the repository has a commit, and some ref leads to it.
func (r *Repo) Has(ctx context.Context, commit string) bool {
	if r.checkOID(commit) != nil {
		return false
	}
	out, err := r.host.line(ctx, "for-each-ref", "--count=1", "--contains="+commit, "--format=%(refname)")
	return err == nil && out != ""
}

// Reachable says which of some commits the repository has, with a ref that leads to each. Words that are no ids are
// not.
func (r *Repo) Reachable(ctx context.Context, commits []string) (map[string]bool, error) {
	known, err := r.known(ctx, commits)
	has := map[string]bool{}
	for _, oid := range known {
		has[oid] = true
	}
	if err != nil || len(known) == 0 {
		return has, err
	}
	out, err := r.host.feed(ctx, revisions(known, nil), "rev-list", "--stdin", "--not", "--all")
	for oid := range strings.FieldsSeq(string(out)) {
		delete(has, oid)
	}
	return has, err
}
