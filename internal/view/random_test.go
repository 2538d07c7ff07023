//go:build heavy && linux

package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// Guards against a request that makes the server fail, or keep something of it. SOAK=all makes 20,000 of them.
func TestRandomRequestsDoNoHarm(t *testing.T) {
	t.Parallel()
	n := 1000
	if os.Getenv("SOAK") == "all" {
		n = 20_000
	}
	r := viewtest.New(t)
	done := r.Push("Work", "echo x >x.txt\ngit add .\ngit commit -qm X\nmkdir -p .husky\necho y >.husky/pre-push\n"+
		"git add .\ngit commit -qm Y")
	r.Await(done, "done")
	r.Serve()
	g := &guesser{Rand: rand.New(rand.NewPCG(7, uint64(n))), ids: []string{done, "00000000", "cco-sandbox"}}
	half, counts := int64(0), map[int]int{}
	for i := range n {
		status := g.ask(t, r)
		if counts[status]++; status >= http.StatusInternalServerError && status != http.StatusGatewayTimeout {
			t.Fatalf("request %d is answered with %d", i, status)
		}
		if i == n/2 {
			half, _ = memory(t, r.PID())
		}
	}
	if said := string(must.Get(os.ReadFile(r.Path("view.err")))(t)); strings.Contains(said, "panic") {
		t.Errorf("it says %s", said)
	}
	// What the first half left is what any half leaves: nothing is kept of requests.
	now, most := memory(t, r.PID())
	for until := time.Now().Add(2 * time.Minute); now > half+half/4 && time.Now().Before(until); time.Sleep(time.Second) {
		now, _ = memory(t, r.PID())
	}
	t.Logf("%d requests: %v; %d MB halfway, %d MB now, %d MB at most", n, counts, half>>20, now>>20, most>>20)
	if now > half+half/4 {
		t.Errorf("%d MB are kept, and %d MB were halfway", now>>20, half>>20)
	}
}

// guesser makes requests up.
type guesser struct {
	*rand.Rand
	ids []string
}

func pick[T any](g *guesser, from []T) T { return from[g.IntN(len(from))] }

// junk is a text of any kind.
func (g *guesser) junk() string {
	switch g.IntN(6) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint(g.Int64() - g.Int64())
	case 2:
		return strings.Repeat(pick(g, []string{"a", "../", "%", "\x00", "\u202e", "|", "[", "9"}), g.IntN(3000))
	case 3:
		return pick(g, g.ids)
	case 4:
		return pick(g, []string{"limits.day_cost", "none", "example.org:80", "theirs", "main", "HEAD", "-", "*",
			"10.0.0.0/8"})
	}
	b := make([]byte, g.IntN(40))
	for i := range b {
		b[i] = byte(g.IntN(256))
	}
	return string(b)
}

// fill makes a body of the right fields, most of the time.
func (g *guesser) fill(of any) []byte {
	v := reflect.New(reflect.TypeOf(of)).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(strings.ToValidUTF8(g.junk(), ""))
		case reflect.Bool:
			f.SetBool(g.IntN(2) == 0)
		case reflect.Int, reflect.Int64:
			f.SetInt(g.Int64() - g.Int64())
		case reflect.Float64:
			f.SetFloat(g.NormFloat64() * 100)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{g.junk(), g.junk()}))
		}
	}
	data, _ := json.Marshal(v.Interface())
	if g.IntN(5) == 0 {
		data = []byte(g.junk())
	}
	return data
}

// ask makes one request, and reads of a stream only its beginning.
func (g *guesser) ask(t *testing.T, r *viewtest.Rig) int {
	t.Helper()
	route := pick(g, api.Routes())
	path := api.Prefix + route.Path
	for _, name := range []string{"{id}", "{name}"} {
		id := pick(g, g.ids)
		if g.IntN(3) == 0 || strings.HasSuffix(path, "/verify") { // a box is attacked for a while
			id = "x" + g.junk()
		}
		path = strings.ReplaceAll(path, name, url.PathEscape(id))
	}
	query := url.Values{}
	for _, p := range route.Query {
		if g.IntN(2) == 0 {
			query.Set(p.Name, g.junk())
		}
	}
	var body io.Reader
	if route.In != nil && !route.Socket {
		body = strings.NewReader(string(g.fill(route.In)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	method := route.Method
	if g.IntN(10) == 0 {
		method = pick(g, []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
	}
	req := must.Get(http.NewRequestWithContext(ctx, method, r.Address, body))(t)
	req.URL.Opaque = "//" + r.Address[7:] + path + "?" + query.Encode()
	if g.IntN(20) != 0 {
		req.Header.Set("Authorization", "Bearer "+r.Token())
	}
	if g.IntN(20) != 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if g.IntN(20) == 0 {
		req.Header.Set("Last-Event-ID", strings.Map(func(c rune) rune { return max(' ', c%127) }, g.junk()))
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s %q: %v", method, path, query, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		_, _ = io.ReadFull(resp.Body, make([]byte, 8))
		return resp.StatusCode
	}
	said := must.Get(io.ReadAll(resp.Body))(t)
	if resp.StatusCode >= http.StatusInternalServerError {
		t.Logf("%s %s %q gives %d %s", method, path, query, resp.StatusCode, said)
	}
	return resp.StatusCode
}
