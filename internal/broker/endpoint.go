package broker

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// call is a request to a model that the door knows: where it goes and whether it costs.
type call struct {
	path   string // below the base, without a leading slash
	billed bool
	model  string // if the path names it
}

var errUnknownCall = errors.New(
	"cco's door does not know this call of the provider, and passes only calls whose cost it can count")

// find makes a call of what follows the provider's name in the path. It knows only calls whose answers state their
// cost: a batch, a fine-tuning or a stored file would spend or keep something that no limit sees.
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
		p.wire == wireOpenAI && (name == "POST responses" || name == "POST responses/compact" ||
			name == "POST chat/completions" ||
			name == "POST completions" || name == "POST embeddings"):
		c.billed = true
	case p.wire == wireAnthropic && name == "POST messages/count_tokens", p.wire == wireOpenAI &&
		name == "POST responses/input_tokens":
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

// at is the URL of a call below a base. Bases may have the version (OpenAI's) or not: the URL has it once.
func (c call) at(base *url.URL, query url.Values) *url.URL {
	u := *base
	below, path := strings.Trim(u.Path, "/"), c.path
	if first, rest, ok := strings.Cut(path, "/"); ok && isVersion(first) &&
		isVersion(below[strings.LastIndex(below, "/")+1:]) {
		path = rest
	}
	u.Path, u.RawPath = strings.TrimSuffix("/"+below, "/")+"/"+path, ""
	kept := base.Query() // a gateway may want an api-version there
	for name, values := range query {
		if passesQuery(name, values) && !kept.Has(name) {
			kept[name] = values
		}
	}
	u.RawQuery, u.Fragment, u.User = kept.Encode(), "", nil
	return &u
}

// passesQuery says which parameters of a call mean something and can't carry a credential.
func passesQuery(name string, values []string) bool {
	switch name {
	case "alt": // Google can also answer in protobuf, which the door can't read for its cost
		return len(values) == 1 && (values[0] == "json" || values[0] == "sse")
	case "beta", "pageSize", "pageToken", "limit", "before_id", "after_id", "client_version", "api-version":
		return true
	}
	return false
}

// passesHeader says which headers of the box a model gets. They include nothing that could be a credential, charge
// another account, or change what the request is.
func passesHeader(name string) bool {
	switch strings.ToLower(name) {
	case "accept", "accept-language", "user-agent", "x-app", "openai-beta", "originator", "version",
		"session_id", "session-id", "conversation_id", "thread_id", "thread-id", "idempotency-key", "x-request-id",
		"x-client-request-id", "traceparent",
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
