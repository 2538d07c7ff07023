package event

import (
	"encoding/json"
	"strings"
)

// Recorder reads what a CLI on a terminal writes down of its conversation, a line at a time: only what people read of
// it. Of the same thing, which some write again and again, it tells once.
type Recorder func(line []byte) []Event

// told remembers what was told already. It forgets all when it is too much.
type told map[string]bool

// first says whether something was not told yet.
func (t told) first(kind, id string) bool {
	key := kind + " " + clipName(id)
	if t[key] {
		return false
	}
	if len(t) >= maxNames {
		clear(t)
	}
	t[key] = true
	return true
}

// The tags around what cco adds to a prompt.
const (
	ruled   = "<cco-instructions>"
	unruled = "</cco-instructions>"
)

// Instruct is a prompt with instructions that belong to cco: nobody is shown them as what a person said.
func Instruct(said, instructions string) string {
	return strings.TrimSpace(said) + "\n\n" + ruled + "\n" + strings.TrimSpace(instructions) + "\n" + unruled
}

// prompt is what a person said, or what cco did for one. What a CLI adds by itself begins with a tag.
func prompt(text string) []Event {
	if said, rest, ok := strings.Cut(text, ruled); ok {
		_, after, _ := strings.Cut(rest, unruled)
		text = said + after
	}
	if text = strings.TrimSpace(text); text == "" || text[0] == '<' {
		return nil
	}
	return []Event{{Kind: KindPrompt, Text: clip(text)}}
}

// RecordClaude reads what Claude Code keeps of a conversation below projects.
func RecordClaude() Recorder {
	c := &claude{tools: names{}}
	return func(line []byte) (events []Event) {
		var l struct {
			Type    string `json:"type"`
			Meta    bool   `json:"isMeta"`
			Beside  bool   `json:"isSidechain"`
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if !parse(line, &l) || l.Beside || l.Type != "user" && l.Type != "assistant" {
			return nil
		}
		var text string
		if json.Unmarshal(l.Message.Content, &text) == nil {
			return prompt(text)
		}
		var m claudeMessage
		if json.Unmarshal(l.Message.Content, &m.Content) != nil {
			return nil
		}
		if l.Type == "assistant" {
			return people(c.said(claudeLine{Message: &m}, line))
		}
		for _, b := range m.Content {
			if b.Type == "text" && !l.Meta {
				events = append(events, prompt(b.Text)...)
			}
		}
		return append(events, people(c.answered(claudeLine{Message: &m}, line))...)
	}
}

// people are the events that people read.
func people(all []Event) (events []Event) {
	for _, e := range all {
		if e.Kind != KindRaw && e.Kind != KindUsage {
			events = append(events, e)
		}
	}
	return events
}

// RecordCodex reads what Codex keeps of a conversation below sessions.
func RecordCodex() Recorder {
	tools := names{}
	return func(line []byte) []Event {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Type    string          `json:"type"`
				Role    string          `json:"role"`
				Content any             `json:"content"`
				Summary any             `json:"summary"`
				Call    string          `json:"call_id"`
				Name    string          `json:"name"`
				Args    string          `json:"arguments"` // JSON
				Input   string          `json:"input"`
				Action  json.RawMessage `json:"action"`
				Output  any             `json:"output"`
				Item    struct {
					Type    string `json:"type"`
					Content any    `json:"content"`
				} `json:"item"`
			} `json:"payload"`
		}
		if !parse(line, &l) {
			return nil
		}
		p := &l.Payload
		switch {
		case l.Type == "event_msg" && p.Item.Type == "UserMessage":
			return prompt(contentText(p.Item.Content))
		case l.Type != "response_item":
			return nil
		}
		switch p.Type {
		case "message":
			if p.Role == "assistant" {
				return []Event{{Kind: KindText, Text: clip(contentText(p.Content))}}
			}
		case "reasoning":
			if text := contentText(p.Summary); text != "" {
				return []Event{{Kind: KindThinking, Text: clip(text)}}
			}
		case "function_call", "custom_tool_call", "local_shell_call":
			tools.put(p.Call, p.Name)
			e := Event{Kind: KindToolCall, ID: clipName(p.Call), Tool: clipName(p.Name)}
			input := json.RawMessage(p.Args)
			if p.Input != "" {
				input, _ = json.Marshal(map[string]string{"command": p.Input})
			}
			if len(p.Action) > 0 {
				input = p.Action
			}
			if json.Valid(input) {
				e.Input, e.Cut = clipInput(input)
			}
			return []Event{e}
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			return []Event{{Kind: KindToolResult, ID: clipName(p.Call), Tool: tools.take(p.Call),
				Text: clip(contentText(p.Output))}}
		}
		return nil
	}
}

