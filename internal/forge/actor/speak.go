package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/unit"
)

// once posts something once, as an account of ours.
func (a *Actor) once(ctx context.Context, by *Account, r forge.Record,
	do func(forge.Record) (forge.Posted, error)) (forge.Posted, error) {
	me, err := by.Login(ctx)
	if err != nil {
		return forge.Posted{}, err
	}
	r.Repo, r.Created = a.At.String(), a.Clock.Now()
	return forge.Once{
		Journal: a.Journal,
		Look: func(ctx context.Context, r forge.Record) (forge.Posted, bool, error) {
			all, err := a.Calls.Look(ctx, r.Number, r.Kind)
			for _, c := range all {
				if same(c.Author, me) && slices.Contains(forge.Markers(c.Raw), r.Marker) {
					return forge.Posted{ID: c.ID, URL: c.URL}, true, err
				}
			}
			return forge.Posted{}, false, err
		},
		Do:  func(_ context.Context, r forge.Record) (forge.Posted, error) { return do(r) },
		Now: a.Clock.Now, Sleep: a.Clock.Sleep,
	}.Say(ctx, r)
}

// Comment comments on a pull request.
func (a *Actor) Comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	return a.comment(ctx, number, p)
}

func (a *Actor) comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	posted, err := a.once(ctx, a.Author, forge.Record{Key: p.Key, Number: number, Kind: forge.OnPull},
		func(r forge.Record) (forge.Posted, error) { return a.Calls.Comment(ctx, number, r.Mark(p.Body)) })
	return posted, about(err, "comment on pull request %d", number)
}

// Update comments on a pull request, or gives the comment that was made under the same key these words.
func (a *Actor) Update(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	posted, err := a.comment(ctx, number, p)
	if err != nil {
		return posted, err
	}
	_, id, err := forge.ParseID(posted.ID)
	if err != nil {
		return posted, err
	}
	now, err := a.Calls.Read(ctx, id)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return posted, nil // somebody did not want it
	}
	if body := forge.Reword(now, p.Body); err == nil && body != now {
		err = a.Calls.Edit(ctx, id, body)
	}
	return posted, about(err, "change a comment on pull request %d", number)
}

// Draft is a review on its way.
type Draft struct {
	Number  int
	Record  forge.Record
	Asked   forge.Review  // what was wanted
	Verdict forge.Verdict // what is given: nobody may judge their own request
	Head    string        // the commit at which the request is
	Review  forge.Review  // with those lines that are in the diff
	moved   int
}

// Refit moves the lines of a review into its body that are not in the diff.
func (d *Draft) Refit(diff forge.Diff) { d.Review, d.moved = diff.Fit(d.Asked) }

// Review posts a review, as the reviewer. Lines that aren't in the diff go into its body.
func (a *Actor) Review(ctx context.Context, number int, r forge.Review) (forge.Posted, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	posted, err := a.review(ctx, number, r)
	return posted, about(err, "review pull request %d", number)
}

func (a *Actor) review(ctx context.Context, number int, r forge.Review) (posted forge.Posted, err error) {
	if !slices.Contains([]forge.Verdict{forge.Comments, forge.Approve, forge.RequestChanges}, r.Verdict) {
		return posted, fmt.Errorf("no verdict %q", r.Verdict)
	}
	author, head, err := a.Calls.Head(ctx, number)
	if err != nil {
		return posted, err
	}
	me, err := a.Reviewer.Login(ctx)
	if err != nil {
		return posted, err
	}
	d := &Draft{Number: number, Verdict: r.Verdict, Head: head}
	var fallbacks []string
	if r.Verdict != forge.Comments && same(author, me) {
		d.Verdict, r.Body = forge.Comments, forge.Instead(r.Verdict, r.Body)
		fallbacks = append(fallbacks, "a comment instead of a verdict: nobody can review their own request, and there is "+
			"no second identity")
	}
	d.Asked = r
	// If the head has moved since, the review's lines belong to another diff. An approval stays with the reviewed commit:
	// it must never apply to a newer one.
	diff, current := forge.Diff{}, len(r.Lines) > 0 && (r.Commit == "" || r.Commit == head)
	if current {
		if diff, err = a.Calls.Diff(ctx, number); err != nil {
			return posted, err
		}
	}
	if d.Refit(diff); current {
		d.Review.Commit = head
	}
	posted, err = a.once(ctx, a.Reviewer, forge.Record{Key: r.Key, Number: number, Kind: forge.InReview},
		func(rec forge.Record) (forge.Posted, error) {
			d.Record = rec
			return a.Calls.Review(ctx, d)
		})
	if d.moved > 0 {
		fallbacks = append(fallbacks, unit.Count(d.moved, "line comment")+" in the body, because the diff has no such line")
	}
	posted.Fallback = strings.Join(fallbacks, "; ")
	return posted, err
}

