package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/unit"
)

// claude reads what `claude -p --output-format stream-json --verbose` writes.
type claude struct {
	start   Start
	session string
	tools   names
	spent   tally
	result  *claudeResult
	last    string // text outside of the protocol: all there is if it can't even start
	asked   bool
}

// NewClaude reads Claude Code's stream.
func NewClaude(s Start) Decoder { return &claude{start: s, tools: names{}} }

type claudeLine struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	Session string          `json:"session_id"`
	Model   string          `json:"model"`
	Parent  string          `json:"parent_tool_use_id"`
	Message *claudeMessage  `json:"message"`
	Attempt int             `json:"attempt"`
	Retries int             `json:"max_retries"`
	Delay   float64         `json:"retry_delay_ms"`
	Status  int             `json:"error_status"`
	Error   json.RawMessage `json:"error"`
}

type claudeMessage struct {
	ID      string        `json:"id"`
	Content []claudeBlock `json:"content"`
	Usage   *claudeUsage  `json:"usage"`
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
}

func (u claudeUsage) usage() Usage {
	return Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Call     string          `json:"tool_use_id"`
	Content  any             `json:"content"`
	IsError  bool            `json:"is_error"`
}

type claudeResult struct {
	Subtype string `json:"subtype"`
	IsError bool   `json:"is_error"`
	Status  int    `json:"api_error_status"`
	Result  string `json:"result"`
	Errors  []any  `json:"errors"`
	Turns   int    `json:"num_turns"`
	// Cost and Models go on counting when a session is resumed, Usage doesn't, but leaves out helper models.
	Cost   float64      `json:"total_cost_usd"`
	Usage  claudeUsage  `json:"usage"`
	Models claudeModels `json:"modelUsage"`
}

type claudeModels map[string]struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheCreationInputTokens"`
}

func (c *claude) Line(line []byte) []Event {
	var l claudeLine
	if !parse(line, &l) {
		c.last = clip(string(line))
		return plainText(line)
	}
	if id := sessionID(l.Session); id != "" {
		c.session = id
	}
	switch {
	case l.Type == "assistant" && l.Message != nil:
		return c.said(l, line)
	case l.Type == "user" && l.Message != nil:
		return c.answered(l, line)
	case l.Type == "system" && l.Subtype == "init":
		return []Event{{Kind: KindStarted, Session: c.session, Model: clipName(l.Model)}}
	case l.Type == "system" && l.Subtype == "api_retry":
		return []Event{{Kind: KindRetry, Text: clip(retryWords(l)), Retry: &Retry{Attempt: l.Attempt, Max: l.Retries,
			Status: l.Status,
			Delay:  unit.Seconds(l.Delay * float64(time.Millisecond))}}}
	case l.Type == "system" && l.Subtype == "ui_invalidate":
		return nil // its own terminal is to be drawn anew
	case l.Type == "result":
		return c.ended(line)
	}
	return unknown(line)
}

func retryWords(l claudeLine) string {
	var word string
	_ = json.Unmarshal(l.Error, &word)
	if l.Status != 0 {
		return strings.TrimSpace(fmt.Sprintf("%d %s", l.Status, word))
	}
	return word
}

func (c *claude) said(l claudeLine, line []byte) (events []Event) {
	for i := range l.Message.Content {
		b := &l.Message.Content[i]
		switch b.Type {
		case "text":
			events = append(events, Event{Kind: KindText, Text: clip(b.Text), Parent: l.Parent})
		case "thinking":
			events = append(events, Event{Kind: KindThinking, Text: clip(b.Thinking), Parent: l.Parent})
		case "tool_use":
			events = append(events, c.called(b, l.Parent))
		default:
			events = append(events, unknown(line)...)
		}
	}
	if len(l.Message.Content) == 0 {
		return unknown(line)
	}
	if u := l.Message.Usage; u != nil && c.spent.note(l.Message.ID, u.usage()) {
		sum := c.spent.sum
		events = append(events, Event{Kind: KindUsage, Usage: &sum})
	}
	return events
}

func (c *claude) called(b *claudeBlock, parent string) Event {
	c.tools.put(b.ID, b.Name)
	e := Event{Kind: KindToolCall, ID: b.ID, Tool: b.Name, Parent: parent}
	e.Input, e.Cut = clipInput(b.Input)
	if b.Name == "AskUserQuestion" {
		e.Kind, e.Text, c.asked = KindQuestion, clip(claudeQuestion(b.Input)), true
	}
	return e
}

