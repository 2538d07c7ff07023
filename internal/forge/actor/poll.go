package actor

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// polled is what is remembered between polls of a repository.
type polled struct {
	pulls  map[int]version // the requests that are watched
	newest time.Time       // when the last changed of all requests changed
	hot    map[int]bool    // changed in the second in which they were read: more may have happened in it since
	handed map[int]uint64  // sums of the marks that were handed out last

	edited map[string]version // the comments that changed after since
	since  time.Time
}

// version distinguishes two states, even in the same second.
type version struct {
	at  time.Time
	sum uint64
}

const (
	// overlap is how far back the list of changed comments goes: one may show up a little after a newer one.
	overlap = time.Minute
	// full is how many comments that list may hold before it begins later. While it begins at the same time, a forge that
	// knows conditional requests says that nothing has changed, which costs nothing.
	full = 50
	// listed bounds how many pages of requests are read.
	listed = 20
)

// Poll finds out what is new on pull requests of this repository: lists of all requests and of all comments that
// changed lately serve all of them, and those that changed are read completely. So is one whose mark is not the one
// that the last poll handed out. A failed poll changes no state.
func (a *Actor) Poll(ctx context.Context, watched []forge.Watched) ([]forge.News, error) {
	a.polling.Lock()
	defer a.polling.Unlock()
	if len(watched) == 0 {
		return nil, nil
	}
	next := polled{pulls: map[int]version{}, hot: map[int]bool{}, handed: map[int]uint64{}, edited: map[string]version{}}
	pulls, read, err := a.pollPulls(ctx, &next, watched)
	if err != nil {
		return nil, fmt.Errorf("poll pull requests: %w", err)
	}
	touched, err := a.pollEdits(ctx, &next, read)
	if err != nil {
		return nil, fmt.Errorf("poll comments: %w", err)
	}
	var news []forge.News
	for _, w := range watched {
		p, changed := pulls[w.Number]
		sum := a.sum(w.Since)
		handed, known := a.polled.handed[w.Number]
		next.handed[w.Number] = sum
		if known && handed == sum && !changed && !touched[w.Number] && !a.polled.hot[w.Number] {
			continue
		}
		s, err := a.Said(ctx, w.Number, w.Since)
		if err != nil {
			return nil, err
		}
		if changed || s.Mark != w.Since {
			p.Number = w.Number
			next.handed[w.Number] = a.sum(s.Mark)
			news = append(news, forge.News{Number: w.Number, Pull: p, Comments: s.Comments, Mark: s.Mark})
		}
	}
	a.polled = next
	return news, nil
}

func (a *Actor) sum(words any) uint64 { return maphash.String(a.seed, fmt.Sprint(words)) }

// pollPulls finds the requests that changed, and says at which time of the forge's they were read.
func (a *Actor) pollPulls(ctx context.Context, next *polled, watched []forge.Watched) (changed map[int]forge.Pull,
	read time.Time, err error) {
	for _, w := range watched {
		next.pulls[w.Number] = a.polled.pulls[w.Number]
	}
	changed = map[int]forge.Pull{}
	note := func(p forge.Pull, read time.Time) {
		was, wanted := next.pulls[p.Number]
		now := version{p.Updated, a.sum([]any{p.State, p.Draft, p.Head, p.Base.Name, p.Title, p.Body})}
		if wanted && was != now {
			changed[p.Number], next.pulls[p.Number] = p, now
		}
		if wanted && p.Updated.After(read.Add(-2*time.Second)) {
			next.hot[p.Number] = true
		}
	}
	next.newest = a.polled.newest
	for page, more := 1, true; more && page <= listed; page++ {
		asked := a.Clock.Now()
		list, date, full, err := a.Calls.Pulls(ctx, page)
		if err != nil {
			return nil, read, err
		}
		at, err := http.ParseTime(date)
		if err != nil {
			at = a.Clock.Now()
		}
		at = at.Add(asked.Sub(a.Clock.Now())) // a slow server may have read as soon as it was asked
		var last time.Time
		for i, p := range list {
			note(p, at)
			if last = p.Updated; page == 1 && i == 0 {
				next.newest = p.Updated
			}
		}
		if page == 1 {
			read = at
		}
		more = full && !a.polled.newest.IsZero() && !last.Before(a.polled.newest)
	}
	for n, v := range next.pulls {
		if v.at.IsZero() { // it was not touched for long, or has only just been added
			p, err := a.Calls.Pull(ctx, n)
			if err != nil {
				return nil, read, err
			}
			note(p, read)
		}
	}
	return changed, read, nil
}

// pollEdits finds comments that came or were edited: that need not change the time of their request.
func (a *Actor) pollEdits(ctx context.Context, next *polled, read time.Time) (map[int]bool, error) {
	touched := map[int]bool{}
	if a.polled.since.IsZero() {
		next.since = read.Add(-overlap).UTC().Truncate(time.Second)
		return touched, nil // every request is read as a whole the first time
	}
	next.since = a.polled.since
	list, err := a.Calls.Edited(ctx, next.since)
	newest := next.since
	for _, c := range list {
		now := version{c.Updated, a.sum(c.Raw)}
		if a.polled.edited[c.ID] != now {
			touched[c.Number] = true
		}
		next.edited[c.ID] = now
		if now.at.After(newest) {
			newest = now.at
		}
	}
	if len(list) > full {
		next.since = newest.Add(-overlap)
	}
	return touched, err
}

// Said reads everything that was said on a pull request since a mark.
func (a *Actor) Said(ctx context.Context, number int, since forge.Mark) (forge.Stream, error) {
	seen, err := since.Seen()
	if err != nil {
		return forge.Stream{}, err
	}
	all, err := a.Calls.Everything(ctx, number)
	if err != nil {
		return forge.Stream{}, err
	}
	plain, err := a.claim(ctx, all)
	if err != nil {
		return forge.Stream{}, err
	}
	return seen.Stream(plain)
}
