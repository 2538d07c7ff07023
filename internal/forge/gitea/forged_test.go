//go:build heavy

package gitea_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/forge/giteatest"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

const forgers = `name: ci
on: [push, pull_request]
jobs:
  unit: {runs-on: linux, steps: [{run: make test}]}
  forger: {runs-on: linux, needs: [], steps: [{run: make trouble}], name: "for\tger (push) / \u202ex"}
`

// forgedChecks has a job report in the name of another one that failed, with every right that its token gives. The
// other one stays failed by its own job, its log is read without keys, and it is run again.
func forgedChecks(t *testing.T, g *giteatest.Server) {
	const name = "forged"
	g.NewRepo(t, owner, name, forgetest.Ada)
	repo := gittest.Init(t, t.TempDir(), "-b", "main")
	repo.Git("config", "user.name", "Ada")
	repo.Git("config", "user.email", "ada@example.org")
	repo.Commit("start", "README.md", "demo\n")
	push := func(branch string) {
		t.Helper()
		repo.Git("push", "-q", "--force", strings.Replace(g.URL, "http://", "http://ada:"+g.Tokens[forgetest.Ada]+"@", 1)+
			"/"+owner+"/"+name+".git", branch)
	}
	push("main")
	repo.Git("checkout", "-qb", "topic")
	head := repo.Commit("ci", ".github/workflows/ci.yml", forgers)
	clock := &forgetest.Clock{}
	f := must.Get(gitea.New(gitea.Options{Journal: &forge.Memory{}, Clock: clock.Wire(), Timeout: time.Minute,
		Remote: forge.Remote{Scheme: "http", Host: strings.TrimPrefix(g.URL, "http://"), Owner: owner, Name: name},
		Author: gitea.Identity{Source: "a test", Token: forge.Secret(g.Tokens[forgetest.Ada])}}))(t)
	push("topic")
	pull, _, err := f.Open(t.Context(), forge.NewPull{Head: "topic", Base: "main", Title: "Topic"})
	must.Do(t, err)
	check := func(which string) (c forge.Check) {
		got, err := f.Checks(t.Context(), []int{pull.Number})
		if err != nil {
			t.Error(err)
		}
		for _, v := range got[pull.Number].All {
			if v.Name == which {
				c = v
			}
		}
		return c
	}
	report := func(token, context, state, link string) {
		body, _ := json.Marshal(sdk.CreateStatusOption{State: sdk.StatusState(state), Context: context, TargetURL: link})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost,
			g.URL+"/api/v1/repos/"+owner+"/"+name+"/statuses/"+head, bytes.NewReader(body))
		req.Header.Set("Authorization", "token "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusCreated {
			t.Errorf("reporting %s: %d", context, resp.StatusCode)
		}
	}
	const unit = "ci / unit (push)"
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(end) {
				got, _ := f.Checks(t.Context(), []int{pull.Number})
				t.Fatalf("never %s: %+v", what, got[pull.Number].All)
			}
		}
	}
	// Gitea makes the jobs of a push a moment after it, and those of the request may come first.
	await("there", func() bool { return check(unit).URL != "" })
	key := "-----BEGIN RSA PRIVATE KEY-----\n" +
		strings.Repeat("MIIEowIBAAKCAQEAx7Qz1Kf0m3n9v8c2b5h6j4k1l0p9o8i7u6y5t4r3\n", 20) + "-----END RSA PRIVATE KEY-----\n"
	var forged atomic.Bool
	g.Runner(t, owner, name, func(_ context.Context, j giteatest.Job) (bool, string) {
		if j.Name == "unit" {
			return j.Attempt > 1, "fine\n" + key + "error: " + strings.Repeat("\x00\xff\x1b]0;title\a", 10) + "\n"
		}
		if forged.Swap(true) {
			return true, ""
		}
		real := check(unit)
		for what, link := range map[string]string{"no link": "", "no job": "/acme/forged/actions/runs/1/jobs/999999",
			"another's job": real.URL[:strings.LastIndex(real.URL, "/")] + "/2", "the job": real.URL} {
			report(j.Token, unit, "success", link)
			if c := check(unit); c.State == forge.ChecksPassed {
				t.Errorf("%s: a job makes another one green: %+v", what, c)
			}
		}
		report(j.Token, unit, "success", real.URL)
		report(j.Token, "coverage", "success", "")
		return true, ""
	})
	c := forge.Check{}
	await("failed, with a word of its own", func() bool {
		c = check(unit)
		return check("coverage").Name != "" && c.State == forge.ChecksFailed && c.Job != 0
	})
	if o := check("coverage"); o.State != forge.ChecksPassed || o.Job != 0 {
		t.Errorf("a word of its own: %+v", o)
	}
	log := gate.MaskSecrets(must.Get(f.JobLog(t.Context(), c.Job))(t))
	if strings.Contains(log, "KCAQEAx7Qz1") || strings.ContainsAny(log, "\x00\x1b\a") ||
		!strings.Contains(log, "error: <U+0000>") {
		t.Errorf("the log: %q", log)
	}
	await("failed for the request", func() bool { return check("ci / unit (pull_request)").Job != 0 })

	// Somebody who may write is believed as the forge believes them, but it is not a job's word.
	report(g.Tokens[owner], unit, "failure", c.URL)
	if o := check(unit); o.State != forge.ChecksFailed || o.Job != 0 {
		t.Errorf("by somebody: %+v", o)
	}
	must.Do(t, f.Rerun(t.Context(), c.Job, c.Attempt))
	await("green", func() bool { return check(unit).State == forge.ChecksPassed })
	if again := check(unit); again.Job == 0 || again.Attempt != 2 {
		t.Errorf("run again: %+v", again)
	}
}
