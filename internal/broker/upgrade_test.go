package broker

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Guards against a raw tunnel behind the Host check: a server that takes an Upgrade, or switches unasked, and then gets
// everything that the box sends, even for another host.
func TestNoProtocolBehindAPlainRequest(t *testing.T) {
	const behind = "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	for _, mode := range []Mode{ModeAllowlist, ModeOpen} {
		for name, more := range map[string]string{
			"h2c": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
				"AAMAAABkAAQAAP__\r\n",
			"a websocket": "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: " +
				"13\r\nSec-WebSocket-Key: AAAA\r\n",
			"TLS":                     "Connection: upgrade\r\nUpgrade: TLS/1.0\r\n",
			"one that is not hop":     "Upgrade: h2c\r\n",
			"a server that switches":  "",
			"switches, asked vaguely": "Connection: Upgrade\r\n",
		} {
			for _, way := range []string{"proxy", "80", "8080"} {
				t.Run(fmt.Sprint(mode, " ", name, " ", way), func(t *testing.T) {
					heard := make(chan string, 10)
					tr := open(t, Config{Mode: mode, Allowed: rules(t, "example.com", "example.com:8080")})
					h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						conn, buf, err := http.NewResponseController(w).Hijack()
						if err != nil {
							t.Error(err)
							return
						}
						defer func() { _ = conn.Close() }()
						answer := "HTTP/1.1 101 Switching Protocols\r\n"
						if up := r.Header.Get("Upgrade"); up != "" {
							answer += "Connection: Upgrade\r\nUpgrade: " + up + "\r\n"
						}
						_, _ = io.WriteString(conn, answer+"\r\n")
						said := make([]byte, 100)
						n, _ := buf.Read(said)
						heard <- string(said[:n])
					})
					var r *bufio.Reader
					if way == "proxy" {
						tr.site("example.com", "80", false, h)
						c := tr.dial()
						_, _ = fmt.Fprintf(c, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nProxy-Authorization: "+
							"%s\r\n%s\r\n%s", basic(theToken), more, behind)
						r = bufio.NewReader(c)
					} else {
						tr.site("example.com", way, false, h)
						c, in, _, _ := tr.connect("example.com:" + way)
						_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: example.com:%s\r\n%s\r\n%s", way, more, behind)
						r = in
					}
					status, body := readAnswer(t, r)
					if status != 403 || !strings.Contains(body, "protocol") {
						t.Errorf("it got %d %q", status, body)
					}
					if e := tr.entry(1); e.Decision != Refused || e.Kind != "http" {
						t.Errorf("the record has %+v", e)
					}
					_ = tr.door.Close()
					select {
					case got := <-heard:
						if got != "" {
							t.Errorf("the server heard %q", got)
						}
					default:
					}
				})
			}
		}
	}
}
