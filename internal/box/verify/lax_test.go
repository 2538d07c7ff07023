//go:build linux

package verify

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// laxDoor lets everything through, and believes everything: every door probe must succeed against it.
type laxDoor struct{ *behind }

func (d laxDoor) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go laxServe(d.behind, c)
	}
}

func (laxDoor) Close() error { return nil }

func laxServe(b *behind, c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	var head strings.Builder
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			return
		}
		head.WriteString(line)
	}
	words := strings.Fields(head.String())
	host := strings.TrimPrefix(words[1], "http://")
	host, _, _ = strings.Cut(host, "/")
	b.ask(host)
	out, err := b.DialContext(context.Background(), "tcp", laxAddress(b, host))
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	if words[0] == "CONNECT" {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	} else {
		_, _ = io.WriteString(out, head.String())
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(out, r); _ = out.(*net.TCPConn).CloseWrite() })
	both.Go(func() { _, _ = io.Copy(c, out); _ = c.Close() })
	both.Wait()
}

// laxAddress looks a name up once to check it, and once more to use it.
func laxAddress(b *behind, host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	var addrs []netip.Addr
	for range 2 {
		addrs, _ = b.LookupNetIP(context.Background(), "ip", name)
	}
	if len(addrs) == 0 {
		return net.JoinHostPort(name, port)
	}
	return net.JoinHostPort(addrs[0].String(), port)
}
