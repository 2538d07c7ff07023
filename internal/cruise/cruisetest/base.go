package cruisetest

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// Merging is a task whose fixer merges what others put into the target, and keeps both sides.
const Merging = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `plan=docs/plans/2026-11-15-add-a-flag.md
case "$CCO_ROLE" in
author)
	mkdir -p docs/plans
	echo "T1: add it" > $plan
	git add -A
	git diff --cached --quiet || git commit -qm "plan: add a flag" ;;
reviewer)
	echo '{"verdict":"SKIPPED","findings":[]}' ;;
fixer)
	for c in $(git cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)' | grep commit | cut -c1-40); do
		if git log -1 --format=%s $c | grep -q '^by others' && ! git merge-base --is-ancestor $c HEAD; then
			git merge --no-edit $c || { printf 'T1: add it\nT0: theirs\n' > $plan; git add -A; git commit -qm "merge main"; }
		fi
	done ;;
esac
` + "```\n"

// MovingBase carries a phase whose target moves in its way: that is merged in a round, judged by what the fixer did and
// not by what others did, and the phase merges what came of it.
func MovingBase(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Merging, "--domains", "Security", "--merge")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	g := r.Clone("ada", r.UserToken(), "main")
	others := g.Commit("by others", "docs/plans/2026-11-15-add-a-flag.md", "T0: theirs\n", ".github/workflows/ci.yml",
		"on: push\n")
	g.Git("push", "-q", "origin", "main")
	r.Say(Token, first.PR, "[REVIEW COMPLETE]")
	r.CCO("cruise", "fix", id)
	s := r.Await(id, "done with the merge", func(s Status) bool {
		return s.Over() || s.Rounds == 1 && s.Stage == "watching"
	})
	on := gittest.At(t, r.ForgeDir())
	if s.Over() || on.Git("log", "-1", "--format=%P", s.Head) != first.Head+" "+others {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	all := strings.Join(r.Said(s.PR), "\n")
	if !strings.Contains(all, "is merged") || strings.Contains(all, "ci.yml") {
		t.Errorf("said:\n%s", all)
	}
	r.Say(Token, s.PR, "[REVIEW COMPLETE]")
	r.CCO("cruise", "fix", id)
	s = r.Await(id, "over", Status.Over)
	if s.End != "merged" || on.Git("show", "main:docs/plans/2026-11-15-add-a-flag.md") != "T1: add it\nT0: theirs" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}
