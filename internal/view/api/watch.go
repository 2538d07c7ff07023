package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/words"
)

// watch knows the present state as long as somebody looks at it.
type watch struct {
	mu      sync.Mutex
	readers int
	ctx     context.Context // as long as there are some
	stop    context.CancelFunc
	now     snapshot
	more    chan struct{} // closed and replaced when there is another state

	tails map[string]*lastWords
}

// snapshot is a state as it is sent, and a name for it.
type snapshot struct {
	rev  string
	data json.RawMessage
}

// How often is looked whether anything has changed, how soon it is read again then, and how often in any case: a keeper
// that was killed writes nothing. Between two readings passes many times what one took, so that a page costs a small
// part of a core however many sessions there are.
const (
	watchEvery = 250 * time.Millisecond
	watchApart = 500 * time.Millisecond
	watchTimes = 60
	watchMost  = 3 * time.Second
	watchLeast = 5 * time.Second
)

// join begins to watch with the first reader.
func (d *Desk) join() (leave func()) {
	w := &d.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers++; w.readers == 1 {
		ctx, stop := context.WithCancel(d.Life)
		w.ctx, w.stop, w.now = ctx, stop, snapshot{}
		if w.more == nil {
			w.more = make(chan struct{})
		}
		go d.keepWatch(ctx)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.readers--; w.readers == 0 {
			w.stop()
		}
	}
}

// context lives as long as somebody looks; nil where nobody does.
func (w *watch) context() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers == 0 {
		return nil
	}
	return w.ctx
}

func (d *Desk) keepWatch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var read time.Time
	var seen string
	apart := watchApart
	for {
		mark := d.mark()
		if age := time.Since(read); mark != seen && age >= apart || age >= max(watchLeast, apart) {
			read, seen = time.Now(), mark
			if s, err := d.snapshot(ctx); err == nil {
				d.watch.publish(ctx, s)
			} else if ctx.Err() == nil {
				d.App.IO.Warn("the state can't be read: %v", err)
			}
			apart = min(watchMost, max(watchApart, watchTimes*time.Since(read)))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *watch) publish(ctx context.Context, s snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil || s.rev == w.now.rev {
		return
	}
	w.now = s
	close(w.more)
	w.more = make(chan struct{})
}

// mark changes when a record is written, or when something is said.
func (d *Desk) mark() string {
	var b []byte
	add := func(name string) {
		if info, err := os.Stat(name); err == nil {
			b = fmt.Appendf(b, "%d.%d;", info.Size(), info.ModTime().UnixNano())
		}
	}
	add(filepath.Join(d.Sessions.Data, "cco.db"))
	add(filepath.Join(d.Sessions.Data, "cco.db-wal"))
	b = fmt.Appendf(b, "%d;", d.glances.count())
	d.watch.mu.Lock()
	ids := make([]string, 0, len(d.watch.tails))
	for id := range d.watch.tails {
		ids = append(ids, id)
	}
	d.watch.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		add(d.Sessions.TranscriptFile(id))
	}
	return string(b)
}

func (d *Desk) snapshot(ctx context.Context) (snapshot, error) {
	st, err := d.state(ctx)
	if err != nil {
		return snapshot{}, err
	}
	data, err := json.Marshal(clean(st))
	if err != nil {
		return snapshot{}, err
	}
	sum := sha256.Sum256(data)
	return snapshot{hex.EncodeToString(sum[:8]), data}, nil
}

// streamState sends the whole state whenever it changes. Its id names it: a reader who comes back and has it gets
// nothing until there is another.
func (d *Desk) streamState(w http.ResponseWriter, r *http.Request) {
	leave := d.join()
	defer leave()
	s, err := openStream(w, r)
	if err != nil {
		return
	}
	had := r.Header.Get("Last-Event-ID")
	beat := time.NewTicker(quiet / 2)
	defer beat.Stop()
	for {
		d.watch.mu.Lock()
		now, more := d.watch.now, d.watch.more
		d.watch.mu.Unlock()
		if now.rev != "" && now.rev != had {
			had = now.rev
			if err := errors.Join(s.raw("state", now.rev, reflect.TypeFor[State](), now.data), s.ctl.Flush()); err != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		case <-beat.C:
			if s.beat() != nil {
				return
			}
		}
	}
}

