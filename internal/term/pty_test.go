package term_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

func rawPty(t *testing.T) (*term.Pty, *os.File) {
	t.Helper()
	p, slave, err := term.OpenPty()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Close(), slave.Close() })
	must.Get(xterm.MakeRaw(int(slave.Fd())))(t)
	return p, slave
}

// Guards against losing keys on their way to a program that does read, however slowly.
func TestWhatIsTypedArrives(t *testing.T) {
	p, slave := rawPty(t)
	var want bytes.Buffer
	for i := range 256 {
		keys := bytes.Repeat([]byte{byte(i)}, 4096)
		want.Write(keys)
		p.Type(keys)
		clear(keys) // the caller uses it again
	}
	got := make([]byte, want.Len())
	if _, err := io.ReadFull(slave, got); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("not all of it arrived, or not in turn: %v", err)
	}
}

// Guards against a program that blocks typing by not reading.
func TestTypingNeverWaits(t *testing.T) {
	p, slave := rawPty(t)
	done := make(chan error)
	go func() {
		for range 4096 {
			p.Type(make([]byte, 4096)) // more than is kept
		}
		p.Resize(100, 40)
		done <- nil
		_, err := io.Copy(io.Discard, p)
		done <- err
	}()
	for _, what := range []string{"typing", "reading, though it was closed"} {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("still %s", what)
		}
		if cols, rows, err := xterm.GetSize(int(slave.Fd())); err == nil && (cols != 100 || rows != 40) {
			t.Errorf("it is %d × %d", cols, rows)
		}
		_ = p.Close()
	}
}
