package editor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// talk is a conversation with an editor: a session, whose id it has before its first prompt makes it.
type talk struct {
	*server
	app     *app.App
	s       *session.Service
	close   func()
	id      string
	top     string // of the repository
	agent   agent.Adapter
	servers []string // that the editor wants the agent to have

	busy     sync.Mutex // held by the turn, as what follows
	opened   bool       // what the user should know first was said
	answered time.Time  // when the question was asked whose answer the agent has

	mu   sync.Mutex
	stop context.CancelFunc // of the turn under way
}

// open finds the session of a conversation, or draws an id for a new one.
func (t *talk) open(ctx context.Context, key, agentName string) (err error) {
	quiet(t.s)
	if t.id == "" {
		t.id = t.s.NewID()
		repo, err := t.app.OpenRepo(ctx, t.top)
		if err == nil {
			_, err = repo.Head(ctx)
		}
		if err == nil {
			t.agent, err = t.s.Agents.Find(agentName)
		}
		return err
	}
	rec, err := t.s.Get(ctx, t.id)
	if err == nil && rec.RepoKey != key {
		err = &paramsError{"session " + rec.ID + " is of another repository"}
	}
	if err == nil {
		t.agent, err = t.s.Agents.Find(rec.Agent)
	}
	return err
}

// tell sends updates, in their order.
func (t *talk) tell(ctx context.Context, list ...update) error {
	for _, u := range list {
		if err := t.peer.tell(ctx, sendUpdate, map[string]any{"sessionId": t.id, "update": u}); err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) say(ctx context.Context, format string, args ...any) error {
	return t.tell(ctx, chunk(words, "\n\n"+fmt.Sprintf(format, args...)+"\n"))
}

// cancel ends the turn under way. Its work is kept.
func (t *talk) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
	}
}

// Why a turn has ended, in the protocol's words.
const (
	ended     = "end_turn"
	cancelled = "cancelled"
	exhausted = "max_tokens"
)

// prompt has the agent do a turn. The context is the request's, which ends when the editor goes: then the agent goes on.
func (t *talk) prompt(ctx context.Context, gone <-chan struct{}, text string) (stop string, err error) {
	if !t.busy.TryLock() {
		return "", errBusy
	}
	defer t.busy.Unlock()
	turn, end := context.WithCancel(ctx)
	defer end()
	t.mu.Lock()
	t.stop = end
	t.mu.Unlock()
	if err := t.greet(turn); err != nil {
		return "", err
	}
	rec, err := t.turn(turn, text)
	stop = ended
	if err == nil && rec.ID != "" {
		stop, err = t.settle(turn, rec)
	}
	if turn.Err() == nil {
		return stop, err
	}
	select {
	case <-gone:
		return "", context.Canceled
	default:
	}
	// It was cancelled, so that the session is stopped with what it has.
	late, over := context.WithTimeout(context.WithoutCancel(ctx), 2*stopTime)
	defer over()
	if err := t.halt(late); err != nil {
		return "", err
	}
	return cancelled, nil
}

// stopTime is how long an agent that was cancelled has to end by itself.
const stopTime = 15 * time.Second

// halt ends the session's agent: gently at first, and then in any case. Its work is kept.
func (t *talk) halt(ctx context.Context) error {
	rec, err := t.s.Get(ctx, t.id)
	if errors.As(err, new(*store.NotFoundError)) || err == nil && !rec.Live() {
		return nil // nothing was begun, or it is over
	}
	link, err := t.s.Dial(ctx, t.id)
	if err != nil {
		return nil //nolint:nilerr // it has just ended
	}
	kill := time.AfterFunc(stopTime, func() { _ = link.Kill() })
	defer kill.Stop()
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	if err := link.Stop(); err == nil {
		_ = link.Follow(func(session.Event) error { return nil })
	}
	_ = link.Close()
	_, err = t.s.Looking().Wait(ctx, []string{t.id}, session.WaitOptions{})
	return err
}

// greet says first what the user must know: what of the repository the agent does not see.
func (t *talk) greet(ctx context.Context) error {
	if t.opened {
		return nil
	}
	repo, err := t.app.OpenRepo(ctx, t.top)
	if err != nil {
		return err
	}
	const most = 20
	dirty, err := repo.Dirty(ctx, most+1)
	if err != nil {
		return err
	}
	var notes []string
	if len(dirty) > 0 {
		more := ""
		if len(dirty) > most {
			dirty, more = dirty[:most], ", and more"
		}
		notes = append(notes, "The agent works on what is committed and can't see your uncommitted changes, nor what "+
			"you have not saved: "+git.Quote(strings.Join(dirty, ", "))+more+".")
	}
	if len(t.servers) > 0 {
		notes = append(notes, "MCP servers of your editor are not started, because they would run outside the box: "+
			safetext.Cut(strings.Join(t.servers, ", "), maxTitle)+".")
	}
	if len(notes) > 0 {
		if err := t.tell(ctx, chunk(words, strings.Join(notes, "\n\n")+"\n\n")); err != nil {
			return err
		}
	}
	t.opened = true
	return t.tell(ctx, update{Kind: "available_commands_update", Commands: []slash{
		{"take", "bring the session's work into your branch, if nothing in it needs your consent"},
		{"diff", "show what the session has changed"}}})
}

