// Package actor is cco as it acts on a forge, whichever that is: it opens, speaks, merges and removes once, whatever
// becomes of an answer, and knows its own words again. A client says how its forge is asked.
package actor

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/git"
)

// Options say which repository, as whom, and with what. An identity is whatever the client takes for one.
type Options[Identity any] struct {
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

// Check refuses a repository to which a token would travel unprotected.
func (o Options[Identity]) Check() error {
	if o.Remote.Plain() {
		return fmt.Errorf("%s is reached over http: a token would travel unprotected (use https)", o.Remote.Host)
	}
	return nil
}

// Transport is the way to the forge, for one identity.
func (o Options[Identity]) Transport(host string) *wire.Transport {
	return &wire.Transport{Host: host, Base: o.Base, Clock: o.Clock, Timeout: o.Timeout, MaxWait: o.MaxWait, Pace: o.Pace}
}

// Said is a comment as it came from a forge.
type Said struct {
	forge.Comment
	Raw  string // with its markers
	Old  bool   // on a line of the old file
	Hunk string // the diff up to its line, where the forge gives it
}

// Account is one of our accounts on a forge.
type Account struct {
	Name string                                // "" if it must be asked for
	Ask  func(context.Context) (string, error) // asks for it

	mu sync.Mutex
}

// Login is the name of the account.
func (a *Account) Login(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Name != "" {
		return a.Name, nil
	}
	name, err := a.Ask(ctx)
	if err != nil {
		return "", fmt.Errorf("ask who we are: %w", err)
	}
	a.Name = name
	return name, nil
}

// Calls are how a forge is asked. None of them repeats anything by itself. Those that change something are made one at
// a time.
type Calls struct {
	// Find finds the pull request of a branch, as forge.Record.Opened wants it; a *forge.NoPullError says that there is
	// none. Create opens one, unless another was opened at the same moment.
	Find   func(ctx context.Context, branch string, opened forge.Record) (forge.Pull, error)
	Create func(context.Context, forge.NewPull) (p forge.Pull, existed bool, err error)
	// Merge looks at a pull request, and gives what merges it; nil where it is merged.
	Merge        func(ctx context.Context, number int, commit string) (do func() error, err error)
	Branch       func(ctx context.Context, branch string) (commit string, err error)
	RemoveBranch func(ctx context.Context, branch string) error

	// Pulls reads a page of requests, the last changed first, and the time of the answer by the forge's own clock. Pull
	// reads one as such a list has it.
	Pulls func(ctx context.Context, page int) (list []forge.Pull, date string, full bool, err error)
	Pull  func(ctx context.Context, number int) (forge.Pull, error)
	// Everything reads all that was said on a request. Edited reads the comments of the repository that came or were
	// edited after a time.
	Everything func(ctx context.Context, number int) ([]Said, error)
	Edited     func(ctx context.Context, since time.Time) ([]Said, error)
	// Look reads what a post of a kind may be found among; "" is everything.
	Look func(ctx context.Context, number int, kind forge.CommentKind) ([]Said, error)
	// Comment, Read, Edit are of comments below a request.
	Comment func(ctx context.Context, number int, body string) (forge.Posted, error)
	Read    func(ctx context.Context, id int64) (body string, err error)
	Edit    func(ctx context.Context, id int64, body string) error
	// Head says who opened a request, and at which commit it is. Diff is what its reviews may comment on.
	Head   func(ctx context.Context, number int) (author, commit string, err error)
	Diff   func(ctx context.Context, number int) (forge.Diff, error)
	Review func(context.Context, *Draft) (forge.Posted, error)
	// Talk reads the threads of a request.
	Talk func(ctx context.Context, number int) ([]Said, Talk, error)
	// Remove takes back a comment of one of our accounts.
	Remove func(ctx context.Context, asReviewer bool, c forge.Comment, id int64) error
	// Rerun runs a job again, if its last attempt is that one.
	Rerun func(ctx context.Context, job int64, attempt int) error

	// Permission is what the forge says that somebody may do; "" where it does not tell us.
	Permission func(ctx context.Context, login string) (string, error)
	// Token is what git pushes and fetches with.
	Token func(context.Context) (forge.Secret, error)
}

// Settings make an actor.
type Settings struct {
	At               forge.Remote
	Journal          forge.Journal
	Clock            wire.Clock
	Author, Reviewer *Account // the same where there is one only
	User             string   // whose name goes with a token, for git
	Calls            Calls
}

// Actor acts on one repository.
type Actor struct {
	Settings
	writing sync.Mutex // one at a time: GitHub wants it, and so does looking before posting
	access  wire.Memo[forge.Access]

	polling sync.Mutex
	polled  polled
	seed    maphash.Seed
}

// New makes an actor.
func New(s Settings) *Actor {
	a := &Actor{Settings: s, seed: maphash.MakeSeed()}
	a.access.For, a.access.Clock = forge.AccessFor, s.Clock
	return a
}

// Remote says which repository this is.
func (a *Actor) Remote() forge.Remote { return a.At }

// Us gives the logins of our identities: the author's, and the reviewer's if it differs.
func (a *Actor) Us(ctx context.Context) ([]string, error) {
	author, err := a.Author.Login(ctx)
	if err != nil || a.Reviewer == a.Author {
		return []string{author}, err
	}
	reviewer, err := a.Reviewer.Login(ctx)
	return []string{author, reviewer}, err
}

// claim puts comments in their order, and marks those that are ours.
func (a *Actor) claim(ctx context.Context, all []Said) ([]forge.Comment, error) {
	us, err := a.Us(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(x, y Said) int { return forge.Order(x.Comment, y.Comment) })
	plain := make([]forge.Comment, 0, len(all))
	for _, c := range all {
		if err := forge.Claim(ctx, a.Journal, a.At.String(), &c.Comment, c.Raw, us); err != nil {
			return nil, err
		}
		plain = append(plain, c.Comment)
	}
	return plain, nil
}

// Access says what somebody may do in the repository. An association says little about that: members of an organisation
// and collaborators may have read access only.
func (a *Actor) Access(ctx context.Context, login string) (forge.Access, error) {
	ask := func() (forge.Access, error) {
		p, err := a.Calls.Permission(ctx, login)
		if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
			return forge.AccessRead, nil
		}
		if err != nil || p == "" {
			return forge.AccessUnknown, about(err, "ask what %s may do", login)
		}
		return forge.AccessOf(p), nil
	}
	if forge.IsAnew(ctx) {
		return ask()
	}
	return a.access.Get(login, ask)
}

