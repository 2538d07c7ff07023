package view

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/view/entry"
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

// bare is how answers begin that net/http gives by itself, behind their first line. Others have other headers there.
var bare = []string{"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n",
	"\r\nConnection: close\r\nDate: "}

// Write adds the headers that every answer has to those that nobody else adds them to.
func (c *ownConn) Write(p []byte) (int, error) {
	first, _, _ := bytes.Cut(p, []byte("\r\n"))
	rest := string(p[len(first):min(len(p), len(first)+100)])
	if !bytes.HasPrefix(first, []byte("HTTP/1.")) ||
		!slices.ContainsFunc(bare, func(b string) bool { return strings.HasPrefix(rest, b) }) {
		return c.Conn.Write(p)
	}
	var more strings.Builder
	more.Write(first)
	more.WriteString("\r\n")
	_ = entry.Headers().Write(&more) // into memory
	more.Write(p[len(first)+2:])
	_, err := io.WriteString(c.Conn, more.String())
	return len(p), err
}
