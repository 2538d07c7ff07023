package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/store"
)

// Need is a session, or a phase, that gets no further without a person.
type Need struct {
	ID     string      `json:"id"`
	Kind   NeedKind    `json:"kind"`
	State  store.State `json:"state"`
	Since  time.Time   `json:"since"`
	Agent  string      `json:"agent"`
	Box    string      `json:"box"`
	Repo   string      `json:"repo"`
	Key    string      `json:"-"` // of the repository
	Branch string      `json:"branch"`
	Title  string      `json:"title,omitempty"`
	Words  string      `json:"words,omitempty"` // the question, or why it stands still
	Next   string      `json:"next"`            // the command that gets it further
}

// NeedKind says what is wanted of a person.
type NeedKind string

// The kinds of needs.
const (
	NeedEngine NeedKind = "engine" // nobody runs the phases; on the page
	NeedIdle   NeedKind = "idle"   // an agent has finished, and sits at its prompt
	NeedAnswer NeedKind = "answer" // an agent has a question
	NeedAccept NeedKind = "accept" // a stranger's comment waits to be taken as work; on the page
	NeedLimit  NeedKind = "limit"  // a limit is reached
	NeedMend   NeedKind = "mend"   // a phase has trouble that does not pass by itself
	NeedDecide NeedKind = "decide" // the gate holds the work up until a person has decided; on the page
	NeedLook   NeedKind = "look"   // it failed, and its work is only in its box
	NeedPull   NeedKind = "pull"   // it is done, and its work is only in its box

	AtWork NeedKind = "work"  // nothing is wanted: it goes on by itself
	Over   NeedKind = "ended" // nor of this
)

// Groups are the kinds of needs as they are listed, the most urgent first, and a word for each.
func Groups() []Group {
	return []Group{{NeedEngine, "unwatched"}, {NeedIdle, "idle"}, {NeedAnswer, "asks"}, {NeedAccept, "commented"},
		{NeedLimit, "paused"}, {NeedMend, "stuck"}, {NeedDecide, "held"}, {NeedLook, "failed"}, {NeedPull, "done"},
		{AtWork, "at work"}, {Over, "ended"}}
}

// Group is a kind of needs in a list.
type Group struct {
	Kind NeedKind
	Word string
}

// Quiet says that nothing is wanted of a person.
func (k NeedKind) Quiet() bool { return k == AtWork || k == Over }

// Arrange puts what is listed in order: the most urgent kind first. What waits longest comes first within a kind, and
// what is newest of those that want nothing. It is the order of every list.
func Arrange[T any](list []T, need func(T) Need) {
	all := Groups()
	group := func(n Need) int { return slices.IndexFunc(all, func(g Group) bool { return g.Kind == n.Kind }) }
	slices.SortStableFunc(list, func(x, y T) int {
		a, b := need(x), need(y)
		if a.Kind.Quiet() {
			return cmp.Or(group(a)-group(b), b.Since.Compare(a.Since))
		}
		return cmp.Or(group(a)-group(b), a.Since.Compare(b.Since))
	})
}

// Attention lists what waits for a person, but for what is for later.
func (s Looking) Attention(ctx context.Context) ([]Need, error) {
	list, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	return s.AttentionOf(ctx, list)
}

// AttentionOf is Attention for one who has listed all sessions already.
func (s Looking) AttentionOf(ctx context.Context, list []store.Session) ([]Need, error) {
	needs := []Need{}
	for _, v := range list {
		if n, ok := s.need(v); ok {
			needs = append(needs, n)
		}
	}
	stopped, err := s.stoppedPhases(ctx)
	if err != nil {
		return nil, err
	}
	hidden := s.readLater()
	needs = slices.DeleteFunc(append(needs, stopped...), func(n Need) bool { return hidden[n.ID] == n.mark() })
	Arrange(needs, func(n Need) Need { return n })
	return needs, nil
}

// Runner is the command that has somebody run the phases of this machine.
const Runner = "cco cruise serve"

