package steps

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/turns"
)

// workspace is one whose commits are in the user's repository already.
type workspace struct {
	Sessions
	tip string
}

func (w workspace) Collect(context.Context, string, string, session.PullOptions) (turns.Collected, error) {
	return turns.Collected{Tip: w.tip}, nil
}

// Guards against changes of CI, and against tests that are removed, under cover of a merge of the base: it is judged by
// what git would not have made of its parents, and what others did on the base is not taken for the fixer's.
func TestAMergeOfTheBaseIsJudgedByWhatTheFixerDid(t *testing.T) {
	const ci, test = ".github/workflows/ci.yml", "sum_test.go"
	tests := "package p\n\nfunc TestSum(t *testing.T) {\n\tassert.Equal(t, 3, Sum(1, 2))\n}\n"
	for name, c := range map[string]struct {
		does func(g *gittest.Repo, others string)
		want []string
		onto bool
	}{
		"it merges": {func(g *gittest.Repo, others string) { g.Git("merge", "-q", "--no-edit", others) }, nil, true},
		"it changes CI in the merge": {func(g *gittest.Repo, others string) {
			g.Git("merge", "-q", "--no-commit", "--no-ff", others)
			g.Write(ci, "on: push\njobs: {}\n")
			g.Git("commit", "-q", "-a", "-m", "merge main")
		}, []string{"ci", "merge"}, true},
		"it removes a test in the merge": {func(g *gittest.Repo, others string) {
			g.Git("merge", "-q", "--no-commit", "--no-ff", others)
			g.Git("rm", "-q", "-f", test)
			g.Git("commit", "-q", "-m", "merge main")
		}, []string{"weakened", "merge"}, true},
		"it changes CI before the merge": {func(g *gittest.Repo, others string) {
			g.Commit("CI", ".github/workflows/more.yml", "on: push\n")
			g.Git("merge", "-q", "--no-edit", others)
		}, []string{"ci"}, true},
		"it merges a commit of its own on top of the base": {func(g *gittest.Repo, others string) {
			at := g.Git("rev-parse", "HEAD")
			g.Git("checkout", "-q", "--detach", others)
			mine := g.Commit("CI", ci, "on: push\njobs: {}\n")
			g.Git("checkout", "-q", "--detach", at)
			g.Git("merge", "-q", "--no-edit", mine)
		}, []string{"ci"}, true},
		"it throws away what others did": {func(g *gittest.Repo, others string) {
			g.Git("merge", "-q", "-s", "ours", "--no-edit", others)
		}, []string{"ci", "merge"}, true},
		"it changes something else in the merge": {func(g *gittest.Repo, others string) {
			g.Git("merge", "-q", "--no-commit", "--no-ff", others)
			g.Commit("merge main", "b.txt", "other\n")
		}, []string{"merge"}, true},
		"it settles a conflict": {func(g *gittest.Repo, others string) {
			g.Commit("mine", "c.txt", "mine\n")
			_, _ = g.Try("", "merge", "-q", "--no-edit", others) // it stops
			g.Commit("merge main", "c.txt", "both\n")
		}, nil, true},
		"it copies the base and does not merge it": {func(g *gittest.Repo, others string) {
			g.Git("checkout", "-q", others, "--", ".")
			g.Git("commit", "-q", "-m", "as on main")
		}, []string{"ci"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t)
			base := g.Commit("start", "a.txt", "a\n", test, tests, ci, "on: pull_request\n")
			since := g.Commit("work", "b.txt", "b\n")
			g.Git("checkout", "-q", "--detach", base)
			others := g.Commit("by others", ci, "on: push\n", "c.txt", "c\n")
			g.Git("checkout", "-q", "--detach", since)
			c.does(g, others)
			d := &Doer{Data: t.TempDir(), Sessions: workspace{tip: g.Git("rev-parse", "HEAD")}}
			p := must.Get(d.Publish(t.Context(), cruise.PublishIn{Where: cruise.Where{Phase: "a", Repo: g.Dir,
				Workspace: cruise.Workspace{Session: "feedbeef", Base: base}}, Since: since, Onto: others}))(t)
			var kinds []string
			for _, h := range p.Holds {
				if h.Why == cruise.HoldRed {
					continue
				}
				kinds = append(kinds, h.Kind)
			}
			if !slices.Equal(kinds, c.want) || (p.Onto == others) != c.onto {
				t.Errorf("held %v, merged %q: %+v", kinds, p.Onto, p.Holds)
			}
			if c.want == nil && strings.Contains(p.Told, "ci.yml") {
				t.Errorf("told %s", p.Told)
			}
		})
	}
}
