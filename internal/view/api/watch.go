package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/attention"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// watch knows the present state as long as somebody looks at it.
type watch struct {
	mu      sync.Mutex
	readers int
	stop    context.CancelFunc // when there are none
	now     snapshot
	more    chan struct{} // closed and replaced when there is another state

	said map[string]said // by those that are at work
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
	watchTimes = 90
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
		w.stop, w.now = stop, snapshot{}
		if w.more == nil {
			w.more = make(chan struct{})
		}
		go d.keepWatch(ctx)
		go d.keepExamining(ctx)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.readers--; w.readers == 0 {
			w.stop()
		}
	}
}

func (d *Desk) keepWatch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var read time.Time
	var seen string
	apart := watchApart
	for {
		if age := time.Since(read); age >= apart && (age >= watchLeast || d.mark() != seen) {
			read, seen = time.Now(), d.mark()
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
	defer d.watch.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.watch.said)) {
		add(d.Sessions.TranscriptFile(id))
	}
	return string(b)
}

func (d *Desk) snapshot(ctx context.Context) (snapshot, error) {
	st, err := d.state(ctx, nil)
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
func (d *Desk) state(ctx context.Context, _ *http.Request) (State, error) {
	var st State
	list, err := d.Sessions.List(ctx, "")
	st.Wrong = without(st.Wrong, "sessions", err)
	const recent, ended = 200, 10
	live := map[string]bool{}
	byID := map[string]store.Session{}
	for _, v := range list {
		byID[v.ID] = v
		switch {
		case v.Live():
			live[v.ID] = true
			s := d.listed(v)
			s.Last = d.lastWords(v.ID)
			st.Live = append(st.Live, s)
		case len(st.Recent) < recent:
			st.Recent = append(st.Recent, d.listed(v))
		}
	}
	quiet := func(s Session) attention.Need { return attention.Quiet(s.Session) }
	attention.Arrange(st.Live, quiet)
	attention.Arrange(st.Recent, quiet)
	d.watch.mu.Lock()
	maps.DeleteFunc(d.watch.said, func(id string, _ said) bool { return !live[id] })
	d.watch.mu.Unlock()
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
	d.needs(ctx, list, byID, &st)
	d.askPhases(ctx, phases, &st)
	st.Unwatched, err = attention.Of(d.Sessions).Unwatched(ctx)
	st.Wrong = without(st.Wrong, "the engine", err)
	if st.Unwatched > 0 {
		st.Needs = append(st.Needs, Need{Of: "engine", Need: attention.Need{ID: "engine", Kind: attention.NeedEngine,
			Since: serve.LastLife(d.Sessions.Data).Last, Title: "The engine is dead", Next: attention.Runner},
			Words: unit.Count(st.Unwatched, "phase") + " can't go on until one runs."})
	}
	for _, n := range st.Needs { // each of them has a row, however old it is
		v, ok := byID[n.ID]
		if ok && !v.Live() && !slices.ContainsFunc(st.Recent, func(s Session) bool { return s.ID == n.ID }) {
			st.Recent = append(st.Recent, d.listed(v))
		}
	}
	attention.Arrange(st.Needs, func(n Need) attention.Need { return n.Need })
	st.Today, err = d.Sessions.Store.SpentOn(ctx, store.Day(d.Now()))
	st.Wrong = without(st.Wrong, "what was spent today", err)
	cfg, err := d.App.ConfigIn("")
	st.Wrong = without(st.Wrong, "settings", err)
	st.Day = cfg.Limits.DayCost
	return st, ctx.Err()
}

// needs adds what waits for a person.
func (d *Desk) needs(ctx context.Context, list []store.Session, byID map[string]store.Session,
	st *State) {
	needs, err := attention.Of(d.Sessions).NeedsOf(ctx, list)
	st.Wrong = without(st.Wrong, "what needs you", err)
	for _, n := range needs {
		v, isSession := byID[n.ID]
		need := Need{Need: n, Of: "session", Words: safetext.Quote(n.Words), Cause: string(v.Cause),
			Seen: seenOf(v)}
		if !isSession {
			need.Of, need.Seen = "phase", ""
		}
		if n.Kind == attention.NeedPull || n.Kind == attention.NeedLook {
			d.decide(&need, v)
		}
		st.Needs = append(st.Needs, need)
	}
}

// askPhases adds what only the state of a living phase says: comments of strangers that wait, and what it asks.
func (d *Desk) askPhases(ctx context.Context, phases []store.Phase, out *State) {
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
		for _, c := range st.Inbox.Held {
			out.Needs = append(out.Needs, Need{Of: "phase", Parent: p.ID, Words: c.Body, Seen: seenComment(c),
				Need: attention.Need{ID: c.ID, Kind: attention.NeedAccept, Since: p.Updated, Title: p.Title, Agent: c.Author,
					Repo: p.Repo, Branch: p.Branch, Next: "cco cruise fix " + p.ID + " --accept " + c.ID}})
		}
	}
}

// listed is a session as listings show it, with what is known of its size: what its agent asks stands elsewhere, with
// its parts.
func (d *Desk) listed(v store.Session) Session {
	v.Question = ""
	return Session{Session: v, Size: d.glances.sizeOf(v.ID)}
}

func listedPhase(p store.Phase) Phase {
	p.PRURL, p.State = webAddress(p.PRURL), nil
	return p
}

// said is the last line that an agent said, or a step on the way to its first, and where its transcript ended then.
type said struct {
	at     int64
	text   string
	speaks bool
}

// maxTail is how much of a transcript is read for its last line.
const maxTail = 64 << 10

// lastWords is the last line that an agent said. What is known of it is read on from there.
func (d *Desk) lastWords(id string) string {
	d.watch.mu.Lock()
	defer d.watch.mu.Unlock()
	if d.watch.said == nil {
		d.watch.said = map[string]said{}
	}
	last := d.watch.said[id]
	defer func() { d.watch.said[id] = last }()
	f, err := os.Open(d.Sessions.TranscriptFile(id))
	if err != nil {
		return last.text
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() != last.at {
		from := max(last.at, info.Size()-maxTail)
		last.at, _ = session.ReadLines(f, from, info.Size(), func(l session.Line) bool {
			it, ok := item(l)
			speaks := slices.Contains([]string{"words", "call", "line"}, it.Kind)
			if ok && (speaks || it.Kind == "step" && !last.speaks) {
				last.text, last.speaks = cmp.Or(lastLine(it.text()), last.text), speaks
			}
			return true
		})
	}
	return last.text
}
