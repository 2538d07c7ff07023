package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

func attachCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "attach ID", Short: "Follow a running session, and type into its terminal if it has one",
		Args: exactly(1, "session id"),
		Long: `Follow a running session. If it has a terminal you see that and can type into it.
One has its keyboard at a time: it is taken from a page or another terminal that
had it, which is told, and a terminal that lost it is left.

` + leavingHelp + `
Of a session without a terminal Ctrl-C leaves too: the agent goes on.`,
		Example: "  cco box attach 3f9c01aa",
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			rec, err := s.Get(ctx, id)
			if err != nil {
				return err
			}
			if !rec.Live() {
				return &session.StateError{ID: rec.ID, State: rec.State, Why: "nothing of it is running, see `cco box logs " +
					rec.ID + "`"}
			}
			return a.follow(ctx, s, rec, showing{
				now: time.Now(), interactive: a.IO.InTTY && a.IO.OutTTY && s.OnTerminal(rec.ID), onlyLook: true,
				terminal: cfg.Terminal,
			})
		}),
	}
}

// leavingHelp is the help on the keys that cco itself handles on an agent's terminal.
const leavingHelp = `On an agent's terminal Ctrl-] leaves and lets the agent go on; the setting
terminal.detach_key names another key. Ctrl-C is the agent's, but pressed twice
within two seconds it kills the agent; its work is kept.
`

// twice is how soon a second Ctrl-C must follow to count as such.
const twice = 2 * time.Second

// showing says how a session is shown.
type showing struct {
	since       time.Time // earlier events belong to earlier runs
	now         time.Time // earlier events are only replayed
	interactive bool
	detach      bool // return when the agent is at work
	onlyLook    bool // a signal ends this command, and never the agent
	asJSON      bool // print the session at the end
	bell        bool
	terminal    config.Terminal
}

// follow shows a session until it ends. It only reads: the keeper goes on if it ends.
func (a *commands) follow(ctx context.Context, s *session.Service, rec store.Session, how showing) error {
	now, err := a.shown(ctx, s, rec, how)
	if err != nil || now.Live() {
		return err
	}
	return a.ended(s, now, how.asJSON)
}

// shown shows a session until it ends or the user leaves, and gives its state then: it is still live if the user left.
func (a *commands) shown(ctx context.Context, s *session.Service, rec store.Session, how showing) (now store.Session,
	err error) {
	// Ctrl-C is for the agent now, so it must not end this command's context.
	ctx = context.WithoutCancel(ctx)
	letGo := false
	link, err := s.Dial(ctx, rec.ID)
	if err == nil {
		letGo, err = a.watch(ctx, s, link, rec, how)
	}
	a.IO.Settle()
	now, getErr := s.Get(ctx, rec.ID)
	// A keeper that has hung up counts as gone, even if its lock is freed a moment later.
	for n := 0; err == nil && getErr == nil && now.Live() && n < 100; n++ {
		time.Sleep(50 * time.Millisecond)
		now, getErr = s.Get(ctx, rec.ID)
	}
	if getErr != nil {
		return now, errors.Join(err, getErr)
	}
	if now.Live() && errors.Is(err, errTaken) {
		a.IO.Say("the keyboard of session %s was taken elsewhere, on its page or by another attach, and the session goes "+
			"on; take it back with `cco box attach %s`", rec.ID, rec.ID)
		return now, nil
	}
	if now.Live() { // the user has detached
		a.IO.Say("session %s goes on; come back with `cco box attach %s`", rec.ID, rec.ID)
		if letGo {
			return now, &statusError{exitInterrupted}
		}
		return now, nil
	}
	if how.bell {
		a.IO.Bell()
	}
	return now, nil
}

// watch shows a session until it ends or the user leaves, and gives the terminal back before it prints anything.
func (a *commands) watch(ctx context.Context, s *session.Service, link *session.Link, rec store.Session,
	how showing) (letGo bool, err error) {
	v := &view{a: a, out: a.IO.Out, since: how.since, now: how.now, agent: rec.Agent}
	if how.asJSON {
		v.out = a.IO.Err
	}
	leave := func() {}
	keyboard := &keyboard{name: rand.Text()}
	switch {
	case how.interactive:
		if err := link.Take(keyboard.name); err != nil {
			return false, err
		}
		a.IO.Say("%s leaves %s at work", how.terminal.DetachKey, rec.Agent)
		if v.console, err = a.console(how.terminal, func(cols, rows int) { _ = link.Resize(cols, rows) }); err != nil {
			return false, err
		}
		named := v.console.entitle(ctx, s, rec.ID)
		leave = func() { named(); v.console.giveBack() }
		keys := &vt.Keys{Watch: []vt.Key{how.terminal.DetachKey, vt.CtrlC}}
		go readKeys(v.console.tty, keys, v.console.read, typing(link, how.terminal.DetachKey))
	case a.IO.InTTY && !how.detach:
		if leave, err = a.hush(link, how.terminal.DetachKey); err != nil {
			return false, err
		}
	}
	stop := a.passInterrupts(link, rec.ID, how)
	defer v.clock()()
	err = link.Follow(func(e session.Event) error {
		if keyboard.lost(e) {
			return errTaken
		}
		v.show(e)
		return nil
	})
	_ = link.Close()
	letGo = stop()
	leave()
	v.leave()
	v.close()
	return letGo, err
}

