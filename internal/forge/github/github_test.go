package github_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/must"
)

func secret(who string) string { return "ghp_secretOf" + who }

// start starts a fake that must keep GitHub's word to its end.
func start(t *testing.T) *githubfake.Server {
	t.Helper()
	return startAt(t, nil)
}

func startAt(t *testing.T, now func() time.Time) *githubfake.Server {
	t.Helper()
	s := must.Get(githubfake.New(t.Context(), t.TempDir(), now))(t)
	t.Cleanup(func() {
		s.Close()
		for _, b := range s.Broken() {
			t.Errorf("GitHub's schema does not hold: %s", b)
		}
	})
	for _, who := range []string{forgetest.Acme, forgetest.Ada, forgetest.Rob, forgetest.Eve} {
		s.AddUser(who, secret(who))
	}
	return s
}

func server(s *githubfake.Server) forgetest.Server {
	var repos atomic.Int64
	return forgetest.Server{
		URL: s.URL(), SaysAccess: true, Token: secret,
		NewRepo: func(t *testing.T) (string, string) {
			t.Helper()
			name := fmt.Sprintf("repo%d", repos.Add(1))
			must.Do(t, s.AddRepo(t.Context(), "acme", name, forgetest.Ada, forgetest.Rob))
			return "acme", name
		},
		Connect: func(t *testing.T, r forge.Remote, as forgetest.As) forgetest.Forge {
			t.Helper()
			o := github.Options{Remote: r, Author: github.Fixed("a test", forge.Secret(secret(as.Who))), Journal: as.Journal,
				Clock:   as.Clock,
				Timeout: as.Timeout, MaxWait: as.MaxWait}
			if as.Reviewer != "" {
				id := github.Fixed("a test", forge.Secret(secret(as.Reviewer)))
				o.Reviewer = &id
			}
			f := must.Get(github.New(o))(t)
			return f
		},
		Change: func(t *testing.T, r forge.Remote, who, id, body string) {
			t.Helper()
			change(t, s.URL(), r, who, id, body)
		},
		Reader: func(_ *testing.T, r forge.Remote, who string) { s.AddCollaborator(r.Owner, r.Name, who, false) },
		Retarget: func(t *testing.T, r forge.Remote, number int, base string) {
			t.Helper()
			send(t, s.URL(), http.MethodPatch, r, forgetest.Acme, fmt.Sprintf("pulls/%d", number),
				fmt.Sprintf(`{"base":%q}`, base))
		},
		DeployKey: func(_ *testing.T, r forge.Remote, readOnly bool) []string {
			key := fmt.Sprintf("key-of-%s-%t", r.Name, readOnly)
			s.AddDeployKey(r.Owner, r.Name, key, readOnly)
			return []string{"push", "-q", strings.Replace(s.URL(), "//", "//key:"+key+"@", 1) + "/" + r.Owner + "/" + r.Name +
				".git"}
		},
		Strict: func(_ *testing.T, r forge.Remote, branch string) { s.SetStrict(r.Owner, r.Name, branch) },
		Dismiss: func(t *testing.T, r forge.Remote, number int, review string) {
			t.Helper()
			_, n, err := forge.ParseID(review)
			if err != nil {
				t.Fatal(err)
			}
			send(t, s.URL(), http.MethodPut, r, forgetest.Acme, fmt.Sprintf("pulls/%d/reviews/%d/dismissals", number, n),
				`{"message":"no"}`)
		},
		Runner: func(t *testing.T, r forge.Remote, jobs []string, run func(forgetest.Job) (bool, string)) {
			t.Helper()
			s.SetRunner(r.Owner, r.Name, jobs, func(_ context.Context, _, sha, job string, attempt int) (bool, string) {
				return run(forgetest.Job{Name: job, Commit: sha, Attempt: attempt})
			})
		},
		Report: func(_ *testing.T, r forge.Remote, commit, name string, state forge.CheckState, summary string) {
			if strings.Contains(name, "/") { // one of the older statuses
				word := map[forge.CheckState]string{forge.ChecksPassed: "success", forge.ChecksFailed: "failure",
					forge.ChecksPending: "pending"}[state]
				s.SetStatus(r.Owner, r.Name, commit, name, word, summary)
				return
			}
			status, conclusion := "completed", map[forge.CheckState]string{forge.ChecksPassed: "success",
				forge.ChecksFailed: "failure"}[state]
			if state == forge.ChecksPending {
				status = "in_progress"
			}
			s.SetCheck(r.Owner, r.Name, commit, name, status, conclusion, summary)
		},
		Require: func(_ *testing.T, r forge.Remote, names []string) { s.Require(r.Owner, r.Name, names[:1], names[1:]) },
		Hook:    func(_ *testing.T, r forge.Remote, url, key string) { s.AddHook(r.Owner, r.Name, url, key) },
	}
}

// change edits or deletes a comment, without the adapter.
func change(t *testing.T, base string, r forge.Remote, who, id, body string) {
	t.Helper()
	kind, n, err := forge.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	group := map[forge.CommentKind]string{forge.OnPull: "issues", forge.OnLine: "pulls"}[kind]
	method := http.MethodPatch
	if body == "" {
		method = http.MethodDelete
	}
	send(t, base, method, r, who, fmt.Sprintf("%s/comments/%d", group, n), fmt.Sprintf(`{"body":%q}`, body))
}

// send asks as somebody, without the adapter.
func send(t *testing.T, base, method string, r forge.Remote, who, path, body string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("%s/api/v3/repos/%s/%s/%s", base, r.Owner,
		r.Name, path), strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+secret(who))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b.String())
	}
}

func TestGitHubPassesTheSuite(t *testing.T) {
	forgetest.Run(t, server(start(t)))
}
