package cli

import (
	"bytes"
	"os"
	"os/signal"
	"syscall"
	"time"

	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/session"
)

// The keys that mean something to cco on an agent's terminal.
const (
	keyInterrupt = 0x03 // Ctrl-C: the agent's business, but twice in a row it is killed
	keyLetGo     = 0x1d // Ctrl-]: stop following
)

// twice is how soon a second Ctrl-C must come to count as one.
const twice = 2 * time.Second

// passKeys gives the user's keys and window size to the agent's terminal. Restore gives the user's own terminal back.
func (a *app) passKeys(link *session.Link) (restore func()) {
	in, ok := a.io.In.(*os.File)
	if !ok {
		return func() {}
	}
	old, err := xterm.MakeRaw(int(in.Fd()))
	if err != nil {
		return func() {}
	}
	stop := a.passSize(func(cols, rows int) { _ = link.Resize(cols, rows) })
	// This goroutine may wait in Read for ever; it ends with the process, which has nothing else to read.
	go forwardKeys(in, link)
	return func() {
		stop()
		_ = xterm.Restore(int(in.Fd()), old)
	}
}

// passSize calls resize now and whenever the user's window changes.
func (a *app) passSize(resize func(cols, rows int)) (stop func()) {
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	quit := make(chan struct{})
	go func() {
		for {
			resize(a.size())
			select {
			case <-sizes:
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(sizes); close(quit) }
}

func forwardKeys(in *os.File, link *session.Link) {
	var last time.Time
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		keys := buf[:n]
		if bytes.IndexByte(keys, keyLetGo) >= 0 {
			_ = link.Close()
			return
		}
		if bytes.IndexByte(keys, keyInterrupt) >= 0 {
			if !last.IsZero() && time.Since(last) < twice {
				_ = link.Kill()
			}
			last = time.Now()
		}
		if link.Input(keys) != nil {
			return
		}
	}
}
