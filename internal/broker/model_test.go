package broker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestKeysAreAddedOnTheWay(t *testing.T) {
	subscription := "sk-ant-oat01-SUBSCRIPTION"
	for _, c := range []struct {
		provider, path string
		key            string
		bearer         bool
		header, value  string
	}{
		{"anthropic", "/anthropic/v1/messages", theKey, false, "X-Api-Key", theKey},
		{"anthropic", "/anthropic/v1/messages", "gateway-token", true, "Authorization", "Bearer gateway-token"},
		{"anthropic", "/anthropic/v1/messages", subscription, false, "Authorization", "Bearer " + subscription},
		{"openai", "/openai/v1/responses", "sk-openai", false, "Authorization", "Bearer sk-openai"},
		{"gemini", "/gemini/v1beta/models/gemini-2.5-pro:generateContent", "AIzaKey", false, "X-Goog-Api-Key", "AIzaKey"},
	} {
		got := make(chan *http.Request, 1)
		u, _ := upstream(t, c.provider, func(w http.ResponseWriter, r *http.Request) {
			got <- r
			w.Header().Set("Set-Cookie", "a=b")
			_, _ = io.WriteString(w, "{}")
		})
		k := must.Get(NewKey(c.key, c.bearer))(t)
		u.Key = k
		tr := open(t, Config{Models: []Upstream{u}})
		status, _, h := tr.ask("POST", c.path+"?key="+theToken+"&beta=true&access_token=x", `{}`, "Authorization", "Bearer "+
			theToken, "X-Goog-Api-Key", theToken,
			"Cookie", "a=b", "X-Forwarded-For", "1.2.3.4", "Api-Key", "mine", "Openai-Organization", "mine",
			"X-Goog-User-Project", "mine", "X-Http-Method-Override", "DELETE",
			"Anthropic-Beta", "tools-1", "Accept-Encoding", "gzip", "Connection", "x-stainless-os", "X-Stainless-Os", "hop")
		r := <-got
		if status != 200 || r.Header.Get(c.header) != c.value {
			t.Errorf("%s: status %d, %s is %q", c.provider, status, c.header, r.Header.Get(c.header))
		}
		if h.Get("Set-Cookie") != "" {
			t.Error("a cookie came back")
		}
		for name, values := range r.Header {
			if text := strings.Join(values, ","); strings.Contains(text, theToken) || text == "mine" || name == "Cookie" ||
				name == "X-Forwarded-For" || name == "X-Stainless-Os" || strings.Contains(text, "gzip") {
				t.Errorf("the model gets %s: %s", name, text)
			}
		}
		if r.URL.RawQuery != "beta=true" {
			t.Errorf("the model gets ?%s", r.URL.RawQuery)
		}
		if beta := r.Header.Get("Anthropic-Beta"); (c.key == subscription) != strings.Contains(beta, oauthBeta) ||
			!strings.Contains(beta, "tools-1") {
			t.Errorf("anthropic-beta is %q", beta)
		}
	}
}

