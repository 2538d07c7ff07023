package git

import (
	"context"
	"fmt"

	"github.com/cco-dev/cco/internal/proc"
)

// FetchOptions say what is fetched from where, and as whom.
type FetchOptions struct {
	Dir            string // a bare repository that no agent can write: a quarantine
	URL            string // http or https
	User, Password string
	Branch         string
}

// fetched is the ref that a fetched branch is at.
const fetched = "refs/cco/fetched"

// Fetch brings a branch of a remote into a repository of ours, without trusting what it holds: that is for a quarantine
// to find out. It gives the branch's commit.
func Fetch(ctx context.Context, o FetchOptions) (string, error) {
	h, err := remoteHost(o.Dir, o.URL, o.User, o.Password)
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	commit, err := fetch(ctx, h, o)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", Quote(o.Branch), hide(err, o.Password))
	}
	return commit, nil
}

func fetch(ctx context.Context, h Host, o FetchOptions) (string, error) {
	ref := "refs/heads/" + o.Branch
	if err := h.Run(ctx, nil, "check-ref-format", ref); err != nil {
		if proc.Code(err) < 0 || ctx.Err() != nil {
			return "", err
		}
		return "", &BranchNameError{Branch: o.Branch}
	}
	if err := h.Run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
		"--no-auto-maintenance", "--force", "--", o.URL, ref+":"+fetched); err != nil {
		return "", err
	}
	return h.Line(ctx, "rev-parse", "--verify", fetched+"^{commit}")
}

// BundleOf writes a bundle with one ref at a commit, without what another commit has.
func (r *Repo) BundleOf(ctx context.Context, path, ref, commit, without string) error {
	if err := r.CheckOID(commit, without); err != nil {
		return err
	}
	before, _, err := boundary(ctx, r.host, []string{commit}, []string{without})
	if err == nil {
		_, err = writeBundle(ctx, r.host, path, r.ObjectFormat, []NamedRef{{ref, commit}}, before, nil)
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// MergeBase is the commit that two have in common, "" if there is none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	if err := r.CheckOID(a, b); err != nil {
		return "", err
	}
	at, err := r.host.Line(ctx, "merge-base", a, b)
	if proc.Code(err) == 1 {
		return "", nil
	}
	return at, err
}
