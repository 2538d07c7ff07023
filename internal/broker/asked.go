package broker

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// asked reads what a request's body asks for as it passes. A body that it can't read does not pass, because a provider
// may be able to read it.
type asked struct {
	wire   wire
	strict bool // the provider may not fetch for the box what the box may not fetch
	scan   scanner
	begun  bool // a byte that is no blank has come
	model  string
	most   int64 // the longest answer that it wants
	times  int64 // how many answers; 0 is one
	coy    bool  // a stream of this call reports its cost only on request
	stream bool
	usage  bool  // the request asks for it
	no     error // why it is refused
}

func newAsked(w wire, c call, strict bool) *asked {
	a := &asked{wire: w, strict: strict, model: c.model, coy: strings.HasSuffix(c.path, "completions")}
	a.scan.see = a.see
	return a
}

func (a *asked) write(p []byte) error {
	if a.no != nil {
		return a.no
	}
	if !a.begun {
		first := bytes.TrimLeft(p, " \t\r\n")
		a.begun = len(first) > 0
		a.scan.broken = a.begun && first[0] != '{'
	}
	a.scan.write(p)
	if a.scan.broken && a.no == nil {
		a.no = refuse("the door can't read this request: it takes one JSON object in UTF-8, nested at most %d deep",
			scanDepth)
	}
	if a.coy && a.stream && !a.usage && a.whole() && a.no == nil {
		a.no = refuse(`a stream of this call tells what it cost only with "stream_options": {"include_usage": true}`)
	}
	return a.no
}

// whole says that the request was read to its end.
func (a *asked) whole() bool { return a.begun && a.scan.idle() }

func (a *asked) see(path, value []byte) {
	p := strings.ToLower(string(path)) // some gateways ignore case
	switch p {
	case "model":
		if a.wire != wireGemini { // gemini's path says it
			a.model = string(value)
		}
	case "max_tokens", "max_output_tokens", "max_completion_tokens", "generationconfig.maxoutputtokens",
		"generation_config.max_output_tokens":
		a.most = more(a.most, value)
	case "n", "best_of", "generationconfig.candidatecount", "generation_config.candidate_count":
		a.times = more(a.times, value)
	case "stream":
		a.stream = a.stream || string(value) == "true"
	case "stream_options", "stream_options.include_usage":
		a.usage = string(value) == "true"
	case "background":
		if string(value) == "true" {
			a.no = refuse("an answer in the background can't be counted: ask for it in the foreground")
		}
	}
	if a.wire == wireOpenAI && strings.HasPrefix(p, "tools.") && strings.HasSuffix(p, ".memory_limit") && len(value) > 1 &&
		string(value) != "1g" {
		a.no = refuse("what a large container costs can't be counted: take one of 1g")
	}
	if a.strict && a.fetches(p, value) {
		a.no = refuse("the model's provider may not fetch for this box what its network setting keeps it from (%s)",
			printable(string(path), 80))
	}
}

// more is the larger of two numbers, up to more than any model gives.
func more(n int64, value []byte) int64 {
	v, err := strconv.ParseFloat(string(value), 64) // a provider may take 1e5
	if err != nil || !(v > float64(n)) {
		return n
	}
	return int64(min(v, 1<<30))
}

// fetches says whether the provider is asked to connect to an address of the box's choice. The path is in lower case.
func (a *asked) fetches(p string, value []byte) bool {
	ends := func(with string) bool { return strings.HasSuffix("."+p, "."+with) }
	switch a.wire {
	case wireAnthropic:
		return p == "mcp_servers.url" ||
			p == "tools.type" && bytes.HasPrefix(value, []byte("web_fetch")) ||
			ends("content.source.url")
	case wireOpenAI:
		return ends("tools.type") && string(value) == "mcp" || ends("tools.server_url") ||
			ends("network_policy.type") && string(value) != "disabled" || // of a container at the provider's
			(ends("image_url") || ends("image_url.url") || ends("file_url")) && isWeb(value)
	case wireGemini:
		return p == "tools.urlcontext" || p == "tools.url_context" ||
			strings.HasPrefix(p, "tools.mcpservers.") || strings.HasPrefix(p, "tools.mcp_servers.") ||
			(ends("fileuri") || ends("file_uri")) && isWeb(value)
	}
	return false
}

// isWeb first removes blanks from a URL, as some servers do.
func isWeb(value []byte) bool {
	plain := bytes.Map(func(r rune) rune {
		if r <= ' ' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, value)
	return len(plain) > 4 && strings.EqualFold(string(plain[:4]), "http")
}
