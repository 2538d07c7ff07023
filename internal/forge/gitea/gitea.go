// Package gitea drives pull requests on Gitea, and on Forgejo as far as its API is still Gitea's.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

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
	Timeout  time.Duration
	MaxWait  time.Duration
}

// Identity is an account that we may act as.
type Identity struct {
	Source string
	Token  forge.Secret
}

// Forge is one repository on Gitea.
type Forge struct {
	remote   forge.Remote
	journal  forge.Journal
	clock    wire.Clock
	author   *account
	reviewer *account

	writing   sync.Mutex
	noReplies bool // this server can't post replies; guarded by writing
	polling   sync.Mutex
	poll      pollState

	assocs wire.Memo[forge.Association]
	access wire.Memo[forge.Access]
	jobs   wire.Memo[*sdk.ActionWorkflowJob] // those that are over, by commit and status
	tells  wire.Memo[bool]
}

// account is one identity with its way to the server.
type account struct {
	identity Identity
	base     string
	client   *http.Client
	wire     *wire.Transport

	mu    sync.Mutex
	login string
}

// New makes the forge. It sends no request yet.
func New(o Options) (*Forge, error) {
	if o.Remote.Plain() {
		return nil, fmt.Errorf("%s is reached over http: a token would travel unprotected (use https)", o.Remote.Host)
	}
	f := &Forge{remote: o.Remote, journal: o.Journal, clock: o.Clock, author: newAccount(o, o.Author)}
	f.assocs.For, f.assocs.Clock = 10*time.Minute, o.Clock
	f.access.For, f.access.Clock = forge.AccessFor, o.Clock
	f.jobs.For, f.jobs.Clock = forge.RulesFor, o.Clock
	f.tells.For, f.tells.Clock = forge.RulesFor, o.Clock
	f.reviewer = f.author
	if o.Reviewer != nil {
		f.reviewer = newAccount(o, *o.Reviewer)
	}
	return f, nil
}

func newAccount(o Options, id Identity) *account {
	t := &wire.Transport{
		Host: o.Remote.Host, Base: o.Base, Clock: o.Clock, Timeout: o.Timeout, MaxWait: o.MaxWait,
		Authorize: func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "token "+id.Token.Reveal())
			return nil
		},
		Explain: func(r *http.Response, what, message string) error {
			return explain(o.Remote, id.Source, r, what, message)
		},
	}
	return &account{identity: id, base: o.Remote.Base(), client: t.Client(), wire: t}
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
func (a *account) at(ctx context.Context) (*sdk.Client, error) {
	// Without a version the SDK believes that the server can do everything, and does not ask.
	return sdk.NewClient(a.base, sdk.SetHTTPClient(a.client), sdk.SetContext(ctx), sdk.SetGiteaVersion(""))
}

func (f *Forge) me(ctx context.Context, a *account) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != "" {
		return a.login, nil
	}
	c, err := a.at(ctx)
	if err != nil {
		return "", err
	}
	u, _, err := c.GetMyUserInfo()
	if err != nil {
		return "", fmt.Errorf("ask who we are: %w", err)
	}
	a.login = u.UserName
	return a.login, nil
}

// Us gives the logins of our identities.
func (f *Forge) Us(ctx context.Context) ([]string, error) {
	author, err := f.me(ctx, f.author)
	if err != nil || f.reviewer == f.author {
		return []string{author}, err
	}
	reviewer, err := f.me(ctx, f.reviewer)
	return []string{author, reviewer}, err
}

// Limits is empty: Gitea reports none. A proxy's 429 is still obeyed.
func (f *Forge) Limits() []forge.Limit { return f.author.wire.Limits() }

// Remote says which repository this is.
func (f *Forge) Remote() forge.Remote { return f.remote }

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

// associationOf works out the association that GitHub would report, because Gitea has none. An unknown one is NONE.
func (f *Forge) associationOf(ctx context.Context, login string) (forge.Association, error) {
	return f.assocs.Get(login, func() (forge.Association, error) { return f.askAssociation(ctx, login) })
}

func (f *Forge) askAssociation(ctx context.Context, login string) (forge.Association, error) {
	if strings.EqualFold(login, f.remote.Owner) {
		return forge.AssociationOwner, nil
	}
	c, err := f.author.at(ctx)
	if err != nil {
		return "", err
	}
	is, _, err := c.IsCollaborator(f.remote.Owner, f.remote.Name, login)
	if err == nil && is {
		return forge.AssociationCollaborator, nil
	}
	if err != nil && !refused(err) {
		return "", err
	}
	member, _, err := c.CheckOrgMembership(f.remote.Owner, login)
	if err == nil && member {
		return forge.AssociationMember, nil
	}
	if err != nil && !refused(err) {
		return "", err
	}
	return forge.AssociationNone, nil
}

// Access says what somebody may do in the repository. Gitea tells that only to administrators of the repository, and to
// everyone about themselves; to others it is unknown.
func (f *Forge) Access(ctx context.Context, login string) (forge.Access, error) {
	if strings.EqualFold(login, f.remote.Owner) {
		return forge.AccessWrite, nil
	}
	if forge.IsAnew(ctx) {
		return f.askAccess(ctx, login)
	}
	return f.access.Get(login, func() (forge.Access, error) { return f.askAccess(ctx, login) })
}

func (f *Forge) askAccess(ctx context.Context, login string) (forge.Access, error) {
	c, err := f.author.at(ctx)
	if err != nil {
		return forge.AccessUnknown, err
	}
	p, _, err := c.CollaboratorPermission(f.remote.Owner, f.remote.Name, login)
	_, gone := errors.AsType[*forge.NotFoundError](err)
	switch {
	case err == nil && p != nil:
		return forge.AccessOf(string(p.Permission)), nil
	case err == nil, gone:
		return forge.AccessRead, nil
	case !refused(err):
		return forge.AccessUnknown, fmt.Errorf("ask what %s may do: %w", login, err)
	}
	return forge.AccessUnknown, nil
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
