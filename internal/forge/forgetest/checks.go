package forgetest

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/forge"
)

// readsChecks reads what was reported on the heads of several requests and on their base, and what the base requires.
func readsChecks(p *place) {
	f := p.as(Ada, "")
	none, some := p.open(f, "none"), p.open(f, "some")
	head, base := p.git("rev-parse", "some"), p.git("rev-parse", "main")
	got := p.checks(f, none.Number, some.Number)
	for _, n := range []int{none.Number, some.Number} {
		if c := got[n]; len(c.All)+len(c.Required)+len(c.Base) > 0 || c.Head == "" {
			p.Errorf("nothing was reported: %+v", c)
		}
	}
	p.server.Report(p.T, p.remote, head, "build", forge.ChecksPassed, "")
	p.server.Report(p.T, p.remote, head, "lint", forge.ChecksPending, "")
	p.server.Report(p.T, p.remote, head, "ci/test", forge.ChecksFailed, "TestA: want 1, got 2 @rob")
	p.server.Report(p.T, p.remote, base, "ci/test", forge.ChecksFailed, "broken before")
	p.server.Require(p.T, p.remote, []string{"build", "ci/never"})
	p.must(p.clock.Sleep(p.Context(), forge.RulesFor))
	c := p.checks(f, none.Number, some.Number)[some.Number]
	states := map[string]forge.CheckState{}
	for _, v := range c.All {
		states[v.Name] = v.State
		if v.Name == "ci/test" && !strings.Contains(v.Summary, "want 1, got 2") {
			p.Errorf("it says %q", v.Summary)
		}
	}
	if c.Head != head || states["build"] != forge.ChecksPassed || states["lint"] != forge.ChecksPending ||
		states["ci/test"] != forge.ChecksFailed || len(states) != 3 {
		p.Errorf("of %s: %+v", head, c)
	}
	if len(c.Base) != 1 || c.Base[0].Name != "ci/test" || c.Base[0].State != forge.ChecksFailed {
		p.Errorf("of the base: %+v", c.Base)
	}
	if !slices.Equal(c.Required, []string{"build", "ci/never"}) {
		p.Errorf("required: %q", c.Required)
	}
	p.server.Report(p.T, p.remote, head, "ci/test", forge.ChecksPassed, "")
	c = p.checks(f, some.Number)[some.Number]
	if i := slices.IndexFunc(c.All, func(v forge.Check) bool { return v.Name == "ci/test" }); i < 0 ||
		c.All[i].State != forge.ChecksPassed {
		p.Errorf("after a second report: %+v", c.All)
	}
}

func (p *place) checks(f Forge, numbers ...int) map[int]forge.Checked {
	p.Helper()
	got, err := f.Checks(p.Context(), numbers)
	p.must(err)
	return got
}
