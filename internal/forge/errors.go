package forge

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// IDError says that something is not the id of a comment.
type IDError struct{ ID string }

func (e *IDError) Error() string {
	return fmt.Sprintf("not the id of a comment: %q", Clean(e.ID, 80))
}

// NoTokenError says that there is no token, and where cco looked for one.
type NoTokenError struct {
	Host   string
	Looked []string
	Do     string
}

func (e *NoTokenError) Error() string {
	return fmt.Sprintf("no token for %s: looked at %s: %s", e.Host, strings.Join(e.Looked, ", "), e.Do)
}

// TokenError says that the forge does not accept the token.
type TokenError struct{ Host, Source, Message string }

func (e *TokenError) Error() string {
	return fmt.Sprintf("%s refuses the token from %s (%s): it may have expired, make a new one", e.Host,
		e.Source, e.Message)
}

// PermissionError says that the token is valid but does not allow this.
type PermissionError struct {
	What    string // method and path
	Needs   string // the scope
	Has     string // the scopes that the token has, where the forge says so
	Message string
}

func (e *PermissionError) Error() string {
	words := fmt.Sprintf("not allowed: %s: %s: the token needs %s", e.What, e.Message, e.Needs)
	if e.Has != "" {
		words += " and has " + e.Has
	}
	return words
}

// NotFoundError says that something isn't there, or that the token can't see it.
type NotFoundError struct{ What string }

func (e *NotFoundError) Error() string {
	return e.What + " not found: check the name, and that the token can see it (private repositories look absent " +
		"without the right)"
}

// NoPullError says that a branch has no pull request.
type NoPullError struct{ Branch string }

func (e *NoPullError) Error() string { return fmt.Sprintf("no pull request for branch %q", e.Branch) }

// LimitError says that the forge wants us to wait, and until when.
type LimitError struct {
	Host      string
	Resource  string
	Secondary bool // for too many requests at once, not in all
	Until     time.Time
}

func (e *LimitError) Error() string {
	what := "rate limit"
	if e.Secondary {
		what = "secondary rate limit"
	}
	if e.Resource != "" {
		what += " for " + e.Resource
	}
	return fmt.Sprintf("%s of %s is reached: it ends at %s", what, e.Host,
		e.Until.UTC().Format("15:04:05 UTC on 2 January"))
}

// CertificateError says that the forge's certificate can't be trusted.
type CertificateError struct {
	Host string
	Err  error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("the certificate of %s is not trusted: %v: add its authority to the system's, or name its file "+
		"in SSL_CERT_FILE", e.Host, e.Err)
}

func (e *CertificateError) Unwrap() error { return e.Err }

// UnavailableError says that the forge did not answer, or answered with an error of its own. A write may have happened.
type UnavailableError struct {
	Host   string
	Status int // 0 if there was no answer
	Err    error
}

func (e *UnavailableError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s is in trouble: it answers %d: try again later", e.Host, e.Status)
	}
	return fmt.Sprintf("%s does not answer: %v", e.Host, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// RejectedError says that the forge understood a request and won't carry it out.
type RejectedError struct {
	What    string
	Status  int
	Message string
	Why     Refusal
}

// Refusal is why a forge won't carry out a request, if cco acts on the reason. "" is any other reason.
type Refusal string

// The refusals that cco tells apart.
const (
	RefusedExists    Refusal = "exists"    // it is already there
	RefusedGone      Refusal = "gone"      // it is not there to be removed
	RefusedDraft     Refusal = "no drafts" // a private repository on a plan without them
	RefusedUnsettled Refusal = "unsettled" // the forge is still checking whether it can
	RefusedBehind    Refusal = "behind"    // the branch must contain its base first
)

// RefusedAs says whether an error is this refusal.
func RefusedAs(err error, why Refusal) bool {
	no, ok := errors.AsType[*RejectedError](err)
	return ok && no.Why == why
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s: refused (%d): %s", e.What, e.Status, e.Message)
}

// ConflictError says that a pull request is not in the expected state.
type ConflictError struct{ What string }

func (e *ConflictError) Error() string { return e.What }

// RemoteError says that a git remote does not name a repository on a forge.
type RemoteError struct{ Remote, Why string }

func (e *RemoteError) Error() string {
	return fmt.Sprintf("remote %q: %s: say which repository with --repo OWNER/NAME (or HOST/OWNER/NAME) and --forge",
		e.Remote, e.Why)
}

// HostError says that it is unknown which forge a host is.
type HostError struct{ Host string }

func (e *HostError) Error() string {
	return fmt.Sprintf("don't know which forge %s is: say it with --forge github or --forge gitea", e.Host)
}

// signatureError says that a webhook was not signed with our secret.
type signatureError struct{ Why string }

func (e *signatureError) Error() string { return "webhook refused: " + e.Why }
