package settings

import "strings"

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
	for _, c := range handlers(group) {
		if strings.Contains(text(c.command), quote(h.Policy)) {
			return true
		}
	}
	return false
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
