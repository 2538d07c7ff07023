package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
)

// half is a connection of which the writing half can be closed.
type half interface {
	net.Conn
	CloseWrite() error
}

// conn is a connection on which lines of JSON come first. Each stream of a program has one of its own, so that unread
// data holds up no other.
type conn struct {
	half
	in      *bufio.Reader
	left    int64 // how much of lines may still be read
	writing sync.Mutex
	untie   func() bool
}

// newConn takes any connection: all that we make are sockets of a kind that has two halves.
func newConn(c net.Conn, most int64) (*conn, error) {
	h, ok := c.(half)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("a %s connection has no two halves", c.LocalAddr().Network())
	}
	return &conn{half: h, in: bufio.NewReaderSize(h, 32<<10), left: most}, nil
}

// tie closes the connection when the context ends.
func (c *conn) tie(ctx context.Context) *conn {
	c.untie = context.AfterFunc(ctx, func() { _ = c.half.Close() })
	return c
}

// Close closes both halves.
func (c *conn) Close() error {
	if c.untie != nil {
		c.untie()
	}
	return c.half.Close()
}

// Read reads what comes after the lines that were received.
func (c *conn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *conn) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.Write(append(data, '\n'))
	return err
}

// receive reads one line strictly: an unknown field means that the two sides have different versions.
func (c *conn) receive(v any) error {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		if c.left -= int64(len(part)); c.left < 0 {
			return fmt.Errorf("read: %w", bufio.ErrTooLong)
		}
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull { //nolint:errorlint // as it is documented
			return fmt.Errorf("read: %w", err)
		}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// copyBoth copies in both directions until both have ended.
func copyBoth(a, b half) {
	var both sync.WaitGroup
	pass := func(to, from half) {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}
