package event

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ACP is a turn of an agent that speaks the Agent Client Protocol: it says to the agent what is to be done, and reads
// what the agent does. What that says that it costs is left alone: the door knows better.
type ACP struct {
	Says chan []byte // what is written to the agent; its end is the end of its input
	Over bool        // there is nothing more to say: how its program ends means nothing
	Kept bool        // the last line tells of the turn, and is no answer

	start   Start
	turn    Turn
	asks    []acpAsk // the first is under way
	id      int      // that it has
	session string   // as the agent calls it

	words   strings.Builder // of the message that is under way
	thinks  bool            // it is a thought
	text    string          // the last message
	calls   names           // by id, that are not told yet
	told    names           // the others that have not ended
	stop    string          // why the turn ended, in the protocol's words
	failure string
	asked   bool
}

// NewACP begins a turn.
func NewACP(s Start) Decoder {
	a := &ACP{start: s, turn: *s.Turn, Says: make(chan []byte, 1024), calls: names{}, told: names{}}
	a.ask("initialize", object{"protocolVersion": 1, "clientInfo": object{"name": "cco", "version": "1"},
		// Its own tools work in the box. What it asks a person reaches one.
		"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false,
			"elicitation": object{"form": object{}}}})
	a.session = s.Turn.Resume
	a.next()
	return a
}

// acpUpdate has the fields of all kinds of updates.
type acpUpdate struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"` // of a message one block, of a call many
	ID      string          `json:"toolCallId"`
	Title   string          `json:"title"`
	Tool    string          `json:"kind"`
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"rawInput"`
	Output  json.RawMessage `json:"rawOutput"`
}

func (a *ACP) Line(line []byte) []Event {
	var m acpMessage
	a.Kept = false
	switch {
	case len(line) >= MaxLine:
		return a.aside(fmt.Sprintf("a line of more than %d MiB is left out", MaxLine>>20))
	case !parse(line, &m):
		return a.aside(string(line))
	case m.Method == "":
		return a.answered(m)
	case m.ID != nil:
		return a.answer(m)
	case m.Method == "session/update" && a.prompted():
		a.Kept = true
		return a.update(m.Params.Update, line)
	}
	return nil // it was there before, or is a notification of the agent's own
}

// aside tells what is no part of the agent's answer.
func (a *ACP) aside(words string) []Event {
	told := a.flush()
	if words == "" {
		return told
	}
	return append(told, Event{Kind: KindText, Text: clip(words), Aside: true})
}

func (a *ACP) update(u acpUpdate, line []byte) []Event {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		return a.chunk(u.Content, u.Kind == "agent_thought_chunk")
	case "tool_call", "tool_call_update":
		return append(a.flush(), a.call(u)...)
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update",
		"session_info_update", "usage_update", "plan":
		return nil
	}
	return append(a.flush(), unknown(line)...)
}

// chunk gathers a message, which is told when something else follows.
func (a *ACP) chunk(content json.RawMessage, thinks bool) (told []Event) {
	var block struct {
		Text string `json:"text"`
	}
	_ = parse(content, &block) // other content has no words
	if thinks != a.thinks {
		told = a.flush()
	}
	a.thinks = thinks
	if room := maxText - a.words.Len(); room > 0 {
		a.words.WriteString(block.Text[:min(len(block.Text), room)])
	}
	return told
}

func (a *ACP) flush() []Event {
	words := clip(a.words.String())
	a.words.Reset()
	switch {
	case strings.TrimSpace(words) == "":
		return nil
	case a.thinks:
		return []Event{{Kind: KindThinking, Text: words}}
	}
	a.text = words
	return []Event{{Kind: KindText, Text: words}}
}

// call tells a call once, when its input is known, and its end.
func (a *ACP) call(u acpUpdate) (told []Event) {
	ended := u.Status == "completed" || u.Status == "failed"
	if u.Kind == "tool_call" && a.told[clipName(u.ID)] == "" {
		a.calls.put(u.ID, u.tool())
	}
	if a.calls[clipName(u.ID)] != "" && (len(u.Input) > 2 || ended || u.Status == "in_progress") {
		e := Event{Kind: KindToolCall, ID: clipName(u.ID), Tool: a.calls.take(u.ID)}
		e.Input, e.Cut = clipInput(u.input())
		a.told.put(u.ID, e.Tool)
		told = append(told, e)
	}
	if ended {
		told = append(told, Event{Kind: KindToolResult, ID: clipName(u.ID), Tool: a.told.take(u.ID), Text: clip(u.result()),
			IsError: u.Status == "failed"})
	}
	return told
}

// tool names a call by what it does: the protocol has no names of tools.
func (u acpUpdate) tool() string {
	switch u.Tool {
	case "execute":
		return "shell"
	case "", "other":
		if u.Title != "" {
			return clipName(clip(u.Title))
		}
		return "tool"
	}
	return clipName(clip(u.Tool))
}

func (u acpUpdate) input() json.RawMessage {
	if len(u.Input) > 2 && u.Input[0] == '{' {
		return u.Input
	}
	data, err := json.Marshal(map[string]string{"description": u.Title})
	if err != nil {
		return nil
	}
	return data
}

// result is what a call gave: words, or what the agent has besides.
func (u acpUpdate) result() string {
	var blocks []struct{ Content struct{ Text string } }
	_ = json.Unmarshal(u.Content, &blocks) // then without words
	var words []string
	for _, b := range blocks {
		if b.Content.Text != "" {
			words = append(words, b.Content.Text)
		}
	}
	if words == nil && len(u.Output) > 0 && string(u.Output) != "null" {
		return string(u.Output)
	}
	return strings.Join(words, "\n")
}

// ErrLine finds nothing.
func (a *ACP) ErrLine([]byte) []Event { return nil }

// End takes no agent's word for success further than that it ended its turn: what the door saw is judged elsewhere.
func (a *ACP) End(exit int) Event {
	a.flush()
	a.end()
	f := byStatus(exit)
	switch {
	case a.failure != "":
		f.fail(a.failure, 0, a.start.Now)
	case a.stop == "max_tokens" || a.stop == "max_turn_requests":
		f = Finished{Outcome: Limit, Error: "it ended its turn at a limit of its own: " + a.stop}
	case a.stop == "cancelled" || a.stop == "" && exit == 0:
		f = Finished{Outcome: Killed, Error: unfinished}
	case a.stop != "end_turn" && a.stop != "":
		f.fail("it ended its turn: "+clipName(clip(a.stop)), 0, a.start.Now)
	}
	f.Session, f.Text, f.Asked = a.session, a.text, a.asked
	return finished(f)
}