func TestOnlyThisSessionsTokenOpensAModel(t *testing.T) {
	asked := 0
	u, _ := upstream(t, "anthropic", func(http.ResponseWriter, *http.Request) { asked++ })
	tr := open(t, Config{Mode: ModeOpen, Models: []Upstream{u}})
	for _, line := range []string{
		"", "X-Api-Key: \r\n", "X-Api-Key: token-of-another-session\r\n", "Authorization: Bearer x\r\n",
		"Authorization: Basic " + theToken + "\r\n",
		"Proxy-Authorization: " + basic(theToken) + "\r\n", "Cookie: key=" + theToken + "\r\n", "X-Api-Key: " + theKey +
			"\r\n",
	} {
		status, body := tr.raw("POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\n" + line +
			"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
		if status != 403 || !strings.Contains(body, `"type":"error"`) {
			t.Errorf("%q: %d %s", line, status, body)
		}
	}
	if asked > 0 {
		t.Error("the model was asked")
	}
	for _, how := range []string{"Authorization: bearer " + theToken, "x-goog-api-key: " + theToken,
		"x-api-key: " + theToken} {
		if status, _ := tr.raw("POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\n" + how +
			"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"); status != 200 {
			t.Errorf("%s: %d", how, status)
		}
	}
}

func TestOnlyCallsThatCanBeCountedPass(t *testing.T) {
	var paths []string
	record := func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		_, _ = io.WriteString(w, "{}")
	}
	var ups []Upstream
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		u, _ := upstream(t, name, record)
		ups = append(ups, u)
	}
	ups[1].Base = ups[1].Base.JoinPath("/v1")
	tr := open(t, Config{Models: ups})
	for _, c := range []struct{ ask, want string }{
		{"POST /anthropic/v1/messages", "POST /v1/messages"},
		{"POST /anthropic/v1/messages/count_tokens", "POST /v1/messages/count_tokens"},
		{"GET /anthropic/v1/models/claude-opus-4-6", "GET /v1/models/claude-opus-4-6"},
		{"POST /openai/v1/responses", "POST /v1/responses"},
		{"POST /openai/responses", "POST /v1/responses"},
		{"POST /openai/v1/chat/completions", "POST /v1/chat/completions"},
		{"GET /openai/models", "GET /v1/models"},
		{"POST /gemini/v1beta/models/gemini-3-pro:streamGenerateContent",
			"POST /v1beta/models/gemini-3-pro:streamGenerateContent"},
		{"POST /anthropic/v1/messages/batches", ""},
		{"POST /anthropic/v1/files", ""},
		{"GET /anthropic/v1/messages", ""},
		{"DELETE /anthropic/v1/models/x", ""},
		{"POST /anthropic/v1/organizations/api_keys", ""},
		{"POST /anthropic/api/event_logging/batch", ""},
		{"POST /anthropic/v1/../v1/files", ""},
		{"POST /anthropic/v1/messages/../files", ""},
		{"POST /anthropic/v1%2Ffiles", ""},
		{"POST /anthropic/v1/messages%2F..%2Ffiles", ""},
		{"POST /anthropic//v1/messages", ""},
		{"POST /anthropic/../openai/v1/files", ""},
		{"POST /openai/v1/batches", ""},
		{"POST /openai/v1/images/generations", ""},
		{"POST /openai/v1/fine_tuning/jobs", ""},
		{"GET /openai/v1/responses/resp_1", ""},
		{"POST /gemini/v1beta/models/x:batchGenerateContent", ""},
		{"POST /gemini/v1beta/cachedContents", ""},
		{"POST /gemini/v1beta/models/x:generateContent:y", ""},
		{"POST /gemini/models/x:generateContent", ""},
		{"GET /gemini/v1beta/models/x:generateContent", ""},
		{"GET /", ""},
		{"GET /mistral/v1/models", ""},
		{"HEAD /anthropic", ""},
		{"OPTIONS *", ""},
	} {
		paths = nil
		status, body := tr.raw(c.ask + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + theToken +
			"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		got := strings.Join(paths, ",")
		if got != c.want || (c.want == "") != (status == 404 || status == 403) {
			t.Errorf("%s: %d %s, the model got %q", c.ask, status, body, got)
		}
	}
}

func TestASessionHasOnlyItsOwnModels(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	tr := open(t, Config{Models: []Upstream{u}})
	if status, _, _ := tr.ask("POST", "/anthropic/v1/messages", "{}"); status != 200 {
		t.Errorf("its model: %d", status)
	}
	if status, body, _ := tr.ask("POST", "/openai/v1/responses", "{}"); status != 404 ||
		!strings.Contains(body, `"message"`) {
		t.Errorf("another model: %d %s", status, body)
	}
	if _, _, status, _ := tr.connect("example.com:443"); status != 403 {
		t.Errorf("the proxy of a box without a network: %d", status)
	}
}

