package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// Left is what was in a session's workspace when the last process in it had ended. Only cco starts processes there, and
// removes the record first, so an existing record is true. It is in the session's own directory, which no box sees.
type Left struct {
	Run         int64       `json:"run"` // the start of its run, in milliseconds
	Commits     Commit      `json:"commits"`
	Uncommitted Commit      `json:"uncommitted"`
	Bundle      *inside.Sum `json:"bundle,omitempty"` // of both
	inside.Others
	Failed string `json:"failed,omitempty"` // why nobody could look
}

// Holding is a session and what it has left.
type Holding struct {
	store.Session
	Left
}

// Commit is the last of what was left, "" if there is none.
type Commit struct {
	OID string `json:"oid,omitempty"`
	New bool   `json:"-"` // it exists nowhere else
}

// None says that nothing is there beyond what is known by two commits.
func (l Left) None(head, wip string) bool {
	return l.Failed == "" && l.Commits.OID == head && l.Uncommitted.OID == wip && l.Count == 0 && len(l.Lost) == 0
}

func (s *Service) leftFile(id string) string { return filepath.Join(s.Dir(id), "left.json") }

// looking is a file that exists while a workspace is inspected. Starting something in the workspace removes it too, so
// that an outdated look is not recorded.
func (s *Service) looking(id string) string { return filepath.Join(s.Dir(id), "left.new") }

// Forget comes before everything that is started in a session's workspace.
func (s *Service) Forget(id string) error {
	return errors.Join(ignoreMissing(os.Remove(s.looking(id))), ignoreMissing(os.Remove(s.leftFile(id))))
}

// Left reads what a session has left. It is not ok if something was started there since the last look.
func (s *Service) Left(v store.Session) (l Left, ok bool) {
	if v.Live() {
		return l, false
	}
	data, err := os.ReadFile(s.leftFile(v.ID))
	if err != nil || json.Unmarshal(data, &l) != nil {
		return Left{}, false
	}
	// After a power cut a removed file may be back; the store is more reliable.
	return l, l.Run == v.Started.UnixMilli()
}

// startLook comes before a look, and recordLeft after it.
func (s HandOff) startLook(id string) error {
	if err := s.Forget(id); err != nil {
		return err
	}
	return os.WriteFile(s.looking(id), nil, 0o600)
}

// recordLeft keeps what was seen in a workspace, unless something was started there meanwhile. Without a record the
// next command looks again.
func (s HandOff) recordLeft(v store.Session, l Left) error {
	l.Run = v.Started.UnixMilli()
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.looking(v.ID), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return ignoreMissing(os.Rename(s.looking(v.ID), s.leftFile(v.ID)))
}

// seen makes a record from a publisher's result. The box wrote its text, so it is bounded and cleaned.
func (s HandOff) seen(v store.Session, published error) Left {
	if why, ok := errors.AsType[*UnreadableError](published); ok {
		return Left{Failed: why.Why}
	}
	if published != nil {
		return Left{Failed: FirstLine(published.Error())}
	}
	r, err := s.readResult(v)
	if err != nil {
		return Left{Failed: FirstLine(err.Error())}
	}
	for _, oid := range []string{r.Head, r.Wip} {
		if oid != "" && (len(oid) != len(v.Base) || strings.Trim(oid, "0123456789abcdef") != "") {
			return Left{Failed: inside.ResultFile + " names no commit"}
		}
	}
	return Left{Commits: Commit{OID: r.Head}, Uncommitted: Commit{OID: r.Wip}, Bundle: r.Bundle,
		Others: inside.Others{Names: cleanList(r.Names), Count: max(0, r.Count), Lost: cleanList(r.Lost)}}
}

// cleanList bounds and cleans a list from the box.
func cleanList(list []string) []string {
	const most = 100
	var clean []string
	for _, words := range list[:min(most, len(list))] {
		clean = append(clean, FirstLine(words))
	}
	return clean
}

// inspect publishes what a session's workspace holds, and records it. The box must be running.
func (s HandOff) inspect(ctx context.Context, b *box.Box, d box.Driver, v store.Session) Left {
	lock, err := s.LockSoon(ctx, v.ID)
	if err != nil {
		return Left{Failed: err.Error()}
	}
	defer func() { _ = lock.Close() }()
	_ = s.Publish(ctx, b, d, v) // it records the result
	if l, ok := s.Left(v); ok {
		return l
	}
	return Left{Failed: "something was started in it meanwhile"}
}

// Work names what exists nowhere else and can be pulled.
func (l Left) Work() (words []string) {
	if l.Commits.New {
		words = append(words, "commits up to "+git.Short(l.Commits.OID))
	}
	if l.Uncommitted.New {
		words = append(words, "uncommitted work, kept as "+git.Short(l.Uncommitted.OID))
	}
	return words
}

