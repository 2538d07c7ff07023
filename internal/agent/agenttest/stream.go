package agenttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
)

type object = map[string]any

// event is one part of a streamed answer.
type event struct {
	name string // "" where the protocol has no names
	data any    // a string is sent as it is
	at   Point  // the point of the answer that is reached with it
}

// reply sends a turn, or as much of it as the fault leaves.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, p protocol, t turn, f Fault) {
	if f.Hang == AtStart && !s.hang(r) {
		return
	}
	if f.Drop == AtStart {
		drop(w)
		return
	}
	if f.Status != 0 || !f.Reset.IsZero() {
		refuse(w, p, f)
		return
	}
	for i, c := range t.Calls {
		if i == 0 {
			t.Calls = append([]Call(nil), t.Calls...)
		}
		t.Calls[i] = c.with(t.tools)
	}
	t.Usage = t.Usage.orFew()
	stream, whole := p.answer(t)
	if !t.stream {
		w.Header().Set("Content-Type", "application/json")
		write(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s.stream(w, r, stream, f)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, stream []event, f Fault) {
	last := lastCall(stream)
	for i, e := range stream {
		send(w, e)
		reached := e.at
		if reached == AfterCall && i != last { // of several calls, the last
			reached = Nowhere
		}
		if reached == InMiddle {
			if f.Malformed {
				_, _ = io.WriteString(w, "data: {\"type\": \"broken\n\n")
			}
			f.Malformed = false
		}
		_ = http.NewResponseController(w).Flush()
		if reached == Nowhere {
			continue
		}
		if f.Hang == reached {
			if !s.hang(r) {
				return
			}
			f.Hang = Nowhere
		}
		if f.Drop == reached {
			drop(w)
			return
		}
	}
}

func lastCall(stream []event) int {
	for i := len(stream) - 1; i >= 0; i-- {
		if stream[i].at == AfterCall {
			return i
		}
	}
	return -1
}

// send writes one server-sent event.
func send(w io.Writer, e event) {
	if e.name != "" {
		_, _ = fmt.Fprintf(w, "event: %s\n", e.name)
	}
	if text, ok := e.data.(string); ok {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
		return
	}
	_, _ = io.WriteString(w, "data: ")
	write(w, e.data)
	_, _ = io.WriteString(w, "\n")
}

// write sends a value as one line of JSON.
func write(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // only maps, lists and strings are sent
	}
}

func encode(v any) string {
	var b strings.Builder
	write(&b, v)
	return strings.TrimSpace(b.String())
}

// halves splits a text, because real models never send one whole.
func halves(text string) []string {
	r := []rune(text)
	if len(r) < 2 {
		return []string{text}
	}
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}

// id names a call so that the step it belongs to can be read from it again.
func id(prefix string, step, n int) string { return fmt.Sprintf("%s_%04d_%02d", prefix, step, n) }

// stepOf reads the step from an id that was made by id.
func stepOf(s string) (step int, ok bool) {
	parts := strings.Split(s, "_")
	if len(parts) < 3 {
		return 0, false
	}
	_, err := fmt.Sscanf(parts[len(parts)-2], "%04d", &step)
	return step, err == nil && len(parts[len(parts)-2]) == 4
}

// putIn says whether a turn was put into the model's mouth by the CLI itself, as they do when a session goes on that
// was cut off.
func putIn(text string) bool {
	return strings.Contains(text, "No response requested.") ||
		strings.Contains(text, "[The previous response was interrupted before it completed.]")
}

// stringsIn gives every string of a JSON document, a line each.
func stringsIn(doc []byte) string {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return string(doc)
	}
	var b strings.Builder
	walk(&b, v)
	return b.String()
}

func walk(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case []any:
		for _, e := range v {
			walk(b, e)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			walk(b, v[k])
		}
	}
}