// RecordGemini reads what Gemini CLI keeps of a conversation below tmp. It writes a message again when it has grown.
func RecordGemini() Recorder {
	known := told{}
	return func(line []byte) (events []Event) {
		var m struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Content  any    `json:"content"`
			Thoughts []struct {
				Subject     string `json:"subject"`
				Description string `json:"description"`
			} `json:"thoughts"`
			Calls []struct {
				ID     string          `json:"id"`
				Name   string          `json:"name"`
				Args   json.RawMessage `json:"args"`
				Status string          `json:"status"`
				Result []struct {
					Response struct {
						Response struct {
							Output string `json:"output"`
							Error  string `json:"error"`
						} `json:"response"`
					} `json:"functionResponse"`
				} `json:"result"`
			} `json:"toolCalls"`
		}
		if !parse(line, &m) {
			return nil
		}
		text := contentText(m.Content)
		if m.Type == "user" && text != "[]" && known.first("user", m.ID) {
			return prompt(text)
		}
		if m.Type != "gemini" {
			return nil
		}
		for _, t := range m.Thoughts {
			if known.first("thought", m.ID+t.Subject) {
				events = append(events, Event{Kind: KindThinking, Text: clip(t.Subject + ": " + t.Description)})
			}
		}
		if text != "" && known.first("text", m.ID) {
			events = append(events, Event{Kind: KindText, Text: clip(text)})
		}
		for _, c := range m.Calls {
			e := Event{Kind: KindToolCall, ID: clipName(c.ID), Tool: clipName(c.Name)}
			if known.first("call", c.ID) {
				e.Input, e.Cut = clipInput(c.Args)
				events = append(events, e)
			}
			if len(c.Result) == 0 || !known.first("result", c.ID) {
				continue
			}
			of := c.Result[0].Response.Response
			e = Event{Kind: KindToolResult, ID: e.ID, Tool: e.Tool, Text: clip(of.Output + of.Error),
				IsError: of.Error != "" || c.Status == "error"}
			if words, ok := denial(of.Error); ok {
				e.Kind, e.Text = KindDenied, clip(words)
			}
			events = append(events, e)
		}
		return events
	}
}

// RecordOpencode reads the parts of messages that our plugin writes down, since opencode itself has a database.
func RecordOpencode() Recorder {
	known := told{}
	return func(line []byte) (events []Event) {
		var p struct {
			ID    string `json:"id"`
			Role  string `json:"role"`
			Type  string `json:"type"`
			Text  string `json:"text"`
			Tool  string `json:"tool"`
			Call  string `json:"callID"`
			State struct {
				Status string          `json:"status"`
				Input  json.RawMessage `json:"input"`
				Output string          `json:"output"`
				Error  string          `json:"error"`
			} `json:"state"`
		}
		switch {
		case !parse(line, &p) || p.Type != "tool" && !known.first("part", p.ID):
		case p.Type == "text" && p.Role == "user":
			return prompt(p.Text)
		case p.Type == "text" && p.Text != "":
			return []Event{{Kind: KindText, Text: clip(p.Text)}}
		case p.Type == "reasoning" && p.Text != "":
			return []Event{{Kind: KindThinking, Text: clip(p.Text)}}
		case p.Type == "tool":
			e := Event{Kind: KindToolCall, ID: clipName(p.Call), Tool: clipName(p.Tool)}
			if known.first("call", p.Call) {
				e.Input, e.Cut = clipInput(p.State.Input)
				events = append(events, e)
			}
			ended := p.State.Status == "completed" || p.State.Status == "error"
			if !ended || !known.first("result", p.Call) {
				return events
			}
			e = Event{Kind: KindToolResult, ID: e.ID, Tool: e.Tool, Text: clip(p.State.Output + p.State.Error),
				IsError: p.State.Status == "error"}
			if words, ok := denial(p.State.Error); ok {
				e.Kind, e.Text = KindDenied, clip(words)
			}
			return append(events, e)
		}
		return nil
	}
}