// Refusal says why a workspace can't be removed without force; "" if it can.
func (l Left) Refusal() string {
	words := l.Work()
	if l.Failed != "" {
		words = append(words, "its workspace can't be read: "+l.Failed)
	}
	if len(l.Lost) > 0 {
		words = append(words, "what no pull brings: "+strings.Join(l.Lost, ", "))
	}
	return strings.Join(words, "; ")
}

// NowhereElse names what exists nowhere else: what stops a removal, and what is beside the branch.
func (l Left) NowhereElse() string {
	words := l.Refusal()
	if l.Count == 0 {
		return words
	}
	return strings.TrimPrefix(words+"; "+strconv.Itoa(l.Count)+" more beside its branch", "; ")
}

// LeftBy says what each session has left, and what of that exists nowhere else. enter gives a box in which a workspace
// has to be inspected.
func (s HandOff) LeftBy(ctx context.Context, list []store.Session,
	enter func(context.Context, string) (*box.Box, box.Driver, error)) ([]Holding, error) {
	all, repos := make([]Holding, len(list)), map[string][]string{}
	for i, v := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i].Session = v
		l, ok := s.Left(v)
		if !ok {
			order, err := s.ReadOrder(v.ID)
			if errors.Is(err, os.ErrNotExist) || order.View != "" || v.Started.IsZero() {
				continue // it was removed, only looked at another's, or no agent ever worked there
			}
			if b, d, err := enter(ctx, v.Box); err != nil {
				l = Left{Failed: err.Error()}
			} else {
				l = s.inspect(ctx, b, d, v)
			}
		}
		all[i].Left = l
		repos[v.Repo] = append(repos[v.Repo], l.Commits.OID, l.Uncommitted.OID)
	}
	// One repository of many sessions is asked once.
	has := map[string]map[string]bool{}
	for dir, oids := range repos {
		repo, err := s.Open(ctx, dir)
		if as[*git.WaitError](err) {
			s.Warn("what your repository has is not looked at: %v", err)
		}
		if err == nil {
			if has[dir], err = repo.Reachable(ctx, oids); err != nil {
				return nil, fmt.Errorf("look what %s has: %w", dir, err)
			}
		}
	}
	for i := range all {
		h := &all[i]
		for _, c := range []*Commit{&h.Commits, &h.Uncommitted} {
			c.New = c.OID != "" && c.OID != h.Base && !has[h.Repo][c.OID]
		}
	}
	return all, ctx.Err()
}

// since compares what was pulled of a session with what it has left now: what that is, the session as it has to be
// pulled, and whether there is anything new. The box is entered only if something was started in the session since.
func (s HandOff) since(ctx context.Context, rec store.Session, o PullOptions) (l Left, now store.Session, more bool,
	err error) {
	now = rec
	if _, err := s.Boxes.Record(rec.Box); err != nil {
		return l, now, false, nil //nolint:nilerr // it went with its box
	}
	if l, ok := s.Left(rec); ok && l.Failed != "" {
		if err := s.Forget(rec.ID); err != nil {
			return l, now, false, err
		}
	}
	repo, lost := s.Repository(ctx, rec, Where{o.Dir, o.Into})
	if lost != nil {
		// The user may have dropped what was pulled, but not the commit that the session began with.
		began := rec
		began.Base = rec.Origin
		repo, _ = s.Repository(ctx, began, Where{o.Dir, o.Into})
	}
	if repo != nil {
		now.Repo = repo.Top
	}
	var shut error
	look := func(ctx context.Context, name string) (b *box.Box, d box.Driver, _ error) {
		b, d, shut = s.Boxes.Ready(ctx, name)
		return b, d, shut
	}
	all, err := s.LeftBy(ctx, []store.Session{now}, look)
	if err = errors.Join(err, shut); err != nil {
		return l, now, false, err
	}
	l = all[0].Left
	if l.Failed != "" && !o.NoWip {
		return l, now, false, fmt.Errorf("session %s was pulled, but something was started in it since, and its workspace "+
			"can't be read: %s", rec.ID, l.Failed)
	}
	head, wip := l.Commits, l.Uncommitted
	more = l.Failed != "" || head.OID != "" && head.OID != rec.Base || !o.NoWip && wip.OID != "" && wip.OID != rec.Wip
	if repo == nil {
		if more {
			err = lost
		}
		return l, now, more, err
	}
	if more = more || head.New || wip.New && !o.NoWip; !more {
		return l, now, false, nil
	}
	has, err := repo.Reachable(ctx, []string{rec.Base})
	if err == nil && !has[rec.Base] {
		now.Base = rec.Origin
	}
	return l, now, true, err
}