// Find finds the pull request of a branch: the open one, or else the newest. A *forge.NoPullError says that there is
// none.
func (a *Actor) Find(ctx context.Context, branch string) (forge.Pull, error) {
	return a.Calls.Find(ctx, branch, forge.Record{})
}

// opens bounds how often a request is opened whose opening may have failed.
const opens = 4

// Open opens a pull request, or finds the one that the branch has. Existed says which.
func (a *Actor) Open(ctx context.Context, n forge.NewPull) (p forge.Pull, existed bool, err error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	rec, err := n.Begin(ctx, a.Journal, a.At.String(), a.Clock.Now())
	if err != nil {
		return p, false, err
	}
	for try := 1; ; try++ {
		if p, err = a.Calls.Find(ctx, n.Head, rec); err == nil {
			return p, true, nil
		}
		if _, none := errors.AsType[*forge.NoPullError](err); !none {
			return p, false, err
		}
		if p, existed, err = a.Calls.Create(ctx, n); err == nil {
			return p, existed, nil
		}
		if n.Draft && forge.RefusedAs(err, forge.RefusedDraft) {
			n.Draft = false
			continue
		}
		if !unclear(err) && !forge.RefusedAs(err, forge.RefusedExists) || try == opens {
			return forge.Pull{}, false, about(err, "open a pull request for %s", n.Head)
		}
		// It may have been opened all the same: look again, and then again before the next try.
		if err := a.Clock.Sleep(ctx, a.Clock.Backoff(try)); err != nil {
			return forge.Pull{}, false, err
		}
	}
}

// merges take a few seconds: Gitea needs time to find out whether a request can be merged. No other write happens
// meanwhile.
const merges = 5

// Merge merges a pull request whose head is still commit.
func (a *Actor) Merge(ctx context.Context, number int, commit string) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	for try := 1; ; try++ {
		do, err := a.Calls.Merge(ctx, number, commit)
		if err != nil || do == nil {
			return err
		}
		err = do()
		if !unclear(err) && !forge.RefusedAs(err, forge.RefusedUnsettled) || try == merges {
			return err
		}
		if err := a.Clock.Sleep(ctx, a.Clock.Backoff(try)); err != nil {
			return err
		}
	}
}

// Moved is the error of an act on a pull request whose head is elsewhere.
func Moved(number int, commit string) error {
	return &forge.ConflictError{What: fmt.Sprintf("merge pull request %d: its head is no longer %.10s", number, commit)}
}

// DeleteBranch deletes a branch that is still at commit. One that is gone is no error.
func (a *Actor) DeleteBranch(ctx context.Context, branch, commit string) error {
	at, err := a.Calls.Branch(ctx, branch)
	if err != nil || at == "" {
		return err
	}
	if at != commit {
		return &forge.ConflictError{What: fmt.Sprintf("delete branch %s: it is at %.10s, not at %.10s", branch, at, commit)}
	}
	err = a.Calls.RemoveBranch(wire.AsRead(ctx), branch)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone || forge.RefusedAs(err, forge.RefusedGone) {
		return nil
	}
	return err
}

// Rerun runs a job again, if its last attempt is that one: it may have been run again already.
func (a *Actor) Rerun(ctx context.Context, job int64, attempt int) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	return a.Calls.Rerun(ctx, job, attempt)
}

// Push pushes a branch as the author. The token goes to git in its environment and nowhere else.
func (a *Actor) Push(ctx context.Context, p forge.Push) error {
	token, err := a.Calls.Token(ctx)
	if err != nil {
		return err
	}
	return git.Push(ctx, git.PushOptions{Dir: p.Dir, URL: a.address(), User: a.User, Password: token.Reveal(),
		Branch: p.Branch, Commit: p.Commit, Lease: p.Lease, Before: forge.Fence})
}

// Fetch brings a branch into a bare repository of ours, and gives its commit.
func (a *Actor) Fetch(ctx context.Context, dir, branch string) (string, error) {
	token, err := a.Calls.Token(ctx)
	if err != nil {
		return "", err
	}
	return git.Fetch(ctx, git.FetchOptions{Dir: dir, URL: a.address(), User: a.User, Password: token.Reveal(),
		Branch: branch})
}

func (a *Actor) address() string { return a.At.Base() + "/" + a.At.Owner + "/" + a.At.Name + ".git" }

// unclear says whether nobody knows if something was done.
func unclear(err error) bool {
	_, is := errors.AsType[*forge.UnavailableError](err)
	return is
}

// about adds to an error what was to be done.
func about(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
}

// same says whether two logins are one account's.
func same(a, b string) bool { return strings.EqualFold(a, b) }
