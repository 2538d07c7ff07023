// Package attention lists sessions and phases by what they need of a person.
package attention

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/store"
)

// Desk is where a person sees what needs them.
type Desk struct{ *session.Service }

// Of lists what is of a service.
func Of(s *session.Service) Desk { return Desk{s} }

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

// Needs lists what waits for a person, but for what is for later.
func (d Desk) Needs(ctx context.Context) ([]Need, error) {
	list, err := d.List(ctx, "")
	if err != nil {
		return nil, err
	}
	return d.NeedsOf(ctx, list)
}

// NeedsOf is Needs for one who has listed all sessions already.
func (d Desk) NeedsOf(ctx context.Context, list []store.Session) ([]Need, error) {
	needs := []Need{}
	for _, v := range list {
		if n, ok := d.need(v); ok {
			needs = append(needs, n)
		}
	}
	stopped, err := d.stoppedPhases(ctx)
	if err != nil {
		return nil, err
	}
	hidden := d.readLater()
	needs = slices.DeleteFunc(append(needs, stopped...), func(n Need) bool { return hidden[n.ID] == n.mark() })
	Arrange(needs, func(n Need) Need { return n })
	return needs, nil
}

// Runner is the command that has somebody run the phases of this machine.
const Runner = "cco cruise serve"

// Unwatched counts the living phases of this machine if no engine runs them.
func (d Desk) Unwatched(ctx context.Context) (int, error) {
	list, err := d.Store.Phases(ctx, 1<<20)
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
	c, err := socket.Dial(ctx, filepath.Join(d.Data, store.EngineSocket))
	if err != nil {
		return n, nil //nolint:nilerr // nobody is there
	}
	return 0, c.Close()
}

// stoppedPhases lists the phases that ask, that have trouble which does not pass by itself, or that no machine takes.
// They are read as far as that goes: their states are of another program.
func (d Desk) stoppedPhases(ctx context.Context) ([]Need, error) {
	list, err := d.Store.Phases(ctx, 1<<20)
	if err != nil {
		return nil, err
	}
	var waiting map[string]string
	if d.Waiting != nil {
		waiting = d.Waiting()
	}
	var needs []Need
	for _, p := range list {
		if p.Ended {
			break // the living come first
		}
		full, err := d.Store.Phase(ctx, p.ID)
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

func (d Desk) need(v store.Session) (Need, bool) {
	if v.State == store.Created || v.State == store.Running || v.State == store.Killed {
		return Need{}, false // the most there are, and nothing of them is read
	}
	if !d.Looking().HandedOver(v) {
		return Need{}, false // nothing can be done about it, or its phase asks
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
		n.Kind, n.Next = NeedLimit, session.GoOnWith(v)
	case d.brought(v):
		return n, false
	case v.State == store.Failed && d.Looking().LeftWork(v):
		n.Kind, n.Next = NeedLook, "cco box pull "+v.ID+" --partial"
	case v.State == store.Done && d.Looking().LeftWork(v):
		n.Kind, n.Next = NeedPull, "cco box pull "+v.ID
	default:
		return n, false
	}
	return n, true
}

// brought says that everything of a session is at its ref, though on no branch: `pull --all` leaves it there.
func (d Desk) brought(v store.Session) bool {
	l, ok := d.Left(v)
	return ok && v.Tip != "" && l.None(v.Tip, v.Wip)
}
