package git

import (
	"context"
	"fmt"
	"strings"
)

// Adopt takes commits that are in the user's repository already, because a worktree box shares it, in place of Unpack:
// Examine and Import treat them like those of a bundle.
func (q *Quarantine) Adopt(ctx context.Context, base, tip, wip string) (Found, error) {
	tips := []string{tip}
	if wip != "" {
		tips = append(tips, wip)
	}
	if err := q.repo.checkOID(append(tips, base)...); err != nil {
		return Found{}, fmt.Errorf("adopt: %w", err)
	}
	q.limits = q.options.Limits.withDefaults(0)
	out, err := q.host.feed(ctx, revisions(tips, []string{base}), "rev-list", fmt.Sprintf("--max-count=%d", q.limits.Commits+1), "--stdin")
	if err != nil {
		return Found{}, fmt.Errorf("adopt: %w", err)
	}
	q.commits = map[string]bool{}
	for oid := range strings.FieldsSeq(string(out)) {
		q.commits[oid] = true
	}
	q.found = Found{Base: base, Tip: tip, Wip: wip}
	return q.found, nil
}

// Has says whether the repository has a commit, and some ref leads to it.
func (r *Repo) Has(ctx context.Context, commit string) bool {
	if r.checkOID(commit) != nil {
		return false
	}
	out, err := r.host.line(ctx, "for-each-ref", "--count=1", "--contains="+commit, "--format=%(refname)")
	return err == nil && out != ""
}
