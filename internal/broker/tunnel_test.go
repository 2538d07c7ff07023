package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// clientHello is what Go's own client says first, with a server name or without.
func clientHello(t testing.TB, name string, change func(*tls.Config)) []byte {
	t.Helper()
	c := &tls.Config{ServerName: name, InsecureSkipVerify: name == ""} // nobody answers
	if change != nil {
		change(c)
	}
	ours, theirs := net.Pipe()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = tls.Client(ours, c).HandshakeContext(ctx)
	}()
	head := make([]byte, recordHead)
	must.Get(io.ReadFull(theirs, head))(t)
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	must.Get(io.ReadFull(theirs, body))(t)
	_ = theirs.Close()
	return append(head, body...)
}

// cutUp cuts a record into records of n bytes.
func cutUp(record []byte, n int) (out []byte) {
	for body := record[recordHead:]; len(body) > 0; {
		m := min(n, len(body))
		out = append(out, record[0], record[1], record[2], byte(m>>8), byte(m))
		out = append(out, body[:m]...)
		body = body[m:]
	}
	return out
}

// withExtension adds an extension to a ClientHello record.
func withExtension(record []byte, kind uint16, body []byte) []byte {
	ext := binary.BigEndian.AppendUint16(nil, kind)
	ext = binary.BigEndian.AppendUint16(ext, uint16(len(body)))
	ext = append(ext, body...)
	out := append(bytes.Clone(record), ext...)
	binary.BigEndian.PutUint16(out[3:], uint16(len(out)-recordHead))
	n := len(out) - recordHead - shakeHead
	out[6], out[7], out[8] = byte(n>>16), byte(n>>8), byte(n)
	c := cut{b: out[recordHead+shakeHead:]}
	c.take(34)
	c.take(c.number(1))
	c.take(c.number(2))
	c.take(c.number(1))
	at := len(out) - len(c.b)
	binary.BigEndian.PutUint16(out[at:], binary.BigEndian.Uint16(out[at:])+uint16(len(ext)))
	return out
}

func sni(name string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(name)+3))
	b = binary.BigEndian.AppendUint16(append(b, 0), uint16(len(name)))
	return append(b, name...)
}

// echoed is a server that says what it hears, so that a test sees what passed.
func echoed(c net.Conn) { _, _ = io.Copy(c, c) }