// Withdraw removes a comment that was posted twice, and says whether it was one.
func (a *Actor) Withdraw(ctx context.Context, c forge.Comment) (bool, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	gone, err := a.withdraw(ctx, c)
	return gone, about(err, "remove %s on pull request %d, which was said twice", c.ID, c.Number)
}

func (a *Actor) withdraw(ctx context.Context, c forge.Comment) (bool, error) {
	_, id, err := forge.ParseID(c.ID)
	if err != nil {
		return false, err
	}
	all, err := a.Calls.Look(ctx, c.Number, "")
	if err != nil {
		return false, err
	}
	plain := make([]forge.Comment, 0, len(all))
	for _, v := range all {
		plain = append(plain, v.Comment)
	}
	if !forge.Twice(c, plain, func(i int) string { return all[i].Raw }) {
		return false, nil
	}
	reviewer, err := a.Reviewer.Login(ctx)
	if err != nil {
		return false, err
	}
	err = a.Calls.Remove(ctx, same(reviewer, c.Author), c, id)
	if _, already := errors.AsType[*forge.NotFoundError](err); already {
		err = nil
	}
	return err == nil, err
}

// Talk answers in the threads of a request and resolves them, as a forge does that.
type Talk interface {
	Answer(ctx context.Context, to Said, r forge.Record, words string) (forge.Posted, error)
	// Resolve resolves the thread of a comment, which is not known to be resolved.
	Resolve(ctx context.Context, of Said) error
}

// threads are the threads of a request as they were read.
type threads struct {
	a      *Actor
	number int
	lines  []Said
	talk   Talk
	done   map[string]bool // threads that were resolved since, by their ids
}

// Threads reads the threads of a request.
func (a *Actor) Threads(ctx context.Context, number int) (forge.Threads, error) {
	lines, talk, err := a.Calls.Talk(ctx, number)
	return &threads{a: a, number: number, lines: lines, talk: talk, done: map[string]bool{}}, err
}

func (t *threads) find(comment string) (Said, error) {
	i := slices.IndexFunc(t.lines, func(c Said) bool { return c.ID == comment && c.Kind == forge.OnLine })
	if i < 0 {
		return Said{}, &forge.NotFoundError{What: fmt.Sprintf("%s on pull request %d", comment, t.number)}
	}
	return t.lines[i], nil
}

// Reply answers in the thread of a line comment.
func (t *threads) Reply(ctx context.Context, to string, p forge.Post) (forge.Posted, error) {
	t.a.writing.Lock()
	defer t.a.writing.Unlock()
	c, err := t.find(to)
	if err != nil {
		return forge.Posted{}, err
	}
	posted, err := t.a.once(ctx, t.a.Author, forge.Record{Key: p.Key, Number: t.number, Kind: forge.OnLine},
		func(r forge.Record) (forge.Posted, error) { return t.talk.Answer(ctx, c, r, p.Body) })
	return posted, about(err, "reply to %s on pull request %d", to, t.number)
}

// Resolve resolves the thread of a line comment, if it is not resolved.
func (t *threads) Resolve(ctx context.Context, comment string) error {
	t.a.writing.Lock()
	defer t.a.writing.Unlock()
	c, err := t.find(comment)
	if err != nil || c.State == forge.ThreadResolved || t.done[c.Thread] {
		return err
	}
	if err := t.talk.Resolve(ctx, c); err != nil {
		return about(err, "resolve %s", comment)
	}
	t.done[c.Thread] = true
	return nil
}
