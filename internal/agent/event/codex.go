package event

import (
	"encoding/json"
	"strconv"
	"strings"
)

// codex reads what `codex exec --json` writes.
type codex struct {
	start   Start
	session string
	total   Usage // of the whole session, as codex counts
	turns   int
	done    bool   // a turn was completed
	failure string // of a turn
	last    string
	text    string
}

// NewCodex reads Codex's stream.
func NewCodex(s Start) Decoder { return &codex{start: s, total: s.Before} }

type codexLine struct {
	Type    string          `json:"type"`
	Thread  string          `json:"thread_id"`
	Item    json.RawMessage `json:"item"`
	Message string          `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct {
		Input      int64 `json:"input_tokens"` // all of it, with what came from the cache
		CacheRead  int64 `json:"cached_input_tokens"`
		CacheWrite int64 `json:"cache_write_input_tokens"`
		Output     int64 `json:"output_tokens"`
	} `json:"usage"`
}

func (c *codex) Line(line []byte) []Event {
	var l codexLine
	if !parse(line, &l) {
		c.last = clip(string(line))
		return plainText(line)
	}
	switch l.Type {
	case "thread.started":
		c.session = sessionID(l.Thread)
		return []Event{{Kind: KindStarted, Session: c.session}}
	case "turn.started":
		c.turns++
		return nil
	case "turn.completed":
		c.done, c.failure = true, ""
		return c.counted(l)
	case "turn.failed":
		c.done, c.failure = false, l.Error.Message
		return c.counted(l)
	case "error":
		return c.trouble(l.Message)
	case "item.started", "item.updated", "item.completed":
		return c.item(l.Type, l.Item, line)
	}
	return unknown(line)
}

func (c *codex) counted(l codexLine) []Event {
	if l.Usage == nil {
		return nil
	}
	cached := min(l.Usage.CacheRead+l.Usage.CacheWrite, l.Usage.Input)
	c.total = Usage{Input: l.Usage.Input - cached, Output: l.Usage.Output, CacheRead: l.Usage.CacheRead,
		CacheWrite: l.Usage.CacheWrite}
	u := c.usage()
	return []Event{{Kind: KindUsage, Usage: &u}}
}

func (c *codex) usage() Usage {
	u := c.total.since(c.start.Before)
	u.Turns = c.turns
	return u
}

var reconnecting = pattern(`^Reconnecting\.\.\. ([0-9]{1,3})/([0-9]{1,3}) ?`)

// trouble is a failure that codex may recover from; the end of the turn says whether it did.
func (c *codex) trouble(words string) []Event {
	m := reconnecting().FindStringSubmatch(words)
	if m == nil {
		c.last = clip(words)
		return []Event{{Kind: KindText, Text: clip(words), IsError: true}}
	}
	attempt, _ := strconv.Atoi(m[1])
	most, _ := strconv.Atoi(m[2])
	rest := strings.TrimSuffix(strings.TrimPrefix(words[len(m[0]):], "("), ")")
	return []Event{{Kind: KindRetry, Text: clip(rest), Retry: &Retry{Attempt: attempt, Max: most, Status: statusIn(rest)}}}
}

// codexItem has the fields of all kinds of items.
type codexItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Message string          `json:"message"`
	Command string          `json:"command"`
	Output  string          `json:"aggregated_output"`
	Status  string          `json:"status"`
	Changes json.RawMessage `json:"changes"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"arguments"`
	Result  json.RawMessage `json:"result"`
	Query   string          `json:"query"`
}

func (c *codex) item(when string, raw json.RawMessage, line []byte) []Event {
	var it codexItem
	if !parse(raw, &it) {
		return unknown(line)
	}
	completed := when == "item.completed"
	switch it.Type {
	case "agent_message":
		if completed {
			c.text = clip(it.Text)
			return []Event{{Kind: KindText, Text: c.text}}
		}
	case "reasoning":
		if completed {
			return []Event{{Kind: KindThinking, Text: clip(it.Text)}}
		}
	case "error":
		if completed {
			return []Event{{Kind: KindText, Text: clip(it.Message), IsError: true}}
		}
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		return it.tool(when)
	default:
		return unknown(line)
	}
	return nil
}

// tool is the beginning or the end of a call. A file_change is reported only when it is over.
func (it codexItem) tool(when string) []Event {
	name, input := it.call()
	e := Event{Kind: KindToolCall, ID: clipName(it.ID), Tool: name}
	e.Input, e.Cut = clipInput(input)
	switch when {
	case "item.started":
		return []Event{e}
	case "item.updated":
		return nil
	}
	text := it.Output
	if len(it.Result) > 0 && string(it.Result) != "null" {
		text = string(it.Result)
	}
	end := Event{Kind: KindToolResult, ID: e.ID, Tool: name, Text: clip(text), IsError: it.Status == "failed" ||
		it.Status == "declined"}
	if words, ok := denial(text); ok && end.IsError && strings.Contains(text, "hook") {
		end.Kind, end.Text = KindDenied, clip(words)
	}
	if it.Type == "file_change" {
		return []Event{e, end}
	}
	return []Event{end}
}

func (it codexItem) call() (name string, input json.RawMessage) {
	object := func(key, value string) json.RawMessage {
		data, _ := json.Marshal(map[string]string{key: value})
		return data
	}
	switch it.Type {
	case "command_execution":
		return "shell", object("command", it.Command)
	case "file_change":
		return "apply_patch", it.Changes
	case "web_search":
		return "web_search", object("query", it.Query)
	default:
		return clipName(it.Server + "." + it.Tool), it.Args
	}
}

// ErrLine finds denials: codex reports them only in its log.
func (c *codex) ErrLine(line []byte) []Event {
	text := string(line[:min(len(line), maxText)])
	if _, words, ok := strings.Cut(text, "blocked by PreToolUse hook: "); ok {
		return []Event{{Kind: KindDenied, Text: clip(words)}}
	}
	if strings.HasPrefix(text, "Error: ") {
		c.last = clip(text) // all there is if it can't even start
	}
	return nil
}

func (c *codex) End(exit int) Event {
	f := byStatus(exit)
	switch {
	case c.failure != "" && exit != 0:
		f.fail(c.failure, 0, c.start.Now)
	case exit > 0 && exit < 128 && c.last != "":
		f.fail(c.last, 0, c.start.Now)
	case exit == 0 && !c.done:
		f = Finished{Outcome: Killed, Error: unfinished}
	case exit == 0 && c.failure != "":
		f.fail(c.failure, 0, c.start.Now)
	}
	f.Session, f.Text = c.session, c.text
	f.Usage, f.Total = c.usage(), c.total
	return finished(f)
}
