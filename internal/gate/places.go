package gate

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// place is where something takes hold without anybody deciding to run it, or is worth a word. Any change there counts:
// added, changed, removed, moved in or away, made executable, turned into a link. Only a complete and strict parse can
// lower it, when all that has changed are keys that the row names; every other key keeps the row's answer.
type place struct {
	Kind     Kind // "" for a place that is known, and harmless
	At       string
	Says     string   // what takes hold, and when
	Answer   Response // if not the kind's
	Danger   Danger   // if not the kind's
	Read     reader   // how its keys are read; nil if nothing lowers it
	Key      []key
	Registry string // where the packages that it asks for are known by their names
	Vague    bool   // its name says nothing of which tool
	Agents   bool   // what the roster of agents names belongs here too
}

// key is what a row knows of keys in a file. The first that fits counts.
type key struct {
	kind   Kind     // "" for a harmless one
	answer Response // if not the kind's
	says   string
	paths  []string // parts apart by slashes; a star is any one part or a piece of it, two at the end any number
}

// UnmarshalText reads "kind answer: what it says", and the paths in the next lines.
func (k *key) UnmarshalText(b []byte) error {
	head, paths, _ := strings.Cut(string(b), "\n")
	head, k.says, _ = strings.Cut(head, ": ")
	kind, answer, _ := strings.Cut(head, " ")
	if k.paths, k.answer = strings.Fields(paths), Response(answer); kind != "harmless" {
		k.kind = Kind(kind)
	}
	return nil
}

func (p *place) response() Response { return cmp.Or(p.Answer, p.Kind.row().response) }

const depsOf = "dependencies"

var (
	asking = table[place]("places")
	told   = table[place]("told")
	places = sync.OnceValue(func() []place { return slices.Concat(asking(), told()) })
)