// claudeQuestion puts the questions of one call, with what can be chosen, into words.
func claudeQuestion(input json.RawMessage) string {
	var in struct {
		Questions []struct {
			Question string `json:"question"`
			Options  []struct {
				Label       string `json:"label"`
				Description string `json:"description"`
			} `json:"options"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil || len(in.Questions) == 0 {
		return string(input)
	}
	var b strings.Builder
	for _, q := range in.Questions {
		b.WriteString(q.Question + "\n")
		for _, o := range q.Options {
			b.WriteString("- " + o.Label)
			if o.Description != "" {
				b.WriteString(": " + o.Description)
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *claude) answered(l claudeLine, line []byte) (events []Event) {
	for i := range l.Message.Content {
		b := &l.Message.Content[i]
		if b.Type != "tool_result" {
			continue
		}
		tool, text := c.tools.take(b.Call), contentText(b.Content)
		e := Event{Kind: KindToolResult, ID: b.Call, Tool: tool, Text: clip(text), IsError: b.IsError, Parent: l.Parent}
		if words, ok := denial(text); ok && b.IsError && strings.Contains(text, "hook") {
			e.Kind, e.Text = KindDenied, clip(strings.TrimSuffix(words, "</tool_use_error>"))
		}
		events = append(events, e)
	}
	if events == nil {
		return unknown(line)
	}
	return events
}

// contentText is the text of a content that is a text or a list of blocks.
func contentText(content any) string {
	if text, ok := content.(string); ok {
		return text
	}
	blocks, _ := content.([]any)
	var parts []string
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		kind, _ := block["type"].(string)
		if text, ok := block["text"].(string); ok {
			parts = append(parts, text)
		} else {
			parts = append(parts, "["+kind+"]")
		}
	}
	return strings.Join(parts, "\n")
}

func (c *claude) ended(line []byte) []Event {
	var r claudeResult
	if !parse(line, &r) {
		return unknown(line)
	}
	c.result = &r
	u := c.usage()
	return []Event{{Kind: KindUsage, Usage: &u}}
}

// total is the CLI's own count of the whole session.
func (c *claude) total() Usage {
	t := Usage{Cost: c.result.Cost}
	for _, m := range c.result.Models {
		t.Input += m.Input
		t.Output += m.Output
		t.CacheRead += m.CacheRead
		t.CacheWrite += m.CacheWrite
	}
	return t
}

// usage is this run's: the totals minus the earlier ones, since the run's own figure leaves out helper models.
func (c *claude) usage() Usage {
	u := c.total().since(c.start.Before)
	if u.Tokens() == 0 {
		cost := u.Cost
		u = c.result.Usage.usage()
		u.Cost = cost
	}
	u.Turns = c.result.Turns
	return u
}

// ErrLine keeps what claude says when it can't even start.
func (c *claude) ErrLine(line []byte) []Event {
	if len(line) > 0 {
		c.last = clip(string(line))
	}
	return nil
}

func (c *claude) End(exit int) Event {
	f := Finished{Session: c.session, Asked: c.asked}
	if c.result == nil {
		f = c.silent(exit)
		return finished(f)
	}
	f.Usage, f.Total = c.usage(), c.total()
	f.Text = clip(c.result.Result)
	switch {
	case strings.HasPrefix(c.result.Subtype, "error_max_"):
		f.Outcome, f.Error = Limit, strings.ReplaceAll(c.result.Subtype, "_", " ")
	case c.result.IsError:
		f.fail(c.result.words(), c.result.Status, c.start.Now)
	case exit >= 128:
		f.Outcome, f.Error = Killed, signalWords(exit)
	case exit != 0:
		f.fail(statusWords(exit), 0, c.start.Now)
		f.Silent = true
	default:
		f.Outcome = OK
	}
	return finished(f)
}

func (r *claudeResult) words() string {
	if r.Result != "" {
		return r.Result
	}
	// Some are notes of its makers to themselves.
	errs := slices.DeleteFunc(slices.Clone(r.Errors), func(e any) bool {
		return strings.HasPrefix(fmt.Sprint(e), "[ede_diagnostic]")
	})
	if len(errs) > 0 {
		return fmt.Sprint(errs...)
	}
	return strings.ReplaceAll(r.Subtype, "_", " ")
}

// silent is an end without a result: a signal, or a CLI that never got to work. The status does not matter.
func (c *claude) silent(exit int) Finished {
	f := byStatus(exit)
	switch {
	case exit == 0:
		f = Finished{Outcome: Killed, Error: unfinished}
	case exit < 128 && c.last != "":
		f.fail(c.last, 0, c.start.Now)
	}
	f.Session, f.Usage, f.Asked = c.session, c.spent.sum, c.asked
	f.Total = c.start.Before
	return f
}