// turn is one turn until the agent has ended: a new session, the next run of one, or the answer to its question. Without
// a session nothing is to be settled.
func (t *talk) turn(ctx context.Context, text string) (rec store.Session, err error) {
	switch text {
	case "":
		return rec, &paramsError{"the prompt has no words"}
	case "/take":
		return rec, t.take(ctx)
	case "/diff":
		return rec, t.diff(ctx)
	}
	since := t.s.Now()
	if rec, err = t.start(ctx, text); err != nil {
		return rec, err
	}
	for {
		if rec, err = t.follow(ctx, rec, since); err != nil || rec.State != store.Waiting {
			return rec, err
		}
		answer, err := t.ask(ctx, rec)
		if err != nil || answer == "" {
			return rec, err
		}
		since = t.s.Now()
		if rec, err = t.answerIt(ctx, rec, answer); err != nil {
			return rec, err
		}
	}
}

// start begins the run that a prompt asks for.
func (t *talk) start(ctx context.Context, text string) (store.Session, error) {
	cfg, err := t.app.Config()
	if err != nil {
		return store.Session{}, err
	}
	rec, err := t.s.Get(ctx, t.id)
	if err == nil && rec.Live() && rec.State != store.Waiting { // of an editor that went away
		if rec, err = t.follow(ctx, rec, t.s.Now()); err != nil {
			return rec, err
		}
	}
	o := t.app.RunOptions(cfg)
	o.Message = text
	switch missing := (*store.NotFoundError)(nil); {
	case errors.As(err, &missing):
		drawn := *t.s
		drawn.NewID = func() string { return t.id }
		o.Agent, o.Box = t.agent.Name(), cfg.Box.Name
		if t.o.Box != "" {
			o.Box = t.o.Box
		}
		if t.o.Model != "" {
			o.Model = t.o.Model
		}
		return t.app.Push(ctx, &drawn, cfg, o, app.PlainBox)
	case err != nil:
		return rec, err
	case rec.State == store.Waiting:
		return t.answerIt(ctx, rec, text)
	}
	o.Agent, o.Model, o.Resume = "", "", t.id
	return t.app.Push(ctx, t.s, cfg, o, app.PlainBox)
}

// answerIt answers the agent's question.
func (t *talk) answerIt(ctx context.Context, asked store.Session, text string) (store.Session, error) {
	cfg, err := t.app.Config()
	if err != nil {
		return asked, err
	}
	rec, _, err := t.s.HandOff().Answer(ctx, t.id, func(question string) (string, error) {
		if question != asked.Question {
			return "", &session.StateError{ID: t.id, State: asked.State, Why: "it asks something else by now"}
		}
		return text, nil
	}, t.app.RunOptions(cfg))
	t.answered = asked.Asked
	return rec, err
}

// lookAgain is how often is looked whether an agent that stays has taken its answer.
const lookAgain = 100 * time.Millisecond

// settled waits until a session has ended, or asks something that was not answered yet.
func (t *talk) settled(ctx context.Context, id string) (store.Session, error) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if _, err := t.s.Looking().Wait(ctx, []string{id}, session.WaitOptions{}); err != nil {
			return store.Session{}, err
		}
		now, err := t.s.Get(ctx, id)
		if err != nil || !now.Live() || now.State != store.Waiting || !now.Asked.Equal(t.answered) {
			return now, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// follow tells the editor what the agent does until it has ended, or waits for an answer.
func (t *talk) follow(ctx context.Context, rec store.Session, since time.Time) (store.Session, error) {
	tells := t.teller(ctx, rec)
	following, leave := context.WithCancel(ctx)
	defer leave()
	told := make(chan error, 1)
	go func() {
		told <- t.s.Events(following, rec.ID, true, func(e session.Event) error {
			if e.At.Before(since) {
				return nil
			}
			return t.tell(ctx, tells.of(e)...)
		})
	}()
	now, err := t.settled(ctx, rec.ID)
	if err != nil {
		return rec, err
	}
	if now.Live() { // its agent waits in its box, so that its keeper says nothing more
		leave()
	}
	select {
	case err = <-told:
	case <-time.After(session.FollowTime):
		leave()
		err = <-told
	}
	if err != nil && following.Err() == nil {
		return now, err
	}
	return now, t.tell(ctx, tells.broken()...)
}

func (t *talk) teller(ctx context.Context, rec store.Session) *teller {
	limit := int64(0)
	if o, err := t.s.ReadOrder(rec.ID); err == nil {
		limit = o.Limits.RunTokens
	}
	return &teller{top: t.top, inside: []string{"/workspace/" + rec.ID, t.s.WorkspacePath(ctx, rec)},
		protocol: t.agent.Protocol, limit: limit, calls: map[string]bool{}}
}
