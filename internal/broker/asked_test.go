package broker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/cco-dev/cco/internal/must"
)

// asks sends requests to a model and says which of them it got whole.
func asks(t *testing.T, path string, mode Mode, body string, headers ...string) (status int, got *http.Request) {
	t.Helper()
	whole := make(chan *http.Request, 1)
	u, _ := upstream(t, strings.Split(path, "/")[1], func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			whole <- r
		}
		_, _ = io.WriteString(w, "{}")
	})
	status, _, _ = open(t, Config{Mode: mode, Models: []Upstream{u}}).ask("POST", path, body, headers...)
	select {
	case got = <-whole:
	default:
	}
	return status, got
}

// Guards against requests that a provider can read and the door can't: what is not read is not refused.
func TestWhatTheDoorCantReadDoesNotPass(t *testing.T) {
	const evil = `{"mcp_servers":[{"url":"https://evil.example"}]}`
	wide := func(order binary.AppendByteOrder) string {
		var b []byte
		for _, c := range utf16.Encode([]rune(evil)) {
			b = order.AppendUint16(b, c)
		}
		return string(b)
	}
	for name, body := range map[string]string{
		"a byte order mark": "\xef\xbb\xbf" + evil,
		"UTF-16":            wide(binary.LittleEndian),
		"UTF-16, turned":    wide(binary.BigEndian),
		"deep":              `{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `,` + evil[1:],
		"an array":          "[" + evil + "]",
		"a comment":         `{/* */` + evil[1:],
		"a word":            "nothing",
		"protobuf":          "\x0a\x05hello",
		"odd case":          strings.Replace(evil, "mcp_servers", "Mcp_Servers", 1),
		"escapes":           strings.Replace(evil, "mcp", `\u006dcp`, 1),
	} {
		if status, got := asks(t, "/anthropic/v1/messages", ModeAllowlist, body); status != http.StatusPaymentRequired ||
			got != nil {
			t.Errorf("%s: %d, the model got it: %t", name, status, got != nil)
		}
	}
	for _, body := range []string{" \r\n{}\n", `{"a":[{}],"b":"ü\n"}`, ""} {
		if status, got := asks(t, "/anthropic/v1/messages", ModeAllowlist, body); status != http.StatusOK || got == nil {
			t.Errorf("%q: %d", body, status)
		}
	}
}

// Guards against bodies and answers in forms that Google's servers know besides JSON.
func TestOnlyJSONIsSpokenToModels(t *testing.T) {
	const path = "/gemini/v1beta/models/m:generateContent"
	for query, want := range map[string]string{"?alt=proto": "", "?alt=media": "", "?alt=json": "alt=json",
		"?alt=sse": "alt=sse"} {
		_, got := asks(t, path+query, ModeAllowlist, "{}", "Content-Type", "application/x-protobuf")
		if got == nil || got.URL.RawQuery != want || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// Guards against newer ways to have the provider connect to an address of the box's choice.
func TestAProviderIsNoWayAroundTheList(t *testing.T) {
	const openai, gemini = "/openai/v1/responses", "/gemini/v1beta/models/m:generateContent"
	for _, c := range []struct {
		path, body string
		refused    bool
	}{
		{openai, `{"tools":[{"type":"shell","environment":{"type":"container_auto","network_policy":{"type":"allowlist",` +
			`"allowed_domains":["evil.example"]}}}]}`, true},
		{openai,
			`{"tools":[{"type":"code_interpreter","container":{"type":"auto","network_policy":{"type":"disabled"}}}]}`, false},
		{openai, `{"tools":[{"type":"namespace","tools":[{"type":"mcp","connector_id":"x"}]}]}`, true},
		{openai, `{"input":[{"content":[{"type":"input_image","image_url":" \thttps://evil.example"}]}]}`, true},
		{openai, `{"input":[{"content":[{"type":"input_image","image_url":"ht\ntps://evil.example"}]}]}`, true},
		{openai, `{"input":[{"content":[{"type":"input_image","image_url":"data:image/png;base64,aHR0cA=="}]}]}`, false},
		{openai, `{"tools":[{"type":"function","parameters":{"properties":{"type":{"type":"mcp"}}}}]}`, false},
		{gemini, `{"tools":[{"mcpServers":[{"name":"x","streamableHttpTransport":{"url":"https://evil.example"}}]}]}`, true},
		{gemini, `{"tools":{"mcp_servers":{"streamable_http_transport":{"url":"https://evil.example"}}}}`, true},
		{gemini, `{"tools":[{"mcpServers":[]}]}`, false},
		{gemini, `{"contents":[{"parts":[{"fileData":{"fileUri":"\u00a0https://evil.example"}}]}]}`, true},
	} {
		status, got := asks(t, c.path, ModeAllowlist, c.body)
		if c.refused != (status == http.StatusBadRequest) || c.refused != (got == nil) {
			t.Errorf("%s: %d", c.body, status)
		}
		if _, got := asks(t, c.path, ModeOpen, c.body); got == nil {
			t.Errorf("%s: refused in mode open", c.body)
		}
	}
}

// Guards against answers in which a model thinks for long, unseen, and which are broken off before they say what they
// cost; and against a wait for the first byte that costs as much as a long answer.
func TestWhatIsBrokenOffCostsWhatMayHaveBeenThought(t *testing.T) {
	const head = "head"
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	for _, c := range []struct {
		name, body, answer string
		ran                time.Duration
		from, to           int64
	}{
		{"thinking", `{"model":"gpt-5"}`, "data: {\"type\":\"response.created\"}\n\n", time.Minute, 60 * fastestModel,
			longestAnswer},
		{"thinking within bounds", `{"model":"gpt-5","max_output_tokens":1e3}`, "data: {\"type\":\"response.created\"}\n\n",
			time.Minute, 1000, 1000},
		{"given up at once", `{"model":"gpt-5","max_output_tokens":128000}`, "", 0, 0, 0},
		{"given up late, without a bound", `{"model":"gpt-5"}`, "", time.Hour, 0, 0},
		{"given up with nothing but a head", `{"model":"gpt-5"}`, head, time.Hour, 0, 0},
		{"many answers", `{"model":"gpt-5","n":8,"max_tokens":128000}`, "data: {}\n\n", 10 * time.Second, 80 * fastestModel,
			240 * fastestModel},
		{"complete", `{"model":"gpt-5"}`, "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{" +
			"\"input_tokens\":1,\"output_tokens\":2}}}\n\n", time.Minute, 2, 2},
	} {
		begun := make(chan struct{})
		u, _ := upstream(t, "openai", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if c.answer != "" {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, strings.TrimPrefix(c.answer, head))
				_ = http.NewResponseController(w).Flush()
			}
			close(begun)
			<-r.Context().Done()
		})
		ahead.Store(0)
		tr := open(t, Config{Models: []Upstream{u}, Now: now})
		conn := tr.dial()
		_, _ = fmt.Fprintf(conn, "POST /openai/v1/responses HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: "+
			"%d\r\n\r\n%s", theToken, len(c.body), c.body)
		<-begun
		if c.answer != "" {
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			must.Get(io.ReadFull(res.Body, make([]byte, len(strings.TrimPrefix(c.answer, head)))))(t)
		}
		ahead.Store(int64(c.ran))
		_ = conn.Close()
		if e := tr.entry(1); e.Spend == nil || e.Spend.Input == 0 || e.Spend.Output < c.from || e.Spend.Output > c.to {
			t.Errorf("%s: %+v", c.name, e.Spend)
		}
	}
}

// Guards against streams and tools that never say what they cost.
func TestWhatWontTellItsCostDoesNotPass(t *testing.T) {
	const chat = "/openai/v1/chat/completions"
	for _, c := range []struct {
		path, body string
		refused    bool
	}{
		{chat, `{"stream":true}`, true},
		{chat, `{"stream":true,"stream_options":{"include_usage":false}}`, true},
		{chat, `{"stream_options":{"include_usage":true},"stream":true,"stream_options":{}}`, true},
		{chat, `{"stream_options":{"include_usage":true},"stream":true,"stream_options":null}`, true},
		{"/openai/v1/completions", `{"stream":true}`, true},
		{"/openai/v1/responses",
			`{"tools":[{"type":"code_interpreter","container":{"type":"auto","memory_limit":"64g"}}]}`, true},
		{"/openai/v1/responses",
			`{"tools":[{"type":"code_interpreter","container":{"type":"auto","memory_limit":"1g"}}]}`, false},
		{"/openai/v1/responses", `{"tools":[{"type":"function","parameters":{"properties":{"memory_limit":{` +
			`"type":"string"}}}}]}`, false},
		{chat, `{"stream":true,"stream_options":{"include_usage":true}}`, false},
		{chat, `{"stream":false}`, false},
		{chat, `{"messages":[{"stream":true}]}`, false},
		{"/openai/v1/responses", `{"stream":true}`, false},
		{"/anthropic/v1/messages", `{"stream":true}`, false},
	} {
		if status, got := asks(t, c.path, ModeOpen, c.body); c.refused != (status == http.StatusBadRequest) ||
			c.refused != (got == nil) {
			t.Errorf("%s %s: %d", c.path, c.body, status)
		}
	}
}
