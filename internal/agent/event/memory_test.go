package event

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// Stream is what claude would write in a very long run: a few kinds of lines again and again.
type stream struct {
	lines  [][]byte
	left   int64 // bytes
	events int
	rest   []byte
}

// newStream gives about size bytes in lines of a kilobyte on average.
func newStream(size int64) *stream {
	code := strings.Repeat("\\tif err != nil {\\n\\t\\treturn fmt.Errorf(\\\"read %s: %w\\\", name, err)\\n\\t}\\n", 13)
	call := `{"type":"assistant","message":{"id":"msg_%06d","type":"message","role":"assistant","model":"m",` +
		`"content":[{"type":"tool_use","id":"toolu_%06d","name":"Bash","input":{"command":"go test ./... 2>&1 | tail -n ` +
		`40","description":"Run the tests"}}],"stop_reason":null,"usage":{"input_tokens":4,` +
		`"cache_creation_input_tokens":120,"cache_read_input_tokens":20000,"output_tokens":31,"service_tier":"standard"}},` +
		`"parent_tool_use_id":null,"session_id":"11111111-2222-4333-8444-555555555555","uuid":"0f2b"}` + "\n"
	result := `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%06d","type":"tool_result",` +
		`"content":"` + code + `","is_error":false}]},"parent_tool_use_id":null,` +
		`"session_id":"11111111-2222-4333-8444-555555555555","tool_use_result":{"stdout":"ok","stderr":"",` +
		`"interrupted":false}}` + "\n"
	text := `{"type":"assistant","message":{"id":"msg_%06dt","role":"assistant","content":[{"type":"text","text":"` +
		code[:600] + `"}],"usage":{"input_tokens":4,"output_tokens":200}},"parent_tool_use_id":null,` +
		`"session_id":"11111111-2222-4333-8444-555555555555"}` + "\n"
	s := &stream{left: size}
	for i := range 1000 {
		s.lines = append(s.lines, fmt.Appendf(nil, call, i, i), fmt.Appendf(nil, result, i), fmt.Appendf(nil, text, i))
	}
	return s
}

func (s *stream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.rest) == 0 {
			if s.left <= 0 {
				break
			}
			s.rest = s.lines[s.events%len(s.lines)]
			s.events++
			s.left -= int64(len(s.rest))
		}
		k := copy(p[n:], s.rest)
		n, s.rest = n+k, s.rest[k:]
	}
	if n == 0 {
		err = io.EOF
	}
	return n, err
}

// drain reads a stream to its end and gives the number of events.
func drain(tb testing.TB, in io.Reader, d Decoder) (events int) {
	tb.Helper()
	for r := NewReader(in); ; {
		line, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			tb.Fatal(err)
		}
		events += len(d.Line(line))
	}
}

// Guards against a decoder that keeps something of every line.
func TestMemoryIsBounded(t *testing.T) {
	d := NewClaude(Start{})
	drain(t, newStream(8<<20), d)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if n := drain(t, newStream(64<<20), d); n < 64<<10 {
		t.Errorf("%d events", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("it keeps %d bytes of 64 MB", grown)
	}
	runtime.KeepAlive(d)
}
