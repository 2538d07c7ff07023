package api

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/view/words"
)

// maxShown bounds one text of an item.
const maxShown = 32 << 10

// item makes what a page shows of an event; ok is false where others say it already.
func item(l session.Line) (Item, bool) {
	it := Item{ID: l.Next, At: l.At, Text: l.Text}
	switch l.Kind {
	case session.KindStep:
		it.Kind = "step"
	case session.KindAgent:
		it.Kind = "start"
	case session.KindDoor:
		it.Kind = "refused"
	case session.KindEnd:
		it.Kind = "end"
	case session.KindOut:
		it.Kind = "line"
		return it.shown(), !l.Raw
	case session.KindErr:
		it.Kind = "error"
		return it.shown(), !l.Raw
	case session.KindEvent:
		if l.Agent == nil {
			return it, false
		}
		return it.of(*l.Agent)
	default:
		return it, false // a terminal's bytes are for a terminal
	}
	return it.shown(), true
}

// of says what an agent did.
func (it Item) of(e event.Event) (Item, bool) {
	it.Text, it.Tool, it.Call, it.Wrong, it.Cut = e.Text, e.Tool, e.ID, e.IsError, e.Cut
	switch e.Kind {
	case event.KindText:
		it.Kind = "words"
		it.mark()
	case event.KindThinking:
		it.Kind = "thought"
	case event.KindToolCall:
		it.Kind, it.Input = "call", inputText(e.Input)
	case event.KindToolResult:
		it.Kind = "result"
	case event.KindDenied:
		it.Kind = "denied"
	case event.KindRetry:
		it.Kind = "retry"
	case event.KindQuestion:
		it.Kind = "question"
		it.mark()
	case event.KindStarted:
		it.Kind, it.Text = "start", e.Model
	case event.KindFinished:
		it.Kind = "turn"
		if f := e.Finished; f != nil {
			it.Text = string(f.Outcome)
			if f.Error != "" {
				it.Text += ": " + f.Error
			}
			it.Wrong = f.Outcome != event.OK
			it.Spent = &Spend{Tokens: f.Usage.Tokens(), Cost: f.Usage.Cost}
		}
	case event.KindRaw:
		it.Kind, it.Text = "other", e.Raw
	default:
		return it, false
	}
	return it.shown(), true
}

// mark reads a text as Markdown, if there is any in it.
func (it *Item) mark() {
	if strings.ContainsAny(it.Text, "\n*_`#[]<>|~\\!&") || strings.HasPrefix(it.Text, "-") || strings.HasPrefix(it.Text,
		"+") {
		it.Words, it.Text = words.Parse(safetext.Cut(it.Text, maxShown)), ""
	}
}

func (it Item) shown() Item {
	for _, s := range []*string{&it.Text, &it.Input} {
		if len(*s) > maxShown {
			*s, it.Cut = safetext.Cut(*s, maxShown), true
		}
	}
	return it
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
func (it Item) text() string {
	parts := []string{it.Text, it.Tool, it.Input}
	var walk func([]words.Node)
	walk = func(nodes []words.Node) {
		for _, n := range nodes {
			parts = append(parts, n.Text)
			walk(n.Parts)
		}
	}
	walk(it.Words)
	return strings.Join(parts, " ")
}

// lastLine is the last line of a text with anything in it.
func lastLine(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return safetext.Fit(safetext.Line(strings.TrimSpace(all[len(all)-1])), 200)
}
