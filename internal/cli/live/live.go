// Package live is `cco` alone on a terminal: a list of sessions and phases by what they need of you. Its keys leave the
// list, run the ordinary command, and come back. It is linked into cco-cruise alone: every keeper is a cco.
package live

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/term"
)

// Run shows the list until the user leaves it. If there is nothing to list, it shows nothing and says so.
func Run(ctx context.Context, a *app.App) (shown bool, err error) {
	// It wakes often and does little: other threads would only wake with it and look for work.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	// What they say would be written across the list.
	s.Warn, s.Report = func(string, ...any) {}, func(string, ...any) {}
	first, err := read(ctx, s, true)
	if err != nil || len(first.list) == 0 {
		return false, err
	}
	m := &model{wide: 80, high: 24, colour: a.IO.Color}
	m.take(first)
	if repo, err := a.OpenRepo(ctx, a.Dir); err == nil {
		m.narrow(repo.Key(), repo.Top)
	}
	for {
		c, err := show(ctx, a, s, m)
		if err != nil || c == nil {
			return true, err
		}
		if err := do(ctx, a, *c); err != nil {
			return true, err
		}
	}
}

// frames is how often in a second the terminal is drawn at most.
const frames = 25

// show draws the list until it is left, and gives the command that it was left for, if any.
func show(ctx context.Context, a *app.App, s *session.Service, m *model) (*command, error) {
	m.leave = nil
	drawn, stop := context.WithCancel(ctx)
	defer stop()
	p := tea.NewProgram(m, tea.WithContext(drawn), tea.WithInput(a.IO.In), tea.WithOutput(a.IO.Out),
		tea.WithFPS(frames), tea.WithoutSignalHandler())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(drawn, s, func(st state) { p.Send(st) })
	}()
	_, err := p.Run()
	stop()
	<-watched
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return m.leave, err
}

// do runs a command on the user's terminal as if it were typed, and waits until what it says was read.
func do(ctx context.Context, a *app.App, c command) error {
	path, self, err := app.Beside("cco") // this program would keep what it starts, and is larger
	if err != nil {
		return err
	}
	if path == "" {
		path = self
	}
	var words []string
	for _, arg := range c.args {
		words = append(words, proc.ShellWord(arg))
	}
	a.IO.Printf("$ cco %s\n", strings.Join(words, " "))
	if err := run(ctx, a, proc.Cmd{Argv: append([]string{"cco"}, c.args...), Path: path, Dir: a.Dir}); err != nil {
		if _, ended := errors.AsType[*proc.ExitError](err); !ended {
			return err
		}
	} else if c.back {
		return nil
	}
	a.IO.Printf("\nEnter goes back to the list. ")
	if _, err := a.IO.Line(ctx); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func run(ctx context.Context, a *app.App, c proc.Cmd) error {
	c.Stdin, c.Stdout, c.Stderr = a.IO.In, a.IO.Out, a.IO.Err
	if tty, ok := a.IO.In.(*os.File); ok {
		attr, back := term.Foreground(tty)
		c.Attr = attr
		defer back()
		signal.Ignore(syscall.SIGTSTP) // nobody here would let it go on
		defer signal.Reset(syscall.SIGTSTP)
	}
	return proc.Run(ctx, c)
}

// state is everything that is listed, or why it can't be read.
type state struct {
	list      []attention.Listed
	unwatched int // phases that nobody runs
	err       error
}

func read(ctx context.Context, s *session.Service, sure bool) (st state, err error) {
	if st.list, err = attention.Of(s).Overview(ctx, sure); err == nil && sure {
		st.unwatched, err = attention.Of(s).Unwatched(ctx)
	}
	return st, err
}

// How often is looked whether something was recorded, and how often all is read in any case: a keeper that was killed
// records nothing, costs grow, and what other machines do is not seen here.
const (
	glance = 30 * time.Millisecond
	look   = 5 * time.Second
)

// Reading takes at most this part of the time in the long run, and at most burst at once.
const (
	share = 50
	burst = 100 * time.Millisecond
)

// watch sends the state whenever it has changed.
func watch(ctx context.Context, s *session.Service, send func(state)) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	var at, changed, hidden time.Time
	unwatched := 0
	left, last := burst, time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		left, last = min(burst, left+now.Sub(last)/share), now
		change, later, due := s.Store.Changed(), modified(filepath.Join(s.Data, "later.json")), now.Sub(at) >= look
		if left > 0 && (due || !change.Equal(changed) || !later.Equal(hidden)) {
			changed, hidden = change, later
			if due {
				at = now
			}
			st, err := read(ctx, s, due)
			if !due {
				st.unwatched = unwatched
			}
			st.err, unwatched = err, st.unwatched
			send(st)
			left -= time.Since(now)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// modified is when a file was last written.
func modified(path string) (at time.Time) {
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	return at
}
