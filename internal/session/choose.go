package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
)

// ChoiceError says that a user has to name the session that is meant.
type ChoiceError struct {
	Branch   string
	Finished []store.Session // that could be meant, the newest first
	Others   []store.Session // of the same branch, which could not
}

func (e *ChoiceError) Error() string {
	if len(e.Finished) > 0 {
		return fmt.Sprintf("%d sessions of branch %s have finished: name one, or take --last or --all", len(e.Finished),
			git.Quote(e.Branch))
	}
	words := "no session of branch " + git.Quote(e.Branch) + " has finished and waits to be pulled"
	var others []string
	for _, v := range e.Others[:min(3, len(e.Others))] {
		others = append(others, "session "+v.ID+" is "+string(v.State)+": `cco box pull "+v.ID+PartialFlag(v)+"`")
	}
	if len(others) > 0 {
		words += "\n" + strings.Join(others, "\n")
	}
	return words
}

// PartialFlag is the flag that a pull of a session needs in its state, with a blank in front.
func PartialFlag(v store.Session) string {
	if v.Live() || v.State == store.Done || v.State == store.Pulled {
		return ""
	}
	return " --partial"
}

// ofBranch lists the sessions of the branch that is checked out in a directory, the newest first, as far as they can be
// pulled. Those of phases are not among them.
func (s Looking) ofBranch(ctx context.Context, dir string) (branch string, list []store.Session, err error) {
	repo, err := s.Open(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	all, err := s.List(ctx, "")
	if err != nil {
		return "", nil, err
	}
	for _, v := range all {
		if v.RepoKey == repo.Key() && v.Branch == head.Branch && s.HandedOver(v) {
			list = append(list, v)
		}
	}
	return head.Branch, list, nil
}

// HandedOver says that a person has pushed a session, and that its workspace is still there.
func (s Looking) HandedOver(v store.Session) bool {
	order, err := s.ReadOrder(v.ID)
	return !errors.Is(err, os.ErrNotExist) && order.Key == "" && order.View == "" && order.Plan != ""
}

// LeftWork says whether a session that has ended did something that is not on the host. Work that was never published
// counts, because nobody has looked.
func (s Looking) LeftWork(v store.Session) bool {
	if v.Started.IsZero() {
		return false
	}
	l, ok := s.Left(v)
	return !ok || !l.None(v.Base, "")
}

// Last is the newest session of the branch that is checked out.
func (s Looking) Last(ctx context.Context, dir string) (string, error) {
	branch, list, err := s.ofBranch(ctx, dir)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", &ChoiceError{Branch: branch}
	}
	return list[0].ID, nil
}

// Finished lists the sessions of the branch that is checked out that have work to pull, the oldest first; with partial
// also what agents that did not finish have left. The error is a *ChoiceError if there is none.
func (s Looking) Finished(ctx context.Context, dir string, partial bool) ([]store.Session, error) {
	branch, list, err := s.ofBranch(ctx, dir)
	if err != nil {
		return nil, err
	}
	var ready, others []store.Session
	for _, v := range list {
		switch {
		case v.State == store.Pulled:
		case v.Live():
			others = append(others, v)
		case !s.LeftWork(v):
		case v.State == store.Done || partial:
			ready = append(ready, v)
		default:
			others = append(others, v)
		}
	}
	if len(ready) == 0 {
		return nil, &ChoiceError{Branch: branch, Others: others}
	}
	slices.Reverse(ready)
	return ready, nil
}

// TheFinished is the only one of them.
func (s Looking) TheFinished(ctx context.Context, dir string, partial bool) (string, error) {
	list, err := s.Finished(ctx, dir, partial)
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		slices.Reverse(list)
		return "", &ChoiceError{Branch: list[0].Branch, Finished: list}
	}
	return list[0].ID, nil
}

// Brought is what became of one of several sessions.
type Brought struct {
	PullResult
	Next string `json:"next,omitempty"` // the command that takes it further, where its branch did not move to it
	Err  error  `json:"-"`              // why it was not brought at all
}

// PullAll brings each session to its ref, and moves the branch for the first that fast-forwards. each hears of one
// after the other.
func (s HandOff) PullAll(ctx context.Context, ids []string, o PullOptions, each func(Brought)) error {
	var errs []error
	for _, id := range ids {
		r, err := s.Pull(ctx, id, o)
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		b := Brought{PullResult: r}
		switch {
		case r.Moved:
			o.Stay = true
		case err == nil && r.Ref != "" && !r.Again && !o.DryRun, as[*git.DivergedError](err) && r.Ref != "":
			b.Next = "git merge " + r.Ref
			_, err = s.Store.UpdateSession(context.WithoutCancel(ctx), id, func(v *store.Session) error {
				v.Tip, v.Wip = r.head, r.wip
				return nil
			})
		case err != nil && r.Ref == "":
			b.Session = store.Session{ID: id}
		}
		if b.Err = err; err != nil {
			errs = append(errs, err)
		}
		each(b)
	}
	return errors.Join(errs...)
}
