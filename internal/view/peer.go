package view

import (
	"io"
	"net"
	"sync"
)

// ownListener answers programs of this user, and of root, alone: others are hung up on before anything is said.
type ownListener struct{ net.Listener }

func (l ownListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &ownConn{Conn: c}, nil
}

// ownConn looks at who is at the other end when something is first read: it must keep nobody else waiting.
type ownConn struct {
	net.Conn
	look  sync.Once
	other bool
}

func (c *ownConn) Read(p []byte) (int, error) {
	c.look.Do(func() {
		if c.other = !ownPeer(c.RemoteAddr(), c.LocalAddr()); c.other {
			_ = c.Close()
		}
	})
	if c.other {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}
