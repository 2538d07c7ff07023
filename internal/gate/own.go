package gate

import (
	"strings"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
)

// ownRule finds what gitleaks' rules leave out.
type ownRule struct {
	Name    string
	Regex   string
	Path    string
	Words   string // what is looked for first; the words for secrets if there are none
	Entropy float64
	Code    bool   // what code is made of is no secret
	Except  string // nor is a value that this matches
	Around  string // nor one in such a text
}

var ownRows = table[ownRule]("secrets")

// ownRules are our rules as gitleaks' engine takes them.
func ownRules() (all []gitleaks.Rule) {
	for _, o := range ownRows() {
		r := gitleaks.Rule{ID: o.Name, Regex: o.Regex, Path: o.Path, Entropy: o.Entropy, Guess: true}
		if o.Words == "" && o.Regex != "" {
			o.Words = listed("secret-words")
		}
		for w := range strings.FieldsSeq(o.Words) {
			r.Keywords = append(r.Keywords, strings.ReplaceAll(w, "·", " "))
		}
		if o.Code {
			o.Except = strings.Join(strings.Fields(listed("code")), "|")
		}
		for target, except := range map[string]string{"": o.Except, "match": o.Around} {
			if except != "" {
				r.Allow = append(r.Allow, gitleaks.Allow{Target: target, Regexes: []string{except}})
			}
		}
		all = append(all, r)
	}
	return all
}
