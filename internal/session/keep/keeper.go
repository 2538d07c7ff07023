// Package keep is the keeper: the one host process of a session, which runs its agent and keeps its work.
package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

// ctrlC is the byte that a terminal turns into an interrupt.
const ctrlC = 0x03

// keeper is the one host process of a session.
type keeper struct {
	*session.Service
	order session.Order
	rec   store.Session
	box   *box.Box
	drv   box.Driver
	place box.Place
	agent agent.Adapter

	program string // the agent's, "" to look for it on the box's PATH
	binds   []box.Bind

	transcript *session.Transcript
	signals    chan syscall.Signal
	stopping   chan struct{}      // closed when a person asks the agent to end
	kill       context.CancelFunc // ends the agent
	doorman    doorman
	listener   net.Listener
	clients    sync.WaitGroup // those who talk at it

	mu      sync.Mutex // of all that follows, here and in the run and its attempts
	pty     *term.Pty
	writer  *client // the one that has the keyboard; nil is none
	stopped bool    // a person asked the agent to end
	typed   bool    // a person typed Ctrl-C on its terminal
	killed  bool
	turns   turns
	rest    rest
	asks    bool      // it has an open question
	said    [][]byte  // what a person said, and is to be typed when the agent listens
	pasted  time.Time // when something of it was typed last
	enters  int       // how often Enter may be typed again, should it go unheeded
	closing bool      // it was asked to leave its prompt
}

// Run runs a session from its order to its end. The listener is its socket. The caller holds the session's lock, which
// Run closes when it is done with the session, before it runs the user's own command.
func Run(ctx context.Context, s *session.Service, id string, listener net.Listener, lock io.Closer) error {
	t, err := session.OpenTranscript(s.TranscriptFile(id), s.Now)
	if err != nil {
		return err
	}
	k := &keeper{Service: s, transcript: t, signals: make(chan syscall.Signal, 4), stopping: make(chan struct{}),
		listener: listener}
	agentCtx, kill := context.WithCancel(ctx)
	defer kill()
	k.kill = kill
	k.serve()

	end := k.work(agentCtx, id)
	// The record is written even after a signal: the session has ended either way.
	rec, err := k.finish(context.WithoutCancel(ctx), id, end)
	t.Add(session.KindEnd, string(rec.State))
	err = errors.Join(err, t.Close())
	k.hangUp(session.FollowTime)
	_ = os.Remove(s.Socket(id))
	_ = lock.Close()
	tell := k.order.OnDone
	if rec.State == store.Waiting {
		tell = k.order.OnWaiting
	}
	k.notify(context.WithoutCancel(ctx), rec, tell)
	return err
}

func (k *keeper) step(format string, args ...any) {
	k.transcript.Add(session.KindStep, fmt.Sprintf(format, args...))
}

// work does everything up to the published result.
func (k *keeper) work(ctx context.Context, id string) ending {
	if err := k.begin(ctx, id); err != nil {
		return ending{Err: err}
	}
	if !k.order.Again {
		var err error
		if k.place, err = k.HandOff().Receive(ctx, k.box, k.drv, k.rec, k.place, k.order.Shallow, k.step); err != nil {
			return ending{Err: err}
		}
	}
	if err := k.lookForAgent(ctx); err != nil {
		return ending{Err: err}
	}
	tell, err := k.watchHost(ctx)
	if err != nil {
		return ending{Err: err}
	}
	now, err := k.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.State, v.Started, v.Finished = store.Running, k.Now(), time.Time{}
		v.Question, v.Asked = "", time.Time{}
		return nil
	})
	if err != nil {
		return ending{Err: err}
	}
	k.rec.Started = now.Started
	k.step("%s is at work", k.rec.Agent)
	k.transcript.Add(session.KindAgent, k.rec.Agent)
	end := k.runAgent(ctx)
	tell()

	if k.order.View != "" {
		return end // it could only look
	}
	k.step("keeping what it did")
	if err := k.HandOff().Publish(context.WithoutCancel(ctx), k.box, k.drv, k.rec); err != nil {
		end.Unpublished = err
	}
	end.Words = k.ErrorText(id)
	return end
}

func (k *keeper) begin(ctx context.Context, id string) (err error) {
	if k.order, err = k.ReadOrder(id); err != nil {
		return err
	}
	if k.rec, err = k.Store.Session(ctx, id); err != nil {
		return err
	}
	if k.box, k.drv, err = k.Boxes.Find(k.rec.Box); err != nil {
		return err
	}
	if k.agent, err = k.Agents.Find(k.rec.Agent); err != nil {
		return err
	}
	if err = k.drv.Halt(ctx, k.box, id); err != nil {
		return fmt.Errorf("end what an earlier run left: %w", err)
	}
	if err = k.Forget(id); err != nil {
		return err
	}
	k.place, err = k.drv.Prepare(ctx, k.box, id)
	if k.order.View != "" && err == nil {
		var shown box.Place
		shown, err = k.drv.Prepare(ctx, k.box, k.order.View)
		k.place.Workspace = shown.Workspace
	}
	return err
}

