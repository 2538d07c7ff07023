package keep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// attempt is one start of an agent's program.
type attempt struct {
	*run
	heard  hearing
	cancel context.CancelCauseFunc

	// under the keeper's mutex
	asked  string
	soft   error         // why it was asked to end
	timers []*time.Timer // of what would end it
}

// hearing is a program's output. Both of its streams are read at once.
type hearing struct {
	mu      sync.Mutex
	decoder event.Decoder
	started bool        // it has a conversation
	moved   bool        // it has done something: the next failure counts as the first
	stirred atomic.Bool // since somebody looked
}

// attempt starts the agent's program and says how it ended.
func (r *run) attempt(ctx context.Context) ending {
	cmd := r.agent.Command(r.task)
	if err := r.furnish(ctx, cmd); err != nil {
		return ending{Err: err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{run: r, cancel: cancel}
	a.doorman.begin()
	a.heard.decoder = r.agent.Events(event.Start{Before: r.before, Now: time.Now, Turn: cmd.Turn})
	r.mu.Lock()
	r.now = a
	limit := r.limit
	r.mu.Unlock()
	switch { // before anything ran that could be ended
	case limit.Limit != "":
		return ending{Ran: true, Err: errSpent, Limit: limit}
	case r.clocks.total > 0 && r.clocks.worked >= r.clocks.total:
		return ending{Ran: true, Err: errTimedOut, TimedOut: true}
	}
	r.clocks.silent = 0
	watched := a.watch(ctx)
	var fin event.Finished
	var err error
	if r.order.Interactive {
		ended := a.follow(ctx)
		err = r.onTerminal(ctx, r.exec(cmd))
		ended()
		fin.Session = a.conversation(cmd)
	} else {
		fin, err = a.headless(ctx, r.exec(cmd))
	}
	watched()
	a.dropTimers()
	a.recordAttempt(ctx, fin)
	return a.ending(ctx, fin, err)
}

// headless runs the program and reads what it does.
func (a *attempt) headless(ctx context.Context, e box.Exec) (event.Finished, error) {
	out, stdout := io.Pipe()
	errs, stderr := io.Pipe()
	var streams sync.WaitGroup
	streams.Go(func() { readLines(out, a.line) })
	streams.Go(func() { readLines(errs, a.errLine) })
	e.Stdout, e.Stderr = stdout, stderr
	err := a.start(ctx, e)
	_, _ = stdout.Close(), stderr.Close()
	streams.Wait()
	a.heard.mu.Lock() // a cancel may be under way
	if d, ok := a.heard.decoder.(*event.ACP); ok && d.Over {
		err = nil
	}
	exit := proc.Code(err)
	if exit < 0 {
		exit = 128 + int(syscall.SIGKILL)
	}
	last := a.doorman.explain(a.heard.decoder.End(exit))
	a.heard.mu.Unlock()
	if a.agent.Protocol {
		// The agent is gone, so that what it asked its model for is on record in a moment.
		for end := time.Now().Add(interruptTime); !a.door.Settled() && time.Now().Before(end) && ctx.Err() == nil; {
			time.Sleep(5 * time.Millisecond)
		}
		last = a.doorman.judge(last, time.Now)
	}
	a.transcript.AddEvent(last)
	if last.Finished == nil {
		return event.Finished{Outcome: event.Failed, Error: "it ended without a word"}, err
	}
	return *last.Finished, err
}

// start runs the program. Where others get a signal, one that is spoken with is asked to end its turn.
func (a *attempt) start(ctx context.Context, e box.Exec) error {
	d, ok := a.heard.decoder.(*event.ACP)
	if !ok {
		return a.drv.Run(ctx, a.box, e)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	in, said := io.Pipe()
	defer func() { _ = in.Close() }()
	e.Stdin, e.Signals = in, nil
	go func() {
		for line := range d.Says {
			_, _ = said.Write(line) // an error is the program's end
		}
		_ = said.Close()
		time.AfterFunc(2*time.Second, end) // some stay
	}()
	go func() {
		select {
		case <-a.signals:
			a.heard.mu.Lock()
			defer a.heard.mu.Unlock()
			d.Cancel()
		case <-ctx.Done():
		}
	}()
	return a.drv.Run(ctx, a.box, e)
}

func readLines(r io.Reader, each func(line []byte)) {
	lines := event.NewReader(r)
	for {
		line, _, err := lines.Next()
		if err != nil {
			_, _ = io.Copy(io.Discard, r) // a program that can't write would wait for ever
			return
		}
		each(line)
	}
}

func (a *attempt) line(line []byte) {
	a.heard.stirred.Store(true)
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	events := a.heard.decoder.Line(line)
	if t, ok := a.heard.decoder.(*event.ACP); !says(events, line) && (!ok || t.Kept) {
		a.transcript.AddLine(session.KindOut, line, true)
	}
	for _, e := range events {
		e = a.doorman.explain(e)
		a.transcript.AddEvent(e)
		a.event(e)
	}
}

// errLine reads what some agents report only on standard error: a denied call, a retry.
func (a *attempt) errLine(line []byte) {
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	// Other output of an agent that has events is for its makers.
	a.transcript.AddLine(session.KindErr, line, a.agent.Provider() != "")
	for _, e := range a.heard.decoder.ErrLine(line) {
		a.heard.stirred.Store(true)
		e = a.doorman.explain(e)
		a.transcript.AddEvent(e)
		a.event(e)
	}
}

// says tells whether an event holds everything in its line, so that the line itself need not be kept.
func says(events []event.Event, line []byte) bool {
	return len(events) == 1 && events[0].Kind == event.KindText && events[0].Text == string(line) || len(line) == 0
}

func (a *attempt) event(e event.Event) {
	switch e.Kind {
	case event.KindStarted:
		a.heard.started = true
		a.recordConversation(e.Session, nil)
		a.shares.named(e.Model)
	case event.KindToolResult, event.KindDenied:
		a.heard.moved = true
	case event.KindUsage:
		if e.Usage != nil {
			a.heard.moved = a.heard.moved || e.Usage.Output > 0
			a.meter.count(*e.Usage)
		}
	case event.KindQuestion:
		a.mu.Lock()
		if a.asked != "" {
			a.asked += "\n"
		}
		a.asked = (a.asked + e.Text)[:min(len(a.asked)+len(e.Text), session.MaxQuestion)]
		a.mu.Unlock()
		a.wrapUp(errAsked, 0)
	}
}

// recordConversation keeps the name of the conversation from its beginning: it is needed to go on after a crash. Total
// is the CLI's count at an attempt's end. Only what could be resumed is lost with it.
func (a *attempt) recordConversation(name string, total *event.Usage) {
	if name == "" || len(name) > maxName {
		name = a.rec.CLISession
	}
	if name == a.rec.CLISession && total == nil {
		return
	}
	a.rec.CLISession = name
	_, _ = a.Store.UpdateSession(context.Background(), a.rec.ID, func(v *store.Session) error {
		v.CLISession = name
		if total != nil {
			data, _ := json.Marshal(total) // "" is none
			v.CLITotal = string(data)
		}
		return nil
	})
}

// maxName bounds the name of a conversation, which the agent gives.
const maxName = 256

// conversation is the name of a conversation whose output nobody read, if cco chose the name.
func (a *attempt) conversation(cmd agent.Command) string {
	if a.task.Resume == "" && slices.Contains(cmd.Argv, a.task.NewSession) {
		return a.task.NewSession
	}
	return a.task.Resume
}

// wrapUp ends the attempt: by itself within the notice, when asked to, or by force.
func (a *attempt) wrapUp(cause error, notice time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.soft != nil {
		return
	}
	a.soft = cause
	a.timers = append(a.timers, time.AfterFunc(notice+interruptTime, func() { a.cancel(cause) }))
	if notice == 0 {
		a.interrupt()
		return
	}
	a.timers = append(a.timers, time.AfterFunc(notice, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.interrupt()
	}))
}

// dropTimers stops the timers that would have ended the attempt.
func (a *attempt) dropTimers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.timers {
		t.Stop()
	}
	a.timers = nil
	for len(a.signals) > 0 { // meant for this program, not for the next
		<-a.signals
	}
}

// recordAttempt records what the next attempt or run needs.
func (a *attempt) recordAttempt(ctx context.Context, fin event.Finished) {
	if a.order.Interactive {
		a.meter.check() // a person may have left before the last look
	} else {
		a.meter.count(fin.Usage)
	}
	a.meter.nextAttempt()
	_ = a.meter.write(context.WithoutCancel(ctx)) // tried again at the end of the run
	if a.heard.moved {
		a.tried.Failures = 0
	}
	a.before = fin.Total
	a.recordConversation(fin.Session, &fin.Total)
}

// ending says how the attempt went.
func (a *attempt) ending(ctx context.Context, fin event.Finished, err error) ending {
	a.mu.Lock()
	asked, soft, limit := a.asked, a.soft, a.limit
	killed, stopped, typed, closing := a.killed, a.stopped, a.typed, a.closing
	atRest := a.atPrompt() && !stopped && limit.Limit == ""
	a.mu.Unlock()
	// At its prompt Ctrl-C, or two of them, are its own way of being left. Who ends it there ends what is finished.
	if closing || atRest && (killed || typed && ctx.Err() == nil && proc.Code(err) == 128+int(syscall.SIGINT)) {
		return ending{Ran: true, Finished: fin}
	}
	end := ending{Ran: true, Err: err, Finished: fin, Killed: killed}
	// The agent decides what Ctrl-C on a terminal means: its exit status says it. A person who leaves at a limit was
	// stopped by the limit.
	end.Stopped = stopped || typed && limit.Limit == "" && proc.Code(err) == 128+int(syscall.SIGINT)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errIdle):
		end.Idle, end.Err = a.clocks.idle, cause
	case errors.Is(cause, errTimedOut):
		end.TimedOut, end.Err = true, cause
	case errors.Is(cause, errSpent), errors.Is(cause, errAsked):
		end.Err = cause
	}
	// What a program says after a person has left means nothing: it could not reach its model.
	if limit.Limit != "" && (a.order.Interactive || !end.succeeded()) {
		end.Limit = limit
		if end.Err == nil {
			end.Err = errSpent
		}
	}
	if a.resumable() && (end.succeeded() || fin.Asked || errors.Is(soft, errAsked)) {
		end.Question = a.question(asked)
	}
	return end
}

// resumable says whether the agent can be called again with an answer.
func (a *attempt) resumable() bool { return a.agent.Provider() != "" && !a.order.Interactive }

// question is the agent's question: in its stream, or in the file that its instructions name, which goes.
func (a *attempt) question(asked string) string {
	asked = session.CleanLines(asked)
	text, asks := a.readQuestion()
	if !asks {
		return asked
	}
	_ = tree.Remove(a.questionFile())
	return cmp.Or(asked, text, "(it can't be read)")
}