func TestTLSInsideConnect(t *testing.T) {
	good := clientHello(t, "example.com", nil)
	for _, c := range []struct {
		name string
		to   string
		mode Mode
		send []byte
		pass bool
	}{
		{"the same name", "example.com:443", ModeAllowlist, good, true},
		{"the same name in another case", "example.com:443", ModeAllowlist, clientHello(t, "EXAMPLE.com", nil), true},
		{"another name", "example.com:443", ModeAllowlist, clientHello(t, "evil.example", nil), false},
		{"another name, open", "example.com:443", ModeOpen, clientHello(t, "evil.example", nil), false},
		{"another name on another port", "example.com:8443", ModeAllowlist, clientHello(t, "evil.example", nil), false},
		{"the same name on another port", "example.com:8443", ModeAllowlist, good, true},
		{"a name below", "example.com:443", ModeAllowlist, clientHello(t, "www.example.com", nil), false},
		{"no name", "example.com:443", ModeAllowlist, clientHello(t, "", nil), false},
		{"no name to an address", publicAddr + ":443", ModeAllowlist, clientHello(t, "", nil), true},
		{"a name to an address", publicAddr + ":443", ModeAllowlist, good, false},
		{"cut into small records", "example.com:443", ModeAllowlist, cutUp(good, 7), true},
		{"cut into single bytes", "example.com:443", ModeAllowlist, cutUp(good, 1), true},
		{"another name, cut into single bytes", "example.com:443", ModeAllowlist,
			cutUp(clientHello(t, "evil.example", nil), 1), false},
		{"two names", "example.com:443", ModeAllowlist, withExtension(good, 0, sni("evil.example")), false},
		{"a hidden name", "example.com:443", ModeAllowlist, withExtension(good, 0xfe0d, []byte{0, 1, 2}), false},
		{"a hidden name, open", "example.com:443", ModeOpen, withExtension(good, 0xfe0d, []byte{0, 1, 2}), true},
		{"an unknown extension", "example.com:443", ModeAllowlist, withExtension(good, 0xabcd, []byte{1}), true},
		{"TLS 1.2", "example.com:443", ModeAllowlist,
			clientHello(t, "example.com", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), true},
		{"something that is not TLS", "example.com:443", ModeAllowlist, []byte("SSH-2.0-OpenSSH_9.9\r\n"), false},
		{"HTTP on 443", "example.com:443", ModeAllowlist, []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), false},
		{"an alert", "example.com:443", ModeAllowlist, []byte{21, 3, 1, 0, 2, 1, 0}, false},
		{"garbage in a record", "example.com:443", ModeAllowlist, []byte{22, 3, 1, 0, 4, 1, 0, 0, 0}, false},
		{"a record that is too long", "example.com:443", ModeAllowlist, []byte{22, 3, 1, 255, 255}, false},
		{"a hello of 16 MB", "example.com:443", ModeAllowlist, []byte{22, 3, 1, 0, 4, 1, 255, 255, 255}, false},
		{"a second hello for another host", "example.com:443", ModeAllowlist,
			append(bytes.Clone(good), clientHello(t, "evil.example", nil)...), false},
		{"a second hello for another host, cut", "example.com:443", ModeAllowlist,
			append(bytes.Clone(good), cutUp(clientHello(t, "evil.example", nil), 1)...), false},
		{"a second hello for the same host", "example.com:443", ModeAllowlist, append(bytes.Clone(good), good...), true},
		{"another protocol after the hello", "example.com:443", ModeAllowlist,
			append(bytes.Clone(good), "GET / HTTP/1.1\r\n\r\n"...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, conn, r := tunnelTo(t, c.mode, c.to, echoed)
			if _, err := conn.Write(c.send); err != nil && c.pass {
				t.Fatal(err)
			}
			_ = conn.(*net.UnixConn).CloseWrite()
			back, _ := io.ReadAll(r)
			if c.pass != bytes.Equal(back, c.send) {
				t.Errorf("%d of %d bytes came back", len(back), len(c.send))
			}
			want := Allowed
			if !c.pass {
				want = Refused
			}
			if e := tr.entry(1); e.Decision != want {
				t.Errorf("the record says %+v", e)
			}
		})
	}
}

func TestAHelloThatNeverEndsIsEnded(t *testing.T) {
	for _, first := range []string{"", "\x16", "\x16\x03\x01\x02\x00\x01"} {
		tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com"),
			Timeouts: Timeouts{Hello: 50 * time.Millisecond}})
		tr.site("example.com", "443", true, hello200(""))
		conn, r, _, _ := tr.connect("example.com:443")
		_, _ = io.WriteString(conn, first)
		if _, err := io.ReadAll(r); err != nil {
			t.Logf("ended with %v", err)
		}
		if e := tr.entry(1); e.Decision != Refused {
			t.Errorf("after %q the record says %+v", first, e)
		}
	}
}

func TestServersThatSpeakFirstWorkOnOtherPorts(t *testing.T) {
	_, conn, r := tunnelTo(t, ModeAllowlist, "example.com:22", func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-server\r\n")
		echoed(c)
	})
	if line, err := r.ReadString('\n'); err != nil || line != "SSH-2.0-server\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = io.WriteString(conn, "SSH-2.0-client\r\n")
	if line, err := r.ReadString('\n'); err != nil || line != "SSH-2.0-client\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestHTTPInsideConnect(t *testing.T) {
	for _, port := range []string{"80", "8080"} {
		tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com:"+port)})
		tr.site("example.com", port, false, hello200("hello"))
		conn, r, _, _ := tr.connect("example.com:" + port)
		ask := func(host string) (int, string) {
			_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
			return readAnswer(t, r)
		}
		for _, host := range []string{"example.com:" + port, "EXAMPLE.com", "example.com.:" + port} {
			if status, body := ask(host); status != 200 || !strings.HasPrefix(body, "hello example.com") {
				t.Fatalf("%s: %d %q", host, status, body)
			}
		}
		if status, body := ask("evil.example"); status != 403 {
			t.Errorf("the second request for another host: %d %q", status, body)
		}
		if e := tr.entry(4); e.Kind != "http" || e.Decision != Refused {
			t.Errorf("the record says %+v", e)
		}
	}
}

