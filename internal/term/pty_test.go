package term_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
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

// writes is a writer that does something.
type writes func(p []byte)

func (w writes) Write(p []byte) (int, error) { w(p); return len(p), nil }

// Guards against a key that is shown because it was pasted as soon as it was asked for.
func TestASecretThatIsTypedAtOnceIsNotShown(t *testing.T) {
	person, tty, err := pty.Open()
	must.Do(t, err)
	defer func() { _, _ = person.Close(), tty.Close() }()
	s := &term.Streams{In: tty, InTTY: true, Err: writes(func(p []byte) {
		if string(p) == "Key: " {
			must.Get(person.WriteString("sesame\r"))(t)
		}
	})}
	if got, err := s.Secret(t.Context(), "Key: ", 100); err != nil || got != "sesame" {
		t.Errorf("it reads %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as Ctrl-C does
	if _, err := s.Secret(ctx, "Again: ", 100); !errors.Is(err, context.Canceled) {
		t.Errorf("it was broken off, and says %v", err)
	}
	must.Get(person.WriteString("shown\r"))(t) // as everything after it
	shown := make([]byte, 5)
	if _, err := io.ReadFull(person, shown); err != nil || string(shown) != "shown" {
		t.Errorf("the terminal shows %q, %v", shown, err)
	}
}
