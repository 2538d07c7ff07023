package verify

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cco-dev/cco/internal/box/probe"
)

// These are the names behind the door. Nobody owns them, and they are never looked up on the network.
const (
	allowedName = "allowed.cco.test"
	otherName   = "other.cco.test"
	publicAddr  = "20.30.40.50" // any public address: nobody connects to it
)

// inside are allowed names that lead to forbidden addresses. The last two change between lookups.
func inside() map[string][]string {
	return map[string][]string{
		"loopback.cco.test":  {"127.0.0.1"},
		"loopback6.cco.test": {"::1"},
		"mapped.cco.test":    {"::ffff:127.0.0.1"},
		"nat64.cco.test":     {"64:ff9b::7f00:1"},
		"private.cco.test":   {"10.11.12.13"},
		"unique.cco.test":    {"fd00::1"},
		"link.cco.test":      {"169.254.169.254"},
		"zero.cco.test":      {"0.0.0.0"},
		"mixed.cco.test":     {publicAddr, "192.168.1.1"},
		"flip.cco.test":      {publicAddr},
		"flip-back.cco.test": {"127.0.0.1"},
	}
}

// behind is everything behind a door: names, addresses and the one server that they all lead to.
type behind struct {
	server net.Listener
	turns  atomic.Int32 // how often the changing names were looked up

	mu      sync.Mutex
	reached []string // addresses to which the door connected and should not have
	asked   []string // hosts that requests named at a door
}

// newBehind starts the server.
func newBehind(ctx context.Context) (*behind, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &behind{server: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	return b, nil
}

// answer says which name was requested, in the worst reading of the request.
func answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	buf := make([]byte, 16<<10)
	n, err := c.Read(buf)
	if err != nil {
		return
	}
	said := strings.ToLower(string(buf[:n]))
	name := "?"
	for _, candidate := range []string{allowedName, otherName} { // the other one counts
		if strings.Contains(said, candidate) {
			name = candidate
		}
	}
	text := probe.Answer + " " + name + "\n"
	if strings.Contains(said, " http/1.") {
		text = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			len(text), text)
	}
	_, _ = io.WriteString(c, text)
}

// LookupNetIP is the name server.
func (b *behind) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	list := inside()[name]
	if name == allowedName || name == otherName {
		list = []string{publicAddr}
	}
	if strings.HasPrefix(name, "flip") && b.turns.Add(1)%2 == 0 {
		list = map[string][]string{publicAddr: {"127.0.0.1"}, "127.0.0.1": {publicAddr}}[list[0]]
	}
	if list == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	addrs := make([]netip.Addr, len(list))
	for i, text := range list {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		addrs[i] = addr
	}
	return addrs, nil
}

// DialContext connects to the one server for every address, and remembers forbidden addresses.
func (b *behind) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if address != b.server.Addr().String() && address != publicAddr+":443" && address != publicAddr+":80" {
		b.mu.Lock()
		b.reached = append(b.reached, address)
		b.mu.Unlock()
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", b.server.Addr().String())
}

func (b *behind) ask(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, host)
}

// clientHello is the first TLS message to a host.
func clientHello(name string) ([]byte, error) {
	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: name,
			MinVersion: tls.VersionTLS12}).Handshake() //nolint:noctx // it ends with the pipe
		_ = theirs.Close()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(ours, head); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	_, err := io.ReadFull(ours, body)
	return append(head, body...), err
}
