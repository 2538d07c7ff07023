package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
)

// Checks reads the checks of requests' heads.
func (f *Forge) Checks(ctx context.Context, numbers []int) (map[int]forge.Checked, error) {
	found, bases := map[int]forge.Checked{}, map[string]forge.Checked{}
	for _, n := range numbers {
		r, err := f.get(ctx, n)
		if err != nil {
			return nil, err
		}
		p := pullOf(r)
		base, known := bases[p.Base.Name]
		if !known {
			if base, err = f.required(ctx, p.Base.Name); err != nil {
				return nil, err
			}
			bases[p.Base.Name] = base
		}
		one := forge.Checked{Head: p.Head.Commit, Required: base.Required, Base: base.Base}
		if one.All, err = f.reportedOn(ctx, p.Head.Commit); err != nil {
			return nil, err
		}
		found[n] = one
	}
	return found, nil
}

// required reads what the rules of a branch require, and what was reported on its last commit.
func (f *Forge) required(ctx context.Context, branch string) (base forge.Checked, err error) {
	b, _, err := f.author.at(ctx).GetRepoBranch(f.remote.Owner, f.remote.Name, branch)
	if err != nil {
		return base, fmt.Errorf("read the rules of %s: %w", branch, err)
	}
	if b.EnableStatusCheck {
		base.Required = b.StatusCheckContexts
	}
	if b.Commit != nil {
		base.Base, err = f.reportedOn(ctx, b.Commit.ID)
	}
	return base, err
}

func (f *Forge) reportedOn(ctx context.Context, commit string) (all []forge.Check, err error) {
	statuses, err := f.statuses(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	for _, st := range statuses {
		link := forge.Link(st.TargetURL)
		if strings.HasPrefix(link, "/") {
			link = f.remote.Base() + link // as Actions give it
		}
		one := forge.Check{Name: forge.Name(st.Context, forge.MaxName), State: checkState(st.State),
			URL: link, Summary: forge.Clean(st.Description, forge.MaxSummary)}
		if one, err = f.withJob(ctx, commit, st, one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// rereads is how often pages are read that change meanwhile.
const rereads = 5

// statuses are the last ones of each name. Gitea gives them in pages, the newest first: if one came while the pages
// were read, another may have moved to a page that was read before it.
func (f *Forge) statuses(ctx context.Context, commit string) ([]*sdk.Status, error) {
	for range rereads {
		var all []*sdk.Status
		err := pages(func(o sdk.ListOptions) (int, error) {
			list, err := f.statusPage(ctx, commit, o.Page)
			if all = append(all, list...); err == nil && len(all) > forge.MaxChecks {
				err = forge.TooManyChecks(commit)
			}
			return len(list), err
		})
		if err != nil || len(all) < page {
			return all, err
		}
		first, err := f.statusPage(ctx, commit, 1)
		if err != nil || newest(first) == newest(all) {
			return all, err
		}
	}
	return nil, &forge.UnavailableError{Host: f.remote.Host, Err: errors.New("checks change while they are read")}
}

func newest(all []*sdk.Status) (id int64) {
	for _, s := range all {
		id = max(id, s.ID)
	}
	return id
}

// statusPage reads a page of statuses. The SDK would take an answer that can't be read for one without any.
func (f *Forge) statusPage(ctx context.Context, commit string, n int) ([]*sdk.Status, error) {
	at := fmt.Sprintf("%s/api/v1/repos/%s/%s/commits/%s/status?page=%d&limit=%d", f.author.base, f.remote.Owner,
		f.remote.Name, commit, n, page)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.author.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var combined sdk.CombinedStatus
	if err := json.NewDecoder(resp.Body).Decode(&combined); err != nil && !errors.Is(err, io.EOF) {
		return nil, &forge.UnavailableError{Host: f.remote.Host, Err: err}
	}
	return combined.Statuses, nil
}
