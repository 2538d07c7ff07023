package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/socket"
)

// most is how many connections are copied at once. Others wait in the port's queue.
const most = 256

// linger is how long one side is still read after the other side has stopped reading.
const linger = 5 * time.Second

// portFD is the listening socket that the helper is started with.
const portFD = 3

// help is the helper: it serves the port until the program has ended.
func help(path, pid string) int {
	signal.Ignore(syscall.SIGPIPE) // from a stderr that nobody reads
	program, err := strconv.Atoi(pid)
	if err != nil {
		return complain(2, err)
	}
	port := os.NewFile(portFD, "port")
	l, err := net.FileListener(port)
	if err != nil {
		return complain(1, err)
	}
	_ = port.Close()
	go func() {
		await(program)
		os.Exit(0)
	}()
	s := server{socket: path, words: os.Stderr}
	if dir := os.Getenv(exchangeVar); dir != "" {
		s.heard = sync.OnceFunc(func() { go watchAlone(program, filepath.Join(dir, AloneFile)) })
	}
	if err := s.serve(l); err != nil {
		return complain(1, err)
	}
	return 0
}

// server copies connections to a socket.
type server struct {
	socket string
	words  io.Writer
	told   atomic.Bool // it has reported that the socket can't be reached
	heard  func()      // called at each connection; may be nil
}

// serve copies until the listener is closed.
func (s *server) serve(l net.Listener) error {
	slots := make(chan struct{}, most)
	for {
		slots <- struct{}{}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // too many open files, or a client that is gone already
			time.Sleep(10 * time.Millisecond)
			<-slots
			continue
		}
		if s.heard != nil {
			s.heard()
		}
		go func() {
			defer func() { <-slots }()
			s.connect(c)
		}()
	}
}

func (s *server) connect(client net.Conn) {
	defer func() { _ = client.Close() }()
	door, err := socket.Dial(context.Background(), s.socket)
	if err != nil {
		if !s.told.Swap(true) {
			_, _ = fmt.Fprintf(s.words, "cco-box: relay: no way out of this box: %v\n", err)
		}
		return
	}
	s.told.Store(false)
	defer func() { _ = door.Close() }()
	var both sync.WaitGroup
	both.Go(func() { pump(door, client) })
	both.Go(func() { pump(client, door) })
	both.Wait()
}

// pump copies one direction and passes on its end. When dst accepts no more, pump still reads src for a while: closing
// a connection with unread data resets it, and would lose the answer that is on its way.
func pump(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if err != nil {
		_ = src.SetReadDeadline(time.Now().Add(linger))
		_, err = io.Copy(io.Discard, src)
	}
	w, ok := dst.(interface{ CloseWrite() error })
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // dst is closed to us already
	case err == nil && ok:
		_ = w.CloseWrite()
	default: // src was reset, and so is dst
		_ = dst.Close()
	}
}
