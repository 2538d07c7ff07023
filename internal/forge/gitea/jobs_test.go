package gitea_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/must"
)

const head = "c0ffee0000000000000000000000000000000000"

// answers is a Gitea that says only what it is told to, by method and path below the repository.
type answers map[string]func(w http.ResponseWriter, r *http.Request)

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := strings.TrimPrefix(r.URL.Path, "/api/v1/repos/acme/demo")
	if say, ok := a[r.Method+" "+at]; ok {
		say(w, r)
		return
	}
	http.NotFound(w, r)
}

func say(v any) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
}

type object = map[string]any

// hostile connects to a Gitea that says what it is told to, and has a pull request with these statuses on its head.
func hostile(t *testing.T, a answers, statuses ...object) *gitea.Forge {
	t.Helper()
	return hostileAt(t, &forgetest.Clock{}, a, statuses...)
}

func hostileAt(t *testing.T, clock *forgetest.Clock, a answers, statuses ...object) *gitea.Forge {
	t.Helper()
	a["GET /pulls/1"] = say(object{"number": 1, "state": "open", "user": object{"login": "ada"},
		"head": object{"ref": "topic", "sha": head}, "base": object{"ref": "main", "sha": head}})
	a["GET /branches/main"] = say(object{"name": "main"})
	if a["GET /commits/"+head+"/status"] == nil {
		a["GET /commits/"+head+"/status"] = func(w http.ResponseWriter, r *http.Request) {
			var page, limit int
			_, _ = fmt.Sscan(r.FormValue("page"), &page)
			_, _ = fmt.Sscan(r.FormValue("limit"), &limit)
			from, to := min(len(statuses), (page-1)*limit), min(len(statuses), page*limit)
			say(object{"statuses": statuses[from:to]})(w, r)
		}
	}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	return must.Get(gitea.New(gitea.Options{Journal: &forge.Memory{}, Clock: clock.Wire(), Timeout: time.Minute,
		Remote: forge.Remote{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Owner: "acme", Name: "demo"},
		Author: gitea.Identity{Source: "a test", Token: "token-of-ada"}}))(t)
}

func checks(t *testing.T, f *gitea.Forge) []forge.Check {
	t.Helper()
	return must.Get(f.Checks(t.Context(), []int{1}))(t)[1].All
}

