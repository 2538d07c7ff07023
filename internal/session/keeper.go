package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/tree"
)

// publishTime bounds what a hostile workspace can make publishing take.
const publishTime = 10 * time.Minute

// ctrlC is what a terminal makes an interrupt of.
const ctrlC = 0x03

// keeper is the one host process of a session.
type keeper struct {
	*Service
	order Order
	rec   store.Session
	box   *box.Box
	drv   box.Driver
	place box.Place

	program string // the agent's, "" to look for it on the box's PATH
	binds   []box.Bind

	transcript *transcript
	signals    chan syscall.Signal
	stopping   chan struct{} // closed when a person asks the agent to end

	mu      sync.Mutex
	pty     *term.Pty
	stopped bool               // a person asked the agent to end
	typed   bool               // a person typed Ctrl-C on its terminal
	kill    context.CancelFunc // ends the agent
	killed  bool
}

// Keep runs a session from its order to its end. The listener is its socket; whoever holds the session's lock keeps it.
// The lock is closed when nothing is done to the session any more, before the user's own command is run.
func (s *Service) Keep(ctx context.Context, id string, listener net.Listener, lock io.Closer) error {
	t, err := newTranscript(s.TranscriptFile(id), s.Now)
	if err != nil {
		return err
	}
	k := &keeper{Service: s, transcript: t, signals: make(chan syscall.Signal, 4), stopping: make(chan struct{})}
	agentCtx, kill := context.WithCancel(ctx)
	defer kill()
	k.kill = kill
	wire := &line{transcript: t, handle: k.handle, listener: listener}
	wire.serve()

	end := k.work(agentCtx, id)
	// The record is written even when we were told to go: the session has ended either way.
	rec, err := k.finish(context.WithoutCancel(ctx), id, end)
	t.add(KindEnd, string(rec.State))
	err = errors.Join(err, t.close())
	wire.close(10 * time.Second)
	_ = os.Remove(s.socket(id))
	_ = lock.Close()
	if rec.State == store.Waiting {
		k.notify(context.WithoutCancel(ctx), rec, k.order.OnWaiting)
		return err
	}
	k.notify(context.WithoutCancel(ctx), rec, k.order.OnDone)
	return err
}

func (k *keeper) step(format string, args ...any) {
	k.transcript.add(KindStep, fmt.Sprintf(format, args...))
}

// work does everything up to the published result.
func (k *keeper) work(ctx context.Context, id string) ending {
	if err := k.begin(ctx, id); err != nil {
		return ending{Err: err}
	}
	if !k.order.Again {
		if err := k.receive(ctx); err != nil {
			return ending{Err: err}
		}
	}
	if err := k.lookForAgent(ctx); err != nil {
		return ending{Err: err}
	}
	compare, err := k.watchHost(ctx)
	if err != nil {
		return ending{Err: err}
	}
	now, err := k.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.State, v.Started, v.Finished, v.Question, v.Asked = store.Running, k.Now(), time.Time{}, "", time.Time{}
		return nil
	})
	if err != nil {
		return ending{Err: err}
	}
	k.rec.Started = now.Started
	k.step("%s is at work", k.rec.Agent)
	k.transcript.add(KindAgent, k.rec.Agent)
	end := compare(k.runAgent(ctx))

	if k.order.View != "" {
		return end // it could only look
	}
	k.step("keeping what it did")
	if err := k.publish(context.WithoutCancel(ctx), k.box, k.drv, k.rec); err != nil {
		end.Unpublished = err
	}
	end.Words = k.errorText(id)
	return end
}

func (k *keeper) begin(ctx context.Context, id string) (err error) {
	if k.order, err = k.readOrder(id); err != nil {
		return err
	}
	if k.rec, err = k.Store.Session(ctx, id); err != nil {
		return err
	}
	if k.box, k.drv, err = k.Boxes.Find(k.rec.Box); err != nil {
		return err
	}
	if err = k.drv.Halt(ctx, k.box, id); err != nil {
		return fmt.Errorf("end what an earlier run left: %w", err)
	}
	if err = k.forget(id); err != nil {
		return err
	}
	k.place, err = k.drv.Prepare(ctx, k.box, id)
	if k.order.View != "" {
		k.place.Workspace = path.Join(path.Dir(k.place.Workspace), k.order.View)
	}
	return err
}

// receive clones what was sent. If the box has lost what it had, everything is sent once more.
func (k *keeper) receive(ctx context.Context) error {
	k.step("cloning into %s", k.place.Workspace)
	if sharer, ok := k.drv.(box.Sharer); ok {
		_, err := sharer.Checkout(ctx, k.box, k.rec.ID, k.rec.Base)
		return err
	}
	err := k.inside(ctx, k.box, k.drv, k.rec, k.place, "receive", true)
	if proc.Code(err) == inside.LacksStatus {
		k.step("sending everything: the box no longer has what it had")
		if err := k.Store.ForgetSent(ctx, k.rec.Box, k.rec.RepoKey); err != nil {
			return err
		}
		if err := k.sendAll(ctx, k.rec, where{}); err != nil {
			return err
		}
		if k.place, err = k.drv.Prepare(ctx, k.box, k.rec.ID); err != nil {
			return err
		}
		err = k.inside(ctx, k.box, k.drv, k.rec, k.place, "receive", true)
	}
	if err != nil {
		return fmt.Errorf("clone into the box: %w", err)
	}
	for _, f := range []string{inside.InputBundle, inside.InputRepo} {
		if err := tree.Remove(filepath.Join(k.exchange(k.rec.ID), f)); err != nil {
			return err
		}
	}
	if k.order.Shallow {
		return nil
	}
	return k.Store.MarkSent(ctx, k.rec.Box, k.rec.RepoKey, k.rec.Base, k.Now())
}

