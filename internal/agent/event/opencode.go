package event

import (
	"encoding/json"
	"fmt"
	"strings"
)

// opencode reads what `opencode run --format json` writes.
type opencode struct {
	start   Start
	session string
	sum     Usage
	text    string
	failure *opencodeError
	stopped bool // the model was done
	last    string
}

// NewOpencode reads opencode's stream.
func NewOpencode(s Start) Decoder { return &opencode{start: s} }

type opencodeLine struct {
	Type    string         `json:"type"`
	Session string         `json:"sessionID"`
	Part    *opencodePart  `json:"part"`
	Error   *opencodeError `json:"error"`
}

type opencodePart struct {
	Tool   string `json:"tool"`
	Call   string `json:"callID"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
	State  struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Output string          `json:"output"`
		Error  string          `json:"error"`
	} `json:"state"`
	Tokens struct {
		Input     int64 `json:"input"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
		Cache     struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
	Cost float64 `json:"cost"`
}

type opencodeError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Status  int    `json:"statusCode"`
		Body    string `json:"responseBody"`
	} `json:"data"`
}

func (e *opencodeError) words() string {
	words := e.Data.Message
	if words == "" {
		words = e.Name
	}
	// Only the provider's answer says more, such as when a limit ends.
	if e.Data.Body != "" && !strings.Contains(words, e.Data.Body) {
		words += ": " + e.Data.Body
	}
	return words
}

func (o *opencode) Line(line []byte) []Event {
	var l opencodeLine
	if !parse(line, &l) {
		if len(line) > 0 {
			o.last = clip(string(line))
		}
		return plainText(line)
	}
	var events []Event
	if id := sessionID(l.Session); o.session == "" && id != "" {
		o.session = id
		events = []Event{{Kind: KindStarted, Session: o.session}}
	}
	return append(events, o.part(l, line)...)
}

func (o *opencode) part(l opencodeLine, line []byte) []Event {
	switch {
	case l.Type == "error" && l.Error != nil:
		o.failure, o.stopped = l.Error, false
		return []Event{{Kind: KindText, Text: clip(l.Error.words()), IsError: true}}
	case l.Part == nil:
		return unknown(line)
	case l.Type == "step_start":
		return nil
	case l.Type == "text":
		o.text = clip(l.Part.Text)
		return []Event{{Kind: KindText, Text: o.text}}
	case l.Type == "reasoning":
		return []Event{{Kind: KindThinking, Text: clip(l.Part.Text)}}
	case l.Type == "tool_use":
		return l.Part.tool()
	case l.Type == "step_finish":
		return o.counted(l.Part)
	}
	return unknown(line)
}

// tool is a call and its result: opencode reports both at once.
func (p *opencodePart) tool() []Event {
	call := Event{Kind: KindToolCall, ID: clipName(p.Call), Tool: clipName(p.Tool)}
	call.Input, call.Cut = clipInput(p.State.Input)
	end := Event{Kind: KindToolResult, ID: call.ID, Tool: call.Tool, Text: clip(p.State.Output)}
	if p.State.Status == "error" {
		end.IsError, end.Text = true, clip(p.State.Error)
		if strings.HasPrefix(p.State.Error, denials) {
			end.Kind = KindDenied
		}
	}
	return []Event{call, end}
}

func (o *opencode) counted(p *opencodePart) []Event {
	t := p.Tokens
	o.sum = o.sum.Add(Usage{Input: t.Input, Output: t.Output + t.Reasoning, CacheRead: t.Cache.Read,
		CacheWrite: t.Cache.Write, Cost: p.Cost, Turns: 1})
	o.stopped = p.Reason != "tool-calls"
	if o.stopped {
		o.failure = nil
	}
	u := o.sum
	return []Event{{Kind: KindUsage, Usage: &u}}
}

// ErrLine finds nothing: opencode's log is not meant for us.
func (*opencode) ErrLine([]byte) []Event { return nil }

func (o *opencode) End(exit int) Event {
	f := byStatus(exit)
	switch {
	case o.failure != nil:
		f.fail(o.failure.words(), o.failure.Data.Status, o.start.Now)
	case exit == 0 && !o.stopped:
		f = Finished{Outcome: Killed, Error: unfinished}
	case exit > 0 && exit < 128 && o.last != "":
		f.fail(fmt.Sprintf("%s (%s)", o.last, statusWords(exit)), 0, o.start.Now)
	}
	f.Session, f.Text, f.Usage = o.session, o.text, o.sum
	return finished(f)
}
