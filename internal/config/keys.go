package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
)

// key is one setting, made of a field of Config and its tags.
type key struct {
	name  string
	env   string // the variable that overrides the files, if there is one
	about string
	words []string // the values that there are, or that make sense
	form  form

	field    []int  // in Config
	entry    string // of the map that the field is, if the setting is one of its entries
	tighten  tightener
	userOnly bool
}

// set reads a value and puts it into c.
func (k key) set(c *Config, value any, home string) error {
	v, err := k.form.read(value, home)
	if err == nil {
		k.put(c, v)
	}
	return err
}

func (k key) put(c *Config, v any) {
	field := reflect.ValueOf(c).Elem().FieldByIndex(k.field)
	if k.entry == "" {
		field.Set(reflect.ValueOf(v))
		return
	}
	entries := reflect.MakeMap(field.Type()) // the old one may be another Config's too
	for name, v := range field.Seq2() {
		entries.SetMapIndex(name, v)
	}
	entries.SetMapIndex(reflect.ValueOf(k.entry), reflect.ValueOf(v))
	field.Set(entries)
}

func (k key) of(c *Config) reflect.Value {
	v := reflect.ValueOf(c).Elem().FieldByIndex(k.field)
	if k.entry != "" {
		v = v.MapIndex(reflect.ValueOf(k.entry))
	}
	return v
}

// get is the value as a file says it, nil if nothing is set.
func (k key) get(c *Config) any { return k.form.shown(k.of(c)) }

// lists are the words that settings are made of. The tightest mode of the network comes first.
func lists(backends []box.Backend) map[string][]string {
	return map[string][]string{
		"agent":      agents(),
		"backend":    names(backends),
		"cage":       Cages(),
		"connection": {Plaintext},
		"kind":       texts(gate.Kinds()).([]string),
		"mode":       networkModes(),
		"provider":   {"anthropic", "gemini", "openai"},
		"set":        {"cargo", "debian", "go", "npm", "pip"},
		"socket":     Sockets(),
		"way":        {gitEnvWrapper, GitEnvPlain},
	}
}

// keys is every setting that there is. A list in a repository's file is the complete list that it wants; an untrusted
// repository gets only the entries that the user has too.
func keys(backends []box.Backend) []key {
	w := walk{words: lists(backends), forms: forms(), backends: backends}
	w.fields(reflect.TypeFor[Config](), key{})
	return slices.Concat(w.keys, w.last)
}

// walk makes keys of the fields of Config.
type walk struct {
	words    map[string][]string
	forms    map[string]form
	backends []box.Backend
	keys     []key
	last     []key // of the entries of maps
}

// fields takes the fields of a struct, which is the field that in stands for.
func (w *walk) fields(t reflect.Type, in key) {
	for f := range t.Fields() {
		k := in
		k.field = slices.Concat(in.field, f.Index)
		if name := f.Tag.Get("toml"); name != "" {
			k.name = strings.TrimPrefix(in.name+"."+name, ".")
		}
		k.userOnly = in.userOnly || f.Tag.Get("only") == "user"
		switch {
		case f.Tag.Get("about") != "":
			w.setting(k, f)
		case f.Type == reflect.TypeFor[box.Values]():
			w.own(k)
		default:
			w.fields(f.Type, k)
		}
	}
}

func (w *walk) setting(k key, f reflect.StructField) {
	k.env, k.about, k.tighten = f.Tag.Get("env"), f.Tag.Get("about"), tighteners[f.Tag.Get("tighten")]
	list := f.Tag.Get("of")
	k.words = w.words[list]
	if each := f.Tag.Get("each"); each != "" {
		k.form = formOf(w.forms, f.Tag.Get("as"), f.Type.Elem())
		for _, entry := range w.words[each] {
			one := k
			one.name, one.entry, one.about = k.name+"."+entry, entry, fmt.Sprintf(k.about, entry)
			w.last = append(w.last, one)
		}
		return
	}
	as := f.Tag.Get("as")
	switch {
	case list != "" && as == "" && f.Type == reflect.TypeFor[string]():
		k.form = among(list, k.words)
	case list != "" && as == "" && f.Type == reflect.TypeFor[[]string]():
		k.form = several(list, k.words)
	default:
		k.form = formOf(w.forms, as, f.Type)
	}
	if f.Type == reflect.TypeFor[bool]() {
		k.words = []string{"true", "false"}
	}
	w.keys = append(w.keys, k)
}

// own takes the backends' own settings, which are entries of one map. What two of them share is one key.
func (w *walk) own(k key) {
	for _, b := range w.backends {
		for _, s := range b.Settings {
			own := k
			own.name, own.entry, own.env, own.words = k.name+"."+s.Name, s.Name, s.Env, s.Words
			own.about = "of " + b.Name + " boxes: " + strings.ReplaceAll(s.Help, "`", "")
			own.form = ownForm(s)
			if !slices.ContainsFunc(w.last, func(k key) bool { return k.name == own.name }) {
				w.last = append(w.last, own)
			}
		}
	}
}

func names(backends []box.Backend) (list []string) {
	for _, b := range backends {
		list = append(list, b.Name)
	}
	return list
}

// agents are those that cco can start: it installs them, or they are part of it.
func agents() (names []string) {
	for _, r := range roster.All() {
		if r.Package.Name != "" || len(r.Programs) == 0 {
			names = append(names, r.Name)
		}
	}
	return names
}
