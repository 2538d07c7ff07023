package broker

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// bytesPerToken is the estimate where a provider reports nothing: text in any language, and code, have more bytes per
// token.
const bytesPerToken = 4

// fastestModel is more tokens per second than any model gives: the fastest in the table gives a little over a thousand.
const fastestModel = 1500

// counts is the usage that a provider reports for one answer.
type counts struct {
	input, output, cacheRead, cacheWrite, cacheWrite1h int64
	searches                                           int64 // of the web, by Anthropic
	// how many times the list price, where the answer says so; 0 is once
	dearer float64
	fees   float64 // US dollars for what is no token
}

// Prices of other things than tokens, and of speed or location: list prices, rounded up.
const (
	searchPrice   = 0.01 // US dollars for one
	geminiSearch  = 0.035
	containerFee  = 0.03 // with the least memory, see asked
	fastClaude    = 6
	fastOpenAI    = 2.5
	claudeAtPlace = 1.1
)

// openaiFee is what a call of one of OpenAI's own tools costs.
func openaiFee(call []byte) float64 {
	switch string(call) {
	case "web_search_call":
		return 0.025
	case "file_search_call":
		return 0.0025
	case "image_generation_call":
		return 0.3 // large and of high quality
	}
	return 0
}

// meter reads usage out of an answer as it passes, and keeps nothing of it.
type meter struct {
	wire   wire
	events *events  // for a stream of events
	json   *scanner // for anything else
	counts counts
	rounds counts  // Anthropic's extra rounds, in no other sum: a summary, an adviser's answer
	place  bool    // a chosen location, which costs more
	begun  float64 // fees that OpenAI's stream has reported, each of them twice
	model  string
	others []string // models that had a part in it
	seen   bool     // usage was reported
	final  bool     // and it is complete
	calls  bool     // it calls a tool
	bytes  int64    // of the answer
}

func newMeter(w wire, h http.Header) *meter {
	m := &meter{wire: w}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if kind == "text/event-stream" {
		m.events = &events{scan: scanner{see: m.see}}
	} else {
		m.json = &scanner{see: m.see}
	}
	return m
}

func (m *meter) write(p []byte) {
	m.bytes += int64(len(p))
	if m.events != nil {
		m.events.write(p)
	} else if m.json != nil {
		m.json.write(p)
	}
}

func (m *meter) see(path, value []byte) {
	switch m.wire {
	case wireAnthropic:
		m.anthropic(path, value)
	case wireOpenAI:
		m.openai(path, value)
	case wireGemini:
		m.gemini(path, value)
	}
}

// most keeps the larger number: providers report growing sums.
func (m *meter) most(at *int64, value []byte) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil && n >= 0 && n < 1<<40 {
		*at = max(*at, n)
		m.seen = true
	}
}

func (m *meter) anthropic(path, value []byte) {
	p := path
	if len(p) > 8 && string(p[:8]) == "message." { // in message_start
		p = p[8:]
	}
	switch string(p) {
	case "model":
		m.model = string(value)
	case "content_block.type", "content.type":
		m.calls = m.calls || string(value) == "tool_use"
	case "usage.input_tokens":
		m.most(&m.counts.input, value)
	case "usage.output_tokens":
		m.most(&m.counts.output, value)
		// A stream reports the total in message_delta, which has no message around it.
		m.final = m.final || len(p) == len(path)
	case "usage.cache_read_input_tokens":
		m.most(&m.counts.cacheRead, value)
	case "usage.cache_creation_input_tokens":
		m.most(&m.counts.cacheWrite, value)
	case "usage.cache_creation.ephemeral_1h_input_tokens":
		m.most(&m.counts.cacheWrite1h, value)
	case "usage.server_tool_use.web_search_requests":
		m.most(&m.counts.searches, value)
	case "usage.speed":
		if string(value) == "fast" {
			m.counts.dearer = fastClaude
		}
	case "usage.inference_geo":
		m.place = m.place || string(value) == "us"
	case "usage.iterations":
		if string(value) == "[" {
			m.rounds = counts{} // they are repeated in full
		}
	case "usage.iterations.input_tokens":
		m.more(&m.rounds.input, value)
	case "usage.iterations.output_tokens":
		m.more(&m.rounds.output, value)
	case "usage.iterations.cache_read_input_tokens":
		m.more(&m.rounds.cacheRead, value)
	case "usage.iterations.cache_creation_input_tokens":
		m.more(&m.rounds.cacheWrite, value)
	case "usage.iterations.cache_creation.ephemeral_1h_input_tokens":
		m.more(&m.rounds.cacheWrite1h, value)
	case "usage.iterations.model":
		if name := string(value); len(m.others) < maxOthers && !slices.Contains(m.others, name) {
			m.others = append(m.others, name)
		}
	}
}

// maxOthers bounds the other models of an answer whose price is looked up.
const maxOthers = 8

