package github

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	gh "github.com/google/go-github/v92/github"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// pollState is what is remembered between polls of a repository: three lists that cover every pull request in it.
type pollState struct {
	seed    maphash.Seed
	started bool
	pulls   pullList
	issues  sinceList
	lines   sinceList
	handed  map[int]uint64 // sums of the marks that were handed out last
}

// pullList is the list of pull requests, newest change first. A review moves its request to the front.
type pullList struct {
	etag   string
	newest time.Time
	known  map[int]pullNote
	read   time.Time    // by GitHub's clock
	hot    map[int]bool // changed in the second in which they were read: more may have happened in it since
}

type pullNote struct {
	node    string
	updated time.Time
	created time.Time
	sum     uint64 // of what can change twice in one second
}

// Poll finds out what is new on pull requests of this repository. Three conditional requests serve all of them; those
// that changed cost one GraphQL request more for every 25.
//
// If a request's mark is not the one that the last poll handed out, Poll can't know what is new, and reads all of it. A
// failed poll changes no state.
func (f *Forge) Poll(ctx context.Context, watched []forge.Watched) ([]forge.News, error) {
	f.polling.Lock()
	defer f.polling.Unlock()
	if len(watched) == 0 {
		return nil, nil
	}
	if f.poll.seed == (maphash.Seed{}) {
		f.poll.seed = maphash.MakeSeed()
	}
	next := f.poll.clone(watched)
	pulls, err := f.pollPulls(ctx, &next.pulls, watched)
	if err != nil {
		return nil, fmt.Errorf("poll pull requests: %w", err)
	}
	behind, err := f.begin(&next, watched)
	if err != nil {
		return nil, err
	}
	touched := map[int][]actor.Said{}
	for n := range pulls {
		touched[n] = nil
	}
	for n := range f.poll.pulls.hot {
		touched[n] = nil
	}
	if next.issues, err = pollComments(ctx, f, "issues/comments", next.issues, touched, onPull); err != nil {
		return nil, fmt.Errorf("poll comments: %w", err)
	}
	if next.lines, err = pollComments(ctx, f, "pulls/comments", next.lines, touched, onLine); err != nil {
		return nil, fmt.Errorf("poll line comments: %w", err)
	}
	news, err := f.gather(ctx, &next, watched, pulls, touched, behind)
	if err != nil {
		return nil, err
	}
	f.poll = next
	return news, nil
}

// clone copies the state that a failed poll must not change. What is said on a request that is not watched passes by
// unseen, so that it will be read completely.
func (s pollState) clone(watched []forge.Watched) pollState {
	handed := map[int]uint64{}
	for _, w := range watched {
		if sum, known := s.handed[w.Number]; known {
			handed[w.Number] = sum
		}
	}
	s.handed = handed
	return s
}

// horizon is how far back the first poll reads lists of the whole repository. Requests that were not read for longer
// are read completely: the list of all changes since then would be longer.
const horizon = 3 * 24 * time.Hour

// begin decides from which time the lists must be read, and which requests must be read completely: new ones, those
// that were not read for long, and those whose mark is not the one that was handed out.
func (f *Forge) begin(s *pollState, watched []forge.Watched) (behind map[int]bool, err error) {
	behind = map[int]bool{}
	var start time.Time
	for _, w := range watched {
		sum := maphash.String(s.seed, string(w.Since))
		if had, known := s.handed[w.Number]; known && had == sum {
			continue
		}
		if s.started {
			behind[w.Number] = true
			continue
		}
		s.handed[w.Number] = sum
		seen, err := w.Since.Seen()
		if err != nil {
			return nil, fmt.Errorf("pull request %d: %w", w.Number, err)
		}
		from := seen.UpTo()
		if from.IsZero() {
			from = s.pulls.known[w.Number].created
		}
		if from.Before(s.pulls.read.Add(-horizon)) {
			behind[w.Number] = true
			continue
		}
		if start.IsZero() || from.Before(start) {
			start = from
		}
	}
	if !s.started {
		if start.IsZero() {
			start = s.pulls.read
		}
		s.started, s.issues.since, s.lines.since = true, start.Add(-overlap), start.Add(-overlap)
	}
	return behind, nil
}

