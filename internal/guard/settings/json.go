package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

var inJSON = format{read: readJSON, merge: mergeJSON, strip: stripJSON}

func mergeJSON(a *Adapter, _ string, data []byte, h Hook) ([]byte, error) {
	d, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	hook := a.handler
	hook.Command = h.command(a.agent)
	if a.named {
		hook.Name = h.Name
	}
	for _, t := range h.turns(a.row()) {
		d.add("hooks."+t.event, handler{Type: hook.Type, Command: t.command, Timeout: hook.Timeout})
	}
	d.add("hooks."+a.row().Event, hook)
	for _, k := range a.said(h) {
		d.place(k.path).Value = hujson.Bool(k.value)
	}
	return d.bytes(), nil
}

// said is what stands beside the hook.
func (a *Adapter) said(h Hook) []key {
	if h.System {
		return slices.Concat(a.keys, a.system)
	}
	return a.keys
}

func stripJSON(a *Adapter, data, before []byte, h Hook) []byte {
	d, err := parseJSON(data)
	if err != nil {
		return data
	}
	now, _ := readJSON(data)   // which can be read,
	was, _ := readJSON(before) // as this could when the hook was added to it
	ours, last := decidesBy(h.Policy), -1
	for _, hook := range slices.Backward(handlers(now, a.row().Event)) {
		if ours(hook) && hook.group != last {
			last = hook.group
			d.remove("hooks." + a.row().Event + "." + strconv.Itoa(last))
		}
	}
	for _, k := range a.said(h) {
		if at(was, k.path) == nil && at(now, k.path) == k.value {
			d.remove(k.path)
		}
	}
	return d.bytes()
}

// document is a settings file in JSON, with comments and trailing commas as agents read them. A change leaves the rest
// of its text as it is.
type document struct {
	hujson.Value
	mark string // a byte order mark, if it begins with one
}

// maxNested bounds how deeply a file can be nested: hujson recurses, and an agent may have written the file.
const maxNested = 20_000

// parseJSON reads a settings file, whose top must be an object. An empty file says nothing.
func parseJSON(data []byte) (d document, err error) {
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxNested {
		return d, errors.New("it is nested too deeply")
	}
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok {
		data, d.mark = rest, "\ufeff"
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	d.Value, err = hujson.Parse(append(bytes.Clone(data), '\n')) // a comment may end with the file
	if err == nil && d.Value.Value.Kind() != '{' {
		err = errors.New("it is not an object")
	}
	return d, err
}

func (d document) bytes() []byte { return []byte(d.mark + strings.TrimSuffix(d.String(), "\n")) }

// readJSON gives what stands in a settings file. Of a name that comes twice the last counts, as for agents.
func readJSON(data []byte) (tree map[string]any, err error) {
	d, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	d.Standardize()
	numbers := json.NewDecoder(bytes.NewReader(d.Pack()))
	numbers.UseNumber() // one of any size can be read
	err = numbers.Decode(&tree)
	return tree, err
}

// place is what path leads to, names with dots between them. Objects on the way are made where there are none.
func (d *document) place(path string) *hujson.Value {
	at := &d.Value
	for name := range strings.SplitSeq(path, ".") {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			o = &hujson.Object{}
			at.Value = o
		}
		inner := member(o, name)
		if inner == nil {
			first := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)},
				Value: hujson.Value{BeforeExtra: hujson.Extra(" ")}}
			if len(o.Members) > 0 {
				first.Name.BeforeExtra = beside(&o.Members[0].Name.BeforeExtra)
			}
			o.Members = slices.Insert(o.Members, 0, first)
			inner = &o.Members[0].Value
		}
		at = inner
	}
	return at
}

func member(o *hujson.Object, name string) *hujson.Value {
	for i := range slices.Backward(o.Members) { // the last one counts
		if text, ok := o.Members[i].Name.Value.(hujson.Literal); ok && text.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// add puts a hook first into the array that path leads to, making it where there is none.
func (d *document) add(path string, h handler) {
	first, _ := hujson.Parse([]byte(compact(map[string]any{"matcher": "", "hooks": []handler{h}}))) // which is JSON
	at := d.place(path)
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		list = &hujson.Array{}
		at.Value = list
	}
	if len(list.Elements) > 0 {
		first.BeforeExtra = beside(&list.Elements[0].BeforeExtra)
	}
	list.Elements = slices.Insert(list.Elements, 0, first)
}

// beside is what stands before a new first item: a line of its own where the next has one. Comments above that one stay
// with it. hujson's own patches would write everything on one line.
func beside(next *hujson.Extra) hujson.Extra {
	if i := bytes.LastIndexByte(*next, '\n'); i >= 0 && len(bytes.TrimSpace((*next)[i:])) == 0 {
		return bytes.Clone((*next)[i:])
	}
	if len(*next) == 0 {
		*next = hujson.Extra(" ")
	}
	return nil
}

// remove takes out what path leads to. What is then the last has no comma behind it, which hujson writes where
// AfterExtra isn't nil.
func (d *document) remove(path string) {
	at := "/" + strings.ReplaceAll(path, ".", "/")
	if d.Patch([]byte(`[{"op":"remove","path":`+compact(at)+`}]`)) != nil {
		return // it isn't there
	}
	switch in := d.Find(at[:strings.LastIndexByte(at, '/')]).Value.(type) {
	case *hujson.Object:
		if n := len(in.Members); n > 0 {
			in.Members[n-1].Value.AfterExtra = nil
		}
	case *hujson.Array:
		if n := len(in.Elements); n > 0 {
			in.Elements[n-1].AfterExtra = nil
		}
	}
}
