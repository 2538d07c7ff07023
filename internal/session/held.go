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

// held is what a workspace held when the last process in it had ended. Only cco starts processes there, and removes the
// record first, so an existing record is true. It is in the session's own directory, which no box sees.
type held struct {
	Run    int64       `json:"run"` // the start of its run, in milliseconds
	Head   string      `json:"head,omitempty"`
	Wip    string      `json:"wip,omitempty"`
	Bundle *inside.Sum `json:"bundle,omitempty"` // of both
	Others []string    `json:"others,omitempty"` // the first names of what is beside the branch
	Beside int         `json:"beside,omitempty"` // and how much
	Lost   []string    `json:"lost,omitempty"`   // what no pull brings
	Failed string      `json:"failed,omitempty"` // why nobody could look
}

func (s *Service) heldFile(id string) string { return filepath.Join(s.dir(id), "held.json") }

// looking is a file that exists while a workspace is inspected. Starting something in the workspace removes it too, so
// that an outdated look is not recorded.
func (s *Service) looking(id string) string { return filepath.Join(s.dir(id), "held.new") }

// Forget comes before everything that is started in a session's workspace.
func (s *Service) Forget(id string) error {
	return errors.Join(ignoreMissing(os.Remove(s.looking(id))), ignoreMissing(os.Remove(s.heldFile(id))))
}

// held reads what a session's workspace holds. It is not ok if something was started there since the last look.
func (s *Service) held(v store.Session) (h held, ok bool) {
	if v.Live() {
		return h, false
	}
	data, err := os.ReadFile(s.heldFile(v.ID))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return held{}, false
	}
	// After a power cut a removed file may be back; the store is more reliable.
	return h, h.Run == v.Started.UnixMilli()
}

// startLook comes before a look, and recordHeld after it.
func (s *Service) startLook(id string) error {
	if err := s.Forget(id); err != nil {
		return err
	}
	return os.WriteFile(s.looking(id), nil, 0o600)
}

// recordHeld keeps what was seen in a workspace, unless something was started there meanwhile. Without a record the
// next command looks again.
func (s *Service) recordHeld(v store.Session, h held) error {
	h.Run = v.Started.UnixMilli()
	data, err := json.Marshal(h)
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
	return ignoreMissing(os.Rename(s.looking(v.ID), s.heldFile(v.ID)))
}

