// Package github drives pull requests on github.com, on GitHub with data residency, and on GitHub Enterprise Server.
package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// Options say which repository, as whom, and with what.
type Options = actor.Options[Identity]

// Forge is one repository on GitHub.
type Forge struct {
	*actor.Actor
	remote   forge.Remote
	clock    wire.Clock
	author   *account
	reviewer *account // the author where there is no other

	nodes wire.Memo[string] // ids of pull requests for GraphQL, by number
	rules wire.Memo[ruled]  // what a branch's rulesets require
}

// account is one identity with its clients.
type account struct {
	actor.Account
	identity  Identity
	transport *wire.Transport
	rest      *gh.Client
	graph     *githubv4.Client
}

// New makes the forge. It sends no request yet.
func New(o Options) (*Forge, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	f := &Forge{remote: o.Remote, clock: o.Clock}
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
	f.Actor = actor.New(actor.Settings{At: o.Remote, Journal: o.Journal, Clock: o.Clock, Author: &f.author.Account,
		Reviewer: &f.reviewer.Account, User: "x-access-token", Calls: actor.Calls{
			Find: f.find, Create: f.create, Merge: f.merge, Branch: f.Branch, RemoveBranch: f.removeBranch,
			Pulls: f.changed, Pull: f.listed, Everything: f.everything, Edited: f.edited,
			Look: f.look, Comment: f.comment, Read: f.readComment, Edit: f.edit, Head: f.head, Diff: f.diff,
			Review: f.review, Talk: f.talk, Remove: f.remove, Rerun: f.rerun, Permission: f.permission, Token: o.Author.Token,
		}})
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
	a := &account{identity: id, transport: o.Transport(host)}
	a.Name, a.Ask = id.Login, func(ctx context.Context) (string, error) {
		u, _, err := a.rest.Users.Get(ctx, "")
		return u.GetLogin(), err
	}
	a.transport.Authorize = func(ctx context.Context, r *http.Request) error {
		token, err := id.Token(ctx)
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+token.Reveal())
		}
		return err
	}
	a.transport.Explain = func(r *http.Response, what, message string) error {
		return explain(o.Remote, id.Source, r, what, message)
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

func (f *Forge) permission(ctx context.Context, login string) (string, error) {
	p, _, err := f.author.rest.Repositories.GetPermissionLevel(ctx, f.remote.Owner, f.remote.Name, url.PathEscape(login))
	if _, refused := errors.AsType[*forge.PermissionError](err); refused {
		return "", nil
	}
	return p.GetPermission(), err
}

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

// pagesBack calls get for the first page, and where there are more for all, the last one first: what is removed
// meanwhile moves others to a page that is still to be read.
func pagesBack(get func(gh.ListOptions) (*gh.Response, error)) error {
	r, err := get(gh.ListOptions{PerPage: page, Page: 1})
	if err != nil {
		return err
	}
	for n := r.LastPage; err == nil && n > 0; n-- {
		_, err = get(gh.ListOptions{PerPage: page, Page: n})
	}
	return err
}
