// Package gitea drives pull requests on Gitea, and on Forgejo as far as its API is still Gitea's.
package gitea

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// Options say which repository, as whom, and with what.
type Options = actor.Options[Identity]

// Identity is an account that we may act as.
type Identity struct {
	Source string
	Token  forge.Secret
}

// Forge is one repository on Gitea.
type Forge struct {
	*actor.Actor
	remote   forge.Remote
	clock    wire.Clock
	author   *account
	reviewer *account

	noReplies atomic.Bool // this server can't post replies

	jobs  wire.Memo[*sdk.ActionWorkflowJob] // those that are over, by commit and status
	tells wire.Memo[bool]
}

// account is one identity with its way to the server.
type account struct {
	actor.Account
	base   string
	client *http.Client
	wire   *wire.Transport
}

// New makes the forge. It sends no request yet.
func New(o Options) (*Forge, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	f := &Forge{remote: o.Remote, clock: o.Clock, author: newAccount(o, o.Author)}
	f.jobs.For, f.jobs.Clock = forge.RulesFor, o.Clock
	f.tells.For, f.tells.Clock = forge.RulesFor, o.Clock
	f.reviewer = f.author
	if o.Reviewer != nil {
		f.reviewer = newAccount(o, *o.Reviewer)
	}
	f.Actor = actor.New(actor.Settings{At: o.Remote, Journal: o.Journal, Clock: o.Clock, Author: &f.author.Account,
		Reviewer: &f.reviewer.Account, User: "oauth2", Calls: actor.Calls{
			Find: f.find, Create: f.create, Merge: f.merge, Branch: f.Branch, RemoveBranch: f.removeBranch,
			Pulls: f.changed, Pull: f.plainly, Everything: f.everything, Edited: f.edited,
			Look: f.look, Comment: f.comment, Read: f.readComment, Edit: f.edit, Head: f.head, Diff: f.diff,
			Review: f.review, Talk: f.talk, Remove: f.remove, Rerun: f.rerun, Permission: f.permission,
			Token: func(context.Context) (forge.Secret, error) { return o.Author.Token, nil },
		}})
	return f, nil
}

func newAccount(o Options, id Identity) *account {
	a := &account{base: o.Remote.Base(), wire: o.Transport(o.Remote.Host)}
	a.wire.Authorize = func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "token "+id.Token.Reveal())
		return nil
	}
	a.wire.Explain = func(r *http.Response, what, message string) error {
		return explain(o.Remote, id.Source, r, what, message)
	}
	a.client = a.wire.Client()
	a.Ask = func(ctx context.Context) (string, error) {
		u, _, err := a.at(ctx).GetMyUserInfo()
		if err != nil {
			return "", err
		}
		return u.UserName, nil
	}
	return a
}

// explain says what a refusal means and what to do.
func explain(remote forge.Remote, source string, r *http.Response, what, message string) error {
	switch r.StatusCode {
	case http.StatusUnauthorized:
		return &forge.TokenError{Host: remote.Host, Source: source, Message: message}
	case http.StatusForbidden:
		return &forge.PermissionError{What: what, Message: message,
			Needs: "the scopes write:repository and write:issue, and its user the right to write to the repository"}
	case http.StatusNotFound:
		return &forge.NotFoundError{What: remote.String() + ": " + what}
	}
	return &forge.RejectedError{What: what, Status: r.StatusCode, Message: message,
		Why: refusal(r.StatusCode, message)}
}

// refusal reads what Gitea says.
func refusal(status int, message string) forge.Refusal {
	switch {
	case status == http.StatusConflict:
		return forge.RefusedExists
	case status == http.StatusMethodNotAllowed && strings.Contains(message, "behind the base branch"):
		return forge.RefusedBehind
	case status == http.StatusMethodNotAllowed && strings.Contains(message, "try again"),
		status == http.StatusBadRequest && strings.Contains(message, "run is not done"):
		return forge.RefusedUnsettled
	}
	return ""
}

// at gives a client for one call: the SDK keeps its context in the client.
func (a *account) at(ctx context.Context) *sdk.Client {
	// Without a version the SDK believes that the server can do everything, and does not ask. So nothing here can fail.
	c, _ := sdk.NewClient(a.base, sdk.SetGiteaVersion(""), sdk.SetHTTPClient(a.client), sdk.SetContext(ctx))
	return c
}

// page is a page size that every server allows.
const page = 50

// pages calls get until a page is not full.
func pages(get func(sdk.ListOptions) (int, error)) error {
	for n := 1; ; n++ {
		got, err := get(sdk.ListOptions{Page: n, PageSize: page})
		if err != nil || got < page {
			return err
		}
	}
}

// permission asks what somebody may do. Gitea tells that only to administrators of the repository, and to everyone of
// themselves.
func (f *Forge) permission(ctx context.Context, login string) (string, error) {
	if strings.EqualFold(login, f.remote.Owner) {
		return "owner", nil
	}
	p, _, err := f.author.at(ctx).CollaboratorPermission(f.remote.Owner, f.remote.Name, login)
	_, gone := errors.AsType[*forge.NotFoundError](err)
	switch {
	case gone || err != nil && !refused(err):
		return "", err
	case err != nil:
		return "", nil
	case p == nil:
		return "none", nil
	}
	return string(p.Permission), nil
}

// refused says whether a forge answered, and the answer was no.
func refused(err error) bool {
	for _, no := range []any{new(*forge.NotFoundError), new(*forge.PermissionError), new(*forge.RejectedError)} {
		if errors.As(err, no) {
			return true
		}
	}
	return false
}
