package view

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against programs that open connections, say nothing or half of something, and keep them: each costs memory,
// and the page must still answer.
func TestAWaitingCrowdIsBoundedAndKeepsNobodyOut(t *testing.T) {
	p := newApp(t)
	found, _ := start(t, p, "127.0.0.1:0")
	token := tokenOf(t, p.Dirs.Data)
	ask := func(path, token string) (*http.Response, error) {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, found.Address+path, nil))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		return http.DefaultClient.Do(req)
	}
	// One who was let in, and listens.
	stream, err := ask("/api/v1/events", token)
	must.Do(t, err)
	defer func() { _ = stream.Body.Close() }()
	words := []string{"", "GET / HTTP/1.1\r\nHost: ", "POST /api/v1/enter HTTP/1.1\r\nHost: " + found.Address[7:] +
		"\r\nOrigin: " + found.Address + "\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n" +
		"Content-Length: 1000\r\n\r\n{\"code\":"}
	var all []net.Conn
	var dialer net.Dialer
	for i := range 2*guestsMost + 10 {
		c := must.Get(dialer.DialContext(t.Context(), "tcp", found.Address[7:]))(t)
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, words[i%len(words)]) // it may be hung up on already
		all = append(all, c)
	}
	// The first of them are hung up on; nothing else ends this.
	for _, c := range all[:guestsMost] {
		must.Do(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a connection that says nothing is kept beside too many others")
		}
	}
	resp, err := ask("/api/v1/me", token)
	must.Do(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the page says %s to one with a token", resp.Status)
	}
	// Who was let in is not hung up on for others.
	must.Do(t, errors.Join(all[len(all)-1].Close()))
	lines := bufio.NewReader(stream.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("a stream of one who was let in ends: %v", err)
		}
		if strings.HasPrefix(line, "event: state") {
			break
		}
	}
}

// Guards against streams without end: each looks at files again and again.
func TestStreamsAreBounded(t *testing.T) {
	p := newApp(t)
	found, _ := start(t, p, "127.0.0.1:0")
	token := tokenOf(t, p.Dirs.Data)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	open := func(ctx context.Context) int {
		t.Helper()
		req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, found.Address+"/api/v1/events", nil))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp.StatusCode
	}
	const most = 256
	for i := range most {
		if got := open(ctx); got != http.StatusOK {
			t.Fatalf("stream %d gives %d", i, got)
		}
	}
	if got := open(t.Context()); got != http.StatusTooManyRequests {
		t.Errorf("one more gives %d", got)
	}
	hangUp()
	for until := time.Now().Add(time.Minute); open(t.Context()) != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("streams that were left are still counted")
		}
	}
}

// Guards against ids, heads and bodies that lead elsewhere, or that make the server fail.
func TestStrangeRequestsAreRefused(t *testing.T) {
	p := newApp(t)
	found, _ := start(t, p, "127.0.0.1:0")
	token := tokenOf(t, p.Dirs.Data)
	host := found.Address[7:]
	raw := func(text string) string {
		t.Helper()
		var dialer net.Dialer
		c := must.Get(dialer.DialContext(t.Context(), "tcp", host))(t)
		defer func() { _ = c.Close() }()
		must.Do(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, _ = io.WriteString(c, text+"\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(line)
	}
	auth, from := "Authorization: Bearer "+token+"\r\n", "Host: "+host+"\r\n"
	me := "GET /api/v1/me HTTP/1.1\r\n"
	for text, want := range map[string]string{
		me + from + auth: "200",
		"GET http://evil.example/api/v1/me HTTP/1.1\r\n" + from + auth: "421",
		me + from + from + auth:              "400",
		me + auth:                            "400",
		"GET /api/v1/me HTTP/1.0\r\n" + auth: "421",
		me + from + auth + auth:              "400",
		me + "Host: evil.example\r\nX-Forwarded-Host: " + host + "\r\n" + auth: "421",
		me + from + "X: " + strings.Repeat("x", 2<<20) + "\r\n":                "431",
		"CONNECT " + host + " HTTP/1.1\r\n" + from + auth:                      "415",
		"TRACE / HTTP/1.1\r\n" + from + auth:                                   "415",
		"OPTIONS * HTTP/1.1\r\n" + from + "Origin: https://evil.example\r\n":   "415",
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n":                         "421",
		"PRI * HTTP/2.0\r\n": "421",
		"POST /api/v1/stop HTTP/1.1\r\n" + from + auth + "Content-Type: application/json\r\nContent-Length: 2\r\n" +
			"Transfer-Encoding: chunked\r\n": "400",
	} {
		if got := raw(text); !strings.Contains(got, " "+want+" ") {
			t.Errorf("%.100q gives %q, not %s", text, got, want)
		}
	}
	body := func(method, path, text string) (int, string) {
		t.Helper()
		req := must.Get(http.NewRequestWithContext(t.Context(), method, found.Address, strings.NewReader(text)))(t)
		req.URL.Opaque = "//" + host + path
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultTransport.RoundTrip(req) // it is not led elsewhere
		must.Do(t, err)
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
	}
	ids := []string{"..", ".", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "a%00b", "%00", "%0d%0aX:%20y",
		strings.Repeat("a", 5000), "-", "--help", "%ff%fe", "%e2%80%ae", "deadbeef%2f..%2f..", "'%20OR%201=1", "*", "%25s"}
	for _, route := range []string{"GET /sessions/ID", "GET /sessions/ID/transcript", "GET /sessions/ID/events",
		"GET /sessions/ID/search?q=x", "GET /sessions/ID/changes", "GET /sessions/ID/terminal", "POST /sessions/ID/answer",
		"POST /sessions/ID/continue", "POST /sessions/ID/kill", "POST /sessions/ID/pull", "GET /phases/ID",
		"POST /phases/ID/pause", "POST /phases/ID/cleanup", "POST /phases/ID/resume", "POST /phases/ID/accept",
		"GET /boxes/ID", "POST /boxes/ID/allow", "POST /boxes/ID/verify", "POST /boxes/ID/start", "POST /boxes/ID/stop"} {
		method, path, _ := strings.Cut(route, " ")
		in := ""
		if method == http.MethodPost {
			in = "{}"
		}
		for _, id := range ids {
			status, said := body(method, "/api/v1"+strings.Replace(path, "ID", id, 1), in)
			if status < 300 || strings.Contains(said, "root:") {
				t.Errorf("%s with %.40q gives %d %.100s", route, id, status, said)
			}
		}
	}
	for _, in := range []string{"", "null x", "[]", `{"text":1}`, `{"a":1}`, "{}{}", strings.Repeat("[", 200_000),
		`{"text":"` + strings.Repeat("x", 2<<20) + `"}`, "{", `{"text":"` + "\xff\xfe" + `"} x`} {
		if status, said := body(http.MethodPost, "/api/v1/sessions/00000000/answer", in); status != http.StatusBadRequest {
			t.Errorf("the body %.20q gives %d %.100s", in, status, said)
		}
	}
	for _, q := range []string{"first=-1", "first=99999999999999999999", "first=x", "limit=-5"} {
		path := "/api/v1/sessions/00000000/transcript?" + q
		if status, said := body(http.MethodGet, path, ""); status == http.StatusOK && !strings.Contains(said, `"items":[]`) {
			t.Errorf("%s gives %d %.100s", q, status, said)
		}
	}
}
