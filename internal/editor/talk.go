package editor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
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
	top     string    // of the repository
	repo    *git.Repo // as it was opened in the beginning
	agent   agent.Adapter
	servers event.Servers // that the editor wants the agent to have, and may
	refused []string      // the others

	busy     sync.Mutex // held by the turn, as what follows
	opened   bool       // what the user should know first was said
	answered time.Time  // when the question was asked whose answer the agent has

	stop atomic.Pointer[context.CancelFunc] // of the last turn
}

// open finds the session of a conversation, or draws an id for a new one.
func (t *talk) open(ctx context.Context, repo *git.Repo, name string) error {
	if t.id == "" {
		t.id = t.s.NewID()
		name = cmp.Or(t.o.Agent, name)
		if _, err := repo.Head(ctx); err != nil {
			return err
		}
	} else {
		rec, err := t.s.Get(ctx, t.id)
		if err == nil && rec.RepoKey != repo.Key() {
			err = fmt.Errorf("session %s is of another repository", rec.ID)
		}
		if err != nil {
			return err
		}
		name = rec.Agent
	}
	a, err := t.s.Agents.Find(name)
	t.agent = a
	return err
}

// tell sends updates, in their order.
func (t *talk) tell(ctx context.Context, list ...sdk.SessionUpdate) error {
	for _, u := range list {
		err := t.conn.SendNotification(ctx, sdk.ClientMethodSessionUpdate,
			sdk.SessionNotification{SessionId: sdk.SessionId(t.id), Update: u})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) say(ctx context.Context, format string, args ...any) error {
	return t.tell(ctx, words("\n\n"+fmt.Sprintf(format, args...)+"\n"))
}

// cancel ends the turn under way. Its work is kept.
func (t *talk) cancel() {
	if stop := t.stop.Load(); stop != nil {
		(*stop)()
	}
}

// prompt has the agent do a turn. The context is the request's, which ends with the editor: then the agent goes on.
func (t *talk) prompt(ctx context.Context, text string) (stop sdk.StopReason, err error) {
	if !t.busy.TryLock() {
		return "", errors.New("a turn of this session is under way")
	}
	defer t.busy.Unlock()
	turn, end := context.WithCancel(ctx)
	defer end()
	t.stop.Store(&end)
	if err := t.greet(turn); err != nil {
		return "", err
	}
	stop, err = t.turn(turn, text)
	if turn.Err() == nil {
		return stop, err
	}
	select {
	case <-t.conn.Done():
		return "", context.Canceled
	default:
	}
	// It was cancelled, so that the session is stopped with what it has.
	late, over := context.WithTimeout(context.WithoutCancel(ctx), 2*stopTime)
	defer over()
	err = t.s.Stop(late, t.id, stopTime)
	if errors.As(err, new(*store.NotFoundError)) || errors.As(err, new(*session.StateError)) {
		err = nil // nothing was begun, or it is over
	}
	return sdk.StopReasonCancelled, err
}

// stopTime is how long an agent that was cancelled has to end by itself.
const stopTime = 15 * time.Second

// greet says first what the user must know: what of the repository the agent does not see.
func (t *talk) greet(ctx context.Context) error {
	if t.opened {
		return nil
	}
	repo, err := t.app.OpenRepo(ctx, t.top)
	if err != nil {
		return err
	}
	dirty, err := repo.Dirty(ctx, 100)
	if err != nil {
		return err
	}
	var list []sdk.SessionUpdate
	if len(dirty) > 0 {
		list = append(list, words("The agent works on what is committed and can't see your uncommitted changes, nor what "+
			"you have not saved: "+git.Quote(strings.Join(dirty, ", "))+".\n\n"))
	}
	if len(t.refused) > 0 {
		list = append(list, words("MCP servers of your editor that your setting editor.servers does not name are not "+
			"started: "+safetext.Cut(strings.Join(t.refused, ", "), maxTitle)+".\n\n"))
	}
	t.opened = true
	return t.tell(ctx, append(list, sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{
		AvailableCommands: []sdk.AvailableCommand{
			{Name: "take", Description: "bring the session's work into your branch, if nothing in it needs your consent"}}}})...)
}

