package keep

import (
	"context"
	"io"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
)

// How long the start of an agent waits until what it writes down is followed, and its end until the last of it is read.
// Both take milliseconds; who has no transcript has still a terminal.
const recordPatience = 3 * time.Second

// follow puts into the transcript what the CLI of an agent on a terminal writes down of its conversation. It is read
// in the box: whatever the agent makes of those files, nothing of the host's is opened.
func (a *attempt) follow(ctx context.Context) (ended func()) {
	if a.agent.Record == nil {
		return func() {}
	}
	files, read := a.agent.Record()
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan syscall.Signal, 1)
	out, in := io.Pipe()
	began, done := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	go func() {
		defer begin()
		// Without it the session has its terminal alone.
		_ = a.drv.Run(ctx, a.box, box.Exec{Session: a.rec.ID, Dir: a.place.Workspace, Signals: signals, Stdout: in,
			Stderr: io.Discard, Argv: []string{a.place.Tool, "record", path.Join(a.place.Home, files)}})
		_ = in.Close()
	}()
	go func() {
		defer close(done)
		readLines(out, func(line []byte) {
			begin()
			for _, e := range read(line) {
				a.transcript.AddRecord(a.doorman.explain(e))
			}
		})
	}()
	wait := func(c chan struct{}) {
		select {
		case <-c:
		case <-ctx.Done():
		case <-time.After(recordPatience):
		}
	}
	wait(began)
	return func() {
		signals <- syscall.SIGTERM
		wait(done)
		cancel()
		_ = out.Close()
		<-done
	}
}
