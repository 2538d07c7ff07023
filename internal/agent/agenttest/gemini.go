package agenttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// gemini is the protocol of Google's Gemini.
type gemini struct{}

func (gemini) name() string { return "gemini" }

func (gemini) read(body []byte, url string) (asked, error) {
	var req struct {
		Tools []struct {
			Functions []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	model, verb, _ := strings.Cut(path.Base(url), ":")
	q := asked{model: model, stream: verb == "streamGenerateContent"}
	for _, t := range req.Tools {
		for _, f := range t.Functions {
			q.tools = append(q.tools, f.Name)
		}
	}
	for _, c := range req.Contents {
		if c.Role == "model" && (len(c.Parts) == 0 || !putIn(c.Parts[0].Text)) {
			q.turns++
		}
		for _, p := range c.Parts {
			if p.Response != nil {
				q.heard = append(q.heard, stringsIn(p.Response))
			}
		}
	}
	return q, nil
}

func (gemini) answer(t turn) ([]event, any) {
	var events []event
	var parts []any
	add := func(at Point, part object) {
		events = append(events, event{at: at, data: geminiChunk(t, []any{part}, "")})
	}
	say := func(text string, thought bool) {
		for i, h := range halves(text) {
			at := Nowhere
			if i == 0 {
				at = InMiddle
			}
			part := object{"text": h}
			if thought {
				part["thought"] = true
			}
			add(at, part)
			parts = append(parts, part)
		}
	}
	if t.Thinking != "" {
		say(t.Thinking, true)
	}
	if t.Text != "" || len(t.Calls) == 0 {
		say(t.Text, false)
	}
	for i, c := range t.Calls {
		if i == 0 && len(parts) == 0 {
			add(InMiddle, object{"text": ""}) // calls come whole here: before the first is as near to its middle as can be
		}
		part := object{"functionCall": object{"name": c.Tool, "args": c.Input}}
		add(AfterCall, part)
		parts = append(parts, part)
	}
	events = append(events, event{data: geminiChunk(t, []any{object{"text": ""}}, "STOP")})
	return events, geminiChunk(t, parts, "STOP")
}

func geminiChunk(t turn, parts []any, reason string) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	u := t.Usage
	in := u.Input + u.CacheRead + u.CacheWrite
	chunk := object{"candidates": []any{candidate}, "modelVersion": t.model, "responseId": id("resp", t.turns, 0)}
	if reason != "" {
		candidate["finishReason"] = reason
		chunk["usageMetadata"] = object{"promptTokenCount": in, "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output, "totalTokenCount": in + u.Output}
	}
	return chunk
}

func (gemini) mishap(f Fault) any {
	_, text := f.words()
	status := map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
		http.StatusInternalServerError: "INTERNAL"}[f.Status]
	if status == "" {
		status = "UNAVAILABLE"
	}
	e := object{"code": f.Status, "message": text, "status": status}
	wait := f.RetryAfter
	if !f.Reset.IsZero() {
		wait = time.Until(f.Reset)
	}
	if wait > 0 {
		e["details"] = []any{object{"@type": "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": fmt.Sprintf("%ds", int(wait.Seconds()))}}
	}
	return object{"error": e}
}
