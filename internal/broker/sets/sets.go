// Package sets names the hosts that a package manager needs: those of its public registry. A mirror is allowed by its
// name, like every other host.
package sets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/broker"
)

// Set is what a name such as npm stands for.
type Set struct {
	Name    string
	Hosts   []string
	Caution string // what can leave the box through them; "" if nothing is known
}

// all is every set. Hosts that take uploads alone are in none.
func all() []Set {
	return []Set{
		{"go", []string{"proxy.golang.org", "sum.golang.org"},
			"a module proxy fetches whatever module path it is asked for, so that a path can carry a few words to its owner"},
		{"npm", []string{"registry.npmjs.org"}, "the registry takes `npm publish` from anybody's account: what the agent " +
			"can read can leave the box that way"},
		{"debian", []string{"deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com",
			"ports.ubuntu.com"}, ""},
		{"pip", []string{"pypi.org", "files.pythonhosted.org"}, ""},
		{"cargo", []string{"index.crates.io", "static.crates.io"}, ""},
	}
}

// Names lists the sets.
func Names() (names []string) {
	for _, s := range all() {
		names = append(names, s.Name)
	}
	return names
}

// Find gives the set of a name.
func Find(name string) (Set, error) {
	list := all()
	i := slices.IndexFunc(list, func(s Set) bool { return s.Name == name })
	if i < 0 {
		return Set{}, fmt.Errorf("no set %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return list[i], nil
}

// Rules are the rules that allow the hosts of a set.
func (s Set) Rules() ([]broker.Rule, error) {
	rules, err := broker.ParseRules(s.Hosts)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", s.Name, err)
	}
	return rules, nil
}
