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
	h := r.host.With("GIT_AUTHOR_NAME="+j.By.Name, "GIT_AUTHOR_EMAIL="+j.By.Email, "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME="+j.By.Name, "GIT_COMMITTER_EMAIL="+j.By.Email, "GIT_COMMITTER_DATE="+at)
	out, err := h.Feed(ctx, strings.NewReader(j.Message), "-c", "i18n.commitEncoding=UTF-8", "commit-tree",
		j.Tree+"^{tree}", "-p", j.Theirs, "-p", j.Ours)
	commit := strings.TrimSpace(string(out))
	if err == nil {
		err = r.CheckOID(commit)
	}
	if err != nil {
		return "", fmt.Errorf("join %s and %s: %w", Short(j.Ours), Short(j.Theirs), err)
	}
	return commit, nil
}