// ask makes a conditional request; unchanged says that nothing has changed.
func (f *Forge) ask(ctx context.Context, path string, q url.Values, etag string, into any) (resp *gh.Response,
	unchanged bool, err error) {
	u := fmt.Sprintf("repos/%s/%s/%s?%s", f.remote.Owner, f.remote.Name, path, q.Encode())
	req, err := f.author.rest.NewRequest(wire.OwnETag(ctx), http.MethodGet, u, nil)
	if err != nil {
		return nil, false, err
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err = f.author.rest.Do(req, into)
	if resp != nil && resp.StatusCode == http.StatusNotModified {
		return resp, true, nil
	}
	return resp, false, err
}

// pollPulls reads the pull requests that changed, the last changed first.
func (f *Forge) pollPulls(ctx context.Context, l *pullList, watched []forge.Watched) (map[int]forge.Pull, error) {
	next := pullList{etag: l.etag, newest: l.newest, known: map[int]pullNote{}, hot: map[int]bool{}}
	for _, w := range watched {
		next.known[w.Number] = l.known[w.Number]
	}
	changed := map[int]forge.Pull{}
	note := func(p *gh.PullRequest) {
		v := pullOf(p)
		n := pullNote{p.GetNodeID(), v.Updated, v.Created,
			maphash.String(f.poll.seed, fmt.Sprint(v.State, v.Draft, v.Head, v.Base.Name, v.Title, v.Body))}
		if was, wanted := next.known[p.GetNumber()]; wanted && was != n {
			changed[p.GetNumber()], next.known[p.GetNumber()] = v, n
		}
	}
	for pageNo := 1; pageNo <= 10; pageNo++ {
		more, err := f.pullPage(ctx, l, &next, pageNo, note)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	for n, v := range next.known {
		if v.node != "" {
			continue
		}
		// It was not touched for long, or has only just been added.
		p, err := f.get(ctx, n)
		if err != nil {
			return nil, err
		}
		note(p)
	}
	for n, v := range next.known {
		if v.updated.After(next.read.Add(-2 * time.Second)) {
			next.hot[n] = true
		}
	}
	*l = next
	return changed, nil
}

// pullPage reads a page of pull requests, and says whether there may be changed ones on the next.
func (f *Forge) pullPage(ctx context.Context, l, next *pullList, pageNo int, note func(*gh.PullRequest)) (more bool,
	err error) {
	var list []*gh.PullRequest
	q := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {strconv.Itoa(page)}}
	ask := l.etag
	if pageNo > 1 {
		q.Set("page", strconv.Itoa(pageNo))
		ask = ""
	}
	asked := f.clock.Now()
	resp, unchanged, err := f.ask(ctx, "pulls", q, ask, &list)
	if err != nil {
		return false, err
	}
	if pageNo == 1 {
		if next.read, err = http.ParseTime(resp.Header.Get("Date")); err != nil {
			next.read = f.clock.Now()
		}
		next.read = next.read.Add(asked.Sub(f.clock.Now())) // it may have been read as soon as it was asked for
	}
	if unchanged || len(list) == 0 {
		return false, nil
	}
	for _, p := range list {
		note(p)
	}
	if pageNo == 1 {
		next.etag, next.newest = resp.Header.Get("ETag"), list[0].GetUpdatedAt().Time
	}
	if l.newest.IsZero() {
		return resp.NextPage != 0 && !next.complete(), nil
	}
	return resp.NextPage != 0 && !list[len(list)-1].GetUpdatedAt().Before(l.newest), nil
}

// complete says whether every request that is watched has been seen.
func (l *pullList) complete() bool {
	for _, v := range l.known {
		if v.node == "" {
			return false
		}
	}
	return true
}

// gather reads what only GraphQL tells about the changed requests, and finds what is new.
func (f *Forge) gather(ctx context.Context, s *pollState, watched []forge.Watched, pulls map[int]forge.Pull,
	touched map[int][]actor.Said, behind map[int]bool) ([]forge.News, error) {
	var nodes []string
	for _, w := range watched {
		if _, hit := touched[w.Number]; hit && !behind[w.Number] {
			nodes = append(nodes, s.pulls.known[w.Number].node)
		}
	}
	talks, err := f.talks(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("poll reviews: %w", err)
	}
	var news []forge.News
	for _, w := range watched {
		said, hit := touched[w.Number]
		if !hit && !behind[w.Number] {
			continue
		}
		n, err := f.newsOf(ctx, w, said, talks[w.Number], behind[w.Number])
		if err != nil {
			return nil, err
		}
		var changed bool
		if n.Pull, changed = pulls[w.Number]; !changed {
			n.Pull = forge.Pull{Number: w.Number}
		}
		s.handed[w.Number] = maphash.String(s.seed, string(w.Since))
		if changed || n.Mark != w.Since {
			s.handed[w.Number] = maphash.String(s.seed, string(n.Mark))
			news = append(news, n)
		}
	}
	slices.SortFunc(news, func(a, b forge.News) int { return cmp.Compare(a.Number, b.Number) })
	return news, nil
}

func (f *Forge) newsOf(ctx context.Context, w forge.Watched, said []actor.Said, t talk,
	behind bool) (forge.News, error) {
	n := forge.News{Number: w.Number}
	if behind {
		s, err := f.Said(ctx, w.Number, w.Since)
		n.Comments, n.Mark = s.Comments, s.Mark
		return n, err
	}
	seen, err := w.Since.Seen()
	if err != nil {
		return n, err
	}
	if lacking(seen, t, said) {
		// The lines of a review that took long to write are older than the list's start.
		lines, err := f.lineComments(ctx, w.Number)
		if err != nil {
			return n, err
		}
		said = append(said, lines...)
	}
	plain, err := f.complete(ctx, t, append(unique(said), t.reviews...))
	if err != nil {
		return n, err
	}
	if n.Comments, err = seen.Take(plain); err != nil {
		return n, err
	}
	for _, c := range plain {
		seen.Advance(c.Updated)
	}
	n.Mark = seen.Mark()
	return n, nil
}

// lacking says whether a new review has more lines than have been seen.
func lacking(seen *forge.Seen, t talk, said []actor.Said) bool {
	got := map[string]int{}
	for _, c := range said {
		got[c.Review]++
	}
	for id, n := range t.lines {
		if !seen.Has(id) && got[id] < n {
			return true
		}
	}
	return false
}
