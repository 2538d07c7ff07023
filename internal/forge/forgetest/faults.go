package forgetest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
)

// forgetful is a journal whose process dies before it can note where something stands.
type forgetful struct{ *forge.Memory }

func (f *forgetful) Finish(context.Context, string, string, string, string) error {
	return errors.New("the process died")
}

// impatience is how long a client waits for a slow server: longer than this one takes for what it is asked now. What
// the server does after that is found by looking again.
func (p *place) impatience(f Forge, number int) time.Duration {
	p.Helper()
	begun := time.Now()
	p.said(f, number, "")
	return max(2*time.Second, 4*time.Since(begun))
}

const secondary = `{"message":"You have exceeded a secondary rate limit. Please ` +
	`wait.","documentation_url":"` +
	`https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`

func faults() []mishap {
	return []mishap{
		{Name: "429 with Retry-After", Refuse: 429, Header: map[string]string{"Retry-After": "3"},
			Body: `{"message":"Too many"}`},
		{Name: "429 without", Refuse: 429, Body: `{"message":"Too many"}`},
		{Name: "403 with Retry-After", Refuse: 403, Header: map[string]string{"Retry-After": "2"}, Body: secondary},
		{Name: "secondary limit without a time", Refuse: 403, Body: secondary},
		{Name: "503 with Retry-After", Refuse: 503, Header: map[string]string{"Retry-After": "1"}, Body: "{}"},
		{Name: "500 before", Refuse: 500, Body: "{}"},
		{Name: "500 after the work", Lose: 500},
		{Name: "502 after the work", Lose: 502},
		{Name: "503 with Retry-After after the work", Lose: 503, Header: map[string]string{"Retry-After": "1"}},
		{Name: "dropped before", DropBefore: true},
		{Name: "dropped after", DropAfter: true},
		{Name: "dropped amid the answer", DropAmid: true},
		{Name: "slow, and done when nobody waits any more", Slow: 800 * time.Millisecond},
	}
}

func survivesWrites(p *place) {
	setup := p.as(Ada, "")
	pull := p.open(setup, "topic")
	p.review(p.as(Rob, ""), pull.Number, forge.Comments, "look", at(line, "here"))
	here := p.find(setup, pull.Number, "here").ID
	for i, fault := range faults() {
		as := As{Who: Ada, Reviewer: Rob, Journal: p.journal}
		if fault.Slow > 0 {
			as.Timeout = p.impatience(setup, pull.Number)
			fault.Slow += as.Timeout
		}
		f := p.connect(as)
		write := func(name string, match func(*http.Request) bool, do func(key string) (forge.Posted, error)) {
			words := fmt.Sprintf("%s number %d.", name, i)
			p.must2(f.Us(p.Context()))
			p.proxy.Inject(fault, 1, match)
			posted, err := do(words)
			if left := p.proxy.Heal(); left != 0 {
				p.Errorf("%s: %s did not come to pass", name, fault.Name)
			}
			if err != nil || posted.ID == "" {
				p.Errorf("%s: %s: %+v %v", name, fault.Name, posted, err)
			}
			if n := p.count(setup, pull.Number, words); n != 1 {
				p.Errorf("%s: %s: it stands there %d times", name, fault.Name, n)
			}
		}
		write("comment", api("POST", "/comments"), func(words string) (forge.Posted, error) {
			return f.Comment(p.Context(), pull.Number, forge.Post{Key: words, Body: words})
		})
		write("review", api("POST", "/reviews"), func(words string) (forge.Posted, error) {
			return f.Review(p.Context(), pull.Number, forge.Review{Key: words, Verdict: forge.Comments, Body: words,
				Lines: []forge.LineComment{at(line+1, "a line of it")}})
		})
		write("reply", writesReply, func(words string) (forge.Posted, error) {
			return p.reply(f, pull.Number, here, forge.Post{Key: words, Body: words})
		})
	}
	if n := p.count(setup, pull.Number, "a line of it"); n != len(faults()) {
		p.Errorf("%d reviews have %d lines", len(faults()), n)
	}
	for _, c := range p.said(setup, pull.Number, "").Comments {
		if mine := strings.Contains(c.Body, " number ") || c.Body == "a line of it"; mine && c.Author == Ada && !c.Own {
			p.Errorf("not known to be ours: %+v", c)
		}
	}
}

// writesReply matches the way in which a forge replies.
func writesReply(r *http.Request) bool {
	return api("POST", "/replies")(r) && strings.HasPrefix(r.URL.Path, "/api/v3/") || api("POST", "/reviews")(r) &&
		strings.HasPrefix(r.URL.Path, "/api/v1/")
}

func (p *place) must2(_ any, err error) {
	p.Helper()
	p.must(err)
}