// lookForAgent says what to install before anything runs, instead of failing with "not found" in the box.
func (k *keeper) lookForAgent(ctx context.Context) (err error) {
	if k.agent.Binary() == "" {
		return nil
	}
	if k.program, k.binds, err = k.FindProgram(ctx, k.agent, k.box, k.drv); err != nil || k.program != "" {
		return err
	}
	return session.LookFor(ctx, k.agent, k.box, k.drv, k.rec.ID)
}

func (k *keeper) onTerminal(ctx context.Context, e box.Exec) error {
	master, slave, err := term.OpenPty()
	if err != nil {
		return err
	}
	defer func() { _ = master.Close() }()
	k.mu.Lock()
	k.pty = master
	k.resize(uint16(k.order.Cols), uint16(k.order.Rows)) // a terminal's size fits
	k.mu.Unlock()
	e.TTY = slave
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				k.transcript.Append(session.Event{Kind: session.KindTTY, Data: buf[:n]})
			}
			if err != nil {
				return
			}
		}
	}()
	err = k.drv.Run(ctx, k.box, e)
	_ = slave.Close() // the last copy of it: reading the other end now ends
	select {
	case <-drained:
	case <-time.After(5 * time.Second):
	}
	return err
}

// handle does what a client of the socket asks for. Nothing in it may wait for the program, which would hold up a kill.
func (k *keeper) handle(from *client, r session.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if (r.Op == "input" || r.Op == "resize") && !k.writes(from) {
		return
	}
	switch r.Op {
	case "stop":
		if !k.stopped {
			close(k.stopping)
		}
		k.stopped = true
		k.interrupt()
	case "kill":
		k.killed = true
		k.kill()
	case "take":
		k.writer = from
		k.transcript.Append(session.Event{Kind: session.KindWriter, Writer: r.Who})
	case "end":
		k.transcript.Append(session.Event{Kind: session.KindReply, Text: k.endAtRest(), Writer: r.Who})
	case "say":
		k.transcript.Append(session.Event{Kind: session.KindReply, Text: k.say(r.Data), Writer: r.Who})
	case "input":
		k.typed = k.typed || r.Interrupt
		if r.Interrupt || vt.IsEscape(r.Data) {
			k.rest.escaped = time.Now()
		}
		if k.pty != nil {
			k.pty.Type(r.Data)
		}
	case "resize":
		if k.pty != nil {
			k.resize(r.Cols, r.Rows)
		}
	}
}

// writes says whether a client has the keyboard. One that nobody has is had by the first who types.
func (k *keeper) writes(c *client) bool {
	if k.writer == nil {
		k.writer = c
	}
	return k.writer == c
}

// gone gives the keyboard back that a client had.
func (k *keeper) gone(c *client) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer == c {
		k.writer = nil
		k.transcript.Append(session.Event{Kind: session.KindWriter})
	}
}

// resize changes the size of the agent's terminal, and records it for those who replay its output.
func (k *keeper) resize(cols, rows uint16) {
	k.pty.Resize(cols, rows)
	k.transcript.Append(session.Event{Kind: session.KindSize, Cols: cols, Rows: rows})
}

func (k *keeper) finish(ctx context.Context, id string, end ending) (store.Session, error) {
	k.mu.Lock()
	end.Killed = end.Killed || k.killed && errors.Is(end.Err, context.Canceled) // also before the agent ran
	k.mu.Unlock()
	state, cause, reason := end.judge()
	if k.order.Asked != "" && !end.Ran && state == store.Failed {
		// The answer never reached the agent, so its question stands.
		state, end.Question = store.Waiting, k.order.Asked
	}
	if end.Err != nil && !end.told() {
		k.transcript.Add(session.KindErr, end.Err.Error())
	}
	if end.Unpublished != nil {
		k.transcript.Add(session.KindErr, "its work could not be kept: "+end.Unpublished.Error())
	}
	return k.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.State, v.Cause, v.Reason = state, cause, reason
		v.ExitCode, v.Finished = max(0, proc.Code(end.Err)), k.Now()
		v.Question, v.Asked = "", time.Time{}
		if state == store.Waiting {
			v.Question, v.Asked = end.Question, k.Now()
		}
		return nil
	})
}

// notify runs the user's own command and ignores its result.
func (k *keeper) notify(ctx context.Context, rec store.Session, argv []string) {
	if len(argv) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	env := append(os.Environ(), "CCO_SESSION="+rec.ID, "CCO_STATE="+string(rec.State), "CCO_REASON="+noOption(rec.Reason),
		"CCO_BRANCH="+rec.Branch, "CCO_REPO="+rec.Repo, "CCO_QUESTION="+noOption(rec.Question))
	if k.Page != nil {
		env = append(env, "CCO_URL="+k.Page(rec.ID))
	}
	dir := rec.Repo
	if _, err := os.Stat(dir); err != nil {
		dir = k.Data // it was moved or removed; notify all the same
	}
	_ = proc.Run(ctx, proc.Cmd{Argv: argv, Env: env, Dir: dir})
}

// noOption takes from words of an agent what a program would take for its option.
func noOption(words string) string { return strings.TrimLeft(words, "- \t\r\n") }
