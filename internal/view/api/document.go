package api

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Document is docs/api.md, made from the routes and their types: what is written there is what is answered.
func Document() string {
	var b strings.Builder
	b.WriteString(preface)
	seen := map[reflect.Type]bool{}
	var types []reflect.Type
	learn := func(v any) string {
		t := reflect.TypeOf(v)
		collect(t, seen, &types)
		return typeName(t)
	}
	for _, r := range Routes() {
		fmt.Fprintf(&b, "\n### `%s %s%s`\n\n%s\n", r.Method, Prefix, r.Path, r.Says)
		for _, p := range r.Query {
			fmt.Fprintf(&b, "- `?%s=`: %s\n", p.Name, p.Says)
		}
		if len(r.Query) > 0 {
			b.WriteString("\n")
		}
		if r.In != nil {
			fmt.Fprintf(&b, "Takes %s. ", learn(r.In))
		}
		switch {
		case r.Socket:
			fmt.Fprintf(&b, "Gives messages of %s.\n", learn(r.Out))
		case len(r.Events) > 0:
			b.WriteString("Gives a stream of events:")
			for i, e := range r.Events {
				fmt.Fprintf(&b, "%s `%s`, each with %s", strings.Repeat(";", min(i, 1)), e.Name, learn(e.Has))
			}
			b.WriteString(".\n")
		default:
			fmt.Fprintf(&b, "Gives %s.\n", learn(r.Out))
		}
	}
	learn(Failure{})
	b.WriteString("\n## Types\n")
	for i := 0; i < len(types); i++ {
		describe(&b, types[i])
	}
	return b.String()
}

const preface = `# The local API

` + "`cco view`" + ` serves this beside its page, and the page uses nothing else. It is meant for programs of your own
on this machine too. This file is made from the code (` + "`internal/view/api`" + `), and a test holds them together.

- The address is what ` + "`cco view --json`" + ` prints. Every path begins with ` + "`" + Prefix + "`" + `.
- A program says who it is with ` + "`Authorization: Bearer TOKEN`" + ` and sends no cookie. The token is in the file
  ` + "`view/token`" + ` of cco's data directory, readable for you alone. It has the rights of the page: it can
  start agents.
- The Host header must be the address, ` + "`localhost`" + ` with its port, or one of the setting
  ` + "`view.hosts`" + `.
- Bodies are ` + "`application/json`" + `, with known fields alone. An action without fields takes ` + "`{}`" + `.
- Errors are ` + "`Failure`" + `, with status 400 (wrong usage), 401 (no token), 403 (another origin), 404 (no such
  thing), 409 (not in a state for that), 415 (not JSON), 421 (another Host), 429 (too many streams), 504
  (timed out) or 500.
- The page alone uses ` + "`POST " + Prefix + "/enter`" + `, which makes a cookie of ` + "`{\"code\": \"…\"}`" + `.
- Streams are server-sent events, and have no other events than those that are named here.
  ` + "`Last-Event-ID`" + ` goes on behind the event of that id.
- Every text is safe to show: control characters, bidirectional ones and those without a shape are spelled out, as
  ` + "`<U+202E>`" + `. Markdown comes as a tree of known parts; no answer has markup in it.
- Times are RFC 3339; one that is not there yet is left out.
- Kinds of items are words, thought, call, result, denied, refused, question, retry, step, start, turn, line, error,
  end and other. Parts of Markdown are p, h, ul, ol, li, pre, quote, hr, table, tr, td, th, em, strong, del, code, br.
  Colours of code are k for keywords, s strings, c comments, n numbers, f functions, t types and tags, a attributes.
- Kinds of bars are work, wait, trouble, ask, pause, crash (no engine runs, the last was killed), stopped (likewise, by
  a person), engine (another has taken it up) and end. A finding is trusted as you, named (by you), accepted (by you, of
  a stranger), writer (of one who may write to the repository), reviewer (a model), check (of the forge) or cco.
- A field may be added at any time. Fields are removed or changed only with another number in the path.

## Paths
`

// typeName is how a type is called in the document.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "a list of " + typeName(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return "time"
		}
		return "`" + title(t) + "`"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	}
	return "text"
}

// title tells types of the same name apart.
func title(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if pkg == "api" {
		return t.Name()
	}
	return pkg + "." + t.Name()
}

// collect adds a type and those in it, each once, in the order in which they are met.
func collect(t reflect.Type, seen map[reflect.Type]bool, list *[]reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || seen[t] {
		return
	}
	seen[t] = true
	*list = append(*list, t)
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			collect(f.Type, seen, list)
		}
	}
}

func describe(b *strings.Builder, t reflect.Type) {
	fmt.Fprintf(b, "\n### `%s`\n\n", title(t))
	if t.NumField() == 0 {
		b.WriteString("No fields: `{}`.\n")
		return
	}
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		says := f.Tag.Get("doc")
		if strings.Contains(options, "omit") {
			says += "; may be left out"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeName(f.Type), strings.ReplaceAll(says, "|", "\\|"))
	}
}
