package agenttest

import (
	"fmt"
	"strings"
)

// clients read answers by the protocols' own rules, not by what this server happens to send.
func clients() []client {
	return []client{
		{
			name: "anthropic", path: "/v1/messages", whole: "/v1/messages", shell: "Bash", request: anthropicRequest,
			text: func(l []event, w object) string {
				return anthropicJoin(l, w, "text", "text_delta", "text")
			},
			call: func(l []event, w object) (string, string) {
				return lastName(l, w, "content_block", "content"), anthropicJoin(l, w, "tool_use", "input_json_delta",
					"partial_json")
			},
		},
		{
			name: "responses", path: "/v1/responses", whole: "/v1/responses", shell: "exec_command", request: responsesRequest,
			text: func(l []event, w object) string {
				var b strings.Builder
				for _, e := range l {
					if d := e.data.(object); d["type"] == "response.output_text.delta" {
						b.WriteString(d["delta"].(string))
					}
				}
				for _, it := range list(w, "output") {
					for _, c := range list(it.(object), "content") {
						b.WriteString(c.(object)["text"].(string))
					}
				}
				return b.String()
			},
			call: func(l []event, w object) (string, string) {
				items := list(w, "output")
				for _, e := range l {
					if d := e.data.(object); d["type"] == "response.output_item.done" && e.name == d["type"] {
						items = append(items, d["item"])
					}
				}
				last := items[len(items)-1].(object)
				return fmt.Sprint(last["name"]), fmt.Sprint(last["arguments"])
			},
		},
		{
			name: "chat", path: "/v1/chat/completions", whole: "/v1/chat/completions", shell: "bash", request: chatRequest,
			text: func(l []event, w object) string {
				var b strings.Builder
				for _, d := range chatDeltas(l, w) {
					if s, ok := d["content"].(string); ok {
						b.WriteString(s)
					}
				}
				return b.String()
			},
			call: func(l []event, w object) (name, in string) {
				for _, d := range chatDeltas(l, w) {
					for _, c := range list(d, "tool_calls") {
						f := c.(object)["function"].(object)
						if n, ok := f["name"].(string); ok {
							name, in = n, ""
						}
						in += f["arguments"].(string)
					}
				}
				return name, in
			},
		},
		{
			name: "gemini", path: "/v1beta/models/m:streamGenerateContent?alt=sse", whole: "/v1beta/models/m:generateContent",
			shell: "run_shell_command", request: geminiRequest,
			text: func(l []event, w object) string {
				var b strings.Builder
				for _, p := range geminiParts(l, w) {
					if s, ok := p["text"].(string); ok && p["thought"] == nil {
						b.WriteString(s)
					}
				}
				return b.String()
			},
			call: func(l []event, w object) (name, in string) {
				for _, p := range geminiParts(l, w) {
					if f, ok := p["functionCall"].(object); ok {
						name, in = f["name"].(string), encode(f["args"])
					}
				}
				return name, in
			},
		},
	}
}

func list(o object, key string) []any { l, _ := o[key].([]any); return l }

func anthropicJoin(l []event, w object, kind, delta, field string) string {
	var b strings.Builder
	for _, e := range l {
		d := e.data.(object)
		if d["type"] != e.name {
			return "the event's name is not its type"
		}
		if d["type"] == "content_block_start" {
			if kind == "tool_use" {
				b.Reset() // of the last call
			}
			continue
		}
		if d, ok := d["delta"].(object); ok && d["type"] == delta {
			b.WriteString(d[field].(string))
		}
	}
	for _, c := range list(w, "content") {
		switch c := c.(object); {
		case c["type"] != kind:
		case kind == "text":
			b.WriteString(c["text"].(string))
		default:
			b.WriteString(encode(c["input"]))
		}
	}
	return b.String()
}

func lastName(l []event, w object, key, content string) (name string) {
	for _, e := range l {
		if c, ok := e.data.(object)[key].(object); ok && c["name"] != nil {
			name = c["name"].(string)
		}
	}
	for _, c := range list(w, content) {
		if n, ok := c.(object)["name"].(string); ok {
			name = n
		}
	}
	return name
}

func chatDeltas(l []event, w object) (deltas []object) {
	for _, e := range l {
		d, ok := e.data.(object)
		if !ok {
			continue
		}
		for _, c := range list(d, "choices") {
			deltas = append(deltas, c.(object)["delta"].(object))
		}
	}
	for _, c := range list(w, "choices") {
		deltas = append(deltas, c.(object)["message"].(object))
	}
	return deltas
}

func geminiParts(l []event, w object) (parts []object) {
	answers := []object{w}
	for _, e := range l {
		answers = append(answers, e.data.(object))
	}
	for _, a := range answers {
		for _, c := range list(a, "candidates") {
			for _, p := range list(c.(object)["content"].(object), "parts") {
				parts = append(parts, p.(object))
			}
		}
	}
	return parts
}

const hello = `say \"hello\"`

// anthropicRequest has two calls in the first turn, to see that they are one turn.
func anthropicRequest(turns int) string {
	messages := `{"role":"user","content":"` + hello + `"}`
	for i := range turns {
		messages += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use",`+
			`"id":"toolu_%04d_00","name":"Bash","input":{}}]}`, i) +
			fmt.Sprintf(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%04d_00","content":"answer `+
				`%d"}]}`, i, i)
	}
	if turns > 0 { // as claude resumes
		messages += `,{"role":"assistant","content":[{"type":"text","text":"No response ` +
			`requested."}]},{"role":"user","content":"go on"}`
	}
	return `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[` + messages + `]}`
}

func responsesRequest(turns int) string {
	items := `{"type":"message","role":"user","content":[{"type":"input_text","text":"` + hello + `"}]}`
	for i := range turns {
		items += `,{"type":"reasoning","summary":[]},{"type":"message","role":"assistant",` +
			`"content":[{"type":"output_text","text":"x"}]}`
		for n := range 2 {
			items += fmt.Sprintf(`,{"type":"function_call","call_id":"call_%04d_%02d",`+
				`"name":"exec_command","arguments":"{}"}`, i, n) +
				fmt.Sprintf(`,{"type":"function_call_output","call_id":"call_%04d_%02d","output":"answer %d"}`, i, n, i)
		}
	}
	// Tools stand in a namespace that is told on the way, as for newer models.
	items = `{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions",` +
		`"tools":[{"type":"function","name":"exec_command"}]}]},` + items
	return `{"model":"m","stream":true,"tools":[{"type":"web_search"}],"input":[` + items + `]}`
}

func chatRequest(turns int) string {
	messages := `{"role":"user","content":"` + hello + `"}`
	for i := range turns {
		messages += fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%04d_00","type":"function",`+
			`"function":{"name":"bash","arguments":"{}"}}]}`, i) +
			fmt.Sprintf(`,{"role":"tool","tool_call_id":"call_%04d_00","content":"answer %d"}`, i, i)
	}
	return `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[` + messages +
		`]}`
}

func geminiRequest(turns int) string {
	contents := `{"role":"user","parts":[{"text":"` + hello + `"}]}`
	for i := range turns {
		contents += `,{"role":"model","parts":[{"functionCall":{"name":"run_shell_command","args":{}}}]}` +
			fmt.Sprintf(`,{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command",`+
				`"response":{"output":"answer %d"}}}]}`, i)
	}
	if turns > 0 { // as gemini resumes
		contents += `,{"role":"model","parts":[{"text":"[The previous response was interrupted before it ` +
			`completed.]"}]},{"role":"user","parts":[{"text":"go on"}]}`
	}
	return `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[` + contents + `]}`
}
