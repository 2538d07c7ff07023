//go:build eval

package gate

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/must"
)

var history = flag.String("history", "", "judge the last 300 commits of this repository, not of our own")

// Guards against a gate that nobody listens to, with -history DIR: of a project's last 300 commits at most one in 50
// asks, and at most 40 in 100 are told of.
func TestHistoryIsQuiet(t *testing.T) {
	if *history == "" {
		*history = must.Get(filepath.Abs("../.."))(t)
	}
	repo := must.Get(git.Open(t.Context(), *history))(t)
	asks, told, all := 0, 0, 0
	kinds := map[Kind]int{}
	lines := strings.Split(must.Get(repo.Host().Line(t.Context(), "log", "--no-merges", "--format=%H %P;", "-n",
		"300"))(t), ";")
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) != 2 {
			continue
		}
		r := must.Get(Examine(t.Context(), repo, Range{Base: f[1], Tip: f[0]}))(t)
		all++
		for _, g := range r.Groups {
			if kinds[g.Kind]++; (Policy{}).Of(g) != Tell {
				t.Logf("%.8s %s %s", f[0], g.Kind, g.Findings[0].Words())
			}
		}
		if (Policy{}).Judge(r, nil) != nil {
			asks++
		}
		if len(r.Groups) > 0 {
			told++
		}
	}
	t.Logf("of %d commits %d ask, %d are told of: %v", all, asks, told, kinds)
	if all < 100 || asks*50 > all || told*100 > 40*all {
		t.Errorf("of %d commits %d ask, %d are told of", all, asks, told)
	}
}