// state reads everything that a person glances at. What can't be read is named, and hides nothing else.
func (d *Desk) state(ctx context.Context) (State, error) {
	var st State
	list, err := d.Sessions.List(ctx, "")
	st.Wrong = without(st.Wrong, "sessions", err)
	const recent, ended = 20, 10
	live := map[string]bool{}
	byID := map[string]store.Session{}
	for _, v := range list {
		byID[v.ID] = v
		switch {
		case v.Live():
			live[v.ID] = true
			s := d.listed(v)
			s.Last = d.lastWords(ctx, v.ID)
			st.Live = append(st.Live, s)
		case len(st.Recent) < recent:
			st.Recent = append(st.Recent, d.listed(v))
		}
	}
	d.forgetTails(live)
	phases, err := d.Sessions.Store.Phases(ctx, 1<<20)
	st.Wrong = without(st.Wrong, "phases", err)
	n := 0
	for _, p := range phases {
		if p.Ended {
			if n++; n > ended {
				break
			}
		}
		st.Phases = append(st.Phases, listedPhase(p))
	}
	b := words.NewBudget(ctx)
	d.needs(ctx, b, list, byID, &st)
	d.askPhases(ctx, b, phases, &st)
	st.Unwatched, err = d.Sessions.Unwatched(ctx)
	st.Wrong = without(st.Wrong, "the engine", err)
	if st.Unwatched > 0 {
		st.Needs = slices.Insert(st.Needs, 0, Need{ID: "engine", Of: "engine", Kind: "engine", Since: newest(phases),
			Title: "The engine is dead", Words: b.Parse(fmt.Sprintf("Nobody watches %d phases.", st.Unwatched)),
			Next: d.Sessions.Runner()})
	}
	today, err := d.Sessions.Store.SpentOn(ctx, store.Day(d.Now()))
	st.Wrong = without(st.Wrong, "what was spent today", err)
	st.Today = spend(today)
	return st, ctx.Err()
}

// needs adds what waits for a person.
func (d *Desk) needs(ctx context.Context, b *words.Budget, list []store.Session, byID map[string]store.Session,
	st *State) {
	needs, err := d.Sessions.AttentionOf(ctx, list)
	st.Wrong = without(st.Wrong, "what needs you", err)
	waiting := map[string]bool{}
	for _, n := range needs {
		v, isSession := byID[n.ID]
		need := Need{ID: n.ID, Of: "session", Kind: string(n.Kind), Since: n.Since, Title: n.Title, Who: n.Agent,
			Where: n.Branch, Words: b.Parse(safetext.Quote(n.Words)), Next: n.Next, Cause: string(v.Cause), Seen: seenOf(v)}
		if !isSession {
			need.Of, need.Seen = "phase", ""
		}
		if n.Kind == session.NeedPull || n.Kind == session.NeedLook {
			waiting[n.ID] = true
			d.decide(&need, v)
		}
		st.Needs = append(st.Needs, need)
	}
	d.glances.forget(waiting)
	slices.SortStableFunc(st.Needs, func(a, b Need) int { return urgency(a.Kind) - urgency(b.Kind) })
}

// needDecide is work that the gate holds up until a person has decided.
const needDecide = "decide"

// urgency puts decisions before what failed and what only waits to be pulled, and leaves the rest as it is.
func urgency(kind string) int {
	return slices.Index([]string{needDecide, string(session.NeedLook), string(session.NeedPull)}, kind)
}

