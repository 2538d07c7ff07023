package event

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// longRun gives a decoder what claude writes in a very long run, about a kilobyte a line: n times a call, its result
// and words, from first on.
func longRun(d Decoder, first, n int) (events int) {
	code := strings.Repeat("\\tif err != nil {\\n\\t\\treturn fmt.Errorf(\\\"read %s: %w\\\", name, err)\\n\\t}\\n", 13)
	call := `{"type":"assistant","message":{"id":"msg_%06d","type":"message","role":"assistant","model":"m",` +
		`"content":[{"type":"tool_use","id":"toolu_%06d","name":"Bash","input":{"command":"go test ./... 2>&1 | tail -n ` +
		`40","description":"Run the tests"}}],"stop_reason":null,"usage":{"input_tokens":4,` +
		`"cache_creation_input_tokens":120,"cache_read_input_tokens":20000,"output_tokens":31,"service_tier":"standard"}},` +
		`"parent_tool_use_id":null,"session_id":"11111111-2222-4333-8444-555555555555","uuid":"0f2b"}`
	result := `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%06d","type":"tool_result",` +
		`"content":"` + code + `","is_error":false}]},"parent_tool_use_id":null,` +
		`"session_id":"11111111-2222-4333-8444-555555555555","tool_use_result":{"stdout":"ok","stderr":"",` +
		`"interrupted":false}}`
	text := `{"type":"assistant","message":{"id":"msg_%06dt","role":"assistant","content":[{"type":"text","text":"` +
		code[:600] + `"}],"usage":{"input_tokens":4,"output_tokens":200}},"parent_tool_use_id":null,` +
		`"session_id":"11111111-2222-4333-8444-555555555555"}`
	for i := first; i < first+n; i++ {
		for _, line := range []string{fmt.Sprintf(call, i, i), fmt.Sprintf(result, i), fmt.Sprintf(text, i)} {
			events += len(d.Line([]byte(line)))
		}
	}
	return events
}

// Guards against a decoder that keeps something of every line.
func TestMemoryIsBounded(t *testing.T) {
	d := NewClaude(Start{})
	longRun(d, 0, 3000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if n := longRun(d, 3000, 22_000); n < 64<<10 {
		t.Errorf("%d events", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("it keeps %d bytes of 64 MB", grown)
	}
	runtime.KeepAlive(d)
}
