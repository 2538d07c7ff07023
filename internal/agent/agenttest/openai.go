package agenttest

import (
	"encoding/json"
	"strings"
)

// responses is OpenAI's Responses protocol, which codex speaks.
type responses struct{}

func (responses) name() string { return "responses" }

func (responses) read(body []byte, _ string) (asked, error) {
	var req struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Tools  []any           `json:"tools"`
		Input  json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	var items []struct {
		Type   string          `json:"type"`
		Role   string          `json:"role"`
		CallID string          `json:"call_id"`
		Output json.RawMessage `json:"output"`
		Tools  []any           `json:"tools"` // newer models are told of them on the way
	}
	_ = json.Unmarshal(req.Input, &items) // else it is a plain string
	q := asked{model: req.Model, stream: req.Stream, tools: openaiTools(req.Tools)}
	speaking := false // a turn may be several items
	for _, it := range items {
		q.tools = append(q.tools, openaiTools(it.Tools)...)
		switch {
		case it.Type == "function_call", it.Type == "custom_tool_call":
			if step, ok := stepOf(it.CallID); ok {
				q.turns = step + 1
			} else if !speaking {
				q.turns++
			}
			speaking = true
		case it.Type == "reasoning", it.Role == "assistant":
			if !speaking {
				q.turns++
			}
			speaking = true
		default:
			if strings.HasSuffix(it.Type, "_output") {
				q.heard = append(q.heard, stringsIn(it.Output))
			}
			speaking = false
		}
	}
	return q, nil
}

// openaiTools reads the names of tools, which stand beside or below "function", and of those in a namespace too.
func openaiTools(list []any) (names []string) {
	for _, t := range list {
		m, _ := t.(object)
		if f, ok := m["function"].(object); ok {
			m = f
		}
		if inner, ok := m["tools"].([]any); ok {
			names = append(names, openaiTools(inner)...)
			continue
		}
		for _, k := range []string{"name", "type"} {
			if s, ok := m[k].(string); ok {
				names = append(names, s)
				break
			}
		}
	}
	return names
}

func (responses) answer(t turn) ([]event, any) {
	name := id("resp", t.turns, 0)
	events := []event{{name: "response.created", data: object{"type": "response.created", "response": object{
		"id": name, "object": "response", "status": "in_progress", "model": t.model, "output": []any{}}}}}
	var items []any
	for _, it := range responseItems(t) {
		events = append(events, it.events(len(items))...)
		items = append(items, it.whole)
	}
	u := t.Usage
	in := u.Input + u.CacheRead + u.CacheWrite
	whole := object{"id": name, "object": "response", "status": "completed", "model": t.model, "output": items,
		"usage": object{
			"input_tokens": in, "input_tokens_details": object{"cached_tokens": u.CacheRead},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + u.Output}}
	return append(events, event{name: "response.completed",
		data: object{"type": "response.completed", "response": whole}}), whole
}

// item is one part of a response.
type item struct {
	whole object
	delta string // the type of its deltas
	text  string
	call  bool
}

func responseItems(t turn) (list []item) {
	if t.Thinking != "" {
		list = append(list, item{delta: "response.reasoning_summary_text.delta", text: t.Thinking, whole: object{
			"type": "reasoning", "id": id("rs", t.turns, 0),
			"summary": []any{object{"type": "summary_text", "text": t.Thinking}}, "encrypted_content": nil}})
	}
	if t.Text != "" || len(t.Calls) == 0 {
		list = append(list, item{delta: "response.output_text.delta", text: t.Text, whole: object{
			"type": "message", "role": "assistant", "id": id("msg", t.turns, 0), "status": "completed",
			"content": []any{object{"type": "output_text", "text": t.Text, "annotations": []any{}}}}})
	}
	for n, c := range t.Calls {
		w := object{"id": id("fc", t.turns, n), "call_id": id("call", t.turns, n), "name": c.Tool, "status": "completed"}
		it := item{whole: w, call: true}
		if c.Free != "" {
			w["type"], w["input"] = "custom_tool_call", c.Free
			it.delta, it.text = "response.custom_tool_call_input.delta", c.Free
		} else {
			w["type"], w["arguments"] = "function_call", encode(c.Input)
			it.delta, it.text = "response.function_call_arguments.delta", encode(c.Input)
		}
		list = append(list, it)
	}
	return list
}

func (it item) events(index int) []event {
	begun := object{}
	for k, v := range it.whole {
		switch k {
		case "content", "summary":
			begun[k] = []any{}
		case "arguments", "input":
			begun[k] = ""
		case "status":
			begun[k] = "in_progress"
		default:
			begun[k] = v
		}
	}
	added := "response.output_item.added"
	list := []event{{name: added, data: object{"type": added, "output_index": index, "item": begun}}}
	for i, h := range halves(it.text) {
		d := object{"type": it.delta, "item_id": it.whole["id"], "output_index": index, "content_index": 0,
			"summary_index": 0, "delta": h}
		e := event{name: it.delta, data: d}
		if i == 0 {
			e.at = InMiddle
		}
		list = append(list, e)
	}
	done := event{name: "response.output_item.done", data: object{"type": "response.output_item.done",
		"output_index": index, "item": it.whole}}
	if it.call {
		done.at = AfterCall
	}
	return append(list, done)
}

func (responses) mishap(f Fault) any { return openaiMishap(f) }

func openaiMishap(f Fault) any {
	kind, text := f.words()
	e := object{"type": kind, "message": text, "code": kind}
	if !f.Reset.IsZero() {
		e["plan_type"], e["resets_at"] = "plus", f.Reset.Unix()
	}
	return object{"error": e}
}
