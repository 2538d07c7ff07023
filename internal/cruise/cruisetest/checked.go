package cruisetest

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// breaking is a task whose author breaks the build. Its fixer repairs that, and changes CI on the way.
const breaking = "# Add a thing\n\n## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE" in
author)
	echo "it is broken" > broken.txt
	git add -A
	git diff --cached --quiet || git commit -qm "add a thing" ;;
reviewer)
	echo '{"verdict":"APPROVED","findings":[]}' ;;
fixer)
	git rm -q --ignore-unmatch broken.txt
	mkdir -p .github/workflows
	echo "on: push" > .github/workflows/ci.yml
	git add -A
	git diff --cached --quiet || git commit -qm "repair it

$(for f in $CCO_FINDINGS; do echo "Cco-Finding: $f"; done)" ;;
esac
` + "```\n"

// The checks of such a phase: one fails as long as something is broken, the other at its first attempt.
const (
	fault = "ci"
	flake = "flake"
)

// Checked carries a phase through a flake and a fault, whose repair needs the user's consent before it is pushed. Then
// the draft is marked as ready, its checks are waited for once more, and it is merged. On a Gitea, statuses are set by
// its API.
func Checked(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	report := r.checks()
	id := r.Start(breaking, "--phase", "building", "--domains", "Security", "--ready", "--merge")
	s := r.Await(id, "asking for consent", func(s Status) bool { report(s.Head); return s.Over() })
	on := gittest.At(t, r.ForgeDir())
	if !strings.Contains(s.Question, "not pushed without your consent (ci)") ||
		strings.Contains(on.Git("log", "--all", "--format=%s"), "repair it") {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "resume", id)
	s = r.Await(id, "over", func(s Status) bool {
		report(s.Head)
		return s.Over() && !strings.Contains(s.Question, "consent")
	})
	if s.End != "merged" || s.Rounds != 1 {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	if n := strings.Count(on.Git("log", "main", "--format=%s"), "repair it"); n != 1 {
		t.Errorf("it is on main %d times", n)
	}
	r.oncePerHead(s.PR)
	for _, sha := range strings.Fields(on.Git("log", "--all", "--format=%H")) {
		for _, job := range []string{fault, flake} {
			if n := r.Fake.Attempts("ada", "demo", sha, job); r.Gitea == nil && n > 2 {
				t.Errorf("the job %s of %s ran %d times", job, sha, n)
			}
		}
	}
}

// checks has the forge check every head, and require that. Where it has no runner, the returned function reports on a
// head.
func (r *Rig) checks() (report func(head string)) {
	r.Helper()
	broken := func(dir, sha string) bool {
		return gittest.At(r.TB, dir).Git("ls-tree", sha, "broken.txt") != ""
	}
	if r.Gitea == nil {
		r.Fake.Require("ada", "demo", []string{fault, flake}, nil)
		r.Fake.SetRunner("ada", "demo", []string{fault, flake}, func(_ context.Context, dir, sha, job string, n int) (bool,
			string) {
			if job == flake {
				return n > 1 || !broken(dir, sha), "error: connection reset"
			}
			return !broken(dir, sha), "it is built\nerror: broken.txt is there\n"
		})
		return func(string) {}
	}
	_, _, err := r.Gitea.As(r.TB, "ada").CreateBranchProtection("ada", "demo", sdk.CreateBranchProtectionOption{
		BranchName: "main", RuleName: "main", EnablePush: true, EnableStatusCheck: true,
		StatusCheckContexts: []string{fault}})
	must.Do(r, err)
	reported := map[string]bool{}
	return func(head string) {
		pushed := gittest.At(r.TB, r.ForgeDir()).Git("for-each-ref", "--format=%(objectname)")
		if head == "" || reported[head] || !strings.Contains(pushed, head) {
			return
		}
		reported[head] = true
		state := "success"
		if broken(r.ForgeDir(), head) {
			state = "failure"
		}
		r.Call(Token, http.MethodPost, "statuses/"+head, map[string]string{"state": state, "context": fault,
			"description": "error: broken.txt is there"}, nil)
	}
}

var marked = regexp.MustCompile(`<!-- cco:[0-9a-f.]+ -->`)

// oncePerHead checks that nothing was said twice on a request. Only what a domain says is said of every head.
func (r *Rig) oncePerHead(pr int) {
	r.Helper()
	said := map[string]int{}
	for _, words := range r.Said(pr) {
		said[strings.TrimSpace(marked.ReplaceAllString(words, ""))]++
	}
	for words, n := range said {
		if most := 1 + strings.Count(words, "**Security**"); n > most {
			r.Errorf("said %d times: %s", n, words)
		}
	}
}