func survivesReads(p *place) {
	setup, eve := p.as(Ada, ""), p.as(Eve, "")
	pull := p.open(setup, "topic")
	w := watch(p, setup, pull.Number)
	var want []string
	for i, fault := range faults() {
		words := fmt.Sprintf("words %d", i)
		want = append(want, words)
		p.post(eve, pull.Number, words)
		as := As{Who: Ada, Journal: p.journal}
		if fault.Slow > 0 {
			as.Timeout = p.impatience(setup, pull.Number)
			fault.Slow += as.Timeout
		}
		// Every request of a reading, one after the other, meets the fault once.
		f := p.connect(as)
		met := map[string]bool{}
		p.proxy.Inject(fault, 4, func(r *http.Request) bool {
			key := r.Method + r.URL.Path
			if met[key] || !api("")(r) {
				return false
			}
			met[key] = true
			return true
		})
		s, err := f.Said(p.Context(), pull.Number, "")
		if err != nil {
			p.Errorf("%s: %v", fault.Name, err)
		} else if diff := cmp.Diff(want, bodies(s.Comments)); diff != "" {
			p.Errorf("%s: %s", fault.Name, diff)
		}
		p.proxy.Heal()
		if fault.Slow == 0 {
			p.proxy.Inject(fault, 2, api(""))
		}
		w.poll()
		p.proxy.Heal()
		w.poll()
		w.expect(pull.Number, want...)
	}
}

func obeysLimits(p *place) {
	ada := p.as(Ada, "")
	pull := p.open(ada, "topic")
	// One that ends too late to be waited for is an error that says when, and nothing is asked until then.
	f := p.connect(As{Who: Ada, Journal: p.journal, MaxWait: time.Minute})
	p.must2(f.Us(p.Context()))
	p.proxy.Inject(mishap{Refuse: 403, Header: map[string]string{"Retry-After": "1800"}, Body: secondary}, 1, api("POST"))
	_, err := f.Comment(p.Context(), pull.Number, forge.Post{Key: "later", Body: "later"})
	limit, ok := errors.AsType[*forge.LimitError](err)
	if !ok || !strings.Contains(err.Error(), "it ends at") {
		p.Fatalf("a long limit gives %v", err)
	}
	asked := len(p.proxy.Requests())
	if _, err := f.Said(p.Context(), pull.Number, ""); !errors.As(err, new(*forge.LimitError)) {
		p.Errorf("reading under a limit gives %v", err)
	}
	if len(p.proxy.Requests()) != asked {
		p.Error("the forge was asked although it said not to")
	}
	p.must(p.clock.Sleep(p.Context(), limit.Until.Sub(p.clock.Now())+time.Second))
	_, err = f.Comment(p.Context(), pull.Number, forge.Post{Key: "later", Body: "later"})
	p.must(err)
	if n := p.count(ada, pull.Number, "later"); n != 1 {
		p.Errorf("it stands there %d times", n)
	}
}

func saysWhatToDo(p *place) {
	f := p.as(Ada, "")
	missing := *p
	missing.remote.Name = "absent"
	_, err := missing.as(Ada, "").Repository(p.Context())
	if !is[*forge.NotFoundError](err) {
		p.Errorf("a repository that isn't there gives %v", err)
	}
	pull := p.open(f, "topic")
	err = p.as(Eve, "").Merge(p.Context(), pull.Number, pull.Head.Commit)
	if err == nil {
		p.Error("a stranger merged")
	}
	p.proxy.Inject(mishap{Refuse: 401, Body: `{"message":"Bad credentials"}`}, 1, api(""))
	_, err = f.Pull(p.Context(), pull.Number)
	if !is[*forge.TokenError](err) {
		p.Errorf("a refused token gives %v", err)
	}
	p.proxy.Inject(mishap{Refuse: 403, Body: `{"message":"Must have admin rights"}`}, 1, api(""))
	_, err = f.Pull(p.Context(), pull.Number)
	if !is[*forge.PermissionError](err) || !strings.Contains(err.Error(), "the token needs") {
		p.Errorf("a missing right gives %v", err)
	}
	p.proxy.Inject(mishap{DropBefore: true}, 100, api(""))
	_, err = f.Pull(p.Context(), pull.Number)
	if !is[*forge.UnavailableError](err) {
		p.Errorf("a forge that is down gives %v", err)
	}
}

// basic is the token as git is given it.
func basic(user, token string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
}

// neverShowsToken searches for the token in everything that comes out of a forge.
func neverShowsToken(p *place) {
	f := p.as(Ada, "")
	pull := p.open(f, "topic")
	token := p.server.Token(Ada)
	var out strings.Builder
	note := func(v any, err error) { fmt.Fprintf(&out, "%v %+v %#v %v\n", v, v, v, err) }
	p.post(f, pull.Number, "words")
	note(f.Said(p.Context(), pull.Number, ""))
	note(f.Repository(p.Context()))
	note(f, nil)
	for _, fault := range []mishap{{Refuse: 401, Body: `{"message":"no"}`}, {Refuse: 403, Body: `{"message":"no"}`},
		{Refuse: 404, Body: "{}"},
		{Refuse: 422, Body: `{"message":"no"}`}, {DropBefore: true}, {Refuse: 500, Body: "{}"}} {
		p.proxy.Inject(fault, 100, func(*http.Request) bool { return true })
		note(f.Pull(p.Context(), pull.Number))
		note(f.Said(p.Context(), pull.Number, ""))
		note(f.Comment(p.Context(), pull.Number, forge.Post{Key: fmt.Sprint(fault), Body: "x"}))
		note(nil, f.Push(p.Context(), forge.Push{Dir: p.work + "/.git", Branch: "x", Commit: pull.Head.Commit}))
		p.proxy.Heal()
	}
	note(p.journal, nil)
	fmt.Fprint(&out, p.proxy.Requests())
	for _, secret := range []string{token, basic("x-access-token", token), basic("oauth2", token)} {
		if i := strings.Index(out.String(), secret); i >= 0 {
			p.Errorf("the token is in …%s…", out.String()[max(0, i-200):i])
		}
	}
}