// Unwatched counts the living phases of this machine if no engine runs them.
func (s Looking) Unwatched(ctx context.Context) (int, error) {
	list, err := s.Store.Phases(ctx, 1<<20)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range list {
		if !p.Ended && !p.Far() {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	c, err := socket.Dial(ctx, filepath.Join(s.Data, store.EngineSocket))
	if err != nil {
		return n, nil //nolint:nilerr // nobody is there
	}
	return 0, c.Close()
}

// stoppedPhases lists the phases that ask, that have trouble which does not pass by itself, or that no machine takes.
// They are read as far as that goes: their states are of another program.
func (s Looking) stoppedPhases(ctx context.Context) ([]Need, error) {
	list, err := s.Store.Phases(ctx, 1<<20)
	if err != nil {
		return nil, err
	}
	var waiting map[string]string
	if s.Waiting != nil {
		waiting = s.Waiting()
	}
	var needs []Need
	for _, p := range list {
		if p.Ended {
			break // the living come first
		}
		full, err := s.Store.Phase(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		var st struct {
			Question string    `json:"question"`
			Trouble  string    `json:"trouble"`
			Stuck    string    `json:"stuck"`
			Paused   bool      `json:"paused"`
			Asked    time.Time `json:"last_activity"`
			Spec     struct {
				Box     string `json:"box"`
				Planner struct {
					Agent string `json:"agent"`
				} `json:"planner"`
			} `json:"spec"`
		}
		if json.Unmarshal(full.State, &st) != nil {
			continue
		}
		n := Need{ID: p.ID, State: store.Waiting, Since: st.Asked, Agent: st.Spec.Planner.Agent, Box: st.Spec.Box,
			Repo: p.Repo, Branch: p.Branch, Title: p.Title}
		switch {
		case st.Question != "":
			n.Kind, n.Words = NeedAnswer, st.Question
			n.Next = "cco cruise resume " + p.ID + ", or cco cruise fix " + p.ID + ` --comment "…"`
		case st.Trouble != "" && st.Trouble == st.Stuck && !st.Paused:
			n.Kind, n.Words, n.Next = NeedMend, st.Trouble, "cco cruise resume "+p.ID
		case waiting[p.ID] != "" && !st.Paused:
			n.Kind, n.Words, n.Next = NeedMend, waiting[p.ID], "cco cruise worker"
		default:
			continue
		}
		needs = append(needs, n)
	}
	return needs, nil
}

func (s Looking) need(v store.Session) (Need, bool) {
	if v.State == store.Created || v.State == store.Running || v.State == store.Killed {
		return Need{}, false // the most there are, and nothing of them is read
	}
	order, err := s.ReadOrder(v.ID)
	if errors.Is(err, os.ErrNotExist) {
		return Need{}, false // its workspace was removed: nothing can be done about it
	}
	if order.Key != "" || order.View != "" || order.Plan == "" {
		return Need{}, false // a phase's: the phase asks
	}
	n := Need{ID: v.ID, State: v.State, Since: v.Finished, Agent: v.Agent, Box: v.Box, Repo: v.Repo, Key: v.RepoKey,
		Branch: v.Branch, Title: v.Title, Words: v.Reason}
	switch {
	case v.State == store.Idle:
		n.Kind, n.Since, n.Next = NeedIdle, v.Asked, "cco box pull "+v.ID
	case v.State == store.Waiting, v.State == store.Pulled && v.Question != "":
		n.Kind, n.Words, n.Since = NeedAnswer, v.Question, v.Asked
		n.Next = "cco answer " + v.ID + ` "…"`
	case v.State == store.Paused:
		n.Kind, n.Next = NeedLimit, goOnWith(v)
	case s.brought(v):
		return n, false
	case v.State == store.Failed && s.leftWork(v):
		n.Kind, n.Next = NeedLook, "cco box pull "+v.ID+" --partial"
	case v.State == store.Done && s.leftWork(v):
		n.Kind, n.Next = NeedPull, "cco box pull "+v.ID
	default:
		return n, false
	}
	return n, true
}

// leftWork says whether a session that has ended did something that is not on the host. Work that was never published
// counts, because nobody has looked.
func (s Looking) leftWork(v store.Session) bool {
	if v.Started.IsZero() {
		return false
	}
	l, ok := s.left(v)
	return !ok || !l.none(v.Base, "")
}

// brought says that everything of a session is at its ref, though on no branch: `pull --all` leaves it there.
func (s Looking) brought(v store.Session) bool {
	l, ok := s.left(v)
	return ok && v.Tip != "" && l.none(v.Tip, v.Wip)
}

// goOnWith is the command that takes a session beyond the limit that it has reached.
func goOnWith(v store.Session) string {
	next := "cco box push --continue " + v.ID
	switch v.Cause {
	case store.LimitRunCost, store.LimitBudget:
		return next + " --max-cost DOLLARS"
	case store.LimitRunTokens:
		return next + " --max-tokens N"
	}
	return next
}

// PendingError says that a session has stopped and goes on when a person wants it to.
type PendingError struct {
	ID    string
	State store.State
	Words string
	Next  string
}

func (e *PendingError) Error() string {
	words := "session " + e.ID + " is " + string(e.State)
	if e.State == store.Waiting {
		words = "session " + e.ID + " waits for an answer"
	}
	if e.Words != "" {
		words += ": " + e.Words
	}
	return words + "\n" + e.Next
}

// pending says how to make a stopped session go on; nil for any other session.
func (s *Service) pending(rec store.Session, published inside.Result) error {
	kept := ""
	if published.Head != rec.Base || published.Wip != "" {
		kept = "its work so far is kept: bring it with `cco box pull " + rec.ID + " --partial`\n"
	}
	switch rec.State {
	case store.Waiting:
		return &PendingError{ID: rec.ID, State: rec.State, Words: rec.Question, Next: kept + "answer with `cco answer " +
			rec.ID + ` "…"` + "`"}
	case store.Paused:
		next := kept + "go on with `" + goOnWith(rec) + "`"
		if rec.Cause == store.LimitDayCost || rec.Cause == store.LimitDayTokens {
			next = kept + "go on tomorrow, or after raising it in the settings, with `" + goOnWith(rec) + "`"
		}
		return &PendingError{ID: rec.ID, State: rec.State, Words: rec.Reason, Next: next}
	}
	return nil
}
