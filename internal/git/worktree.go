package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
)

// Worktree is one worktree of a repository.
type Worktree struct {
	Path     string
	Branch   string // "" when detached
	Bare     bool
	Locked   bool
	Prunable bool
}

// Worktrees lists all worktrees, the main one first.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.host.Out(ctx, "worktree", "list", "--porcelain", "-z")
	end := "\x00"
	if proc.Code(err) == 129 { // git before 2.36 has no -z here
		out, err = r.host.Out(ctx, "worktree", "list", "--porcelain")
		end = "\n"
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	return parseWorktrees(string(out), end), nil
}

func parseWorktrees(out, end string) []Worktree {
	var list []Worktree
	for record := range strings.SplitSeq(out, end+end) {
		var w Worktree
		for line := range strings.SplitSeq(record, end) {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				w.Path = value
			case "branch":
				w.Branch = strings.TrimPrefix(value, "refs/heads/")
			case "bare":
				w.Bare = true
			case "locked":
				w.Locked = true
			case "prunable":
				w.Prunable = true
			}
		}
		if w.Path != "" {
			list = append(list, w)
		}
	}
	return list
}

const checkedOut = "checked out"

// Use says who uses a branch: a worktree that has it checked out, or a rebase or bisect that will come back to it.
func (r *Repo) Use(ctx context.Context, branch string) (*CheckedOutError, error) {
	list, err := r.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var elsewhere *CheckedOutError
	for _, w := range list {
		if w.Branch != branch || w.Bare || w.Prunable && !w.Locked { // a removed one has nothing checked out
			continue
		}
		use := &CheckedOutError{Branch: branch, Worktree: w.Path, How: checkedOut}
		if !sameDir(w.Path, r.Top) {
			return use, nil
		}
		use.Worktree = r.Top
		elsewhere = use
	}
	for _, dir := range r.gitDirs() {
		if how := pending(dir, branch); how != "" {
			return &CheckedOutError{Branch: branch, Worktree: worktreeOf(dir), How: how}, nil
		}
	}
	return elsewhere, nil
}

// pending says which unfinished operation of a worktree will move the branch at its end.
func pending(gitDir, branch string) string {
	full := "refs/heads/" + branch
	for _, dir := range []string{"rebase-merge", "rebase-apply"} {
		if readLine(filepath.Join(gitDir, dir, "head-name")) == full {
			return "being rebased"
		}
	}
	// rebase --update-refs moves more branches: three lines for each.
	refs, _ := os.ReadFile(filepath.Join(gitDir, "rebase-merge", "update-refs"))
	for line := range strings.Lines(string(refs)) {
		if strings.TrimSuffix(line, "\n") == full {
			return "being rebased"
		}
	}
	if start := readLine(filepath.Join(gitDir, "BISECT_START")); start == branch || start == full {
		return "being bisected"
	}
	return ""
}

// gitDirs are the git directories of all worktrees, that of the main one first.
func (r *Repo) gitDirs() []string {
	more, _ := filepath.Glob(filepath.Join(globEscape(r.CommonDir), "worktrees", "*"))
	return append([]string{r.CommonDir}, more...)
}

// worktreeOf gives the worktree of a git directory.
func worktreeOf(gitDir string) string {
	if dotgit := readLine(filepath.Join(gitDir, "gitdir")); dotgit != "" {
		return filepath.Dir(paths.From(gitDir, dotgit))
	}
	return filepath.Dir(gitDir)
}

// NestedWorktrees are the other worktrees of the repository that lie in this one.
func (r *Repo) NestedWorktrees() (nested []string) {
	all := []string{strings.TrimSuffix(r.CommonDir, "/.git")} // as git says it of the main one
	for _, dir := range r.gitDirs()[1:] {
		if _, err := os.Lstat(filepath.Join(dir, "gitdir")); err == nil {
			all = append(all, worktreeOf(dir))
		}
	}
	for _, at := range all {
		at, err := filepath.EvalSymlinks(at)
		if err == nil && at != r.Top && paths.Within(at, r.Top) {
			nested = append(nested, at)
		}
	}
	return nested
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	ai, err := os.Stat(a)
	if err != nil {
		return false
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}

// globEscape keeps a directory's name from being a pattern.
func globEscape(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
