package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/cco-dev/cco/internal/session"
)

// stream writes server-sent events.
type stream struct {
	w      http.ResponseWriter
	ctl    *http.ResponseController
	last   time.Time
	events []Event // that it may send
}

const (
	// quiet is after how long a stream says that it is still there.
	quiet = 10 * time.Second
	// slow is how long a browser may take for one write.
	slow = 30 * time.Second
	// slowest is how long it may take for a whole answer, which has megabytes at most.
	slowest = 10 * time.Minute
	// retry is when a browser tries again that has lost us, in milliseconds.
	retry = 500
)

// openStream begins the stream that a route is. What the document does not name can't be sent on it.
func openStream(w http.ResponseWriter, r *http.Request) (*stream, error) {
	s := &stream{w: w, ctl: http.NewResponseController(w), last: time.Now()}
	for _, route := range Routes() {
		if route.pattern() == r.Pattern {
			s.events = route.Events
		}
	}
	if s.events == nil {
		return nil, fmt.Errorf("%q is no stream", r.Pattern)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_, err := fmt.Fprintf(w, "retry: %d\n\n", retry)
	return s, errors.Join(err, s.ctl.Flush())
}

// send writes one event. The id is what a reader gives back to go on behind it.
func (s *stream) send(event, id string, v any) error {
	data, err := json.Marshal(clean(v))
	if err != nil {
		return err
	}
	return s.raw(event, id, reflect.TypeOf(v), data)
}

// raw writes an event whose data is JSON already, of some type.
func (s *stream) raw(event, id string, of reflect.Type, data []byte) error {
	if !slices.ContainsFunc(s.events, func(e Event) bool { return e.Name == event && reflect.TypeOf(e.Has) == of }) {
		return fmt.Errorf("an event %q with %s is not documented", event, of)
	}
	_ = s.ctl.SetWriteDeadline(time.Now().Add(slow))
	s.last = time.Now()
	_, err := fmt.Fprintf(s.w, "id: %s\nevent: %s\ndata: %s\n\n", id, event, data)
	return err
}

// beat keeps a silent stream alive, and notices a reader that is gone.
func (s *stream) beat() error {
	if time.Since(s.last) < quiet {
		return nil
	}
	s.last = time.Now()
	_ = s.ctl.SetWriteDeadline(time.Now().Add(slow))
	_, err := io.WriteString(s.w, ": still here\n\n")
	return errors.Join(err, s.ctl.Flush())
}

// resume is where a stream goes on: behind what its reader had last, or where the address says.
func resume(r *http.Request) (int64, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return number("Last-Event-ID", id, 0)
	}
	return number("from", r.URL.Query().Get("from"), 0)
}

// How often a transcript is looked at, while something is heard of it and when it is silent.
const (
	lookBusy = 20 * time.Millisecond
	lookIdle = 60 * time.Millisecond
	busyFor  = 5 * time.Second
)

// follow streams a transcript from an offset on, as long as somebody reads.
func (d *Desk) follow(w http.ResponseWriter, r *http.Request) {
	from, err := resume(r)
	if err == nil {
		_, err = d.Sessions.Get(r.Context(), r.PathValue("id"))
	}
	if err != nil {
		d.fail(w, err)
		return
	}
	s, err := openStream(w, r)
	if err != nil {
		return
	}
	t := &tail{file: d.Sessions.TranscriptFile(r.PathValue("id")), at: from}
	defer t.close()
	_ = t.each(r.Context(), func(l session.Line) error {
		it, ok := item(l)
		if !ok {
			return nil
		}
		return s.send("item", strconv.FormatInt(it.ID, 10), it)
	}, func() error { return errors.Join(s.ctl.Flush(), s.beat()) })
}

// tail reads a file that grows.
type tail struct {
	file string
	at   int64
	f    *os.File
}

func (t *tail) close() { _ = t.f.Close() } // of none it is nothing

// each calls line for what is there and what comes, and caught whenever it has seen all of it.
func (t *tail) each(ctx context.Context, line func(session.Line) error, caught func() error) error {
	heard := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		before := t.at
		if err := t.more(ctx, line); err != nil {
			return err
		}
		if err := caught(); err != nil {
			return err
		}
		wait := lookIdle
		if t.at != before {
			heard = time.Now()
		}
		if time.Since(heard) < busyFor {
			wait = lookBusy
		}
		timer.Reset(wait)
	}
}

// more reads what has been added.
func (t *tail) more(ctx context.Context, line func(session.Line) error) error {
	if t.f == nil {
		f, err := os.Open(t.file)
		if errors.Is(err, os.ErrNotExist) {
			return nil // nothing was said yet
		}
		if err != nil {
			return err
		}
		t.f = f
	}
	info, err := t.f.Stat()
	if err != nil || info.Size() <= t.at {
		return err
	}
	var stop error
	t.at, err = session.ReadLines(t.f, t.at, info.Size(), func(l session.Line) bool {
		if stop = ctx.Err(); stop == nil {
			stop = line(l)
		}
		return stop == nil
	})
	return errors.Join(err, stop)
}
