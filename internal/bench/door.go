package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/socket"
)

const doorToken = "token-of-a-bench"

// door measures what the only way out of a box costs: beside the same model and the same server, asked directly in the
// same run.
func (b *bench) door(ctx context.Context) error {
	model := httptest.NewServer(http.HandlerFunc(playModel))
	defer model.Close()
	at, err := b.openDoor(ctx, model.URL, 0)
	if err != nil {
		return err
	}
	defer at.close()
	if err := b.firstByte(ctx, at, model.URL); err != nil {
		return err
	}
	return b.throughput(ctx, at, model.URL)
}

// playModel streams: a first event at once, and then as many bytes as the path's query asks for, or nothing until the
// end.
func playModel(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	_, _ = io.WriteString(w, "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-opus-5\",\"usage\":{"+
		"\"input_tokens\":10,\"output_tokens\":1}}}\n\n")
	_ = rc.Flush()
	switch want := r.Header.Get("X-App"); want {
	case "":
	case "hold":
		<-r.Context().Done()
		return
	default:
		n, _ := strconv.Atoi(want)
		event := []byte("data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"" +
			strings.Repeat("words and more ", 2000) + "\"}}\n\n")
		for ; n > 0; n -= len(event) {
			if _, err := w.Write(event); err != nil {
				return
			}
		}
	}
	_, _ = io.WriteString(w, "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":20}}\n\n")
}

// doorway is a door under measurement, and a client that goes through it.
type doorway struct {
	door   *door.Door
	client *http.Client
}

func (b *bench) openDoor(ctx context.Context, model string, n int) (*doorway, error) {
	p, err := broker.FindProvider("anthropic")
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(model)
	if err != nil {
		return nil, err
	}
	key, err := broker.NewKey("sk-ant-of-a-bench-that-nobody-knows", false)
	if err != nil {
		return nil, err
	}
	rule, err := broker.ParseRule(base.Host)
	if err != nil {
		return nil, err
	}
	d, err := door.Open(ctx, door.Config{Dir: b.dir, Config: broker.Config{
		Session: fmt.Sprintf("%08x", n), Token: doorToken, Mode: broker.ModeAllowlist,
		Allowed: func() ([]broker.Rule, error) { return []broker.Rule{rule}, nil },
		Models:  []broker.Upstream{{Provider: p, Base: base, Key: key}},
	}})
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return socket.Dial(ctx, d.Way().Socket) }
	return &doorway{door: d, client: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

func (at *doorway) close() {
	at.client.CloseIdleConnections()
	at.door.Close()
}

// ask sends a request to the model and gives its answer when the first byte is there.
func ask(ctx context.Context, c *http.Client, base, want string) (*http.Response, *bufio.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages",
		strings.NewReader(`{"model":"claude-opus-5","messages":[{"role":"user","content":"`+
			strings.Repeat("words ", 2000)+`"}]}`))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("X-Api-Key", doorToken)
	if want != "" {
		r.Header.Set("X-App", want)
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	body := bufio.NewReaderSize(res.Body, 64<<10)
	_, err = body.Peek(1)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return res, body, err
}

// firstByte measures the time to the first byte of a streamed answer, by turns.
func (b *bench) firstByte(ctx context.Context, at *doorway, model string) error {
	once := func(c *http.Client, base string) (time.Duration, error) {
		start := time.Now()
		res, body, err := ask(ctx, c, base, "")
		if err != nil {
			return 0, err
		}
		took := time.Since(start)
		_, err = io.Copy(io.Discard, body)
		_ = res.Body.Close()
		return took, err
	}
	direct := &http.Client{Transport: &http.Transport{}}
	defer direct.CloseIdleConnections()
	const n = 3000
	var through, beside []time.Duration
	for i := range n + 100 {
		x, err := once(at.client, "http://door/anthropic")
		if err != nil {
			return err
		}
		y, err := once(direct, model)
		if err != nil {
			return err
		}
		if i >= 100 { // the first ones warm up
			through, beside = append(through, x), append(beside, y)
		}
	}
	slices.Sort(through)
	slices.Sort(beside)
	for _, q := range []struct {
		name string
		at   int
		bar  string
	}{{"p50", n / 2, "1 ms more"}, {"p99", n * 99 / 100, "5 ms more"}} {
		more := through[q.at] - beside[q.at]
		b.rows = append(b.rows, row{"first byte of a streamed answer, through a door (" + q.name + ")", fine(through[q.at]),
			fine(beside[q.at]), fine(more) + " more", q.bar})
	}
	return nil
}

func fine(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// throughput measures a long answer of the model.
func (b *bench) throughput(ctx context.Context, at *doorway, model string) error {
	const size = 512 << 20
	drain := func(c *http.Client, base string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			start := time.Now()
			res, body, err := ask(ctx, c, base, strconv.Itoa(size))
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, body)
			_ = res.Body.Close()
			return time.Since(start), err
		}
	}
	direct := &http.Client{Transport: &http.Transport{}}
	defer direct.CloseIdleConnections()
	ours, theirs, err := alternate(5, drain(at.client, "http://door/anthropic"), drain(direct, model))
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"a model's answer of 512 MB through a door, counted on the way", rate(size, ours),
		rate(size, theirs), ratio(ours, theirs), "300 MB/s"})
	return nil
}

func rate(size int, d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", float64(size)/1e6/d.Seconds())
}