// Guards against a status that has another job run again, or its log read: whoever may report one says what is in it.
func TestAStatusHasOnlyTheJobThatTheForgeKnows(t *testing.T) {
	const link, name = "/acme/demo/actions/runs/3/jobs/7", "ci / unit (push)"
	own := object{"id": -2, "login": "gitea-actions"}
	for what, c := range map[string]struct {
		creator       object
		context, link string
		job           object // changes to the job that the forge knows
		want          int64
	}{
		"its own":                {own, name, link, nil, 7},
		"its own, below a path":  {own, name, "/git" + link, nil, 7},
		"its own, without name":  {own, "/ unit (push)", link, nil, 7},
		"somebody's":             {object{"id": 5, "login": "gitea-actions"}, name, link, nil, 0},
		"its own, as 1.26 says":  {nil, name, link, nil, 7},
		"a user's who is gone":   {object{"id": -1, "login": "ghost"}, name, link, nil, 0},
		"another name":           {own, "ci / lint (push)", link, nil, 0},
		"a name around it":       {own, "unit", link, nil, 0},
		"another repository's":   {own, name, "/acme/other/actions/runs/3/jobs/7", nil, 0},
		"another run":            {own, name, "/acme/demo/actions/runs/4/jobs/7", nil, 0},
		"no such job":            {own, name, "/acme/demo/actions/runs/3/jobs/8", nil, 0},
		"a link that goes on":    {own, name, link + "/../../../../../pulls/1", nil, 0},
		"a link without numbers": {own, name, "/acme/demo/actions/runs/a/jobs/b", nil, 0},
		"a number below nothing": {own, name, "/acme/demo/actions/runs/3/jobs/-7", nil, 0},
		"a number without end":   {own, name, link + strings.Repeat("7", 40), nil, 0},
		"no link":                {own, name, "", nil, 0},
		"another commit":         {own, name, link, object{"head_sha": "c0ffee1"}, 0},
		"another job's answer":   {own, name, link, object{"id": 8}, 0},
	} {
		job := object{"id": 7, "run_id": 3, "run_attempt": 1, "name": "unit", "head_sha": head, "status": "completed",
			"conclusion": "failure"}
		for k, v := range c.job {
			job[k] = v
		}
		f := hostile(t, answers{"GET /actions/jobs/7": say(job),
			"GET /actions/runs/3": say(object{"id": 3, "status": "completed"})},
			object{"id": 1, "status": "failure", "context": c.context, "target_url": c.link, "creator": c.creator})
		if got := checks(t, f)[0]; got.Job != c.want || got.State != forge.ChecksFailed {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// Guards against a check that whatever runs in a job makes green with the job's token: that reports as Actions do.
func TestAGreenStatusInTheNameOfAJobNeedsTheJob(t *testing.T) {
	const link, name = "/acme/demo/actions/runs/3/jobs/7", "ci / unit (push)"
	for what, c := range map[string]struct {
		version, context, link, status, conclusion string
		creator                                    object
		want                                       forge.CheckState
	}{
		"the job's":              {"1.26.0", name, link, "completed", "success", nil, forge.ChecksPassed},
		"a skipped job's":        {"1.26.0", name, link, "completed", "skipped", nil, forge.ChecksPassed},
		"the job failed":         {"1.26.0", name, link, "completed", "failure", nil, forge.ChecksFailed},
		"the job runs":           {"1.26.0", name, link, "in_progress", "", nil, forge.ChecksPending},
		"no link":                {"1.26.0", name, "", "completed", "failure", nil, forge.ChecksPending},
		"no such job":            {"1.27.1+dev-3", name, link + "0", "completed", "failure", nil, forge.ChecksPending},
		"another's job":          {"2.0.0", "ci / lint (push)", link, "completed", "success", nil, forge.ChecksPending},
		"a word of its own":      {"1.26.0", "coverage", "https://c.test", "completed", "failure", nil, forge.ChecksPassed},
		"an older server":        {"1.25.3", name, link + "0", "completed", "failure", nil, forge.ChecksPassed},
		"Forgejo":                {"11.0.1+gitea-1.22.0", name, link + "0", "", "", nil, forge.ChecksPassed},
		"no version":             {"", name, link + "0", "", "", nil, forge.ChecksPassed},
		"somebody who may write": {"1.26.0", name, link, "completed", "failure", object{"id": 5}, forge.ChecksPassed},
	} {
		a := answers{"GET /actions/runs/3": say(object{"id": 3, "status": "completed"}),
			"GET /actions/jobs/7": say(object{"id": 7, "run_id": 3, "run_attempt": 1, "name": "unit", "head_sha": head,
				"status": c.status, "conclusion": c.conclusion})}
		if c.version != "" {
			a["GET /api/v1/version"] = say(object{"version": c.version})
		}
		f := hostile(t, a, object{"id": 1, "status": "success", "context": c.context, "target_url": c.link,
			"creator": c.creator})
		for range 2 { // what is remembered is the same
			if got := checks(t, f)[0]; got.State != c.want {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
}

// Guards against a failure that is final although its job runs again, or can't be run again yet: Gitea runs nothing
// again while the run is not over.
func TestAJobWhoseRunIsNotOverIsPending(t *testing.T) {
	for what, c := range map[string]struct {
		status, conclusion, run string
		want                    forge.CheckState
	}{
		"over":                  {"completed", "failure", "completed", forge.ChecksFailed},
		"cancelled":             {"completed", "cancelled", "completed", forge.ChecksFailed},
		"its run goes on":       {"completed", "failure", "in_progress", forge.ChecksPending},
		"it waits for a runner": {"queued", "", "queued", forge.ChecksPending},
		"it has passed since":   {"completed", "success", "completed", forge.ChecksPending},
	} {
		f := hostile(t, answers{"GET /actions/runs/3": say(object{"id": 3, "status": c.run}),
			"GET /actions/jobs/7": say(object{"id": 7, "run_id": 3, "run_attempt": 2, "name": "unit", "head_sha": head,
				"status": c.status, "conclusion": c.conclusion})},
			object{"id": 1, "status": "failure", "context": "ci / unit (push)", "creator": object{"id": -2},
				"target_url": "/acme/demo/actions/runs/3/jobs/7"})
		if got := checks(t, f)[0]; got.State != c.want || got.Attempt != 2 || got.Run != 3 {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// Guards against a job that is run twice: Gitea counts an attempt only when a runner takes it.
func TestAJobIsRunAgainOnlyIfItsAttemptIsUnchanged(t *testing.T) {
	for what, c := range map[string]struct {
		attempt     int
		status      string
		run         int
		code, posts int
		want        func(error) bool
	}{
		"unchanged":             {1, "completed", 0, 201, 1, nil},
		"it has another":        {2, "completed", 0, 201, 0, nil},
		"it waits for a runner": {1, "queued", 0, 201, 0, nil},
		"its run has another":   {1, "completed", 2, 201, 0, nil}, // as Gitea 1.27 says it
		"the run goes on": {1, "completed", 0, 400, 1,
			func(err error) bool { return forge.RefusedAs(err, forge.RefusedUnsettled) }},
		"a server without such a call": {1, "completed", 0, 404, 1, func(err error) bool {
			_, no := errors.AsType[*forge.NotFoundError](err)
			return no
		}},
	} {
		posts := 0
		f := hostile(t, answers{"GET /actions/runs/3": say(object{"id": 3, "status": "completed", "run_attempt": c.run}),
			"GET /actions/jobs/7": say(object{"id": 7, "run_id": 3, "run_attempt": c.attempt, "status": c.status,
				"conclusion": "failure"}),
			"POST /actions/runs/3/jobs/7/rerun": func(w http.ResponseWriter, r *http.Request) {
				posts++
				w.WriteHeader(c.code)
				say(object{"message": "this workflow run is not done"})(w, r)
			}})
		err := f.Rerun(t.Context(), 7, 1)
		if posts != c.posts || (err != nil) != (c.want != nil) || err != nil && !c.want(err) {
			t.Errorf("%s: asked %d times: %v", what, posts, err)
		}
	}
}

// Guards against an answer that can't be read and passes for one without checks, and against checks beyond a page.
func TestEveryPageOfStatusesIsRead(t *testing.T) {
	var many []object
	for i := range 120 {
		many = append(many, object{"id": 200 - i, "status": "success", "context": fmt.Sprint("check ", i)})
	}
	many[119]["status"] = "failure"
	if got := checks(t, hostile(t, answers{}, many...)); len(got) != 120 || got[119].State != forge.ChecksFailed {
		t.Errorf("%d checks", len(got))
	}
	asked := 0
	moving := func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 2 { // the last of the second page becomes the newest
			many = append([]object{{"id": 201, "status": "failure", "context": "check 99"}},
				append(many[:99:99], many[100:]...)...)
		}
		var page int
		_, _ = fmt.Sscan(r.FormValue("page"), &page)
		say(object{"statuses": many[min(len(many), 50*(page-1)):min(len(many), 50*page)]})(w, r)
	}
	failed := 0
	for _, c := range checks(t, hostile(t, answers{"GET /commits/" + head + "/status": moving})) {
		if c.State == forge.ChecksFailed {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d failed ones are seen", failed)
	}
	f := hostile(t, answers{"GET /commits/" + head + "/status": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>please log in</html>"))
	}})
	if got, err := f.Checks(t.Context(), []int{1}); err == nil {
		t.Errorf("no error: %+v", got)
	}
}

// Guards against a log that takes the token elsewhere, fills the memory, steers a terminal, or shows half of a key.
func TestAHostileLog(t *testing.T) {
	log := func(say func(http.ResponseWriter, *http.Request)) (string, error) {
		return hostile(t, answers{"GET /actions/jobs/7/logs": say}).JobLog(t.Context(), 7)
	}
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	got, err := log(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/"+r.Header.Get("Authorization"), http.StatusFound)
	})
	if asked || err == nil || strings.Contains(err.Error(), "token-of-ada") {
		t.Errorf("a redirect: asked %v, %q, %v", asked, got, err)
	}

	block := []byte(strings.Repeat("2026-11-16T08:00:00.0000000Z all is well\n", 25_000))
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for range 100 { // a hundred megabytes, by a server that knows no ranges
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	if got, err := log(endless); got != "" || err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%d bytes: %v", len(got), err)
	}

	binary := make([]byte, 300<<10)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}
	got, err = log(func(w http.ResponseWriter, r *http.Request) { serve(w, r, string(binary)) })
	if err != nil || len(got) > 2*forge.MaxLogEnd+100 || strings.ContainsFunc(got, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t'
	}) {
		t.Errorf("%d bytes: %v", len(got), err)
	}

	token := "ghp_" + "k3B9xQ2mZ7vT1wL5nR8cY4aD6fH0jS3pU9eX"
	key := "-----BEGIN RSA PRIVATE KEY-----\n" +
		strings.Repeat("MIIEowIBAAKCAQEAx7Qz1Kf0m3n9v8c2b5h6j4k1l0p9o8i7u6y5t4r3\n", 30) +
		"-----END RSA PRIVATE KEY-----\n"
	// The part that is read begins within the key, or within the token.
	for _, text := range []string{
		key + strings.Repeat("y\n", forge.MaxLogEnd/2-200) + "error: one\n",
		"token " + token + "\n" + strings.Repeat("y", forge.MaxLogEnd-30) + "\nerror: one\n",
		"\x1b[31mtoken\x1b[0m=\x1b[32m" + token[:9] + "\x1b[1m" + token[9:] + "\x1b[0m\nerror: one\n",
	} {
		got, err := log(func(w http.ResponseWriter, r *http.Request) { serve(w, r, text) })
		if got = gate.MaskSecrets(got); err != nil || !strings.Contains(got, "error: one") ||
			strings.Contains(got, token[12:]) || strings.Contains(got, "KCAQEAx7Qz1") {
			t.Errorf("%v %.200q", err, got)
		}
	}
}

func serve(w http.ResponseWriter, r *http.Request, text string) {
	http.ServeContent(w, r, "ci-unit-7.log", time.Time{}, strings.NewReader(text))
}
