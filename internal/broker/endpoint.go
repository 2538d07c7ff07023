package broker

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// call is a request to a model that the door knows: where it goes and whether it costs.
type call struct {
	path   string // below the base, without a leading slash
	billed bool
	model  string // if the path names it
}

var errUnknownCall = errors.New("cco's door knows no such call of this provider, and lets only those through whose cost it can count")

// find makes a call of what follows the provider's name in the path. Only calls whose cost stands in their answer are there:
// a batch, a fine-tuning or a stored file would spend or keep something that no limit sees.
func (p Provider) find(method, rest string) (call, error) {
	parts := strings.Split(rest, "/")
	for _, s := range parts {
		if !plainPart(s) {
			return call{}, errUnknownCall
		}
	}
	version := ""
	if isVersion(parts[0]) {
		version, parts = parts[0]+"/", parts[1:]
	}
	if p.wire == wireGemini && version == "" || len(parts) == 0 {
		return call{}, errUnknownCall
	}
	c := call{path: version + strings.Join(parts, "/")}
	name := method + " " + strings.Join(parts, "/")
	if method == http.MethodGet && parts[0] == "models" && len(parts) <= 2 && !strings.Contains(name, ":") {
		return c, nil
	}
	if p.wire == wireGemini {
		return c.gemini(method, parts)
	}
	switch {
	case p.wire == wireAnthropic && name == "POST messages",
		p.wire == wireOpenAI && (name == "POST responses" || name == "POST responses/compact" || name == "POST chat/completions" ||
			name == "POST completions" || name == "POST embeddings"):
		c.billed = true
	case p.wire == wireAnthropic && name == "POST messages/count_tokens", p.wire == wireOpenAI && name == "POST responses/input_tokens":
	default:
		return call{}, errUnknownCall
	}
	return c, nil
}

func (c call) gemini(method string, parts []string) (call, error) {
	if method != http.MethodPost || len(parts) != 2 || parts[0] != "models" {
		return call{}, errUnknownCall
	}
	model, verb, _ := strings.Cut(parts[1], ":")
	c.model = model
	switch verb {
	case "generateContent", "streamGenerateContent", "embedContent", "batchEmbedContents":
		c.billed = true
	case "countTokens":
	default:
		return call{}, errUnknownCall
	}
	return c, nil
}

// plainPart wants a part of a path that means the same to every server.
func plainPart(s string) bool {
	if s == "" || s[0] == '.' || len(s) > 128 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:@", r)
	})
}

func isVersion(s string) bool { return len(s) >= 2 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9' }

// at is the URL of a call below a base. Bases are written with the version (OpenAI's) and without: it is there once.
func (c call) at(base *url.URL, query url.Values) *url.URL {
	u := *base
	below, path := strings.Trim(u.Path, "/"), c.path
	if first, rest, ok := strings.Cut(path, "/"); ok && isVersion(first) && isVersion(below[strings.LastIndex(below, "/")+1:]) {
		path = rest
	}
	u.Path, u.RawPath = strings.TrimSuffix("/"+below, "/")+"/"+path, ""
	kept := base.Query() // a gateway may want an api-version there
	for name, values := range query {
		if passesQuery(name) && !kept.Has(name) {
			kept[name] = values
		}
	}
	u.RawQuery, u.Fragment, u.User = kept.Encode(), "", nil
	return &u
}

// passesQuery says which parameters of a call mean something and can't carry a credential.
func passesQuery(name string) bool {
	switch name {
	case "beta", "alt", "pageSize", "pageToken", "limit", "before_id", "after_id", "client_version", "api-version":
		return true
	}
	return false
}

// passesHeader says which headers of the box a model gets. Nothing that could be a credential, choose another account to pay,
// or change what the request is, is among them.
func passesHeader(name string) bool {
	switch strings.ToLower(name) {
	case "accept", "accept-language", "content-type", "user-agent", "x-app", "openai-beta", "originator", "version",
		"session_id", "session-id", "conversation_id", "thread_id", "thread-id", "idempotency-key", "x-request-id", "x-client-request-id", "traceparent",
		"x-goog-api-client", "http-referer", "x-title":
		return true
	}
	for _, p := range []string{"anthropic-", "x-stainless-", "x-claude-", "x-codex-", "x-gemini-"} {
		if len(name) > len(p) && strings.EqualFold(name[:len(p)], p) {
			return true
		}
	}
	return false
}

// asked reads a request's body as it passes, for what it asks for.
type asked struct {
	wire   wire
	strict bool // the provider may not fetch for the box what the box may not fetch
	scan   scanner
	model  string
	most   int64 // the longest answer that it wants
	no     error // why it is refused
}

func newAsked(w wire, strict bool) *asked {
	a := &asked{wire: w, strict: strict}
	a.scan.see = a.see
	return a
}

func (a *asked) write(p []byte) error {
	if a.no == nil {
		a.scan.write(p)
	}
	return a.no
}

func (a *asked) see(path, value []byte) {
	switch string(path) {
	case "model":
		if a.wire != wireGemini { // there the path says it
			a.model = string(value)
		}
	case "max_tokens", "max_output_tokens", "max_completion_tokens", "generationConfig.maxOutputTokens", "generation_config.max_output_tokens":
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			a.most = max(a.most, min(n, 1<<30))
		}
	case "background":
		if string(value) == "true" {
			a.no = refuse("an answer in the background can't be counted: ask for it in the foreground")
		}
	}
	if a.strict && a.fetches(path, value) {
		a.no = refuse("the model's provider may not fetch for this box what its network setting keeps it from (%s)", printable(string(path), 80))
	}
}

// fetches says whether the provider is asked to connect to an address of the box's choice.
func (a *asked) fetches(path, value []byte) bool {
	p := string(path)
	switch a.wire {
	case wireAnthropic:
		return p == "mcp_servers.url" ||
			p == "tools.type" && bytes.HasPrefix(value, []byte("web_fetch")) ||
			strings.HasSuffix(p, "content.source.url")
	case wireOpenAI:
		return p == "tools.type" && string(value) == "mcp" || p == "tools.server_url" ||
			(strings.HasSuffix(p, ".image_url") || strings.HasSuffix(p, ".image_url.url") || strings.HasSuffix(p, ".file_url")) && isWeb(value)
	case wireGemini:
		return p == "tools.urlContext" || p == "tools.url_context" ||
			(strings.HasSuffix(p, ".fileUri") || strings.HasSuffix(p, ".file_uri")) && isWeb(value)
	}
	return false
}

func isWeb(value []byte) bool {
	return len(value) > 4 && strings.EqualFold(string(value[:4]), "http")
}