// keyboard is that of an agent's terminal, which one client has at a time.
type keyboard struct {
	name string // ours
	ours bool
}

// errTaken ends what is shown on a terminal whose user can no longer type.
var errTaken = errors.New("the keyboard was taken elsewhere")

// lost says that another has taken the keyboard since it was ours.
func (k *keyboard) lost(e session.Event) bool {
	if e.Kind != session.KindWriter {
		return false
	}
	had := k.ours
	k.ours = e.Writer == k.name
	return had && !k.ours && e.Writer != ""
}

// typing sends the user's keys to the agent's terminal. It never blocks, so that it sees the keys that end it.
func typing(link *session.Link, letGo vt.Key) func(vt.Typed) bool {
	var last time.Time
	queue := term.NewQueue()
	return func(t vt.Typed) bool {
		send := link.Input
		switch t.Key {
		case letGo:
			// Send earlier keys first, if possible.
			queue.Put(0, func() { _ = link.Close() })
			time.AfterFunc(time.Second, func() { queue.Close(); _ = link.Close() })
			return false
		case vt.CtrlC:
			if !last.IsZero() && time.Since(last) < twice {
				go func() { _ = link.Kill() }()
			}
			last = time.Now()
			send = link.Interrupt
		}
		keys := bytes.Clone(t.Bytes)
		queue.Put(len(keys), func() { _ = send(keys) })
		return true
	}
}

// hush reads the keys while there is nothing to type into: one of them leaves, Ctrl-C interrupts as usual, the others
// do nothing and are not echoed.
func (a *commands) hush(link *session.Link, letGo vt.Key) (leave func(), err error) {
	in, ok := a.IO.In.(*os.File)
	if !ok {
		return func() {}, nil
	}
	tty, err := term.TakeKeys(in, false)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go readKeys(tty, &vt.Keys{Watch: []vt.Key{letGo, vt.CtrlC}}, done, func(t vt.Typed) bool {
		switch t.Key {
		case letGo:
			_ = link.Close()
		case vt.CtrlC:
			_ = syscall.Kill(0, syscall.SIGINT) // to every process on the terminal, as the terminal does
		}
		return t.Key != letGo
	})
	return func() { tty.Stop(); <-done; tty.GiveBack() }, nil
}

// ended says how a session ended and what to do next.
func (a *commands) ended(s *session.Service, rec store.Session, asJSON bool) error {
	if asJSON {
		if err := a.IO.JSON(rec); err != nil {
			return err
		}
	}
	if rec.State != store.Done {
		err := s.Looking().Failure(rec)
		if rec.State == store.Killed {
			a.IO.Fail(err)
			return &statusError{exitInterrupted}
		}
		return err
	}
	switch {
	case asJSON:
	case s.Looking().MadeNothing(rec):
		a.IO.Printf("Session %s ended and changed nothing. See what it said: cco box logs %s\n", rec.ID, rec.ID)
	default:
		if words := figures(s, rec); words != "" {
			a.IO.Printf("%s\n", words)
		}
		a.IO.Printf("Session %s complete. Pull with: cco box pull %s\n", rec.ID, rec.ID)
	}
	return nil
}

// figures are what a session has made, and what that cost; "" if nothing is known.
func figures(s *session.Service, rec store.Session) string {
	var parts []string
	if commits, files := s.Looking().Made(rec); commits > 0 {
		parts = append(parts, count(commits, "commit"), count(files, "file"))
	}
	if rec.Spent.Cost > 0 {
		parts = append(parts, dollarWords(rec.Spent.Cost, rec.Spent.Estimate))
	}
	return strings.Join(parts, ", ")
}

// passInterrupts makes Ctrl-C ask the agent to stop, and the next one kill it. On a terminal the first only says so: it
// may have been a slip. Any other signal, or any signal while the user only looks, ends this command alone; stop says
// whether one did.
func (a *commands) passInterrupts(link *session.Link, id string, how showing) (stop func() (letGo bool)) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	quit, done := make(chan struct{}), make(chan bool)
	n := 1
	if a.IO.InTTY && !how.interactive {
		n = 0
	}
	go func() {
		letGo := false
		defer func() { done <- letGo }()
		for {
			select {
			case <-quit:
				return
			case sig := <-signals:
				switch {
				case sig != os.Interrupt || how.onlyLook:
					letGo = true
					_ = link.Close() // ends the read
				case n == 0:
					a.IO.Say("Ctrl-C again stops the agent; %s leaves it at work", how.terminal.DetachKey)
				case n == 1:
					a.IO.Say("asking the agent to stop; Ctrl-C again kills it (its work is kept: cco box pull %s --partial)", id)
					_ = link.Stop()
				default:
					_ = link.Kill()
				}
				n++
			}
		}
	}()
	return func() bool { signal.Stop(signals); close(quit); return <-done }
}
