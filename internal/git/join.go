package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Automerged is what git makes of two commits by itself.
type Automerged struct {
	Tree      string   // with marks where it could not decide
	Conflicts []string // the files with such marks
}

// ErrNoAutomerge says that this git can't merge without a worktree.
var ErrNoAutomerge = errors.New("git 2.38 or newer is needed to merge two commits")

// Automerge merges two commits without a worktree and without a commit. It writes objects, so it is for a quarantine.
func (r *Repo) Automerge(ctx context.Context, ours, theirs string) (Automerged, error) {
	if err := r.CheckOID(ours, theirs); err != nil {
		return Automerged{}, err
	}
	out, err := r.host.Feed(ctx, nil, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
	if proc.Code(err) == 129 { // git before 2.38 does not know the options
		return Automerged{}, ErrNoAutomerge
	}
	if err != nil && proc.Code(err) != 1 { // 1 is git's way to say that there are conflicts
		return Automerged{}, fmt.Errorf("merge %s and %s: %w", Short(ours), Short(theirs), err)
	}
	parts := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if err := r.CheckOID(parts[0]); err != nil {
		return Automerged{}, fmt.Errorf("merge %s and %s: %w", Short(ours), Short(theirs), err)
	}
	return Automerged{Tree: parts[0], Conflicts: parts[1:]}, nil
}

// Join is a merge commit to make.
type Join struct {
	Ours, Theirs string
	Tree         string // or a commit whose tree it is
	Message      string
	By           Identity
}

// Join makes a merge commit of two heads. The same two give the same commit.
func (r *Repo) Join(ctx context.Context, j Join) (string, error) {
	if err := r.CheckOID(j.Ours, j.Theirs, j.Tree); err != nil {
		return "", err
	}
	at, err := r.host.Line(ctx, "log", "-1", "--no-show-signature", "--format=%ct +0000", j.Ours)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", Short(j.Ours), err)
	}
	commit, err := r.commitTree(ctx, j.By, at, j.By, at, j.Message, j.Tree, j.Theirs, j.Ours)
	if err != nil {
		return "", fmt.Errorf("join %s and %s: %w", Short(j.Ours), Short(j.Theirs), err)
	}
	return commit, nil
}

// commitTree makes a commit of a tree, or of that of another commit.
func (r *Repo) commitTree(ctx context.Context, author Identity, written string, by Identity, at, message, tree string,
	parents ...string) (string, error) {
	args := []string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree + "^{tree}"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	h := r.host.With("GIT_AUTHOR_NAME="+author.Name, "GIT_AUTHOR_EMAIL="+author.Email, "GIT_AUTHOR_DATE="+written,
		"GIT_COMMITTER_NAME="+by.Name, "GIT_COMMITTER_EMAIL="+by.Email, "GIT_COMMITTER_DATE="+at)
	out, err := h.Feed(ctx, strings.NewReader(message), args...)
	commit := strings.TrimSpace(string(out))
	if err == nil {
		err = r.CheckOID(commit)
	}
	return commit, err
}

// Replay makes the commits from a base to a tip anew on top of another commit, with their authors, dates and messages.
// The same ones give the same commits. It writes objects, so it is for a quarantine.
func (r *Repo) Replay(ctx context.Context, base, tip, onto string, by Identity) (string, error) {
	if err := r.CheckOID(base, tip, onto); err != nil {
		return "", err
	}
	list, err := r.host.Feed(ctx, nil, "rev-list", "--reverse", "--topo-order", "--parents", tip, "^"+base)
	var commits [][]string
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return "", &MergesError{Commit: f[0]}
		}
		commits = append(commits, f)
	}
	for _, f := range commits {
		if err == nil {
			onto, err = r.replay(ctx, f[0], f[1], onto, by)
		}
	}
	return onto, err
}

func (r *Repo) replay(ctx context.Context, commit, parent, onto string, by Identity) (string, error) {
	said, err := r.host.Feed(ctx, nil, "log", "-1", "--no-show-signature", "--date=raw",
		"--format=%an%x00%ae%x00%ad%x00%cd%x00%B", commit)
	f := strings.SplitN(string(said), "\x00", 5)
	if err != nil || len(f) != 5 {
		return "", fmt.Errorf("read %s: %w", Short(commit), err)
	}
	author := Identity{Name: f[0], Email: f[1]}
	// What is below, as if it had been made on the commit's own parent: that is what a merge starts from.
	side, err := r.commitTree(ctx, by, f[3], by, f[3], "", onto, parent)
	if err != nil {
		return "", err
	}
	merged, err := r.Automerge(ctx, side, commit)
	if err == nil && len(merged.Conflicts) > 0 {
		err = &ConflictError{Files: merged.Conflicts}
	}
	if err != nil {
		return "", err
	}
	return r.commitTree(ctx, author, f[2], by, f[3], strings.TrimSuffix(f[4], "\n"), merged.Tree, onto)
}
