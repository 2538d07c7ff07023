package inside

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// left is the uncommitted work that was left.
type left struct {
	commit string   // a commit of the files
	staged string   // a commit of the index, if it has content that neither the files nor HEAD have
	lost   []string // what could not be taken
}

// onlyStaged makes a commit of an index that has content which l's commit lacks. A copy of the index is in seed.
func (r repo) onlyStaged(ctx context.Context, j Job, at place, seed string, l *left) (err error) {
	r.index = filepath.Join(filepath.Dir(r.index), "staged")
	if err := os.WriteFile(r.index, []byte(seed), 0o600); err != nil {
		return err
	}
	if err := r.dropConflicts(ctx); err != nil {
		return err
	}
	tree, err := r.line(ctx, "write-tree")
	if err != nil || tree == at.tree {
		return err
	}
	large, err := r.unstage(ctx, at.tree, tree, j.most())
	if err != nil {
		return err
	}
	for _, words := range large {
		if !slices.Contains(l.lost, words) {
			l.lost = append(l.lost, words)
		}
	}
	if tree, err = r.line(ctx, "write-tree"); err != nil {
		return err
	}
	files := at.tree
	if l.commit != "" {
		files = l.commit
	}
	seen := map[string]bool{}
	for i, from := range []string{at.tree, files} {
		out, err := r.text(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
			"--diff-filter=d", from, tree)
		if err != nil {
			return err
		}
		f := strings.Split(out, "\x00")
		for n := 0; n+1 < len(f); n += 2 {
			meta := strings.Fields(f[n])
			if len(meta) != 5 || meta[1] == "160000" {
				continue
			}
			content := meta[3] + f[n+1]
			if i > 0 && seen[content] {
				l.staged, err = r.commitTree(ctx, tree, at.head, "Staged in session "+j.Session)
				return err
			}
			seen[content] = i == 0
		}
	}
	return nil
}

// dropConflicts removes conflicts from an index, so that it can become a tree. Their content is in commits.
func (r repo) dropConflicts(ctx context.Context) error {
	out, err := r.text(ctx, nil, "ls-files", "-u", "-z")
	if err != nil || out == "" {
		return err
	}
	var names strings.Builder
	for entry := range strings.SplitSeq(out, "\x00") {
		if _, name, ok := strings.Cut(entry, "\t"); ok {
			names.WriteString(name + "\x00")
		}
	}
	_, err = r.text(ctx, strings.NewReader(names.String()), "update-index", "--force-remove", "-z", "--stdin")
	return err
}