func TestRequestsThatCantBeCountedAreRefused(t *testing.T) {
	for _, c := range []struct {
		path, body string
		mode       Mode
		refused    bool
	}{
		{"/openai/v1/responses", `{"model":"m","background":true}`, ModeOpen, true},
		{"/openai/v1/responses", `{"background":false,"background": true }`, ModeOpen, true},
		{"/openai/v1/responses", `{"b\u0061ckground":true}`, ModeOpen, true},
		{"/openai/v1/responses", `{"background":false,"input":{"background":true}}`, ModeOpen, false},
		{"/openai/v1/responses", `{"input":"{\"background\":true}"}`, ModeOpen, false},
		{"/openai/v1/responses", `{"tools":[{"type":"mcp","server_url":"https://evil.example"}]}`, ModeAllowlist, true},
		{"/openai/v1/responses", `{"tools":[{"type":"mcp","server_url":"https://evil.example"}]}`, ModeOpen, false},
		{"/openai/v1/responses", `{"input":[{"content":[{"type":"input_image","image_url":"https://evil.example/?x"}]}]}`,
			ModeAllowlist, true},
		{"/openai/v1/responses", `{"input":[{"content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`,
			ModeAllowlist, false},
		{"/openai/v1/responses", `{"tools":[{"type":"web_search"}]}`, ModeAllowlist, false},
		{"/anthropic/v1/messages", `{"mcp_servers":[{"type":"url","url":"https://evil.example"}]}`, ModeAllowlist, true},
		{"/anthropic/v1/messages", `{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, ModeNone, true},
		{"/anthropic/v1/messages", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url",` +
			`"url":"https://evil.example/?x"}}]}]}`, ModeAllowlist, true},
		{"/anthropic/v1/messages", `{"messages":[{"role":"user","content":[{"type":"tool_use",` +
			`"input":{"url":"https://x"}}]}]}`, ModeAllowlist, false},
		{"/gemini/v1beta/models/m:generateContent", `{"tools":[{"urlContext":{}}]}`, ModeAllowlist, true},
		{"/gemini/v1beta/models/m:generateContent",
			`{"contents":[{"parts":[{"fileData":{"fileUri":"https://evil.example"}}]}]}`, ModeAllowlist, true},
		{"/gemini/v1beta/models/m:generateContent", `{"tools":[{"functionDeclarations":[{"name":"urlContext"}]}]}`,
			ModeAllowlist, false},
	} {
		asked := make(chan string, 1)
		u, _ := upstream(t, strings.Split(c.path, "/")[1], func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil {
				asked <- string(body)
			}
			_, _ = io.WriteString(w, "{}")
		})
		tr := open(t, Config{Mode: c.mode, Models: []Upstream{u}})
		status, body, _ := tr.ask("POST", c.path, c.body)
		if c.refused != (status == u.Provider.final()) || c.refused == (len(asked) == 1) {
			t.Errorf("%s: %d %s", c.body, status, body)
		}
	}
	u, _ := upstream(t, "openai", func(http.ResponseWriter, *http.Request) { t.Error("the model was asked") })
	tr := open(t, Config{Models: []Upstream{u}})
	if status, _, _ := tr.ask("POST", "/openai/v1/responses", "\x28\xb5\x2f\xfd", "Content-Encoding",
		"zstd"); status != 415 {
		t.Errorf("a packed request: %d", status)
	}
	if status, _, _ := tr.ask("GET", "/openai/v1/models", "", "Connection", "Upgrade", "Upgrade",
		"websocket"); status != 426 {
		t.Errorf("a websocket: %d", status)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/messages" {
			t.Errorf("the key was taken to %s", r.URL.Path)
		}
		http.Redirect(w, r, "/elsewhere?key="+theKey, http.StatusTemporaryRedirect)
	})
	tr := open(t, Config{Models: []Upstream{u}})
	status, _, h := tr.ask("POST", "/anthropic/v1/messages", "{}")
	if status != 307 || strings.Contains(fmt.Sprint(h), theKey) {
		t.Errorf("%d %v", status, h)
	}
}