func newest(phases []store.Phase) (t time.Time) {
	for _, p := range phases {
		if !p.Ended && p.Updated.After(t) {
			t = p.Updated
		}
	}
	return t
}

// askPhases adds what only the state of a living phase says: comments of strangers that wait, and what it asks.
func (d *Desk) askPhases(ctx context.Context, b *words.Budget, phases []store.Phase, out *State) {
	for _, p := range phases {
		if p.Ended {
			break // the living come first
		}
		full, err := d.Sessions.Store.Phase(ctx, p.ID)
		var st cruise.State
		if err == nil {
			err = json.Unmarshal(full.State, &st)
		}
		if err != nil {
			out.Wrong = without(out.Wrong, "phase "+p.ID, err)
			continue
		}
		for i, n := range out.Needs {
			if n.Of == "phase" && n.ID == p.ID {
				out.Needs[i].Asks, out.Needs[i].Seen = asks(st), seenIn(p.ID, st)
			}
		}
		for _, c := range st.Held {
			out.Needs = append(out.Needs, Need{ID: c.ID, Of: "phase", Parent: p.ID, Kind: "accept", Since: p.Updated,
				Title: p.Title, Who: c.Author, Where: p.Branch, Words: b.Parse(c.Body), Seen: seenComment(c),
				Next: "cco cruise fix " + p.ID + " --accept " + c.ID})
		}
	}
}

func spend(s store.Spend) Spend { return Spend{Tokens: s.Tokens(), Cost: s.Cost, Estimate: s.Estimate} }

// listed is a session as listings show it.
func (d *Desk) listed(v store.Session) Session {
	return Session{ID: v.ID, Title: v.Title, State: string(v.State), Reason: v.Reason, Box: v.Box, Agent: v.Agent,
		Model: v.Model, Repo: v.Repo, Branch: v.Branch, Created: v.Created, Started: v.Started, Finished: v.Finished,
		Spent: spend(v.Spent)}
}

func listedPhase(p store.Phase) Phase {
	return Phase{ID: p.ID, Title: p.Title, Kind: p.Kind, Stage: p.Stage, Ended: p.Ended, Branch: p.Branch, Repo: p.Repo,
		PR: p.PRNumber, URL: webAddress(p.PRURL), Created: p.Created, Updated: p.Updated, Cost: p.Cost, Estimate: p.Estimate}
}

// lastWords remembers the last line of a session that is at work.
type lastWords struct {
	tail tail
	text string
}

// maxTail is how much of a transcript is read for its last line.
const maxTail = 64 << 10

// lastWords is the last line that an agent said.
func (d *Desk) lastWords(ctx context.Context, id string) string {
	w := &d.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tails[id]
	if t == nil {
		t = &lastWords{tail: tail{file: d.Sessions.TranscriptFile(id)}}
		if w.tails == nil {
			w.tails = map[string]*lastWords{}
		}
		w.tails[id] = t
	}
	info, err := os.Stat(t.tail.file)
	if err != nil || info.Size() == t.tail.at {
		return t.text
	}
	f, err := os.Open(t.tail.file)
	if err != nil {
		return t.text
	}
	defer func() { _ = f.Close() }()
	from, b := max(t.tail.at, info.Size()-maxTail), words.NewBudget(ctx)
	t.tail.at, _ = session.ReadLines(f, from, info.Size(), func(l session.Line) bool {
		it, ok := item(b, l)
		if text := it.text(); ok && (it.Kind == "words" || it.Kind == "call" || it.Kind == "line" || it.Kind == "step") {
			if said := lastLine(text); said != "" {
				t.text = said
			}
		}
		return true
	})
	return t.text
}

// forgetTails drops what is known of sessions that have ended.
func (d *Desk) forgetTails(live map[string]bool) {
	d.watch.mu.Lock()
	defer d.watch.mu.Unlock()
	for id := range d.watch.tails {
		if !live[id] {
			delete(d.watch.tails, id)
		}
	}
}
