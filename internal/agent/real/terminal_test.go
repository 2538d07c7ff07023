//go:build heavy

package real

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a limit on a terminal that leaves the session as done, because its person has left the agent, which
// ends with 0, or with the advice to log in.
func TestALimitOnATerminalPausesTheRun(t *testing.T) {
	for _, leave := range []bool{true, false} {
		dear := commit("hello.txt", "hello")
		dear.Usage = agenttest.Usage{Input: 4000, Output: 3000}
		w := newWork(t, "claude", dear, agenttest.Say("done"))
		screen, code := w.onTerminal(leave, "box", "push", "plan.md", "--agent", "claude", "--max-tokens", "5000")
		id := sessionID.FindStringSubmatch(screen)
		if id == nil {
			t.Fatalf("no session is named:\n%q", screen)
		}
		if s := w.session(id[1]); s.State != "paused" || !strings.Contains(s.Reason, "limits.run_tokens") || code != 4 {
			t.Errorf("left %v: session %+v, status %d", leave, s, code)
		}
		if strings.Contains(screen, "/login") {
			t.Errorf("the screen has the advice to log in:\n%q", screen)
		}
		w.run(0, "box", "pull", id[1], "--partial")
		w.pulled("hello.txt", "hello")
	}
}

// onTerminal runs cco on a terminal to its end, and gives what was on it. With leave, its person presses Ctrl-D, which
// ends claude the second time, from when the limit is on the screen.
func (w *work) onTerminal(leave bool, args ...string) (string, int) {
	w.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	must.Do(w.t, pty.Setsize(master, &pty.Winsize{Cols: 200, Rows: 50}))
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*time.Minute)
	defer cancel()
	p, err := proc.Start(ctx, proc.Cmd{Argv: append([]string{filepath.Join(w.bin, "cco")}, args...), Dir: w.repo,
		Env:   append(append([]string{"TERM=xterm-256color"}, w.stage.env...), w.env...),
		Stdin: slave, Stdout: slave, Stderr: slave, Attr: func(a *syscall.SysProcAttr) {
			a.Setpgid, a.Setsid,
				a.Setctty = false, true, true
		}})
	_ = slave.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	var screen bytes.Buffer
	limited := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		told, terminal := sync.OnceFunc(func() { close(limited) }), agenttest.Xterm()
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			_, _ = master.WriteString(terminal.Hear(buf[:n]))
			mu.Lock()
			screen.Write(buf[:n])
			if bytes.Contains(screen.Bytes(), []byte("is reached")) || bytes.Contains(screen.Bytes(), []byte("API Error")) {
				told()
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	if leave {
		select {
		case <-limited:
		case <-p.Done():
		}
		for over := false; !over; { // a CLI that is busy misses some
			_, _ = master.Write([]byte{4})
			select {
			case <-p.Done():
				over = true
			case <-time.After(500 * time.Millisecond): // as fast as a person
			}
		}
	}
	err = p.Wait()
	<-read
	return screen.String(), proc.Code(err)
}
