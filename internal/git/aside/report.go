package aside

import (
	"fmt"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
)

// Words say what was brought over and what was not, a line each.
func (r Report) Words() (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, safetext.Line(fmt.Sprintf(format, args...))) }
	for _, m := range r.Moved {
		if m.From == "" {
			say("branch %s is new, at %.12s", m.Branch, m.To)
		} else {
			say("branch %s moved from %.12s to %.12s", m.Branch, m.From, m.To)
		}
	}
	for _, k := range r.Kept {
		say("%s stays as you have it: %s; the agent's is at %s", git.Clip(k.Branch), k.Why, k.Ref)
	}
	for _, name := range r.Deleted {
		say("branch %s was deleted in the cage, and is still here", git.Clip(name))
	}
	for _, k := range r.Refused {
		say("%s stayed in the cage: %s", git.Clip(k.Branch), k.Why)
	}
	if r.Head != "" {
		say("%s is checked out now", r.Head)
	}
	if r.HeadLeft != "" {
		say("what is checked out stays as you have it: %s", r.HeadLeft)
	}
	for _, l := range r.IndexLeft {
		if l.Path == "" {
			say("what was staged stayed in the cage: %s", l.Why)
		} else {
			say("%s was staged in the cage, and is not here: %s", l.Path, l.Why)
		}
	}
	for _, k := range r.Submodules {
		if k.Ref != "" {
			say("submodule %s is at %s there: %s", k.Branch, k.Ref, k.Why)
		} else {
			say("submodule %s stayed in the cage: %s", k.Branch, k.Why)
		}
	}
	return lines
}
