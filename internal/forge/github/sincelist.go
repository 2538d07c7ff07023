package github

import (
	"context"
	"hash/maphash"
	"net/url"
	"strconv"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// sinceList is a repository-wide list of comments. Its since stays the same while one page holds everything after it:
// another since is another URL, for which there is no ETag.
type sinceList struct {
	since time.Time
	etag  string
	seen  map[int64]version
}

// version distinguishes two states of a comment, even in the same second.
type version struct {
	at  time.Time
	sum uint64
}

// overlap is how far back a moved since goes: a comment may show up a little after a newer one.
const overlap = time.Minute

// full is how many comments a list may hold before its since is moved.
const full = 60

// pollComments reads what changed in a list, by pull request. After a full page it asks for what follows the last
// comment, not for the next page number: a deletion would shift a comment to the page before, unseen.
func pollComments[T any](ctx context.Context, f *Forge, path string, l sinceList, touched map[int][]actor.Said,
	read func(*T) actor.Said) (sinceList, error) {
	next := sinceList{since: l.since, seen: map[int64]version{}}
	since, ask, pageNo := l.since, l.etag, 1
	for first := true; ; first = false {
		var list []*T
		resp, unchanged, err := f.ask(ctx, path, listQuery(since, pageNo), ask, &list)
		if err != nil || unchanged {
			return l, err
		}
		if ask = ""; first {
			next.etag = resp.Header.Get("ETag")
		}
		last := since
		for _, c := range list {
			s := read(c)
			_, id, err := forge.ParseID(s.ID)
			if err != nil {
				return l, err
			}
			now := version{s.Updated, maphash.String(f.poll.seed, s.Raw)}
			if was, known := l.seen[id]; !known || was != now {
				touched[s.Number] = append(touched[s.Number], s)
			}
			next.seen[id], last = now, s.Updated
		}
		switch {
		case len(list) < page:
			return next.move(), nil
		case last.After(since):
			since, pageNo = last, 1
		default:
			pageNo++ // a hundred in one second
		}
	}
}

func listQuery(since time.Time, pageNo int) url.Values {
	q := url.Values{"sort": {"updated"}, "direction": {"asc"}, "per_page": {strconv.Itoa(page)},
		"since": {since.UTC().Format(time.RFC3339)}}
	if pageNo > 1 {
		q.Set("page", strconv.Itoa(pageNo))
	}
	return q
}

// move moves since when the list has grown long.
func (l sinceList) move() sinceList {
	if len(l.seen) <= full {
		return l
	}
	newest := time.Time{}
	for _, v := range l.seen {
		if v.at.After(newest) {
			newest = v.at
		}
	}
	moved := sinceList{since: newest.Add(-overlap), seen: map[int64]version{}}
	for id, v := range l.seen {
		if !v.at.Before(moved.since) {
			moved.seen[id] = v
		}
	}
	return moved
}
