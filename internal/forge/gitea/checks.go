package gitea

import (
	"context"
	"errors"
	"fmt"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
)

// Checks reads the checks of requests' heads.
func (f *Forge) Checks(ctx context.Context, numbers []int) (map[int]forge.Checked, error) {
	c, err := f.author.at(ctx)
	if err != nil {
		return nil, err
	}
	found, bases := map[int]forge.Checked{}, map[string]forge.Checked{}
	for _, n := range numbers {
		r, err := f.get(ctx, n)
		if err != nil {
			return nil, err
		}
		p := pullOf(r)
		base, known := bases[p.Base.Name]
		if !known {
			if base, err = f.required(c, p.Base.Name); err != nil {
				return nil, err
			}
			bases[p.Base.Name] = base
		}
		one := forge.Checked{Head: p.Head.Commit, Required: base.Required, Base: base.Base}
		if one.All, err = f.reportedOn(c, p.Head.Commit); err != nil {
			return nil, err
		}
		found[n] = one
	}
	return found, nil
}

// Attempt, Rerun and JobLog are for jobs of the forge's own; no check here has one.
func (f *Forge) Attempt(context.Context, int64) (int, error) { return 0, errNoJob }

// Rerun is never asked for.
func (f *Forge) Rerun(context.Context, int64, int) error { return errNoJob }

// JobLog is never asked for.
func (f *Forge) JobLog(context.Context, int64) (string, error) { return "", errNoJob }

var errNoJob = errors.New("the jobs of Gitea's Actions are not known")

// required reads what the rules of a branch require, and what was reported on its last commit.
func (f *Forge) required(c *sdk.Client, branch string) (base forge.Checked, err error) {
	b, _, err := c.GetRepoBranch(f.remote.Owner, f.remote.Name, branch)
	if err != nil {
		return base, fmt.Errorf("read the rules of %s: %w", branch, err)
	}
	if b.EnableStatusCheck {
		base.Required = b.StatusCheckContexts
	}
	if b.Commit != nil {
		base.Base, err = f.reportedOn(c, b.Commit.ID)
	}
	return base, err
}

func (f *Forge) reportedOn(c *sdk.Client, commit string) (all []forge.Check, err error) {
	s, _, err := c.GetCombinedStatus(f.remote.Owner, f.remote.Name, commit)
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	for _, st := range s.Statuses {
		all = append(all, forge.Check{Name: forge.Name(st.Context, forge.MaxName), State: checkState(st.State),
			URL: st.TargetURL, Summary: forge.Clean(st.Description, forge.MaxSummary)})
	}
	return all, nil
}
