package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// about is what holds for all of it.
const about = "" +
	"What `cco view` serves beside its page, which uses nothing else; docs/view.md says more. A program says " +
	"`Authorization: Bearer TOKEN`, with what is in the file view/token of cco's data directory, and sends no " +
	"cookie of the page. Bodies are application/json, with known fields alone; an action without fields takes " +
	"{}. Where something has a `seen`, an action on it says that back, and is refused with 409 if it is " +
	"something else by now. Every text is safe to show: what would steer, reverse or hide is spelled out, as " +
	"<U+202E>, and <U+003C>U+ is a < that somebody wrote. No list is ever null. Fields may be added at any " +
	"time; others change only with another number in the path."

// object is one of JSON.
type object = map[string]any

// Document describes the routes and their types as OpenAPI does: what it says is what is answered.
func Document() any {
	types := object{}
	paths := object{}
	for _, r := range Routes() {
		at, _ := paths[Prefix+r.Path].(object)
		if at == nil {
			at = object{}
			paths[Prefix+r.Path] = at
		}
		at[strings.ToLower(r.Method)] = r.describe(types)
	}
	return object{"openapi": "3.0.3", "paths": paths,
		"info": object{"title": "cco view", "version": "1", "description": about},
		"components": object{"schemas": types,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
		"security": []object{{"token": []string{}}}}
}

// describe is the part of the document about a route.
func (r Route) describe(types object) object {
	body := func(v any) object {
		return object{"application/json": object{"schema": schema(reflect.TypeOf(v), types)}}
	}
	params := []object{}
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params = append(params, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true,
				"schema": object{"type": "string"}})
		}
	}
	for _, p := range r.Query {
		params = append(params, object{"name": p.Name, "in": "query", "description": p.Says,
			"schema": object{"type": "string"}})
	}
	says := object{"summary": r.Says, "parameters": params}
	text := object{"schema": object{"type": "string"}}
	status, answer := "200", object{"description": "done"}
	switch {
	case r.Socket:
		status, answer = "101", object{"description": "a WebSocket"}
		says["x-messages"] = object{"in": schema(reflect.TypeOf(r.In), types), "out": schema(reflect.TypeOf(r.Out), types)}
	case len(r.Events) > 0:
		answer["content"] = object{"text/event-stream": text}
		events := object{}
		for _, e := range r.Events {
			events[e.Name] = schema(reflect.TypeOf(e.Has), types)
		}
		says["x-events"] = events
	case r.Text:
		answer["content"] = object{"text/plain": text}
	default:
		answer["content"] = body(r.Out)
	}
	if r.In != nil && !r.Socket {
		says["requestBody"] = object{"required": true, "content": body(r.In)}
		if in, ok := types[title(reflect.TypeOf(r.In))].(object); ok {
			in["additionalProperties"] = false
		}
	}
	says["responses"] = object{status: answer, "default": object{"description": "it is refused, or went wrong",
		"content": body(Failure{})}}
	return says
}

// schema is what is said of a type. One with fields is described once.
func schema(t reflect.Type, types object) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return schema(t.Elem(), types)
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": schema(t.Elem(), types)}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Map:
		return object{"type": "object"}
	case t.Kind() != reflect.Struct:
		return object{"type": map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer",
			reflect.Bool:    "boolean",
			reflect.Float64: "number", reflect.String: "string"}[t.Kind()]}
	}
	ref := object{"$ref": "#/components/schemas/" + title(t)}
	if types[title(t)] != nil {
		return ref
	}
	fields, needed := object{}, []string{}
	about := object{"type": "object", "properties": fields}
	types[title(t)] = about
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		fields[name] = schema(f.Type, types)
		if says := f.Tag.Get("doc"); says != "" {
			fields[name] = object{"allOf": []any{fields[name]}, "description": says}
		}
		if !strings.Contains(options, "omit") {
			needed = append(needed, name)
		}
	}
	if len(needed) > 0 {
		about["required"] = needed
	}
	return ref
}

// title tells types of the same name apart.
func title(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if pkg == "api" {
		return t.Name()
	}
	return pkg + "." + t.Name()
}

func (*Desk) document(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, Document()) }
