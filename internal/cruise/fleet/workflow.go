package fleet

import (
	"errors"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Names that the service knows. A change of the workflow that would read an old history otherwise needs a new one.
const (
	workflowName = "cco phase 1"
	lifeName     = "life"
	deliverName  = "deliver"
	saveName     = "save"
	eventName    = "event"

	memoSummary = "summary"
	memoWaits   = "waits"
)

// Start is what a phase begins with, and goes on with when its history is begun anew.
type Start struct {
	Phase     string        `json:"phase"`
	Queue     string        `json:"queue"` // of all that may have what it needs
	Heartbeat time.Duration `json:"heartbeat"`
	State     Sealed        `json:"state"` // the last that was saved
	Life      int           `json:"life"`
	Number    int           `json:"number"` // of the last save
	Home      string        `json:"home,omitempty"`
	Barren    int           `json:"barren,omitempty"` // lives in a row that have died and saved nothing
	Doing     *Sealed       `json:"doing,omitempty"`  // what the last life was doing when it was last heard of
	Events    []Sealed      `json:"events,omitempty"` // that no saved state has seen
	Ended     bool          `json:"ended,omitempty"`
}

// Begin is what a life begins with.
type Begin struct {
	Start
	Ask bool `json:"ask,omitempty"` // too many lives have saved nothing
}

// Save is a state to go on from.
type Save struct {
	Head    Sealed  `json:"head"`
	State   Sealed  `json:"state"`
	Summary *Sealed `json:"summary,omitempty"` // where people see a change
}

// head is what the workflow has to know of a state.
type head struct {
	Home  string   `json:"home"`           // where its life is
	Seen  []string `json:"seen,omitempty"` // events
	Ended bool     `json:"ended,omitempty"`
	Last  bool     `json:"last,omitempty"` // whatever was sent meanwhile
}

// Answer says what came of a save.
type Answer struct {
	Unread bool `json:"unread,omitempty"` // it does not count: something was sent meanwhile
	Full   bool `json:"full,omitempty"`   // the life is to return between two steps
}

// Parcel is an event on its way to a life.
type Parcel struct {
	Phase string `json:"phase"`
	Life  int    `json:"life"`
	Event Sealed `json:"event"`
}

// over is how a life ended, by its own account.
type over struct {
	How   string  `json:"how"`
	Why   string  `json:"why,omitempty"`
	Doing *Sealed `json:"doing,omitempty"` // effects that were broken off
}

// The ways in which lives end.
const (
	overReturned = "returned"  // the phase has ended, or was asked to return
	overGiven    = "given up"  // its worker ends
	overMoved    = "moved"     // its worker wants no more of it
	overDeclined = "declined"  // the worker lacks something
	overLost     = "elsewhere" // it is no longer the phase's life
)

const (
	maxBarren = 3               // lives, before a person is asked
	homeFirst = 2 * time.Second // is the home's alone
	longLife  = 10 * 365 * 24 * time.Hour
	maxSaves  = 1000 // in one history; the service takes 2,000
	maxEvents = 500  // that wait; a sender beyond that has lost its mind
)

// supervisor is a phase in the service: it has one life after another, and keeps what the last one saved.
type supervisor struct {
	Start
	key      Key
	at       string   // the home of the present life, once that has saved
	given    []string // events that the present life began with or was given
	saves    int
	under    bool // a life is under way, or waits for a machine
	fruitful bool // the present life has saved
}

// supervise is the workflow.
func (k Key) supervise(ctx workflow.Context, in Start) (Sealed, error) {
	s := &supervisor{Start: in, key: k}
	err := workflow.SetUpdateHandlerWithOptions(ctx, saveName, s.save, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, v Save) error { _, err := s.may(v); return err }})
	if err != nil {
		return Sealed{}, err
	}
	events := workflow.GetSignalChannel(ctx, eventName)
	workflow.Go(ctx, func(ctx workflow.Context) {
		// What a blocked Receive has been given is in no channel, and would be lost if the history were begun anew now.
		for workflow.Await(ctx, func() bool { return events.Len() > 0 }) == nil {
			s.takeAll(ctx, events)
		}
	})
	for again := time.Second; ; {
		how := s.live(ctx)
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return s.State, err
		}
		s.takeAll(ctx, events)
		if s.Ended && len(s.Events) == 0 {
			return s.State, nil
		}
		if s.full(ctx) {
			return Sealed{}, workflow.NewContinueAsNewError(ctx, workflowName, s.Start)
		}
		if s.fruitful || how == overGiven || how == overMoved {
			again = time.Second
			continue
		}
		if err := workflow.Sleep(ctx, again); err != nil {
			return s.State, err
		}
		again = min(2*again, 30*time.Second)
	}
}

// refused is an error without words: errors are kept in clear.
func refused(kind string) error { return temporal.NewNonRetryableApplicationError("", kind, nil) }

// Kinds of refusals.
const refusedOld = "old"

// may gives the head of what is saved, and refuses what an older life saves, one that was given up and has no successor
// yet, or one without the key.
func (s *supervisor) may(v Save) (h head, err error) {
	same := v.Head.Life == v.State.Life && v.Head.Number == v.State.Number && v.State.Kind == kindState &&
		v.State.Phase == s.Phase
	now := s.under && v.Head.Life == s.Life && v.Head.Number > s.Number
	if !now || !same || s.key.open(v.Head, kindHead, s.Phase, &h) != nil {
		return h, refused(refusedOld)
	}
	return h, nil
}

