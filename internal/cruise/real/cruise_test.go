//go:build heavy

package real

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// cruise is one phase on one forge.
type cruise struct {
	*stage
	*script
	site  *site
	repo  string
	keys  map[string]string // that nothing may hold
	given string            // what a file of the repository holds
	id    string
	began chan struct{} // closed when the id is known
	// Who plans and fixes, and who reviews.
	writer, reviewer string
}

// Agents that speak the Agent Client Protocol take all parts of a phase, as the others do.
func TestAnAgentByProtocolTakesAllParts(t *testing.T) {
	s := newStage(t)
	github := onGitHub(t, newKey("ghp_"))
	keys := map[string]string{"openai's key": newKey("sk-"), "github's token": github.tokens["ada"],
		"the reviewer's token": github.tokens["rev"]}
	c := newCruise(s, github, keys)
	c.writer, c.reviewer = "qwen", "pi"
	model := agenttest.Play(t, models(c.script))
	s.env = append(s.env, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY="+keys["openai's key"],
		"GH_HOST="+strings.TrimPrefix(github.url, "http://"), "GH_ENTERPRISE_TOKEN="+keys["github's token"],
		"CCO_REVIEWER_TOKEN="+keys["the reviewer's token"])
	for _, args := range [][]string{{"box", "create"}, {"agent", "install", c.writer},
		{"agent", "install", c.reviewer}} {
		_, err := s.cco(t.Context(), s.dir, args...)
		s.check(err)
	}
	c.sail(t)
	if t.Failed() {
		t.Logf("what the model was asked:\n%s", model.Summary())
	}
}

// A task goes from its plan to an approval on Gitea and on GitHub, at the same time and in one engine: claude plans and
// fixes, gemini reviews, two domains each round. A comment is injected, another comes from a collaborator, a third from
// a stranger.
func TestATaskIsPlannedReviewedAndApproved(t *testing.T) {
	s := newStage(t)
	gitea := onGitea(t)
	github := onGitHub(t, gitea.tokens["rev"])
	keys := map[string]string{"anthropic's key": newKey("sk-ant-"), "gemini's key": newKey("AIza-"),
		"gitea's token":        gitea.tokens["ada"],
		"the reviewer's token": gitea.tokens["rev"], "github's token": github.tokens["ada"]}
	a, b := newCruise(s, gitea, keys), newCruise(s, github, keys)
	model := agenttest.Play(t, models(a.script, b.script))
	s.env = append(s.env, "ANTHROPIC_BASE_URL="+model.URL, "GOOGLE_GEMINI_BASE_URL="+model.URL,
		"ANTHROPIC_API_KEY="+keys["anthropic's key"], "GEMINI_API_KEY="+keys["gemini's key"],
		"GITEA_SERVER_URL="+gitea.url, "GITEA_TOKEN="+keys["gitea's token"], "CCO_REVIEWER_TOKEN="+
			keys["the reviewer's token"],
		"GH_HOST="+strings.TrimPrefix(github.url, "http://"), "GH_ENTERPRISE_TOKEN="+keys["github's token"])
	for _, args := range [][]string{{"box", "create"}, {"agent", "install", "claude"}, {"agent", "install", "gemini"}} {
		_, err := s.cco(t.Context(), s.dir, args...)
		s.check(err)
	}
	t.Run("phases", func(t *testing.T) {
		for _, c := range []*cruise{a, b} {
			t.Run(c.site.name, func(t *testing.T) {
				t.Parallel()
				c.sail(t)
			})
		}
	})
	if t.Failed() {
		t.Logf("what the model was asked:\n%s", model.Summary())
	}
	a.sawTheSame(t, model)
	b.sawTheSame(t, model)
	for _, r := range model.Requests() {
		if want := keys[r.Protocol+"'s key"]; r.Turn && r.Key() != want {
			t.Errorf("%s was asked with %q, not with the real key", r.Protocol, r.Key())
		}
	}
	for _, dir := range []string{s.data, s.tmp, filepath.Join(s.dir, "home"), filepath.Join(s.dir, "config"), a.repo,
		b.repo, gitea.dir, github.dir} {
		nowhere(t, dir, keys)
	}
}