// turn is one turn until the agent has ended: a new session, the next run of one, or the answer to its question.
func (t *talk) turn(ctx context.Context, text string) (sdk.StopReason, error) {
	switch text {
	case "":
		return "", bad{errors.New("the prompt has no words")}
	case "/take":
		return sdk.StopReasonEndTurn, t.take(ctx)
	}
	since := t.s.Now()
	rec, err := t.start(ctx, text)
	for err == nil {
		rec, err = t.follow(ctx, rec, since)
		if err != nil || rec.State != store.Waiting {
			break
		}
		answer, no := t.ask(ctx, rec)
		if no != nil || answer == "" {
			return sdk.StopReasonEndTurn, no
		}
		since = t.s.Now()
		rec, err = t.answerIt(ctx, rec, answer)
	}
	if err != nil {
		return "", err
	}
	return t.settle(ctx, rec)
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
	o.Message, o.Servers = text, t.servers
	switch {
	case errors.As(err, new(*store.NotFoundError)):
		drawn := *t.s
		drawn.NewID = func() string { return t.id }
		o.Agent, o.Box, o.Model = t.agent.Name(), cmp.Or(t.o.Box, cfg.Box.Name), cmp.Or(t.o.Model, o.Model)
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
	o := t.app.RunOptions(cfg)
	o.Servers = t.servers
	rec, _, err := t.s.HandOff().Answer(ctx, t.id, func(string) (string, error) { return text, nil }, o)
	t.answered = asked.Asked
	return rec, err
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
	ended, err := t.s.Looking().Wait(ctx, []string{rec.ID}, session.WaitOptions{Answered: t.answered})
	if err != nil {
		return rec, err
	}
	if ended[0].Live() { // its agent waits in its box, so that its keeper says nothing more
		leave()
	}
	defer time.AfterFunc(session.FollowTime, leave).Stop()
	if err := <-told; err != nil && following.Err() == nil {
		return rec, err
	}
	return ended[0], t.tell(ctx, tells.broken()...)
}

// maxPrompt bounds what is told again of a prompt.
const maxPrompt = 64 << 10

// replay tells what was said before.
func (t *talk) replay(ctx context.Context) error {
	rec, err := t.s.Get(ctx, t.id)
	if err != nil {
		return err
	}
	if sent, err := t.s.Looking().Sent(rec, maxPrompt); err == nil && sent != "" {
		if err := t.tell(ctx, sdk.UpdateUserMessageText(safetext.Text(sent))); err != nil {
			return err
		}
	}
	tells := t.teller(ctx, rec)
	err = t.s.Events(ctx, t.id, false, func(e session.Event) error {
		if e.Kind == session.KindStep {
			return nil
		}
		return t.tell(ctx, tells.of(e)...)
	})
	return errors.Join(err, t.tell(ctx, tells.broken()...))
}

// ask lets the user answer the agent's question: in a form, or where the editor has none with a yes or a no. Nothing is
// an answer in words, which the next prompt is.
func (t *talk) ask(ctx context.Context, rec store.Session) (answer string, err error) {
	if err := t.say(ctx, "The agent asks: %s", rec.Question); err != nil {
		return "", err
	}
	if t.forms.Load() {
		var got sdk.UnstableCreateElicitationResponse
		got, err = sdk.SendRequest[sdk.UnstableCreateElicitationResponse](t.conn, ctx, sdk.ClientMethodElicitationCreate,
			map[string]any{"sessionId": t.id, "mode": "form", "message": rec.Question, "requestedSchema": map[string]any{
				"type": "object", "required": []string{"answer"},
				"properties": map[string]any{"answer": map[string]string{"type": "string", "title": "Your answer"}}}})
		if err == nil && got.Accept != nil {
			answer, _ = got.Accept.Content["answer"].(string)
		}
	} else {
		answer, err = t.permit(ctx, "The agent asks: "+safetext.Fit(safetext.Line(rec.Question), maxTitle),
			"Yes.", "No.")
	}
	if err == nil && answer == "" {
		err = t.say(ctx, "It waits: your next message is the answer.")
	}
	return answer, err
}

// permit asks for one of several choices by the protocol's request for permission; "" is none of them. What an editor
// may be told to allow always must never be asked in this way. No call of the agent's has the name that this one has.
func (t *talk) permit(ctx context.Context, title string, choices ...string) (string, error) {
	var options []sdk.PermissionOption
	for i, c := range append(choices, "Not now") {
		o := sdk.PermissionOption{OptionId: sdk.PermissionOptionId(c), Name: c, Kind: sdk.PermissionOptionKindRejectOnce}
		if i == 0 {
			o.Kind = sdk.PermissionOptionKindAllowOnce
		}
		options = append(options, o)
	}
	got, err := sdk.SendRequest[sdk.RequestPermissionResponse](t.conn, ctx, sdk.ClientMethodSessionRequestPermission,
		sdk.RequestPermissionRequest{SessionId: sdk.SessionId(t.id), Options: options, ToolCall: sdk.ToolCallUpdate{
			ToolCallId: sdk.ToolCallId(rand.Text()), Title: &title, Kind: sdk.Ptr(sdk.ToolKindOther),
			Status: sdk.Ptr(sdk.ToolCallStatusPending)}})
	if err != nil || got.Outcome.Selected == nil {
		return "", err
	}
	if got := string(got.Outcome.Selected.OptionId); slices.Contains(choices, got) {
		return got, nil
	}
	return "", nil
}
