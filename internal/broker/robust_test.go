package broker

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// briefly is how long the door waits in tests for what never comes.
const briefly = time.Second

// wantServed asks for something. Whoever is served has as much time as those who are cut off: on a slow machine that
// is too little, and no answer after so long says nothing.
func (tr *trial) wantServed(when string) {
	tr.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		begun := time.Now()
		c := tr.dial()
		_, _ = fmt.Fprintf(c, "GET /anthropic/v1/models HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n\r\n", theToken)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				tr.t.Errorf("%s the next one gets %s", when, res.Status)
			}
			return
		}
		_ = c.Close()
		if time.Since(begun) < briefly || time.Now().After(end) {
			tr.t.Fatalf("%s the next one gets no answer: %v", when, err)
		}
	}
}

// Every client gets an answer or is cut off, and the next one is served.
func TestGarbageHarmsNobody(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	tr := open(t, Config{Models: []Upstream{u}, Timeouts: Timeouts{Header: briefly}})
	many := strings.Repeat("X-Header: value\r\n", 10_000)
	for name, text := range map[string]string{
		"noise":          "\x00\x01\x02\xff\xfe\r\n\r\n",
		"TLS":            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"SOCKS":          "\x05\x01\x00",
		"half a line":    "POST /anthropic/v1/mess",
		"half a header":  "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-K",
		"10,000 headers": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\n" + many + "\r\n",
		"a header of 1 MB": "GET /anthropic/v1/models HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", 1<<20) +
			"\r\n\r\n",
		"a URL of 1 MB": "GET /anthropic/" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"no host":       "GET /anthropic/v1/models HTTP/1.1\r\n\r\n",
		"two lengths": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
			"\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and chunked": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
			"\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an odd encoding": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
			"\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/9": "GET / HTTP/9.9\r\n\r\n",
	} {
		c := tr.dial()
		go func() { _, _ = io.WriteString(c, text) }()
		answer, _ := io.ReadAll(c)
		if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") &&
			!strings.HasPrefix(string(answer), "HTTP/1.1 5") {
			t.Errorf("%s: %.100q", name, answer)
		}
		if len(answer) == 0 && name == "10,000 headers" {
			t.Errorf("%s: no answer", name)
		}
		tr.wantServed("after " + name)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	garbage := 0
	for _, e := range tr.entries {
		if e.Kind == "garbage" && e.Decision == Refused {
			garbage++
		}
	}
	if garbage < 5 {
		t.Errorf("the record has %d entries of garbage", garbage)
	}
}

func TestHalfABodyIsEnded(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	tr := open(t, Config{Models: []Upstream{u}, Timeouts: Timeouts{Idle: 200 * time.Millisecond}})
	status, body := tr.raw("POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
		"\r\nContent-Length: 1000\r\n\r\n{\"mod")
	if status != 504 || !strings.Contains(body, "nothing moved") {
		t.Errorf("%d %s", status, body)
	}
	if e := tr.entry(1); e.Decision != Failed || e.Spend != nil {
		t.Errorf("the record says %+v", e)
	}
}

func TestAModelThatFallsSilentIsEnded(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for idle := briefly; ; idle *= 2 { // on a slow machine the model's first words take longer
		tr := open(t, Config{Models: []Upstream{u}, Timeouts: Timeouts{Idle: idle}})
		c := tr.dial()
		_, _ = fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: "+
			"2\r\n\r\n{}", theToken)
		answer, _ := io.ReadAll(c)
		e := tr.entry(1)
		if !strings.Contains(string(answer), "data: {}") && idle < 30*time.Second {
			continue
		}
		if e.Error == "" || e.Spend == nil || e.Spend.Estimated != 1 {
			t.Errorf("the record says %+v", e)
		}
		return
	}
}

// zeros is an endless body.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	clear(p[:n])
	z.left -= int64(n)
	return n, nil
}

// A body of 2 GB passes, or is refused, in little memory.
func TestABodyOfTwoGigabytesIsNotKept(t *testing.T) {
	if raceOn {
		t.Log("a smaller one: the race detector is slow")
	}
	size := int64(2 << 30)
	if raceOn {
		size = 64 << 20
	}
	got := make(chan int64, 1)
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got <- n
		_, _ = io.WriteString(w, `{"usage":{"input_tokens":1,"output_tokens":1}}`)
	})
	tr := open(t, Config{Models: []Upstream{u}})
	runtime.GC() // what tests before this one have left is not its own
	var peak atomic.Uint64
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	r := must.Get(http.NewRequestWithContext(t.Context(), "POST", "http://door/anthropic/v1/messages",
		io.MultiReader(strings.NewReader(`{"x":"`), &zeros{size}, strings.NewReader(`"}`))))(t)
	r.Header.Set("X-Api-Key", theToken)
	res, err := tr.client().Do(r)
	close(stop)
	<-watched
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if n := <-got; res.StatusCode != 200 || n != size+8 {
		t.Errorf("%d, %d bytes", res.StatusCode, n)
	}
	if peak.Load() > 64<<20 {
		t.Errorf("%d MB of memory", peak.Load()>>20)
	}
}

func TestAnAnswerIsPassedOnAtOnce(t *testing.T) {
	next := make(chan struct{})
	u, _ := upstream(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next // until the client has it
		}
	})
	tr := open(t, Config{Models: []Upstream{u}})
	r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://door/openai/v1/responses", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer "+theToken)
	res, err := tr.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	buf := make([]byte, len("data: {\"n\":0}\n\n"))
	for i := range 3 {
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != fmt.Sprintf("data: {\"n\":%d}\n\n", i) {
			t.Fatalf("%q, %v", buf, err)
		}
		next <- struct{}{}
	}
}

func TestTheDoorCutsStreamsWhenItCloses(t *testing.T) {
	begun := make(chan struct{})
	ended := make(chan struct{})
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	tr := open(t, Config{Models: []Upstream{u}})
	c := tr.dial()
	_, _ = fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: "+
		"2\r\n\r\n{}", theToken)
	<-begun
	_ = tr.door.Close()
	_, _ = io.ReadAll(c)
	<-ended
	tr.entry(1)
}

func TestMoreConnectionsThanThereArePlacesWait(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	tr := open(t, Config{Models: []Upstream{u}, Timeouts: Timeouts{Header: briefly}})
	for range maxConns {
		c := tr.dial()
		_, _ = io.WriteString(c, "GET /") // and no more: each has its place until its time is over
	}
	tr.wantServed("with all places taken")
}

// Guards against losing costs when a session ends with requests under way: Spent is read right after Close.
func TestWhatIsUnderWayIsPaidWhenTheDoorCloses(t *testing.T) {
	begun := make(chan struct{}, maxModelCalls)
	u, _ := upstream(t, "openai", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-r.Context().Done()
	})
	tr := open(t, Config{Models: []Upstream{u}})
	const body = `{"max_output_tokens":1000}`
	for range maxModelCalls + 3 { // those that wait for a place cost nothing
		_, _ = fmt.Fprintf(tr.dial(), "POST /openai/v1/responses HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: "+
			"%d\r\n\r\n%s", theToken, len(body), body)
	}
	for range maxModelCalls {
		<-begun
	}
	_ = tr.door.Close()
	if s := tr.door.Spent(); s.Input < maxModelCalls || s.Output != 0 || s.Requests != maxModelCalls {
		t.Errorf("spent %+v", s)
	}
}
