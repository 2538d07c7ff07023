package settings

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// The shape of hooks in JSON, which agents share.
type group struct {
	Matcher string    `json:"matcher"`
	Hooks   []handler `json:"hooks"`
}

type handler struct {
	Name      string `json:"name,omitempty"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"`
	OnFailure string `json:"onFailure,omitempty"`
}

// layer is a settings file that an agent reads.
type layer struct {
	name, file string
	root       node
}

// layers reads settings files, the strongest first. One that can't be read is passed over by agents in silence, so
// that it is reported.
func layers(r *registration, files ...layer) []layer {
	var list []layer
	for _, l := range files {
		data, there, err := readIfThere(l.file)
		if err == nil && there {
			l.root, err = parseJSON(orEmpty(data))
		}
		if err != nil {
			r.add(l.name+" settings", Loose, l.file+": "+err.Error()+"; "+r.finding.Agent+" ignores the whole file",
				"mend or remove it")
			continue
		}
		if there {
			list = append(list, l)
		}
	}
	return list
}

// mentioned says whether a group of hooks has a command that decides by this hook's policy.
func (h Hook) mentioned(group node) bool {
	return slices.ContainsFunc(handlers(group), func(c registered) bool {
		return strings.Contains(text(c.command), quote(h.Policy))
	})
}

// registered is a handler as it stands in a file.
type registered struct{ command, name node }

func handlers(group node) (list []registered) {
	hooks, _ := group.get("hooks")
	for _, h := range hooks.elems() {
		if c, ok := h.get("command"); ok {
			name, _ := h.get("name")
			list = append(list, registered{c, name})
		}
	}
	return list
}

// under lists the handlers that stand under an event.
func under(root node, event string) (list []registered) {
	groups, _ := root.at("hooks", event)
	for _, g := range groups.elems() {
		list = append(list, handlers(g)...)
	}
	return list
}

// commands lists the hook commands that stand under an event.
func commands(root node, event string) (list []string) {
	for _, h := range under(root, event) {
		list = append(list, text(h.command))
	}
	return list
}

// hookNames are the names of the handlers that run a command.
func hookNames(root node, event, command string) (names []string) {
	for _, h := range under(root, event) {
		if name := text(h.name); name != "" && text(h.command) == command {
			names = append(names, name)
		}
	}
	return names
}

// node is a JSON value with its place in the text, so that a file can be changed without being written anew. hujson
// reads; its own patches would drop some comments and write everything on one line, so that text is put in place here.
type node struct {
	hujson.Value
}

// maxNested bounds how deeply a file can be nested: hujson recurses, and an agent may have written the file.
const maxNested = 20_000

// parseJSON reads a settings file, whose top must be an object, with comments and trailing commas as agents read them.
func parseJSON(data []byte) (node, error) {
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxNested {
		return node{}, errors.New("it is nested too deeply")
	}
	// Places must stay as they are: a byte order mark becomes blanks, and a comment may end with the file.
	text := append(bytes.Clone(data), '\n')
	if mark := []byte("\ufeff"); bytes.HasPrefix(text, mark) {
		copy(text, bytes.Repeat([]byte(" "), len(mark)))
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return node{}, err
	}
	if v.Value.Kind() != '{' {
		return node{}, errors.New("it is not an object")
	}
	return node{v}, nil
}

func (n node) members() []hujson.ObjectMember {
	if o, ok := n.Value.Value.(*hujson.Object); ok {
		return o.Members
	}
	return nil
}

func (n node) elems() (list []node) {
	if a, ok := n.Value.Value.(*hujson.Array); ok {
		for _, e := range a.Elements {
			list = append(list, node{e})
		}
	}
	return list
}

func (n node) get(key string) (node, bool) {
	for _, m := range slices.Backward(n.members()) { // the last one counts, as in every parser of theirs
		if text(node{m.Name}) == key {
			return node{m.Value}, true
		}
	}
	return node{}, false
}

