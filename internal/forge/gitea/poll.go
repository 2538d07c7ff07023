package gitea

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
)

// pollState is what is remembered between polls of a repository.
type pollState struct {
	seed    maphash.Seed
	updated map[int]version
	newest  time.Time
	hot     map[int]bool      // changed in the second in which they were read
	handed  map[int]uint64    // sums of the marks that were handed out last
	edited  map[int64]version // comments that changed lately
	since   time.Time
}

type version struct {
	at  time.Time
	sum uint64
}

// Poll finds out what is new on pull requests of this repository: two requests serve all of them, and it reads those
// that changed completely. Gitea has no ETags and no request limits.
func (f *Forge) Poll(ctx context.Context, watched []forge.Watched) ([]forge.News, error) {
	f.polling.Lock()
	defer f.polling.Unlock()
	if len(watched) == 0 {
		return nil, nil
	}
	if f.poll.seed == (maphash.Seed{}) {
		f.poll.seed = maphash.MakeSeed()
	}
	next := pollState{seed: f.poll.seed, updated: map[int]version{}, newest: f.poll.newest, hot: map[int]bool{},
		handed: map[int]uint64{}}
	maps.Copy(next.handed, f.poll.handed)
	pulls, err := f.pollPulls(ctx, &next, watched)
	if err != nil {
		return nil, fmt.Errorf("poll pull requests: %w", err)
	}
	touched, err := f.pollEdits(ctx, &next)
	if err != nil {
		return nil, fmt.Errorf("poll comments: %w", err)
	}
	var news []forge.News
	for _, w := range watched {
		p, changed := pulls[w.Number]
		sum, known := f.poll.handed[w.Number]
		same := known && sum == maphash.String(f.poll.seed, string(w.Since))
		if !changed && same && !touched[w.Number] && !f.poll.hot[w.Number] {
			continue
		}
		s, err := f.Said(ctx, w.Number, w.Since)
		if err != nil {
			return nil, err
		}
		next.handed[w.Number] = maphash.String(f.poll.seed, string(w.Since))
		if changed || s.Mark != w.Since {
			p.Number = w.Number
			next.handed[w.Number] = maphash.String(f.poll.seed, string(s.Mark))
			news = append(news, forge.News{Number: w.Number, Pull: p, Comments: s.Comments, Mark: s.Mark})
		}
	}
	f.poll = next
	return news, nil
}

// pollPulls finds the requests that changed, the last changed first.
func (f *Forge) pollPulls(ctx context.Context, next *pollState, watched []forge.Watched) (map[int]forge.Pull, error) {
	for _, w := range watched {
		next.updated[w.Number] = f.poll.updated[w.Number]
	}
	changed := map[int]forge.Pull{}
	note := func(p forge.Pull, read time.Time) {
		was, wanted := next.updated[p.Number]
		now := version{p.Updated, maphash.String(f.poll.seed, fmt.Sprint(p.State, p.Draft, p.Head, p.Base.Name,
			p.Title, p.Body))}
		if wanted && was != now {
			changed[p.Number], next.updated[p.Number] = p, now
		}
		if wanted && p.Updated.After(read.Add(-2*time.Second)) {
			next.hot[p.Number] = true
		}
	}
	for n, more := 1, true; more && n <= 20; n++ {
		asked := f.clock.Now()
		list, resp, err := f.author.at(ctx).ListRepoPullRequests(f.remote.Owner, f.remote.Name, sdk.ListPullRequestsOptions{
			ListOptions: sdk.ListOptions{Page: n, PageSize: page}, State: sdk.StateAll, Sort: "recentupdate"})
		if err != nil {
			return nil, err
		}
		read, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			read = f.clock.Now()
		}
		read = read.Add(asked.Sub(f.clock.Now())) // a slow server may have read as soon as it was asked
		var last time.Time
		for i, r := range list {
			p := pullOf(r)
			note(p, read)
			if last = p.Updated; n == 1 && i == 0 {
				next.newest = p.Updated
			}
		}
		more = len(list) == page && (f.poll.newest.IsZero() || !last.Before(f.poll.newest))
	}
	for n, v := range next.updated {
		if v.at.IsZero() {
			asked := f.clock.Now()
			p, err := f.get(ctx, n)
			if err != nil {
				return nil, err
			}
			note(pullOf(p), asked)
		}
	}
	return changed, nil
}

// pollEdits finds comments that were edited, which does not change their request's time.
func (f *Forge) pollEdits(ctx context.Context, next *pollState) (map[int]bool, error) {
	touched := map[int]bool{}
	next.edited, next.since = map[int64]version{}, f.poll.since
	if f.poll.since.IsZero() {
		next.since = next.newest.Add(-time.Minute)
		return touched, nil // every request is read as a whole the first time
	}
	newest := next.since
	err := pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := f.author.at(ctx).ListRepoIssueComments(f.remote.Owner, f.remote.Name,
			sdk.ListIssueCommentOptions{ListOptions: o, Since: f.poll.since})
		for _, v := range list {
			now := version{v.Updated.UTC(), maphash.String(f.poll.seed, v.Body)}
			if f.poll.edited[v.ID] != now {
				touched[lastNumber(v.PRURL)] = true
			}
			next.edited[v.ID] = now
			if now.at.After(newest) {
				newest = now.at
			}
		}
		return len(list), err
	})
	if len(next.edited) > page {
		next.since = newest.Add(-time.Minute)
	}
	return touched, err
}

func lastNumber(url string) int {
	n, _ := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
	return n
}