// inside runs one of cco's own steps in the box.
func (s *Service) inside(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, p box.Place, step string,
	fill bool) error {
	order, err := s.readOrder(rec.ID)
	if err != nil {
		return err
	}
	_, shared := d.(box.Sharer)
	job, err := json.Marshal(inside.Job{
		Session: rec.ID, Workspace: p.Workspace, Exchange: p.Exchange, Store: p.Store, Branch: rec.Branch, Base: rec.Base,
		Name: order.Name, Email: order.Email, Format: order.Format, Shared: shared, Message: order.Message,
		MaxFile: s.MaxFile,
	})
	if err != nil {
		return err
	}
	return d.Run(ctx, b, box.Exec{
		Session: rec.ID, Argv: []string{p.Tool, step}, Stdin: bytes.NewReader(job), Own: true, Repo: rec.RepoKey, Fill: fill,
	})
}

// publish has the session's work written into its exchange directory, inside the box, and records what there is.
func (s *Service) publish(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) error {
	err := s.writeOut(ctx, b, d, rec)
	// What failed for another reason than what is in the workspace says nothing about that.
	if _, exit := errors.AsType[*proc.ExitError](err); ctx.Err() == nil &&
		(err == nil || exit || errors.Is(err, context.DeadlineExceeded)) {
		_ = s.recordHeld(rec, s.seen(rec, err))
	}
	return err
}

func (s *Service) writeOut(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	if err := d.Halt(ctx, b, rec.ID); err != nil {
		return err
	}
	if err := s.startLook(rec.ID); err != nil {
		return err
	}
	if err := s.reopen(rec.ID); err != nil {
		return err
	}
	p, err := d.Prepare(ctx, b, rec.ID)
	if err != nil {
		return err
	}
	return s.inside(ctx, b, d, rec, p, "publish", false)
}

// reopen makes room in an exchange directory that an agent may have closed, with directories where files belong that it
// can't remove itself.
func (s *Service) reopen(id string) error {
	dir := s.exchange(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode().Perm()&0o700 != 0o700 {
		if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
			return err
		}
	}
	for _, name := range []string{inside.ResultFile, inside.OutputBundle, inside.RestBundle} {
		for _, name := range []string{name, name + ".tmp", name + ".tmp.lock"} {
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.IsDir() {
				if err := tree.Remove(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lookForAgent says what to install before anything is run, instead of "not found" from within.
func (k *keeper) lookForAgent(ctx context.Context) error {
	a, err := agent.Find(k.rec.Agent)
	if err != nil || a.Binary() == "" {
		return err
	}
	if k.program, k.binds, err = k.find(ctx, a, k.box, k.drv); err != nil || k.program != "" {
		return err
	}
	// It is asked in the agent's environment, where it will be looked for. Nothing but words hangs on the answer.
	err = k.drv.Run(ctx, k.box, box.Exec{Session: k.rec.ID, Argv: []string{"/bin/sh", "-c", `command -v "$0" >/dev/null`,
		a.Binary()}})
	if proc.Code(err) > 0 {
		return agent.Missing(a, k.box.Name)
	}
	return err
}

func (k *keeper) onTerminal(ctx context.Context, e box.Exec) error {
	master, slave, err := term.OpenPty()
	if err != nil {
		return err
	}
	defer func() { _ = master.Close() }()
	k.mu.Lock()
	k.pty = master
	k.resize(uint16(k.order.Cols), uint16(k.order.Rows)) //nolint:gosec // a terminal's size fits
	k.mu.Unlock()
	e.TTY = slave
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				k.transcript.append(Event{Kind: KindTTY, Data: buf[:n]})
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
func (k *keeper) handle(r request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch r.Op {
	case "stop":
		if !k.stopped {
			close(k.stopping)
		}
		k.stopped = true
		if k.pty != nil {
			k.pty.Type([]byte{ctrlC})
			return
		}
		k.interrupt()
	case "kill":
		k.killed = true
		k.kill()
	case "input":
		k.typed = k.typed || r.Interrupt
		if k.pty != nil {
			k.pty.Type(r.Data)
		}
	case "resize":
		if k.pty != nil {
			k.resize(r.Cols, r.Rows)
		}
	}
}

// resize changes the size of the agent's terminal, and keeps it for those who want to know how what it shows was laid
// out.
func (k *keeper) resize(cols, rows uint16) {
	k.pty.Resize(cols, rows)
	k.transcript.append(Event{Kind: KindSize, Cols: cols, Rows: rows})
}

func (k *keeper) finish(ctx context.Context, id string, end ending) (store.Session, error) {
	state, cause, reason := end.judge()
	if k.order.Asked != "" && !end.Ran && state == store.Failed {
		// The answer never reached the agent, so its question stands.
		state, end.Question = store.Waiting, k.order.Asked
	}
	if end.Err != nil && !end.told() {
		k.transcript.add(KindErr, end.Err.Error())
	}
	if end.Unpublished != nil {
		k.transcript.add(KindErr, "its work could not be kept: "+end.Unpublished.Error())
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

// notify runs the command that the user wants run, and does not care how it ends.
func (k *keeper) notify(ctx context.Context, rec store.Session, argv []string) {
	if len(argv) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	env := append(os.Environ(), "CCO_SESSION="+rec.ID, "CCO_STATE="+string(rec.State), "CCO_REASON="+rec.Reason,
		"CCO_BRANCH="+rec.Branch, "CCO_REPO="+rec.Repo, "CCO_QUESTION="+rec.Question)
	dir := rec.Repo
	if _, err := os.Stat(dir); err != nil {
		dir = k.Data // it was moved or removed, which is no reason to be silent
	}
	_ = proc.Run(ctx, proc.Cmd{Argv: argv, Env: env, Dir: dir})
}
