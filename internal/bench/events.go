package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
)

// eventLines is how long a run is read in the measurement; with lines of a kilobyte it is a gigabyte.
const eventLines = 1_000_000

// events measures how fast an agent's stream becomes events, compared with only checking that each line is JSON.
func (b *bench) events(ctx context.Context) error {
	decoder := event.NewClaude(event.Start{})
	peak := uint64(0)
	size := int64(0)
	ours, err := readStream(ctx, func(n int, line []byte) {
		size += int64(len(line)) + 1
		decoder.Line(line)
		if n%50_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse+m.StackInuse)
		}
	})
	if err != nil {
		return err
	}
	if end := decoder.End(0).Finished; end.Usage.Turns == 0 {
		return fmt.Errorf("nothing was understood: %+v", end)
	}
	plain, err := readStream(ctx, func(_ int, line []byte) { _ = json.Valid(line) })
	if err != nil {
		return err
	}
	rate := func(d time.Duration) string { return fmt.Sprintf("%.0f MB/s", float64(size)/1e6/d.Seconds()) }
	b.rows = append(b.rows,
		row{fmt.Sprintf("1,000,000 events, %.2f GB, read", float64(size)/1e9) + " and decoded, beside json.Valid", rate(ours),
			rate(plain), ratio(ours, plain), "50 MB/s"},
		row{"the most memory in use meanwhile", fmt.Sprintf("%.0f MB", float64(peak)/1e6), "", "", "bounded"})
	return nil
}

func readStream(ctx context.Context, each func(n int, line []byte)) (time.Duration, error) {
	r := event.NewReader(newLongRun())
	start := time.Now()
	for n := 0; ; n++ {
		line, cut, err := r.Next()
		if errors.Is(err, io.EOF) && n == eventLines {
			return time.Since(start), nil
		}
		if err != nil || cut {
			return 0, fmt.Errorf("line %d of %d: cut %v: %w", n, eventLines, cut, err)
		}
		if n%10_000 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		each(n, line)
	}
}

// longRun is claude's output in a very long run: a call, its result and words, again and again.
type longRun struct {
	lines [][]byte
	n     int
	rest  []byte
}

func newLongRun() *longRun {
	const session = `"parent_tool_use_id":null,"session_id":"11111111-2222-4333-8444-555555555555"`
	words := strings.Repeat(`\tif err != nil {\n\t\treturn fmt.Errorf(\"read: %w\", err)\n\t}\n`, 26)
	s := &longRun{}
	for i := range 999 {
		var line string
		switch id := fmt.Sprintf("%04d", i/3); i % 3 {
		case 0:
			line = `{"type":"assistant","message":{"id":"msg_` + id +
				`","role":"assistant","content":[{"type":"tool_use","id":"toolu_` + id +
				`","name":"Bash","input":{"command":"go test ./... 2>&1 | tail -n 40","description":"Run the tests"}}],` +
				`"usage":{"input_tokens":4,"cache_creation_input_tokens":120,"cache_read_input_tokens":20000,` +
				`"output_tokens":31}},` + session + `}`
		case 1:
			line = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_` + id +
				`","type":"tool_result","content":"` + words + `","is_error":false}]},` + session + `}`
		default:
			line = `{"type":"assistant","message":{"id":"msg_` + id +
				`t","role":"assistant","content":[{"type":"text","text":"` + words[:len(words)/26*9] +
				`"}],"usage":{"input_tokens":4,"output_tokens":200}},` + session + `}`
		}
		s.lines = append(s.lines, []byte(line+"\n"))
	}
	return s
}

func (s *longRun) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.rest) == 0 {
			if s.n == eventLines {
				break
			}
			s.rest = s.lines[s.n%len(s.lines)]
			s.n++
		}
		k := copy(p[n:], s.rest)
		n, s.rest = n+k, s.rest[k:]
	}
	if n == 0 {
		err = io.EOF
	}
	return n, err
}