// more adds a number.
func (m *meter) more(at *int64, value []byte) {
	var n int64
	m.most(&n, value)
	*at += n
}

func (m *meter) openai(path, value []byte) {
	p := path
	if len(p) > 9 && string(p[:9]) == "response." { // in response.completed
		p = p[9:]
	}
	switch string(p) {
	case "model":
		m.model = string(value)
	case "usage.input_tokens", "usage.prompt_tokens":
		m.most(&m.counts.input, value)
		m.final = true
	case "usage.output_tokens", "usage.completion_tokens":
		m.most(&m.counts.output, value)
	case "usage.input_tokens_details.cached_tokens", "usage.prompt_tokens_details.cached_tokens":
		m.most(&m.counts.cacheRead, value)
	case "usage.input_tokens_details.cache_write_tokens", "usage.prompt_tokens_details.cache_write_tokens":
		m.most(&m.counts.cacheWrite, value)
	case "service_tier":
		if string(value) == "priority" || string(value) == "fast" {
			m.counts.dearer = fastOpenAI
		}
	case "output.type":
		m.counts.fees += openaiFee(value)
		m.calls = m.calls || strings.HasSuffix(string(value), "_call")
	case "choices.delta.tool_calls.id", "choices.message.tool_calls.id":
		m.calls = true
	case "output.container_id", "output.environment.container_id":
		m.counts.fees += containerFee
	case "item.type": // when it begins and when it is done
		m.begun += openaiFee(value)
		m.calls = m.calls || strings.HasSuffix(string(value), "_call")
	case "item.container_id", "item.environment.container_id":
		m.begun += containerFee
	}
}

func (m *meter) gemini(path, value []byte) {
	switch string(path) {
	case "modelVersion":
		m.model = string(value)
	case "usageMetadata.promptTokenCount":
		m.most(&m.counts.input, value)
	case "usageMetadata.toolUsePromptTokenCount":
		m.most(&m.counts.cacheWrite1h, value) // kept apart until all is known
	case "usageMetadata.candidatesTokenCount":
		m.most(&m.counts.output, value)
	case "usageMetadata.thoughtsTokenCount":
		m.most(&m.counts.cacheWrite, value) // kept apart until all is known
	case "usageMetadata.cachedContentTokenCount":
		m.most(&m.counts.cacheRead, value)
	case "candidates.groundingMetadata.webSearchQueries":
		if string(value) != "[" {
			m.counts.fees += geminiSearch
		}
	case "candidates.content.parts.functionCall.name":
		m.calls = true
	case "candidates.finishReason":
		m.final = true
	}
}

// told is the provider's report, with every token counted once.
func (m *meter) told() counts {
	c := m.counts
	switch m.wire {
	case wireAnthropic:
		c.input, c.output = max(c.input, m.rounds.input), max(c.output, m.rounds.output)
		c.cacheRead, c.cacheWrite = max(c.cacheRead, m.rounds.cacheRead), max(c.cacheWrite, m.rounds.cacheWrite)
		c.cacheWrite1h = max(c.cacheWrite1h, m.rounds.cacheWrite1h)
		if m.place {
			c.dearer = max(c.dearer, 1) * claudeAtPlace
		}
	case wireOpenAI: // the input has the cached parts in it
		c.cacheRead = min(c.cacheRead, c.input)
		c.cacheWrite = min(c.cacheWrite, c.input-c.cacheRead)
		c.input -= c.cacheRead + c.cacheWrite
		c.fees = max(c.fees, m.begun/2)
	case wireGemini:
		c.cacheRead = min(c.cacheRead, c.input)
		c.input += c.cacheWrite1h - c.cacheRead
		c.output += c.cacheWrite
		c.cacheWrite, c.cacheWrite1h = 0, 0
	}
	c.cacheWrite1h = min(c.cacheWrite1h, c.cacheWrite)
	return c
}

// sum is what an answer costs. Unreported usage is estimated from above: sent is the size of the request.
func (m *meter) sum(sent int64) (counts, bool) {
	c := m.told()
	switch {
	case !m.seen:
		c.input, c.output = sent/bytesPerToken+1, m.bytes/bytesPerToken+1
		return c, true
	case !m.final:
		c.output = max(c.output, m.bytes/bytesPerToken+1)
		return c, true
	}
	return c, false
}

// spend makes a Spend from counts. A model without a price costs as much as its provider's dearest one.
func (x *exchange) spend(model string, c counts, estimated bool) Spend {
	prices, provider := x.rt.door.cfg.Prices, x.rt.up.Provider.Name
	s := Spend{Input: c.input, Output: c.output, CacheRead: c.cacheRead, CacheWrite: c.cacheWrite, Requests: 1}
	if estimated {
		s.Estimated = 1
	}
	p, ok := prices.Find(model)
	if !ok {
		p = prices.dearest(provider, model)
	}
	if !ok || p.Like != "" {
		s.Unpriced = 1
	}
	s.Cost = p.of(c)
	return s
}
