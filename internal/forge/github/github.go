// Package github drives pull requests on github.com, on GitHub with data residency, and on GitHub Enterprise Server.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// Options say which repository, as whom, and with what.
type Options struct {
	Remote   forge.Remote
	Author   Identity
	Reviewer *Identity // posts reviews; nil where there is only one identity
	Journal  forge.Journal
	Clock    wire.Clock
	Base     http.RoundTripper
	Timeout  time.Duration // see wire.Transport
	MaxWait  time.Duration
	Pace     time.Duration // between two writes; GitHub asks for a second
}

// Forge is one repository on GitHub.
type Forge struct {
	remote   forge.Remote
	journal  forge.Journal
	clock    wire.Clock
	author   *account
	reviewer *account // the author where there is no other

	writing sync.Mutex // one at a time: GitHub wants it, and so does looking before posting
	polling sync.Mutex
	poll    pollState

	access wire.Memo[forge.Access]
	nodes  wire.Memo[string] // ids of pull requests for GraphQL, by number
	rules  wire.Memo[ruled]  // what a branch's rulesets require
}

// account is one identity with its clients.
type account struct {
	identity  Identity
	transport *wire.Transport
	rest      *gh.Client
	graph     *githubv4.Client

	mu    sync.Mutex
	login string
}

// New makes the forge. It sends no request yet.
func New(o Options) (*Forge, error) {
	if o.Remote.Plain() {
		return nil, fmt.Errorf("%s is reached over http: a token would travel unprotected (use https)", o.Remote.Host)
	}
	f := &Forge{remote: o.Remote, journal: o.Journal, clock: o.Clock}
	f.access.For, f.access.Clock = forge.AccessFor, o.Clock
	f.nodes.For, f.nodes.Clock = 24*time.Hour, o.Clock
	f.rules.For, f.rules.Clock = forge.RulesFor, o.Clock
	var err error
	if f.author, err = newAccount(o, o.Author); err != nil {
		return nil, err
	}
	f.reviewer = f.author
	if o.Reviewer != nil {
		f.reviewer, err = newAccount(o, *o.Reviewer)
	}
	return f, err
}

// endpoints gives the addresses of the REST and GraphQL interfaces.
func endpoints(r forge.Remote) (rest, graph string) {
	switch {
	case r.Host == "github.com":
		return "https://api.github.com/", "https://api.github.com/graphql"
	case strings.HasSuffix(r.Host, ".ghe.com"):
		return "https://api." + r.Host + "/", "https://api." + r.Host + "/graphql"
	}
	return r.Base() + "/api/v3/", r.Base() + "/api/graphql"
}

func newAccount(o Options, id Identity) (*account, error) {
	rest, graph := endpoints(o.Remote)
	host := strings.SplitN(strings.TrimPrefix(strings.TrimPrefix(rest, "https://"), "http://"), "/", 2)[0]
	a := &account{identity: id, login: id.Login}
	a.transport = &wire.Transport{
		Host: host, Base: o.Base, Clock: o.Clock, Pace: o.Pace,
		Timeout: o.Timeout, MaxWait: o.MaxWait,
		Authorize: func(ctx context.Context, r *http.Request) error {
			token, err := id.Token(ctx)
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token.Reveal())
			}
			return err
		},
		Explain: func(r *http.Response, what, message string) error {
			return explain(o.Remote, id.Source, r, what, message)
		},
	}
	client := a.transport.Client()
	var err error
	a.rest, err = gh.NewClient(gh.WithHTTPClient(client), gh.WithURLs(&rest, &rest), gh.WithDisableRateLimitCheck(),
		gh.WithUserAgent("cco"))
	a.graph = githubv4.NewEnterpriseClient(graph, client)
	return a, err
}

// explain says what a refusal means and what to do.
func explain(remote forge.Remote, source string, r *http.Response, what, message string) error {
	switch r.StatusCode {
	case http.StatusUnauthorized:
		return &forge.TokenError{Host: remote.Host, Source: source, Message: message}
	case http.StatusForbidden:
		e := &forge.PermissionError{What: what, Message: message,
			Needs: "the scope repo, or as a fine-grained token write access to pull requests, issues and contents",
			Has:   forge.Name(r.Header.Get("X-OAuth-Scopes"), 200)}
		if needs := forge.Name(r.Header.Get("X-Accepted-GitHub-Permissions"), 200); needs != "" {
			e.Needs = "the permission " + needs
		}
		if sso := r.Header.Get("X-GitHub-SSO"); sso != "" {
			e.Needs = "to be authorised for the organisation's single sign-on (" + forge.Name(sso, 300) + ")"
		}
		return e
	case http.StatusNotFound, http.StatusGone:
		return &forge.NotFoundError{What: remote.String() + ": " + what}
	}
	return &forge.RejectedError{What: what, Status: r.StatusCode, Message: message, Why: refusal(message)}
}

// refusal reads GitHub's message, because its status is 422 for all of these.
func refusal(message string) forge.Refusal {
	for words, why := range map[string]forge.Refusal{
		"already exists":                        forge.RefusedExists,
		"does not exist":                        forge.RefusedGone,
		"Draft pull requests are not supported": forge.RefusedDraft,
	} {
		if strings.Contains(message, words) {
			return why
		}
	}
	return ""
}

// me gives an account's login.
func (f *Forge) me(ctx context.Context, a *account) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != "" {
		return a.login, nil
	}
	u, _, err := a.rest.Users.Get(ctx, "")
	if err != nil {
		return "", fmt.Errorf("ask who we are: %w", err)
	}
	a.login = u.GetLogin()
	return a.login, nil
}

// Us gives the logins of our identities: the author's, and the reviewer's if it differs.
func (f *Forge) Us(ctx context.Context) ([]string, error) {
	author, err := f.me(ctx, f.author)
	if err != nil || f.reviewer == f.author {
		return []string{author}, err
	}
	reviewer, err := f.me(ctx, f.reviewer)
	return []string{author, reviewer}, err
}

// Access says what somebody may do in the repository. An association says little about that: members of an organisation
// and collaborators may have read access only.
func (f *Forge) Access(ctx context.Context, login string) (forge.Access, error) {
	if forge.IsAnew(ctx) {
		return f.askAccess(ctx, login)
	}
	return f.access.Get(login, func() (forge.Access, error) { return f.askAccess(ctx, login) })
}

func (f *Forge) askAccess(ctx context.Context, login string) (forge.Access, error) {
	p, _, err := f.author.rest.Repositories.GetPermissionLevel(ctx, f.remote.Owner, f.remote.Name, url.PathEscape(login))
	_, gone := errors.AsType[*forge.NotFoundError](err)
	_, refused := errors.AsType[*forge.PermissionError](err)
	switch {
	case err == nil:
		return forge.AccessOf(p.GetPermission()), nil
	case gone:
		return forge.AccessRead, nil
	case !refused:
		return forge.AccessUnknown, fmt.Errorf("ask what %s may do: %w", login, err)
	}
	return forge.AccessUnknown, nil
}

// Limits shows what is left of GitHub's limits for the author.
func (f *Forge) Limits() []forge.Limit { return f.author.transport.Limits() }

// Remote says which repository this is.
func (f *Forge) Remote() forge.Remote { return f.remote }

// page is the size of every page.
const page = 100

// pages calls get for every page.
func pages(get func(gh.ListOptions) (*gh.Response, error)) error {
	o := gh.ListOptions{PerPage: page, Page: 1}
	for {
		r, err := get(o)
		if err != nil || r.NextPage == 0 {
			return err
		}
		o.Page = r.NextPage
	}
}
