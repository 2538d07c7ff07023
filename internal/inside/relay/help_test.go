package relay

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// screen is a writer that can be waited on.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(s.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never came: %q", text, s)
		}
	}
}

// serving runs a server in this process.
func serving(t *testing.T, socket string) (address string, words *screen) {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	words = &screen{}
	done := make(chan error, 1)
	go func() { done <- (&server{socket: socket, words: words}).serve(l) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), words
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c := must.Get(net.Dial("tcp", address))(t)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

func TestEachSideMayStopSendingFirst(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	heard := make(chan string, 1)
	serveWith(t, socket, func(c *net.UnixConn) {
		_, _ = io.WriteString(c, "hello")
		_ = c.CloseWrite()
		text, _ := io.ReadAll(c)
		heard <- string(text)
	})
	address, _ := serving(t, socket)
	c := dial(t, address)
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
		t.Fatalf("%q, %v", text, err)
	}
	_, _ = io.WriteString(c, "still here")
	_ = c.CloseWrite()
	if text := <-heard; text != "still here" {
		t.Errorf("%q", text)
	}
}

// Guards against losing an answer because the question was not read to its end.
func TestAnswerSurvivesARefusedUpload(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	serveWith(t, socket, func(c *net.UnixConn) {
		_, _ = io.ReadFull(c, make([]byte, 10))
		_, _ = io.WriteString(c, "too much")
	})
	address, _ := serving(t, socket)
	for range 20 {
		c := dial(t, address)
		go func() { _, _ = c.Write(make([]byte, 8<<20)) }()
		if text, err := io.ReadAll(c); err != nil || string(text) != "too much" {
			t.Fatalf("%q, %v", text, err)
		}
		_ = c.Close()
	}
}

func TestNoWayOutIsSaidOnce(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	address, words := serving(t, socket)
	for range 3 {
		if text, _ := io.ReadAll(dial(t, address)); len(text) > 0 {
			t.Errorf("answered %q", text)
		}
	}
	if n := strings.Count(words.String(), "\n"); n != 1 || !strings.Contains(words.String(), "no way out") {
		t.Errorf("%q", words)
	}
	door(t, socket)
	c := dial(t, address)
	_, _ = io.WriteString(c, "x")
	_ = c.CloseWrite()
	if text, err := io.ReadAll(c); string(text) != "X" {
		t.Errorf("%q, %v", text, err)
	}
}

// Guards against a flood of connections that uses up everything: those beyond the limit wait, and none is lost.
func TestManyConnectionsTakeTurns(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "door.sock")
	var mu sync.Mutex
	open, peak := 0, 0
	full := make(chan struct{})
	serveWith(t, socket, func(c *net.UnixConn) {
		mu.Lock()
		open++
		if peak = max(peak, open); peak == most {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full
		_, _ = io.Copy(c, c)
		mu.Lock()
		open--
		mu.Unlock()
	})
	address, _ := serving(t, socket)
	var all sync.WaitGroup
	for range most + 50 {
		c := dial(t, address)
		all.Go(func() {
			_, _ = io.WriteString(c, "x")
			_ = c.CloseWrite()
			if text, err := io.ReadAll(c); string(text) != "x" {
				t.Errorf("%q, %v", text, err)
			}
			_ = c.Close()
		})
	}
	all.Wait()
	if peak > most+1 { // the door may see the next one before the end of the last one
		t.Logf("the door saw %d at once", peak)
	}
}