func newCruise(s *stage, f *site, keys map[string]string) *cruise {
	s.t.Helper()
	c := &cruise{stage: s, site: f, keys: keys, repo: filepath.Join(s.dir, f.name), given: randomHex(8),
		began: make(chan struct{}), writer: "claude", reviewer: "gemini"}
	c.script = &script{branch: "lamp-on-" + f.name, review: func() { c.interrupt(s.t) }}
	g := gittest.Init(s.t, c.repo, "-b", "main")
	g.Git("config", "user.name", "Ada")
	g.Git("config", "user.email", "ada@example.org")
	g.Commit("start", "README.md", "demo\n", "given.txt", c.given+"\n", ".gitignore", "local/\n")
	at := strings.Replace(f.url, "://", "://ada:"+f.tokens["ada"]+"@", 1) + "/ada/" + repoName + ".git"
	g.Git("push", "-q", "--force", at, "HEAD:refs/heads/main")
	g.Git("remote", "add", "origin", f.url+"/ada/"+repoName+".git")
	// Uncommitted files of the user must still be there at the end.
	g.Write("README.md", "demo, half rewritten\n")
	g.Write("staged.txt", "staged\n")
	g.Git("add", "staged.txt")
	g.Write("loose.txt", "loose\n")
	return c
}

// interrupt is what happens while the second review is being written.
func (c *cruise) interrupt(t *testing.T) {
	<-c.began
	if _, err := c.cco(t.Context(), c.repo, "cruise", "fix", c.id, "--comment", wantsOwner); err != nil {
		t.Error(err)
	}
	pr := c.status(t, c.repo, c.id).PR
	for who, words := range map[string]string{"rob": wantsEmoji, "eve": strange} {
		if code := c.site.call(t, who, http.MethodPost, fmt.Sprintf("issues/%d/comments", pr),
			map[string]string{"body": words}, nil); code != http.StatusCreated {
			t.Errorf("%s comments on %s: %d", who, c.site.name, code)
		}
	}
}

// sail carries the phase from its start to its cleanup.
func (c *cruise) sail(t *testing.T) {
	before := checkout(t, c.repo)
	out := must.Get(c.cco(t.Context(), c.repo, "cruise", "start", "Light the "+c.branch+", which nobody has done before",
		"--planner", c.writer, "--reviewer", c.reviewer, "--fixer", c.writer,
		"--domains", security+","+polish, "--detach", "--json"))(t)
	var st status
	must.Do(t, json.Unmarshal([]byte(out), &st))
	c.id = st.ID
	close(c.began)
	st = c.await(t, c.repo, c.id, "over", func(s status) bool { return s.Ended || s.Question != "" })
	if st.End != "approved" || st.Rounds != 2 || st.PR == 0 || st.Branch != c.branch {
		t.Fatalf("%+v\n%s", st, c.story(c.id))
	}
	c.settled(t, st)
	c.spoken(t, st)
	var pulls []struct{ Number int }
	if c.site.call(t, "ada", http.MethodGet, "pulls?state=all", nil, &pulls); len(pulls) != 1 {
		t.Errorf("%d pull requests", len(pulls))
	}
	if got := c.site.head(t, c.branch); got != st.Head || got == "" {
		t.Errorf("the branch is at %q, not at %q", got, st.Head)
	}
	if len(holding(t, c.data, map[string]string{"it": c.given})) == 0 {
		t.Error("the search does not find what is there")
	}
	nowhere(t, c.data, c.keys) // with the agents' homes and the workspace
	c.cleaned(t, st)
	if after := checkout(t, c.repo); after != before {
		t.Error("the user's checkout was touched")
	}
}

// settled checks what became of all that was asked for.
func (c *cruise) settled(t *testing.T, st status) {
	t.Helper()
	want := map[string]string{wantsTest: "fixed", wantsOrder: "fixed", wantsOwner: "fixed", wantsEmoji: "declined"}
	for _, f := range st.Findings {
		if want[f.Text] != f.State {
			t.Errorf("finding %+v", f)
		}
		delete(want, f.Text)
	}
	if len(want) > 0 || len(st.Held) != 1 || st.Held[0].Author != "eve" {
		t.Errorf("not found: %v; held: %+v", want, st.Held)
	}
}