func TestHTTPInsideConnectIsKnownHoweverItIsSent(t *testing.T) {
	for _, c := range []struct{ port, text string }{
		{"80", "GARBAGE\r\n\r\n"}, {"80", "\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"80", "FOO / HTTP/1.1\r\nHost: evil.example\r\n\r\n"}, {"80", "\x00\x01\x02\r\n\r\n"},
		{"8080", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"},
		{"8080", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"8080", "GET http://evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		// Whatever the method is, and whatever empty lines a server would skip.
		{"8080", "\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"8080", "\n\r\n\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"8080", "PROPFIND / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"8080", "get / HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"8080", "GET\t/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
		{"8080", "GET / HTTP/1.1\r\nHost: example.com\r\nHost: evil.example\r\n\r\n"}, {"8080", "GET / HTTP/1.1\r\n\r\n"},
	} {
		reached := make(chan string, 10)
		_, conn, r := tunnelTo(t, ModeAllowlist, "example.com:"+c.port, func(c net.Conn) {
			b := make([]byte, 100)
			for n, err := c.Read(b); err == nil; n, err = c.Read(b) {
				reached <- string(b[:n])
			}
		})
		for _, b := range []byte(c.text) { // byte by byte
			if _, err := conn.Write([]byte{b}); err != nil {
				break
			}
		}
		if status, body := readAnswer(t, r); status < 400 {
			t.Errorf("%q: %d %s", c.text, status, body)
		}
		_ = conn.Close()
		select {
		case got := <-reached:
			if strings.Trim(got, "\r\n") != "" { // empty lines ask for nothing
				t.Errorf("%q: the server got %q", c.text, got)
			}
		default:
		}
	}
}

func TestTunnelsEndWithTheDoor(t *testing.T) {
	tr, _, r := tunnelTo(t, ModeAllowlist, "example.com:22", echoed)
	_ = tr.door.Close()
	if _, err := r.ReadByte(); err == nil {
		t.Error("the tunnel lives on")
	}
	tr.entry(1)
	if _, err := net.Dial("unix", tr.socket); err == nil {
		t.Error("the door is open")
	}
}

func TestIdleTunnelsAreClosed(t *testing.T) {
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com:22"),
		Timeouts: Timeouts{Idle: 100 * time.Millisecond}})
	tr.site("example.com", "22", false, hello200(""))
	_, r, _, _ := tr.connect("example.com:22")
	if _, err := r.ReadByte(); err == nil {
		t.Error("the server spoke")
	}
	tr.entry(1)
}

// Guards against a hello on which the parser and a server disagree: what Go's own server reads is what we read.
func FuzzHello(f *testing.F) {
	f.Add(clientHello(f, "example.com", nil))
	f.Add(cutUp(clientHello(f, "example.com", nil), 3))
	f.Add(clientHello(f, "", nil))
	f.Add(withExtension(clientHello(f, "example.com", nil), 0, sni("evil.example")))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, raw, err := readHello(bytes.NewReader(b))
		if len(raw) > maxHello || !bytes.HasPrefix(b, raw) {
			t.Fatalf("it read %d bytes that are not the first of %d", len(raw), len(b))
		}
		if err != nil {
			return
		}
		name, seen := serverReads(b)
		if seen && name != h.name && name != strings.TrimSuffix(h.name, ".") {
			t.Fatalf("we read %q, a server reads %q", h.name, name)
		}
	})
}

// serverReads is the name that Go's TLS server finds in a hello, if it takes it.
func serverReads(b []byte) (name string, seen bool) {
	s := tls.Server(&replay{Reader: bytes.NewReader(b)},
		&tls.Config{GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config,
			error) { // nothing is served
			name, seen = i.ServerName, true
			return nil, errors.New("enough")
		}})
	_ = s.HandshakeContext(context.Background())
	return name, seen
}

type replay struct {
	*bytes.Reader
	net.Conn
}

func (r *replay) Read(p []byte) (int, error)       { return r.Reader.Read(p) }
func (r *replay) Write(p []byte) (int, error)      { return len(p), nil }
func (r *replay) Close() error                     { return nil }
func (r *replay) SetDeadline(time.Time) error      { return nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }
