package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/github"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// topic makes a repository with a branch that adds a line, and gives its remote.
func topic(t *testing.T, s *githubfake.Server, name string) (forge.Remote, *gittest.Repo) {
	t.Helper()
	must.Do(t, s.AddRepo(t.Context(), "acme", name, forgetest.Ada, forgetest.Rob))
	r := gittest.New(t)
	r.Commit("first", "a.txt", "one\n")
	r.Git("branch", "topic")
	r.Git("checkout", "-q", "topic")
	r.Commit("second", "a.txt", "one\ntwo\n")
	r.Git("push", "-q", s.Dir("acme", name), "topic", "topic~1:refs/heads/main")
	return s.Remote("acme", name), r
}

func connect(t *testing.T, r forge.Remote, who string, change func(*github.Options)) *github.Forge {
	t.Helper()
	o := github.Options{Remote: r, Author: github.Fixed("a test", forge.Secret(secret(who))), Journal: &forge.Memory{},
		Clock: (&forgetest.Clock{}).Wire()}
	if change != nil {
		change(&o)
	}
	f := must.Get(github.New(o))(t)
	return f
}

func open(t *testing.T, f *github.Forge) forge.Pull {
	t.Helper()
	p, _, err := f.Open(t.Context(), forge.NewPull{Head: "topic", Base: "main", Title: "Topic"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Guards against line comments that are lost because they were drafted long before their review was submitted.
func TestPollFindsLinesThatWereDraftedLongAgo(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "late")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	mark := forge.Mark("")
	poll := func() (all []string) {
		news := must.Get(f.Poll(t.Context(), []forge.Watched{{Number: p.Number, Since: mark}}))(t)
		for _, n := range news {
			mark = n.Mark
			for _, c := range n.Comments {
				all = append(all, c.Body)
			}
		}
		return all
	}
	poll()
	s.AddLateReview("acme", "late", p.Number, forgetest.Rob, "drafted yesterday", "a.txt", 2,
		time.Now().Add(-24*time.Hour))
	if got := poll(); len(got) != 1 || got[0] != "drafted yesterday" {
		t.Errorf("heard %v", got)
	}
	if got := append(poll(), poll()...); len(got) != 0 {
		t.Errorf("heard again: %v", got)
	}
}

// Guards against a first poll that misses what was said before its lists begin.
func TestTheFirstPollReadsOldRequestsToo(t *testing.T) {
	var ahead atomic.Int64 // in hours
	s := startAt(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Hour) })
	r, _ := topic(t, s, "old")
	p := open(t, connect(t, r, forgetest.Ada, nil))
	s.Say("acme", "old", p.Number, forgetest.Eve, "last month")
	ahead.Store(24 * 30)
	f := connect(t, r, forgetest.Ada, nil)
	news, err := f.Poll(t.Context(), []forge.Watched{{Number: p.Number}})
	if err != nil || len(news) != 1 || len(news[0].Comments) != 1 {
		t.Fatalf("%+v %v", news, err)
	}
	s.Say("acme", "old", p.Number, forgetest.Eve, "now")
	news, err = f.Poll(t.Context(), []forge.Watched{{Number: p.Number, Since: news[0].Mark}})
	if err != nil || len(news) != 1 || len(news[0].Comments) != 1 || news[0].Comments[0].Body != "now" {
		t.Errorf("%+v %v", news, err)
	}
}

// Guards against polls that cost something when nothing happens.
func TestPollCostsNothingWhenNothingHappens(t *testing.T) {
	var ahead atomic.Int64 // in seconds
	s := startAt(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Second) })
	r, _ := topic(t, s, "quiet")
	f := connect(t, r, forgetest.Ada, nil)
	w := []forge.Watched{{Number: open(t, f).Number}}
	for range 3 { // until the second in which it was opened is over for the poll
		news := must.Get(f.Poll(t.Context(), w))(t)
		for _, n := range news {
			w[0].Since = n.Mark
		}
		ahead.Add(3)
	}
	s.Reset()
	for range 10 {
		if news, err := f.Poll(t.Context(), w); err != nil || len(news) != 0 {
			t.Fatalf("%+v %v", news, err)
		}
	}
	if c := s.Counts(); c.Requests != 30 || c.Counted != 0 || c.Points != 0 {
		t.Errorf("ten polls: %+v", c)
	}
	// Other reads are conditional too.
	for range 2 {
		must.Get(f.Pull(t.Context(), w[0].Number))(t)
	}
	if c := s.Counts(); c.Counted > 2 { // the request, and the rules of its base
		t.Errorf("the second reading was counted: %+v", c)
	}
}

func TestChecksAreRead(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "checks")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	for _, step := range []struct {
		status, conclusion string
		want               forge.CheckState
	}{{"in_progress", "", forge.ChecksPending}, {"completed", "success", forge.ChecksPassed},
		{"completed", "neutral", forge.ChecksPassed}, {"completed", "skipped", forge.ChecksPassed},
		{"completed", "action_required", forge.ChecksAction}, {"completed", "cancelled", forge.ChecksFailed},
		{"completed", "timed_out", forge.ChecksFailed}} {
		s.SetCheck("acme", "checks", p.Head.Commit, "build", step.status, step.conclusion)
		many, err := f.Checks(t.Context(), []int{p.Number})
		if err != nil || many[p.Number].All[0].State != step.want || many[p.Number].All[0].Name != "build" {
			t.Errorf("%s %s: %+v %v", step.status, step.conclusion, many, err)
		}
	}
}

// Guards against a flood of checks that uses up the limit or fills a phase's record, and against one that is taken for
// green because only a part of it was read.
func TestAFloodOfChecksIsRefused(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "flood")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	for i := range forge.MaxChecks + 1 {
		s.SetStatus("acme", "flood", p.Head.Commit, fmt.Sprintf("ci/%d", i), "success", "")
		if i != forge.MaxChecks-1 {
			continue
		}
		if got, err := f.Checks(t.Context(), []int{p.Number}); err != nil || len(got[p.Number].All) != forge.MaxChecks {
			t.Fatalf("%d: %v", len(got[p.Number].All), err)
		}
	}
	before := s.Counts().Requests
	_, err := f.Checks(t.Context(), []int{p.Number})
	if e, ok := errors.AsType[*forge.RejectedError](err); !ok || !strings.Contains(e.Error(), "more than 1000 checks") {
		t.Errorf("%v", err)
	}
	if n := s.Counts().Requests - before; n > 15 {
		t.Errorf("%d requests", n)
	}
}

// Guards against a job whose failure is no longer a job's because others have reported a lot beside it: it would not be
// run again, and anybody's report on the base would excuse it.
func TestManyChecksHideNoJob(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "many")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	s.SetRunner("acme", "many", []string{"unit"}, func(context.Context, string, string, string, int) (bool, string) {
		return false, "error: one\n"
	})
	job := func() forge.Check {
		t.Helper()
		for _, c := range must.Get(f.Checks(t.Context(), []int{p.Number}))(t)[p.Number].All {
			if c.Name == "unit" {
				return c
			}
		}
		return forge.Check{}
	}
	before := job()
	for i := range 150 {
		s.SetStatus("acme", "many", p.Head.Commit, fmt.Sprintf("ci/%d", i), "success", "")
	}
	if after := job(); after != before || after.Job == 0 || after.Run == 0 {
		t.Errorf("%+v, and with many beside it %+v", before, after)
	}
}

// Guards against an address that whoever reports a check may choose, and that we would go to.
func TestTheAddressOfACheckIsNeverFetched(t *testing.T) {
	asked := atomic.Int64{}
	bait := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer bait.Close()
	s := start(t)
	r, _ := topic(t, s, "bait")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	s.SetStatus("acme", "bait", p.Head.Commit, "ci/bait", "failure", "see "+bait.URL)
	s.Points("acme", "bait", p.Head.Commit, "ci/bait", bait.URL+"/target")
	got := must.Get(f.Checks(t.Context(), []int{p.Number}))(t)
	c := got[p.Number].All[0]
	if c.URL != bait.URL+"/target" || c.Job != 0 {
		t.Fatalf("%+v", c)
	}
	must.Get(f.Pull(t.Context(), p.Number))(t)
	if _, err := f.JobLog(t.Context(), c.Job); err == nil && asked.Load() > 0 {
		t.Error("it has a log")
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("asked %d times", n)
	}
}

// Guards against a log of any length that fills the memory, and against a token that goes where a log is.
func TestALogElsewhereIsReadWithoutTheTokenAndNotWhole(t *testing.T) {
	var sent, tokens int64
	block := []byte(strings.Repeat("2026-11-16T08:00:00.0000000Z all is well\n", 25_000))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), secret(forgetest.Ada)) {
			tokens++
		}
		for range 1000 { // a gigabyte
			n, err := w.Write(block)
			if sent += int64(n); err != nil {
				return
			}
		}
	}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/log", http.StatusFound)
	}))
	defer srv.Close()
	f := connect(t, forge.Remote{Scheme: "http", Host: strings.TrimPrefix(srv.URL, "http://"), Owner: "a", Name: "b"},
		forgetest.Ada, nil)
	log, err := f.JobLog(t.Context(), 7)
	elsewhere.Close() // when it has seen that nobody reads on
	if err != nil || !strings.Contains(log, "all is well") || len(log) > 2*forge.MaxLogEnd || tokens > 0 ||
		sent > 2*forge.MaxLog {
		t.Errorf("%d bytes of %d, %d tokens: %v", len(log), sent, tokens, err)
	}
}

func TestATokenThatMayOnlyReadSaysWhatItLacks(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "reader")
	p := open(t, connect(t, r, forgetest.Ada, nil))
	s.AddReader("zoe", secret("zoe"))
	_, err := connect(t, r, "zoe", nil).Comment(t.Context(), p.Number, forge.Post{Key: "k", Body: "x"})
	if e, ok := errors.AsType[*forge.PermissionError](err); !ok || !strings.Contains(e.Error(), "pull_requests=write") {
		t.Errorf("%v", err)
	}
}

func TestTheHourlyLimitIsObeyed(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "limit")
	f := connect(t, r, forgetest.Ada, nil)
	p := open(t, f)
	s.Exhaust(forgetest.Ada, "graphql", time.Now().Add(30*time.Minute))
	if _, err := f.Said(t.Context(), p.Number, ""); !errors.As(err, new(*forge.LimitError)) {
		t.Errorf("without points: %v", err)
	}
	s.Exhaust(forgetest.Ada, "core", time.Now().Add(30*time.Minute))
	for range 2 {
		_, err := f.Repository(t.Context())
		if e, ok := errors.AsType[*forge.LimitError](err); !ok || e.Secondary || time.Until(e.Until) < 20*time.Minute {
			t.Errorf("%v", err)
		}
	}
}

func TestAnAppReviewsAsItself(t *testing.T) {
	s := start(t)
	r, _ := topic(t, s, "app")
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	s.AddApp("12345", "cco-reviewer", &key.PublicKey)
	file := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	clock := (&forgetest.Clock{}).Wire()
	id := must.Get(github.App{ID: "12345", Key: file}.Identity(t.Context(), r, http.DefaultTransport, clock))(t)
	f := connect(t, r, forgetest.Ada, func(o *github.Options) { o.Reviewer = &id })
	p := open(t, f)
	posted, err := f.Review(t.Context(), p.Number, forge.Review{Key: "k", Verdict: forge.Approve, Body: "fine"})
	if err != nil || posted.Fallback != "" {
		t.Fatalf("%+v %v", posted, err)
	}
	all, err := f.Said(t.Context(), p.Number, "")
	if err != nil || len(all.Comments) != 1 || all.Comments[0].Author != "cco-reviewer[bot]" || !all.Comments[0].Bot ||
		!all.Comments[0].Own || all.Comments[0].State != forge.ReviewApproved {
		t.Errorf("%+v %v", all.Comments, err)
	}
	if _, err := (github.App{ID: "999", Key: file}).Identity(t.Context(), r, http.DefaultTransport, clock); !errors.As(err,
		new(*forge.TokenError)) {
		t.Errorf("an unknown app gives %v", err)
	}
	if _, err := (github.App{ID: "1", Key: []byte("x")}).Identity(t.Context(), r, http.DefaultTransport,
		clock); err == nil {
		t.Error("a key that is none was taken")
	}
}

func TestACertificateThatIsNotTrustedSaysSo(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	f := connect(t, forge.Remote{Scheme: "https", Host: strings.TrimPrefix(srv.URL, "https://"), Owner: "a", Name: "b"},
		forgetest.Ada, nil)
	_, err := f.Repository(t.Context())
	if e, ok := errors.AsType[*forge.CertificateError](err); !ok || !strings.Contains(e.Error(), "SSL_CERT_FILE") {
		t.Errorf("%v", err)
	}
}

// Guards against a token that follows a redirect to somebody else's server.
func TestTheTokenStaysWithItsHost(t *testing.T) {
	asked := 0
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { asked++ }))
	defer thief.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	f := connect(t, forge.Remote{Scheme: "http", Host: strings.TrimPrefix(srv.URL, "http://"), Owner: "a", Name: "b"},
		forgetest.Ada, nil)
	if _, err := f.Repository(t.Context()); err == nil || asked != 0 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestTokensAreFoundAsGhFindsThem(t *testing.T) {
	hosts := "github.com:\n    users:\n        ada:\n            oauth_token: gho_other\n    user: ada\n    " +
		"oauth_token: gho_file\nghe.example.org:\n    oauth_token: \"gho_ghe\"\n"
	for name, c := range map[string]struct {
		env  map[string]string
		file string
		gh   string
		host string
		want string
	}{
		"GH_TOKEN first": {env: map[string]string{"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, host: "github.com",
			want: "a from GH_TOKEN"},
		"then GITHUB_TOKEN": {env: map[string]string{"GITHUB_TOKEN": "b"}, host: "github.com", file: hosts,
			want: "b from GITHUB_TOKEN"},
		"then gh's file": {file: hosts, host: "github.com", gh: "k",
			want: "gho_file from /home/ada/.config/gh/hosts.yml"},
		"of each host": {file: hosts, host: "ghe.example.org",
			want: "gho_ghe from /home/ada/.config/gh/hosts.yml"},
		"then gh's keyring": {file: "github.com:\n    user: ada\n", host: "github.com", gh: "k",
			want: "k from `gh auth token`"},
		"data residency": {env: map[string]string{"GH_TOKEN": "a"}, host: "acme.ghe.com", want: "a from GH_TOKEN"},
		"not for other hosts": {env: map[string]string{"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, host: "ghe.example.org",
			want: "none"},
		"Enterprise by GH_HOST": {env: map[string]string{"GH_ENTERPRISE_TOKEN": "e", "GH_HOST": "ghe.example.org"},
			host: "ghe.example.org", want: "e from GH_ENTERPRISE_TOKEN"},
		"not by a remote alone": {env: map[string]string{"GH_ENTERPRISE_TOKEN": "e"}, host: "evil.example.org",
			want: "none"},
		"gh's other folder": {env: map[string]string{"GH_CONFIG_DIR": "/x"}, file: hosts, host: "github.com",
			want: "gho_file from /x/hosts.yml"},
		"nothing": {host: "github.com", want: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			l := github.Lookup{
				Env: func(k string) string { return c.env[k] }, Home: "/home/ada",
				Read: func(string) ([]byte, error) {
					if c.file == "" {
						return nil, fs.ErrNotExist
					}
					return []byte(c.file), nil
				},
				Run: func(context.Context, ...string) (string, error) {
					if c.gh == "" {
						return "", errors.New("not logged in")
					}
					return c.gh + "\n", nil
				},
			}
			id, err := l.Find(t.Context(), c.host)
			got := "none"
			if err == nil {
				token, _ := id.Token(t.Context())
				got = fmt.Sprintf("%s from %s", token.Reveal(), id.Source)
			} else if _, ok := errors.AsType[*forge.NoTokenError](err); !ok {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}

// Guards against a demand that GitHub does not tell of because it has another reason to block the merge.
func TestARulesetDemandsTheBase(t *testing.T) {
	s := start(t)
	remote, r := topic(t, s, "strict")
	f := connect(t, remote, forgetest.Ada, nil)
	p := open(t, f)
	s.SetStrictRule("acme", "strict", "main")
	r.Git("checkout", "-q", "-B", "main", "topic~1")
	r.Commit("more", "more.txt", "more\n")
	r.Git("push", "-q", s.Dir("acme", "strict"), "main")
	if got := must.Get(f.Pull(t.Context(), p.Number))(t); !got.Behind {
		t.Errorf("%+v", got)
	}
}
