package guardtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses speaks OpenAI's Responses protocol, which codex uses.
func (m *Model) responses(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input []struct {
			Type   string          `json:"type"`
			Role   string          `json:"role"`
			Output json.RawMessage `json:"output"`
		} `json:"input"`
	}
	if !read(w, r, &req) {
		return
	}
	turns := 0
	for _, item := range req.Input {
		switch {
		case item.Type == "function_call", item.Type == "custom_tool_call", item.Type == "message" && item.Role == "assistant":
			turns++
		case strings.HasSuffix(item.Type, "_output"):
			m.hear(string(item.Output))
		}
	}
	step := m.step(turns)
	item := object{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%02d", turns),
		"content": []any{object{"type": "output_text", "text": step.Text}}}
	if step.Tool != "" {
		args, err := json.Marshal(step.Input)
		if err != nil {
			panic(err) // a script's own literal
		}
		item = object{"type": "function_call", "id": fmt.Sprintf("fc_%02d", turns), "call_id": fmt.Sprintf("call_%02d", turns),
			"name": step.Tool, "arguments": string(args)}
	}
	id := fmt.Sprintf("resp_%02d", turns)
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "response.created", object{"type": "response.created", "response": object{"id": id}})
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{"id": id, "usage": object{
		"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15}}})
}

// generate speaks Gemini's protocol.
func (m *Model) generate(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Tools    []json.RawMessage `json:"tools"`
		Contents []struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"contents"`
	}
	if !read(w, r, &req) {
		return
	}
	turns := 0
	for _, c := range req.Contents {
		if c.Role == "model" {
			turns++
		}
		for _, p := range c.Parts {
			if strings.Contains(string(p), "functionResponse") {
				m.hear(string(p))
			}
		}
	}
	step := m.step(turns)
	if len(req.Tools) == 0 {
		step = Step{Text: "{}"}
	}
	part := object{"text": step.Text}
	if step.Tool != "" {
		part = object{"functionCall": object{"name": step.Tool, "args": step.Input}}
	}
	answer := object{
		"candidates":    []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	}
	if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "text/event-stream")
		event(w, "", answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
