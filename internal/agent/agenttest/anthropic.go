package agenttest

import "encoding/json"

// anthropic is the Messages protocol, which claude speaks.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }

func (anthropic) read(body []byte, _ string) (asked, error) {
	var req struct {
		Model    string                  `json:"model"`
		Stream   bool                    `json:"stream"`
		Tools    []struct{ Name string } `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	q := asked{model: req.Model, stream: req.Stream}
	for _, t := range req.Tools {
		q.tools = append(q.tools, t.Name)
	}
	for _, m := range req.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			ID      string          `json:"id"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(m.Content, &blocks) // else it is a plain string
		if m.Role == "assistant" && !putIn(string(m.Content)) {
			q.turns++
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				if step, ok := stepOf(b.ID); ok {
					q.turns = step + 1
				}
			case "tool_result":
				q.heard = append(q.heard, stringsIn(b.Content))
			}
		}
	}
	return q, nil
}

func (anthropic) answer(t turn) ([]event, any) {
	usage := object{"input_tokens": t.Usage.Input, "output_tokens": t.Usage.Output,
		"cache_read_input_tokens": t.Usage.CacheRead, "cache_creation_input_tokens": t.Usage.CacheWrite}
	start := object{"id": id("msg", t.turns, 0), "type": "message", "role": "assistant", "model": t.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": t.Usage.Input, "output_tokens": 1,
			"cache_read_input_tokens": t.Usage.CacheRead, "cache_creation_input_tokens": t.Usage.CacheWrite}}
	events := []event{{name: "message_start", data: object{"type": "message_start", "message": start}}}
	var blocks []any
	for _, b := range anthropicBlocks(t) {
		events = append(events, b.events(len(blocks))...)
		blocks = append(blocks, b.whole)
	}
	reason := "end_turn"
	if len(t.Calls) > 0 {
		reason = "tool_use"
	}
	events = append(events,
		event{name: "message_delta", data: object{"type": "message_delta",
			"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage}},
		event{name: "message_stop", data: object{"type": "message_stop"}})
	whole := object{"id": start["id"], "type": "message", "role": "assistant", "model": t.model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": usage}
	return events, whole
}

// block is one part of a message: how it begins, what is added, and what it is in the end.
type block struct {
	start, whole object
	deltas       []object
	call         bool
}

func anthropicBlocks(t turn) (list []block) {
	if t.Thinking != "" {
		b := block{start: object{"type": "thinking", "thinking": "", "signature": ""},
			whole: object{"type": "thinking", "thinking": t.Thinking, "signature": "c2NyaXB0ZWQ="}}
		for _, h := range halves(t.Thinking) {
			b.deltas = append(b.deltas, object{"type": "thinking_delta", "thinking": h})
		}
		b.deltas = append(b.deltas, object{"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})
		list = append(list, b)
	}
	if t.Text != "" || len(t.Calls) == 0 {
		b := block{start: object{"type": "text", "text": ""}, whole: object{"type": "text", "text": t.Text}}
		for _, h := range halves(t.Text) {
			b.deltas = append(b.deltas, object{"type": "text_delta", "text": h})
		}
		list = append(list, b)
	}
	for n, c := range t.Calls {
		name := id("toolu", t.turns, n)
		b := block{start: object{"type": "tool_use", "id": name, "name": c.Tool, "input": object{}},
			whole: object{"type": "tool_use", "id": name, "name": c.Tool, "input": c.Input}, call: true}
		for _, h := range halves(encode(c.Input)) {
			b.deltas = append(b.deltas, object{"type": "input_json_delta", "partial_json": h})
		}
		list = append(list, b)
	}
	return list
}

func (b block) events(index int) []event {
	list := []event{{name: "content_block_start", data: object{"type": "content_block_start", "index": index,
		"content_block": b.start}}}
	for i, d := range b.deltas {
		e := event{name: "content_block_delta", data: object{"type": "content_block_delta", "index": index, "delta": d}}
		if i == 0 {
			e.at = InMiddle
		}
		list = append(list, e)
	}
	stop := event{name: "content_block_stop", data: object{"type": "content_block_stop", "index": index}}
	if b.call {
		stop.at = AfterCall
	}
	return append(list, stop)
}

func (anthropic) mishap(f Fault) any {
	kind, text := f.words()
	if kind == "usage_limit_reached" {
		kind = "rate_limit_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": text}, "request_id": "req_scripted"}
}
