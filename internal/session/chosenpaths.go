package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

// The trailers of a commit that has only some paths of a session's work.
const (
	TrailerSession = "Cco-Session"
	TrailerTip     = "Cco-Tip"
)

// only gives the paths that the user chose, from the top of the repository. As git does, it takes them from the
// command's directory if that is in the repository.
func (o PullOptions) only(repo *git.Repo) (chosen []string, err error) {
	top, err := filepath.EvalSymlinks(repo.Top)
	if err != nil {
		return nil, err
	}
	from := top
	if dir, err := filepath.EvalSymlinks(o.Dir); err == nil && paths.Within(dir, top) {
		from = dir
	}
	for _, p := range o.Only {
		abs := p
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(from, p)
		} else if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(real, filepath.Base(abs))
		}
		if abs = filepath.Clean(abs); p == "" || !paths.Within(abs, top) {
			return nil, &UsageError{Msg: fmt.Sprintf("--only %s: it is outside the repository %s", git.Quote(p),
				git.Quote(repo.Top))}
		}
		chosen = append(chosen, strings.TrimPrefix(filepath.ToSlash(abs[len(top):]), "/"))
	}
	return chosen, nil
}

// pick makes the commit of the chosen paths in quarantine, and says what a person must know of it, and of nothing
// else.
func (a *arrival) pick(ctx context.Context) error {
	r := &a.r
	if len(r.Only) == 0 {
		return nil
	}
	if a.q == nil {
		return &UsageError{Msg: "--only: session " + r.Session.ID + " changed nothing"}
	}
	at := r.Session.Finished.Local()
	if at.IsZero() {
		at = a.Now()
	}
	// Nothing in it depends on when it is made: a pull that was killed after the branch moved makes the same commit again.
	made, err := a.q.Pick(ctx, git.Pick{Tip: r.target, Paths: r.Only, By: a.Identity(a.repo), At: at,
		Message: pickMessage(r.Session, r.target, r.Only)})
	if as[*git.UnchangedError](err) || as[*git.InTheWayError](err) {
		return &UsageError{Msg: fmt.Sprintf("--only: session %s: %v\nnothing was changed here", r.Session.ID, err)}
	}
	if err != nil {
		return a.unchanged(r.Session.ID, err)
	}
	if r.Summary, err = a.q.Inside().CommitLines(ctx, r.Base, made.Commit); err != nil {
		return err
	}
	r.whole, r.target, r.Files, r.Of, r.Halves = r.target, made.Commit, made.Files, made.Of, made.Halves
	r.Gate, err = gate.Examine(ctx, a.q.Inside(), gate.Range{Base: r.Base, Tip: made.Commit})
	for _, f := range r.Gate.Files {
		r.Summary.Count(f)
	}
	return err
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// pickMessage says where a commit came from. Of the text only the title is not ours, and that is the user's plan.
func pickMessage(rec store.Session, tip string, paths []string) string {
	title := rec.Title
	if title == "" {
		title = "Session " + rec.ID
	}
	what := "some of it"
	if len(paths) == 1 {
		what = "only " + safetext.Fit(safetext.Line(strings.TrimSuffix(paths[0]+"/", "/")), 40)
	}
	if len(paths) == 1 && paths[0] == "" {
		what = "all of it at once"
	}
	return fmt.Sprintf("%s (%s)\n\n%s: %s\n%s: %s\n", title, what, TrailerSession, rec.ID, TrailerTip, tip)
}

// words are the flags that choose the same again.
func (o PullOptions) words() (words string) {
	for _, p := range o.Only {
		words += " --only " + proc.ShellWord(p)
	}
	return words
}
