package settings

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// layer is a settings file that an agent reads.
type layer struct {
	name, file string
	tree       map[string]any
}

// look is a look at the settings of one agent, as the agent reads them.
type look struct {
	Installation
	*Adapter
	files    []layer   // the strongest first
	in       layer     // where the guard's hook stands,
	hook     handler   // if it does
	findings []Finding // the first says whether it does
}

func (l *look) add(what string, s State, detail, mend string) {
	l.findings = append(l.findings, Finding{l.agent, what, s, detail, mend})
}

// read reads the agent's settings files.
func (l *look) read() {
	r := l.row()
	for _, f := range []layer{
		{name: "managed", file: l.Places.managed(r)}, {name: "local", file: filepath.Join(l.Dir, r.Local)},
		{name: "project", file: filepath.Join(l.Dir, r.Settings[0])}, {name: "user", file: l.Places.user(r)},
	} {
		if f.name == "local" && r.Local == "" {
			continue
		}
		data, there, err := readIfThere(f.file)
		if err == nil && there {
			if f.tree, err = l.format.read(data); err == nil {
				l.files = append(l.files, f)
			}
		}
		switch {
		case err == nil:
		case l.needed:
			l.add(f.name+" settings", Off, f.file+": "+err.Error(), "mend it")
		default: // in silence
			l.add(f.name+" settings", Loose, f.file+": "+err.Error()+"; "+l.agent+" ignores the whole file", "mend or remove it")
		}
	}
}

// named is the file with a name, if it is there.
func (l *look) named(name string) (found layer) {
	for _, f := range l.files {
		if f.name == name {
			found = f
		}
	}
	return found
}

// find finds the guard among the hooks of all files, which agents join.
func (l *look) find() {
	for _, f := range l.files {
		hooks := handlers(f.tree, l.row().Event)
		n := slices.IndexFunc(hooks, decidesBy(l.Policy()))
		if n < 0 {
			continue
		}
		if l.ofRoot && f.name == "managed" && l.Places.Secure != nil {
			if err := l.Places.Secure(f.file); err != nil {
				l.add("managed settings", Loose, l.agent+" ignores "+f.file+": "+err.Error(),
					"let root own it and everything above it")
				continue
			}
		}
		l.in, l.hook = f, hooks[n]
		l.findings[0] = Finding{l.agent, "registered", On, "in " + f.file, ""}
		return
	}
}

// switches looks for what switches all hooks off, or all but managed ones.
func (l *look) switches() {
	held := l.managedOnly != "" && l.in.name == "managed"
	if m := l.named("managed"); l.in.name != "managed" && at(m.tree, l.managedOnly) == true {
		l.add("managed hooks only", Off, m.file+" lets only managed hooks run", "cco guard install --system, as root")
	}
	for _, k := range l.offBy {
		said := false
		for _, f := range l.files {
			value := at(f.tree, k.path)
			switch {
			case value != k.value:
			case said && l.overrules || held && f.name != "managed":
				l.add(k.path, On, f.file+" would switch hooks off, and is overruled", "")
			case f.name == "project" && l.past:
				l.add(k.path, Off, f.file+" switches all hooks off", "start it with: "+l.launch(l.Adapter))
			default:
				l.add(k.path, Off, f.file+" switches all hooks off", "remove "+k.path+" from it")
			}
			said = said || value != nil
		}
	}
}

// decidesBy picks hooks that decide by a policy. That one is the guard is then proved by running it.
func decidesBy(policy string) func(handler) bool {
	return func(h handler) bool { return strings.Contains(h.Command, "--policy "+proc.ShellWord(policy)) }
}

// handlers are the hooks that stand under an event, with their names and commands.
func handlers(tree map[string]any, event string) (list []handler) {
	for n, group := range elements(at(tree, "hooks."+event)) {
		for _, h := range elements(at(group, "hooks")) {
			name, _ := at(h, "name").(string)
			command, _ := at(h, "command").(string)
			list = append(list, handler{Name: name, Command: command, group: n})
		}
	}
	return list
}

// at follows the names in path, with dots between them. It is nil where there is nothing.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func elements(v any) (list []any) {
	switch v := v.(type) {
	case []any:
		return v
	case []map[string]any: // so TOML's tables are read
		for _, e := range v {
			list = append(list, e)
		}
	}
	return list
}