// The key must not come back in any answer of the model's host: in a header, in an error, in a stream, cut into pieces.
func TestTheKeyNeverComesBack(t *testing.T) {
	var bodies bytes.Buffer
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Trailer", "X-Late")
		if strings.Contains(r.Header.Get("X-App"), "error") {
			w.WriteHeader(http.StatusUnauthorized)
		}
		text := "data: " + r.Header.Get("X-Api-Key") + " and " + theKey + theKey[:9]
		for _, b := range []byte(text) {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Late", theKey)
	})
	tr := open(t, Config{Models: []Upstream{u}, RecordBodies: &bodies})
	for _, app := range []string{"fine", "error"} {
		_, body, h := tr.ask("POST", "/anthropic/v1/messages", `{"x":"`+theKey+`"}`, "X-App", app)
		stars := strings.Repeat("*", len(theKey))
		if body != "data: "+stars+" and "+stars+theKey[:9] {
			t.Errorf("it says %q", body)
		}
		if strings.Contains(fmt.Sprint(h), theKey) {
			t.Errorf("headers %v", h)
		}
	}
	e := tr.entry(2)
	text := must.Get(json.Marshal([]any{e, tr.door.cfg.Models}))(t)
	all := string(text) + fmt.Sprintf("%v %+v %#v %s %q %x", u, u, u.Key, u.Key, u.Key, u.Key) +
		fmt.Sprintf("%v %+v %#v", tr.door, struct{ k Key }{u.Key}, tr.door.cfg.Models)
	if strings.Contains(all, theKey) || strings.Contains(bodies.String(), theKey) {
		t.Error("the key is in the record, or can be printed")
	}
	if !strings.Contains(bodies.String(), `"what":"request"`) || !strings.Contains(bodies.String(), `"what":"response"`) {
		t.Errorf("the bodies are not recorded: %s", bodies.String())
	}
}

func TestBodiesAreNotRecordedUnasked(t *testing.T) {
	u, _ := upstream(t, "anthropic", func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, `{"secret":"answer"}`)
	})
	tr := open(t, Config{Models: []Upstream{u}})
	tr.ask("POST", "/anthropic/v1/messages", `{"secret":"question"}`)
	text, _ := json.Marshal(tr.entry(1))
	if strings.Contains(string(text), "secret") {
		t.Errorf("the record says %s", text)
	}
}

func TestWhatAModelsHostDoesWrongIsToldInItsOwnTongue(t *testing.T) {
	silent := httptest.NewTLSServer(http.NotFoundHandler())
	silent.Config.ErrorLog = quietLog()
	defer silent.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct{ base, want string }{
		{gone.URL, "can't be reached"},
		{silent.URL, "certificate"},
		{strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS"},
		{"https://no-such-host.invalid", "can't be"},
	} {
		for _, p := range Providers() {
			base := must.Get(url.Parse(c.base))(t)
			tr := open(t, Config{Models: []Upstream{{Provider: p, Base: base, Key: key(t, theKey)}}})
			path := map[string]string{"anthropic": "/anthropic/v1/messages", "openai": "/openai/v1/responses",
				"gemini": "/gemini/v1beta/models/m:generateContent"}[p.Name]
			status, body, _ := tr.ask("POST", path, "{}")
			if status != 502 || !strings.Contains(body, c.want) || !json.Valid([]byte(body)) ||
				!strings.Contains(body, `"error":{`) {
				t.Errorf("%s at %s: %d %s", p.Name, c.base, status, body)
			}
			if e := tr.entry(1); e.Decision != Failed || e.Error == "" || e.Spend != nil {
				t.Errorf("the record says %+v", e)
			}
		}
	}
}

func TestDoorsThatMakeNoSenseAreNotOpened(t *testing.T) {
	a, _ := FindProvider("anthropic")
	parse := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	for name, c := range map[string]Config{
		"no token":          {},
		"two of a provider": {Token: "x", Models: []Upstream{{Provider: a}, {Provider: a}}},
		"an odd scheme":     {Token: "x", Models: []Upstream{{Provider: a, Base: parse("ftp://x")}}},
		"no host":           {Token: "x", Models: []Upstream{{Provider: a, Base: parse("https:///x")}}},
		"a password":        {Token: "x", Models: []Upstream{{Provider: a, Base: parse("https://u:p@x")}}},
		"an unknown one":    {Token: "x", Models: []Upstream{{Provider: Provider{Name: "x"}}}},
		"a negative limit":  {Token: "x", Limits: Limits{Tokens: -1}},
	} {
		if _, err := Open(c); err == nil {
			t.Errorf("%s: it opens", name)
		}
	}
	if _, err := FindProvider("mistral"); err == nil {
		t.Error("there is a provider mistral")
	}
	if _, err := ParseMode("all"); err == nil {
		t.Error("there is a mode all")
	}
}