// save takes a state.
func (s *supervisor) save(ctx workflow.Context, v Save) (Answer, error) {
	h, err := s.may(v) // another one may have been taken since it was let in
	if err != nil {
		return Answer{}, err
	}
	unread := slices.DeleteFunc(slices.Clone(s.Events), func(e Sealed) bool { return slices.Contains(h.Seen, e.Name) })
	s.saves++
	if h.Ended && !h.Last && len(unread) > 0 {
		return Answer{Unread: true, Full: s.full(ctx)}, nil
	}
	s.State, s.Number, s.Events, s.Ended = v.State, v.Head.Number, unread, h.Ended
	if h.Ended && h.Last {
		s.Events = nil
	}
	s.Barren, s.fruitful = 0, true
	memo := map[string]any{}
	if s.at == "" {
		s.at, s.Home, s.Doing = h.Home, h.Home, nil
		memo[memoWaits] = nil
		s.deliverAll(ctx)
	}
	if v.Summary != nil {
		memo[memoSummary] = v.Summary
	}
	if len(memo) > 0 {
		if err := workflow.UpsertMemo(ctx, memo); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Full: s.full(ctx)}, nil
}

// full says whether the history is to be begun anew.
func (s *supervisor) full(ctx workflow.Context) bool {
	return s.saves >= maxSaves || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

func (s *supervisor) takeAll(ctx workflow.Context, events workflow.ReceiveChannel) {
	for ev := (Sealed{}); events.ReceiveAsync(&ev); ev = (Sealed{}) {
		s.take(ctx, ev)
	}
}

// take keeps what was sent until a saved state has seen it. What nobody with the key has sent is nothing.
func (s *supervisor) take(ctx workflow.Context, ev Sealed) {
	var any struct{}
	known := func(e Sealed) bool { return e.Name == ev.Name }
	if len(s.Events) >= maxEvents || slices.ContainsFunc(s.Events, known) ||
		s.key.open(ev, kindEvent, s.Phase, &any) != nil {
		return
	}
	s.Events = append(s.Events, ev)
	s.deliverAll(ctx)
}

// deliverAll has events brought to the present life.
func (s *supervisor) deliverAll(ctx workflow.Context) {
	for _, ev := range s.Events {
		if s.at != "" && !slices.Contains(s.given, ev.Name) {
			s.given = append(s.given, ev.Name)
			life := s.Life
			workflow.Go(ctx, func(ctx workflow.Context) { s.deliver(ctx, life, ev) })
		}
	}
}

// deliver brings an event to a life, again and again until it has it.
func (s *supervisor) deliver(ctx workflow.Context, life int, ev Sealed) {
	const brief = 10 * time.Second
	const seldom = 5 * time.Minute // a machine whose disk is full for days must not fill the history
	for again := time.Second; s.at != "" && s.Life == life; again = min(2*again, seldom) {
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: s.at, ScheduleToStartTimeout: brief,
			StartToCloseTimeout: brief, RetryPolicy: once()})
		err := workflow.ExecuteActivity(ctx, deliverName, Parcel{Phase: s.Phase, Life: life, Event: ev}).Get(ctx, nil)
		if err == nil || workflow.Sleep(ctx, again) != nil {
			return
		}
	}
}

// once has the service repeat nothing: who does it again is decided here.
func once() *temporal.RetryPolicy { return &temporal.RetryPolicy{MaximumAttempts: 1} }

// live offers a life to the home of the last one, then to all, and gives how it ended.
func (s *supervisor) live(ctx workflow.Context) string {
	if s.Home != "" {
		if how, begun := s.offer(ctx, s.Home, homeFirst); begun {
			return how
		}
		s.Home = ""
	}
	how, _ := s.offer(ctx, s.Queue, 0)
	return how
}

// offer offers a life to a queue, for a while or until somebody takes it.
func (s *supervisor) offer(ctx workflow.Context, queue string, within time.Duration) (how string, begun bool) {
	s.Life++
	s.at, s.under, s.fruitful, s.given = "", true, false, nil
	for _, ev := range s.Events {
		s.given = append(s.given, ev.Name)
	}
	if queue == s.Queue {
		if workflow.UpsertMemo(ctx, map[string]any{memoWaits: Sealed{Kind: kindOver, Phase: s.Phase}}) != nil {
			return "", true
		}
	}
	opts := workflow.ActivityOptions{TaskQueue: queue, ScheduleToStartTimeout: within, StartToCloseTimeout: longLife,
		HeartbeatTimeout: s.Heartbeat, RetryPolicy: once()}
	if within == 0 {
		opts.ScheduleToStartTimeout = longLife
	}
	var result Sealed
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), lifeName,
		Begin{Start: s.Start, Ask: s.Barren >= maxBarren}).Get(ctx, &result)
	s.at, s.under = "", false
	if late, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		if late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			return "", false
		}
		var doing Sealed
		if !late.HasLastHeartbeatDetails() { // it was given to a machine that is stopped, or that had just died
			s.Home = ""
			return "", true
		}
		if late.LastHeartbeatDetails(&doing) == nil {
			s.Doing = &doing
		}
	}
	return s.judge(ctx, result, err), true
}

// judge says how a life has ended.
func (s *supervisor) judge(ctx workflow.Context, result Sealed, err error) string {
	var o over
	if err == nil && result.Life == s.Life {
		err = s.key.open(result, kindOver, s.Phase, &o)
	}
	if o.Doing != nil {
		s.Doing = o.Doing
	}
	switch {
	case err != nil || o.How == "" || o.How == overLost:
		if !s.fruitful {
			s.Barren++
			s.Home = ""
		}
		return ""
	case o.How == overDeclined:
		s.Home = ""
		_ = workflow.UpsertMemo(ctx, map[string]any{memoWaits: result}) // it is only shown
	case o.How == overMoved:
		s.Home = ""
	}
	return o.How
}
