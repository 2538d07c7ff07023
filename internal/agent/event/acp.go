package event

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/agent/wire"
)

// acp reads what our driver in a box passes on of an agent that speaks the Agent Client Protocol.
type acp struct {
	start   Start
	session string
	words   strings.Builder // of the message that is under way
	thinks  bool            // it is a thought
	text    string          // the last message
	calls   names           // by id
	told    names           // those that were told
	stop    string
	failure string
	asked   bool
}

// NewACP reads the stream of an agent that speaks the Agent Client Protocol. What it says that it costs is left alone:
// the door knows better.
func NewACP(s Start) Decoder { return &acp{start: s, calls: names{}, told: names{}} }

type acpLine struct {
	wire.Word
	Params struct {
		Update acpUpdate `json:"update"`
	} `json:"params"`
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
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
}

func (a *acp) Line(line []byte) []Event {
	var l acpLine
	if !parse(line, &l) {
		return append(a.flush(), plainText(line)...)
	}
	if l.Say != "" {
		return append(a.flush(), a.word(l.Word)...)
	}
	return a.update(l.Params.Update, line)
}

func (a *acp) word(w wire.Word) []Event {
	switch w.Say {
	case wire.Begun:
		a.session = sessionID(w.Session)
		return []Event{{Kind: KindStarted, Session: a.session}}
	case wire.Ended:
		a.stop = w.Stop
	case wire.Failed:
		a.failure = clip(w.Text)
		return []Event{{Kind: KindText, Text: a.failure, IsError: true}}
	case wire.Question:
		a.asked = true
		return []Event{{Kind: KindQuestion, Text: clip(w.Text)}}
	case wire.Note:
		return []Event{{Kind: KindText, Text: clip(w.Text), Aside: true}}
	}
	return nil
}

func (a *acp) update(u acpUpdate, line []byte) []Event {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		return a.chunk(u.Content, u.Kind == "agent_thought_chunk")
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update",
		"session_info_update", "usage_update":
		return nil
	}
	before := a.flush()
	switch u.Kind {
	case "tool_call", "tool_call_update":
		return append(before, a.call(u)...)
	case "plan":
		return append(before, planned(u)...)
	}
	return append(before, unknown(line)...)
}

// chunk gathers a message, which is told when something else follows.
func (a *acp) chunk(content json.RawMessage, thinks bool) (told []Event) {
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

func (a *acp) flush() []Event {
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
func (a *acp) call(u acpUpdate) (told []Event) {
	ended := u.Status == "completed" || u.Status == "failed"
	name, begun := a.calls[clipName(u.ID)]
	if u.Kind == "tool_call" && !begun {
		a.calls.put(u.ID, u.tool())
		name, begun = u.tool(), true
	}
	if begun && a.told[clipName(u.ID)] == "" && (len(u.Input) > 2 || ended || u.Status == "in_progress") {
		e := Event{Kind: KindToolCall, ID: clipName(u.ID), Tool: name}
		e.Input, e.Cut = clipInput(u.input())
		a.told.put(u.ID, name)
		told = append(told, e)
	}
	if ended {
		a.told.take(u.ID)
		told = append(told, Event{Kind: KindToolResult, ID: clipName(u.ID), Tool: a.calls.take(u.ID), Text: clip(u.result()),
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

// planned tells where the agent is in its plan.
func planned(u acpUpdate) []Event {
	done, now := 0, ""
	for _, e := range u.Entries {
		if e.Status == "completed" {
			done++
		} else if now == "" || e.Status == "in_progress" {
			now = ": " + e.Content
		}
	}
	return []Event{{Kind: KindText, Text: clip(fmt.Sprintf("plan: %d of %d done%s", done, len(u.Entries), now)),
		Aside: true}}
}

// ErrLine finds nothing.
func (a *acp) ErrLine([]byte) []Event { return nil }

// End takes no agent's word for success further than that it ended its turn: what the door saw is judged elsewhere.
func (a *acp) End(exit int) Event {
	a.flush()
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