// at follows keys from object to object.
func (n node) at(keys ...string) (node, bool) {
	for _, k := range keys {
		var ok bool
		if n, ok = n.get(k); !ok {
			return node{}, false
		}
	}
	return n, true
}

// text is a string's text, or a literal as it stands.
func text(n node) string {
	if l, ok := n.Value.Value.(hujson.Literal); ok {
		return l.String()
	}
	return ""
}

func (n node) is(literal string) bool {
	l, ok := n.Value.Value.(hujson.Literal)
	return ok && string(l) == literal
}

// span is the place of an item, and of the comma behind it if there is one.
type span struct{ start, end, comma int }

// spans are the places of what stands in an object or array.
func (n node) spans() (list []span) {
	for _, m := range n.members() {
		list = append(list, span{m.Name.StartOffset, m.Value.EndOffset, m.Value.EndOffset + len(m.Value.AfterExtra)})
	}
	for _, e := range n.elems() {
		list = append(list, span{e.StartOffset, e.EndOffset, e.EndOffset + len(e.AfterExtra)})
	}
	return list
}

// put sets a member of the object that keys lead to, making the objects on the way; whatever else stands there stays.
func put(data []byte, raw string, keys ...string) ([]byte, error) {
	n, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	depth := 0
	for ; depth < len(keys)-1; depth++ {
		next, ok := n.get(keys[depth])
		if _, object := next.Value.Value.(*hujson.Object); !ok || !object {
			break
		}
		n = next
	}
	for i := len(keys) - 1; i > depth; i-- {
		raw = "{" + compact(keys[i]) + ": " + raw + "}"
	}
	if old, ok := n.get(keys[depth]); ok {
		return splice(data, old.StartOffset, old.EndOffset, raw), nil
	}
	return prepend(data, n, compact(keys[depth])+": "+raw), nil
}

// add puts an element first into the array that keys lead to, making it where there is none.
func add(data []byte, raw string, keys ...string) ([]byte, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if list, ok := root.at(keys...); ok && list.Value.Value.Kind() == '[' {
		return prepend(data, list, raw), nil
	}
	return put(data, "["+raw+"]", keys...)
}

// prepend writes an item as the first of an object or array, on a line of its own where the others have theirs.
func prepend(data []byte, n node, item string) []byte {
	at, spans := n.StartOffset+1, n.spans()
	if len(spans) == 0 {
		return splice(data, at, at, item)
	}
	gap := string(data[at:spans[0].start])
	if i := strings.LastIndexByte(gap, '\n'); i >= 0 && strings.TrimSpace(gap[i:]) == "" {
		return splice(data, at, at, gap[i:]+item+",") // comments above the first item stay with it
	}
	return splice(data, at, at, item+", ")
}

// drop removes the elements of an array that match.
func drop(data []byte, match func(node) bool, keys ...string) []byte {
	for {
		root, err := parseJSON(data)
		list, _ := root.at(keys...)
		i := slices.IndexFunc(list.elems(), match)
		if err != nil || i < 0 {
			return data
		}
		data = cut(data, list, i)
	}
}

// remove takes a member out of the top object.
func remove(data []byte, key string) []byte {
	root, err := parseJSON(data)
	i := slices.IndexFunc(root.members(), func(m hujson.ObjectMember) bool { return text(node{m.Name}) == key })
	if err != nil || i < 0 {
		return data
	}
	return cut(data, root, i)
}

// cut takes one item out of an object or array, with the comma that its going leaves over.
func cut(data []byte, n node, i int) []byte {
	spans := n.spans()
	from, to := n.StartOffset+1, spans[i].end
	if i > 0 {
		from = spans[i-1].end
	} else if comma := spans[i].comma; data[comma] == ',' {
		to = comma + 1
	}
	return splice(data, from, to, "")
}

func splice(data []byte, from, to int, with string) []byte {
	return []byte(string(data[:from]) + with + string(data[to:]))
}

func orEmpty(data []byte) []byte {
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte("{}\n")
	}
	return data
}
