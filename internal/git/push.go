package git

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// PushOptions say what is pushed where, and as whom.
type PushOptions struct {
	Dir            string // a bare repository that no agent can write: a quarantine
	URL            string // http or https
	User, Password string
	Branch, Commit string
	Lease          string // what the branch must be at; "" if it must not exist
	// Before, if set, is asked right before the branch is moved, and its error keeps it where it is.
	Before func(context.Context) error
}

// LeaseError says that a branch on a remote is not where it had to be.
type LeaseError struct{ Branch, Now, Lease string }

func (e *LeaseError) Error() string {
	at := func(s string) string {
		if s == "" {
			return "nowhere"
		}
		return Short(s)
	}
	return fmt.Sprintf("branch %s on the remote is at %s, not at %s: somebody else has pushed or deleted it",
		Quote(e.Branch), at(e.Now), at(e.Lease))
}

// WrongState marks a StateError.
func (e *LeaseError) WrongState() {}

// RewriteError says that a push would take commits away from a branch.
type RewriteError struct{ Branch, Now, Commit string }

func (e *RewriteError) Error() string {
	return fmt.Sprintf("branch %s is at %s, which %s does not come after: nothing is ever pushed by force",
		Quote(e.Branch), Short(e.Now), Short(e.Commit))
}

// WrongState marks a StateError.
func (e *RewriteError) WrongState() {}

// Push moves a branch on a remote forward, if it is still where the lease says. It never takes a commit away from a
// branch. If the answer was lost, a second push finds the first one done.
//
// The password is in git's environment, bound to this one address; it is in no argument, no file and no message.
func Push(ctx context.Context, o PushOptions) error {
	h, err := pushHost(o)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	err = push(ctx, h, o)
	if err != nil {
		return fmt.Errorf("push %s: %w", Quote(o.Branch), hide(err, o.Password))
	}
	return nil
}

func push(ctx context.Context, h Host, o PushOptions) error {
	ref := "refs/heads/" + o.Branch
	if err := h.Run(ctx, nil, "check-ref-format", ref); err != nil {
		if proc.Code(err) < 0 || ctx.Err() != nil {
			return err
		}
		return &BranchNameError{Branch: o.Branch}
	}
	now, err := remoteRef(ctx, h, o.URL, ref)
	if err != nil || now == o.Commit {
		return err
	}
	if now != o.Lease {
		return &LeaseError{Branch: o.Branch, Now: now, Lease: o.Lease}
	}
	if o.Lease != "" {
		if err := h.Run(ctx, nil, "merge-base", "--is-ancestor", o.Lease, o.Commit); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return &RewriteError{Branch: o.Branch, Now: o.Lease, Commit: o.Commit}
		}
	}
	if o.Before != nil {
		if err := o.Before(ctx); err != nil {
			return err
		}
	}
	// The lease makes the remote compare once more when it writes. It comes after the check above, so it forces nothing.
	err = h.Run(ctx, nil, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed",
		"--recurse-submodules=no",
		"--force-with-lease="+ref+":"+o.Lease, "--", o.URL, o.Commit+":"+ref)
	if err == nil || ctx.Err() != nil {
		return err
	}
	after, lookErr := remoteRef(ctx, h, o.URL, ref)
	switch {
	case lookErr != nil:
		return err
	case after == o.Commit:
		return nil
	case after != o.Lease:
		return &LeaseError{Branch: o.Branch, Now: after, Lease: o.Lease}
	}
	return err
}

// remoteRef gives the commit of a ref on a remote, "" if it isn't there.
func remoteRef(ctx context.Context, h Host, url, ref string) (string, error) {
	out, err := h.Line(ctx, "ls-remote", "--refs", "--", url, ref)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && name == ref {
			return oid, nil
		}
	}
	return "", nil
}

func pushHost(o PushOptions) (Host, error) {
	for _, oid := range []string{o.Commit, o.Lease} {
		if oid != "" && !IsOID(oid, 40) && !IsOID(oid, 64) || o.Commit == "" {
			return Host{}, fmt.Errorf("not a full object id: %s", Quote(oid))
		}
	}
	return remoteHost(o.Dir, o.URL, o.User, o.Password)
}

// remoteHost is a git in a bare repository with one transport switched on, to one address.
func remoteHost(dir, address, user, password string) (Host, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return Host{}, errors.New("the address must be http or https, without a user")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Host{}, err
	}
	login := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return Bare(dir,
		Setting{"protocol." + u.Scheme + ".allow", "always"},
		Setting{"http." + address + ".extraHeader", "Authorization: Basic " + login},
		Setting{"http.followRedirects", "false"},
		Setting{"http.lowSpeedLimit", "1000"},
		Setting{"http.lowSpeedTime", "60"},
		// The longest match wins, so no insteadOf of the user's redirects this.
		Setting{"url." + address + ".insteadOf", address},
		Setting{"url." + address + ".pushInsteadOf", address},
		Setting{"push.gpgSign", "false"},
		Setting{"push.pushOption", ""},
	), nil
}

// hide removes a password from git's message, in every form in which git got it.
func hide(err error, password string) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok || password == "" {
		return err
	}
	clean := *exit
	clean.Stderr = strings.ReplaceAll(clean.Stderr, password, "***")
	return &clean
}

// RemoteURL gives the address of a remote, after insteadOf.
func (r *Repo) RemoteURL(ctx context.Context, name string) (string, error) {
	out, err := r.host.Line(ctx, "remote", "get-url", "--", name)
	if err != nil {
		return "", fmt.Errorf("read remote %s: %w", Quote(name), err)
	}
	return out, nil
}

// Remote is the remote that a branch belongs to: its own, or else the one that there is, or else origin. "" says that
// there is none.
func (r *Repo) Remote(ctx context.Context, branch string) (string, error) {
	out, err := r.host.Line(ctx, "remote")
	if err != nil {
		return "", fmt.Errorf("list remotes: %w", err)
	}
	all := strings.Fields(out)
	for _, want := range []string{r.get("branch." + branch + ".remote"), "origin"} {
		for _, name := range all {
			if name == want {
				return name, nil
			}
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return all[0], nil
}