// seen makes a record from a publisher's result. The box wrote its text, so it is bounded and cleaned.
func (s *Service) seen(v store.Session, published error) held {
	if published != nil {
		return held{Failed: FirstLine(published.Error())}
	}
	r, err := s.readResult(v)
	if err != nil {
		return held{Failed: FirstLine(err.Error())}
	}
	h := held{Head: r.Head, Wip: r.Wip, Bundle: r.Bundle, Beside: max(0, r.Beside)}
	for _, oid := range []string{r.Head, r.Wip} {
		if oid != "" && (len(oid) != len(v.Base) || strings.Trim(oid, "0123456789abcdef") != "") {
			return held{Failed: inside.ResultFile + " names no commit"}
		}
	}
	h.Others, h.Lost = cleanList(r.Others), cleanList(r.Lost)
	return h
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
func (s HandOff) inspect(ctx context.Context, b *box.Box, d box.Driver, v store.Session) held {
	lock, err := s.lockSoon(ctx, v.ID)
	if err != nil {
		return held{Failed: err.Error()}
	}
	defer func() { _ = lock.Close() }()
	_ = s.Publish(ctx, b, d, v) // it records the result
	if h, ok := s.held(v); ok {
		return h
	}
	return held{Failed: "something was started in it meanwhile"}
}

// stake is what would be lost with a session's workspace.
type stake struct {
	held
	commits, leftovers bool // they exist nowhere else, and can be pulled
}

// work names what can be pulled.
func (k stake) work() (words []string) {
	if k.commits {
		words = append(words, "commits up to "+k.Head[:min(10, len(k.Head))])
	}
	if k.leftovers {
		words = append(words, "uncommitted work, kept as "+k.Wip[:min(10, len(k.Wip))])
	}
	return words
}

// refusal says why a workspace can't be removed without force; "" if it can.
func (k stake) refusal() string {
	words := k.work()
	if k.Failed != "" {
		words = append(words, "its workspace can't be read: "+k.Failed)
	}
	if len(k.Lost) > 0 {
		words = append(words, "what no pull brings: "+strings.Join(k.Lost, ", "))
	}
	return strings.Join(words, "; ")
}

// nowhereElse names what exists nowhere else: what stops a removal, and what is beside the branch.
func (k stake) nowhereElse() string {
	words := k.refusal()
	if k.Beside == 0 {
		return words
	}
	return strings.TrimPrefix(words+"; "+strconv.Itoa(k.Beside)+" more beside its branch", "; ")
}

// stakes says what each session would lose with its workspace. enter gives the box of one that has to be inspected.
func (s HandOff) stakes(ctx context.Context, list []store.Session, enter func(name string) (*box.Box, box.Driver,
	error)) ([]stake, error) {
	all, repos := make([]stake, len(list)), map[string][]string{}
	for i, v := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, ok := s.held(v)
		if !ok {
			order, err := s.ReadOrder(v.ID)
			if errors.Is(err, os.ErrNotExist) || order.View != "" || v.Started.IsZero() {
				continue // it was removed, only looked at another's, or no agent ever worked there
			}
			if b, d, err := enter(v.Box); err != nil {
				h = held{Failed: err.Error()}
			} else {
				h = s.inspect(ctx, b, d, v)
			}
		}
		all[i].held = h
		repos[v.Repo] = append(repos[v.Repo], h.Head, h.Wip)
	}
	// One repository of many sessions is asked once.
	has := map[string]map[string]bool{}
	for dir, oids := range repos {
		repo, err := s.Open(ctx, dir)
		if waits, ok := errors.AsType[*git.WaitError](err); ok {
			s.Warn("what your repository has is not looked at: %v", waits)
		}
		if err == nil {
			if has[dir], err = repo.Reachable(ctx, oids); err != nil {
				return nil, fmt.Errorf("look what %s has: %w", dir, err)
			}
		}
	}
	for i, v := range list {
		lacks := func(oid string) bool { return oid != "" && oid != v.Base && !has[v.Repo][oid] }
		all[i].commits, all[i].leftovers = lacks(all[i].Head), lacks(all[i].Wip)
	}
	return all, ctx.Err()
}

// news is what a pulled session has made since.
type news struct {
	stake
	session store.Session // as it has to be pulled
	any     bool          // there is something new
}

// newsOf compares what was pulled of a session with what it holds now. The box is entered only if something was started
// in the session since.
func (s HandOff) newsOf(ctx context.Context, rec store.Session, o PullOptions) (n news, err error) {
	if _, err := s.Boxes.Record(rec.Box); err != nil {
		return n, nil // it went with its box
	}
	if h, ok := s.held(rec); ok && h.Failed != "" {
		if err := s.Forget(rec.ID); err != nil {
			return n, err
		}
	}
	repo, lost := s.repository(ctx, rec, o.where())
	if lost != nil {
		// The user may have dropped what was pulled, but not the commit that the session began with.
		began := rec
		began.Base = rec.Origin
		repo, _ = s.repository(ctx, began, o.where())
	}
	if n.session = rec; repo != nil {
		n.session.Repo = repo.Top
	}
	var shut error
	all, err := s.stakes(ctx, []store.Session{n.session}, func(name string) (b *box.Box, d box.Driver, _ error) {
		b, d, shut = s.Boxes.Ready(ctx, name)
		return b, d, shut
	})
	if err = errors.Join(err, shut); err != nil {
		return n, err
	}
	n.stake = all[0]
	if n.Failed != "" && !o.NoWip {
		return n, fmt.Errorf("session %s was pulled, but something was started in it since, and its workspace can't be "+
			"read: %s", rec.ID, n.Failed)
	}
	n.any = n.Failed != "" || n.Head != "" && n.Head != rec.Base || !o.NoWip && n.Wip != "" && n.Wip != rec.Wip
	if repo == nil {
		if n.any {
			err = lost
		}
		return n, err
	}
	if n.any = n.any || n.commits || n.leftovers && !o.NoWip; n.any {
		has, err := repo.Reachable(ctx, []string{rec.Base})
		if err == nil && !has[rec.Base] {
			n.session.Base = rec.Origin
		}
		return n, err
	}
	return n, nil
}
