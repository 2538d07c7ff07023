package guardtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

type object = map[string]any

// messages speaks Anthropic's protocol.
func (m *Model) messages(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Stream   bool              `json:"stream"`
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if !read(w, r, &req) {
		return
	}
	turns := 0
	for _, msg := range req.Messages {
		switch {
		case msg.Role == "assistant":
			turns++
		case strings.Contains(string(msg.Content), `"tool_result"`):
			m.hear(string(msg.Content))
		}
	}
	step := m.step(turns)
	if len(req.Tools) == 0 {
		step = Step{Text: "ok"} // claude asks for titles and the like beside the conversation
	}
	block := object{"type": "text", "text": step.Text}
	reason := "end_turn"
	if step.Tool != "" {
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%02d", turns), "name": step.Tool, "input": step.Input}
		reason = "tool_use"
	}
	usage := object{"input_tokens": 10, "output_tokens": 5}
	message := object{"id": fmt.Sprintf("msg_%02d", turns), "type": "message", "role": "assistant", "model": "scripted",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !req.Stream {
		message["content"], message["stop_reason"] = []any{block}, reason
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "message_start", object{"type": "message_start", "message": message})
	sendBlock(w, block)
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	event(w, "message_stop", object{"type": "message_stop"})
}

func sendBlock(w http.ResponseWriter, block object) {
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": block["text"]}
	if block["type"] == "tool_use" {
		input, err := json.Marshal(block["input"])
		if err != nil {
			panic(err) // a script's own literal
		}
		start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(input)}
	}
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": start})
	event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
}