// spoken checks that each thing that was to be said stands on the forge, by whom it should, once.
func (c *cruise) spoken(t *testing.T, st status) {
	t.Helper()
	all := c.site.said(t, st.PR)
	times := map[string]int{}
	for _, v := range all {
		times[v.User.Login+": "+plain(v.Body)]++
	}
	for words, n := range times {
		// A domain that has nothing to say against three heads says so three times.
		if n > 1 && !strings.Contains(words, "APPROVED") {
			t.Errorf("said %d times: %s", n, words)
		}
	}
	for words, by := range map[string]string{wantsTest: "rev", wantsOrder: "rev", "Declined: " + declined: "ada",
		"the planning phase ended: approved": "ada", strange: "eve", "**" + security + "**: NEEDS_CHANGES": "rev",
		"**" + polish + "**: NEEDS_CHANGES": "rev"} {
		c.once(t, all, words, by)
	}
	// What was declined is said by who wanted it, and once more at the end.
	last := slices.IndexFunc(all, func(v said) bool { return strings.Contains(v.Body, "phase ended: approved") })
	if last < 0 || !strings.Contains(all[last].Body, wantsEmoji) {
		t.Fatal("the last comment says nothing of what was declined")
	}
	c.once(t, slices.Delete(slices.Clone(all), last, last+1), wantsEmoji, "rob")
	for _, f := range st.Findings {
		if f.State == "fixed" {
			c.once(t, all, "answer "+f.ID, "ada")
		}
	}
	if n := strings.Count(fmt.Sprint(times), "Done in "); n != 3 {
		t.Errorf("%d findings are said to be done", n)
	}
	for _, v := range all {
		if strings.Contains(v.Body, wantsTest) && !c.site.replies && v.Resolver == nil {
			t.Errorf("the thread is not resolved: %+v", v)
		}
	}
}

func (c *cruise) once(t *testing.T, all []said, words, by string) {
	t.Helper()
	n := 0
	for _, v := range all {
		if strings.Contains(v.Body, words) {
			n++
			if v.User.Login != by {
				t.Errorf("%s says %q, not %s", v.User.Login, words, by)
			}
		}
	}
	if n != 1 {
		t.Errorf("%q is said %d times", words, n)
	}
}

// cleaned removes the workspace, and then the branch, which a plain cleanup leaves because it is not merged.
func (c *cruise) cleaned(t *testing.T, st status) {
	t.Helper()
	workspaces := c.workspaces(filepath.Base(filepath.Dir(st.Path)))
	if len(workspaces) == 0 {
		t.Errorf("where is the workspace %s?", st.Path)
	}
	for _, args := range [][]string{{}, {"--force"}} {
		must.Get(c.cco(t.Context(), c.repo, append([]string{"cruise", "cleanup", c.id}, args...)...))(t)
		c.await(t, c.repo, c.id, "cleaned up", func(s status) bool { return s.Ended })
		if left := c.workspaces(filepath.Base(filepath.Dir(st.Path))); len(left) > 0 {
			t.Errorf("still there: %v\n%s", left, c.story(c.id))
		}
		if gone := c.site.head(t, c.branch) == ""; gone != (len(args) > 0) {
			t.Errorf("after cleanup %v: the branch is gone: %v", args, gone)
		}
	}
}

// workspaces are the directories in which a plan of the phase stands, on this machine.
func (c *cruise) workspaces(session string) (found []string) {
	_ = filepath.WalkDir(filepath.Join(c.data, "boxes"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case d.Name() == "node_modules":
			return filepath.SkipDir
		case strings.Contains(path, session):
			if plans, _ := filepath.Glob(filepath.Join(path, "docs", "plans", "*.md")); len(plans) > 0 {
				found = append(found, path)
			}
		}
		return nil
	})
	return found
}

var sharedValue = regexp.MustCompile(`shared=([0-9a-f]{16})`)

// sawTheSame checks that both CLIs worked on the same files: one of the repository, and one that only the workspace
// holds.
func (c *cruise) sawTheSame(t *testing.T, model *agenttest.Server) {
	t.Helper()
	values := map[string]map[string]bool{"anthropic": {}, "gemini": {}}
	given := map[string]bool{}
	for _, r := range model.Requests() {
		text := r.Text()
		if !r.Turn || !strings.Contains(text, c.branch) {
			continue
		}
		for _, m := range sharedValue.FindAllStringSubmatch(r.Heard, -1) {
			values[r.Protocol][m[1]] = true
		}
		given[r.Protocol] = given[r.Protocol] || strings.Contains(r.Heard, "given="+c.given)
		if strings.Contains(r.Heard, "WRITABLE") {
			t.Errorf("%s: a reviewer could write", c.site.name)
		}
		if strings.Contains(text, strange) {
			t.Errorf("%s: an agent was told what a stranger said", c.site.name)
		}
	}
	if len(values["anthropic"]) != 1 || fmt.Sprint(values["anthropic"]) != fmt.Sprint(values["gemini"]) ||
		!given["anthropic"] || !given["gemini"] {
		t.Errorf("%s: the agents saw %v and %v", c.site.name, values, given)
	}
}
