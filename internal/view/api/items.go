package api

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// maxShown bounds one text of an item.
const maxShown = 32 << 10

// lineKinds is what lines of a transcript are on a page. A terminal's bytes are for a terminal.
var lineKinds = map[session.Kind]string{session.KindStep: "step", session.KindNote: "step", session.KindAgent: "start",
	session.KindDoor: "refused", session.KindEnd: "end", session.KindOut: "line", session.KindErr: "error"}

// eventKinds is what an agent's events are on it.
var eventKinds = map[event.Kind]string{
	event.KindText: "words", event.KindPrompt: "prompt", event.KindThinking: "thought", event.KindToolCall: "call",
	event.KindToolResult: "result", event.KindDenied: "denied", event.KindRetry: "retry",
	event.KindQuestion: "question", event.KindStarted: "start", event.KindFinished: "turn",
}

// item makes what a page shows of an event; ok is false where others say it already.
func item(l session.Line) (Item, bool) {
	it := Item{ID: l.Next, At: l.At, Kind: lineKinds[l.Kind], Text: l.Text}
	if l.Agent != nil {
		it.of(*l.Agent)
	}
	for _, s := range []*string{&it.Text, &it.Input} {
		if len(*s) > maxShown {
			*s, it.Cut = safetext.Cut(*s, maxShown), true
		}
		*s = safetext.Quote(*s)
	}
	return it, it.Kind != "" && !l.Raw
}

// of says what an agent did.
func (it *Item) of(e event.Event) {
	it.Kind = eventKinds[e.Kind]
	it.Text, it.Tool, it.Call, it.Wrong, it.Cut = e.Text, e.Tool, e.ID, e.IsError, e.Cut
	switch e.Kind {
	case event.KindToolCall:
		it.Input = inputText(e.Input)
	case event.KindStarted:
		it.Text = e.Model
	case event.KindFinished:
		f := e.Finished
		if f == nil {
			return
		}
		it.Text = string(f.Outcome)
		if f.Error != "" {
			it.Text += ": " + f.Error
		}
		it.Wrong = f.Outcome != event.OK
		it.Spent = &f.Usage
	}
}

// inputText is a tool's input as people read it: the command alone, where that is all there is to it.
func inputText(raw json.RawMessage) string {
	var one map[string]json.RawMessage
	if json.Unmarshal(raw, &one) == nil {
		var command string
		if json.Unmarshal(one["command"], &command) == nil {
			return command
		}
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// text is what is searched in an item.
func (it Item) text() string { return strings.Join([]string{it.Text, it.Tool, it.Input}, " ") }

// lastLine is the last line of a text with anything in it.
func lastLine(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return safetext.Fit(safetext.Line(strings.TrimSpace(all[len(all)-1])), 200)
}
