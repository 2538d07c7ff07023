package agenttest

import "encoding/json"

// chat is OpenAI's Chat Completions protocol, which opencode speaks with every provider that has no other.
type chat struct{}

func (chat) name() string { return "chat" }

func (chat) read(body []byte, _ string) (asked, error) {
	var req struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Tools    []any  `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	q := asked{model: req.Model, stream: req.Stream, tools: openaiTools(req.Tools)}
	for _, m := range req.Messages {
		switch m.Role {
		case "assistant":
			q.turns++
			for _, c := range m.Calls {
				if step, ok := stepOf(c.ID); ok {
					q.turns = step + 1
				}
			}
		case "tool":
			q.heard = append(q.heard, stringsIn(m.Content))
		}
	}
	return q, nil
}

func (chat) answer(t turn) ([]event, any) {
	var events []event
	add := func(delta object, reason any, at Point) {
		events = append(events, event{at: at, data: chatChunk(t,
			[]any{object{"index": 0, "delta": delta, "finish_reason": reason}}, nil)})
	}
	add(object{"role": "assistant", "content": ""}, nil, Nowhere)
	message := object{"role": "assistant", "content": t.Text}
	middle := func(i int) Point {
		if i == 0 {
			return InMiddle
		}
		return Nowhere
	}
	if t.Thinking != "" {
		message["reasoning_content"] = t.Thinking
		for i, h := range halves(t.Thinking) {
			add(object{"reasoning_content": h}, nil, middle(i))
		}
	}
	if t.Text != "" || len(t.Calls) == 0 {
		for i, h := range halves(t.Text) {
			add(object{"content": h}, nil, middle(i))
		}
	}
	reason := "stop"
	var calls []any
	for n, c := range t.Calls {
		reason = "tool_calls"
		head := object{"index": n, "id": id("call", t.turns, n), "type": "function",
			"function": object{"name": c.Tool, "arguments": ""}}
		add(object{"tool_calls": []any{head}}, nil, Nowhere)
		parts := halves(encode(c.Input))
		for i, h := range parts {
			at := middle(i)
			if i == len(parts)-1 {
				at = AfterCall
			}
			add(object{"tool_calls": []any{object{"index": n, "function": object{"arguments": h}}}}, nil, at)
		}
		calls = append(calls, object{"id": head["id"], "type": "function",
			"function": object{"name": c.Tool, "arguments": encode(c.Input)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	add(object{}, reason, Nowhere)
	usage := chatUsage(t.Usage)
	events = append(events, event{data: chatChunk(t, []any{}, usage)}, event{data: "[DONE]"})
	whole := object{"id": id("chatcmpl", t.turns, 0), "object": "chat.completion", "created": 1, "model": t.model,
		"usage":   usage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}}}
	return events, whole
}

func chatChunk(t turn, choices []any, usage object) object {
	c := object{"id": id("chatcmpl", t.turns, 0), "object": "chat.completion.chunk", "created": 1, "model": t.model,
		"choices": choices}
	if usage != nil {
		c["usage"] = usage
	}
	return c
}

func chatUsage(u Usage) object {
	in := u.Input + u.CacheRead + u.CacheWrite
	return object{"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead}}
}

func (chat) mishap(f Fault) any { return openaiMishap(f) }
