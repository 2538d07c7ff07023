// Package api is what the page, and programs of the user's own, ask of cco over HTTP: states, streams and actions. It
// keeps nothing: a state is read where it is kept, and an action is the same call that the command makes.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/view/entry"
)

// Desk answers requests.
type Desk struct {
	App      *phases.Phases
	Sessions *session.Service
	Version  string
	Ticket   func(browser string) string
	Class    func(error) int // the exit code of an error
	LogFile  string          // what is done here
	Now      func() time.Time
	Life     context.Context // of the server: nothing goes on behind it
	Repos    []string        // in which runs may be started, beside those that cco has worked in

	watch   watch
	glances glances
	streams atomic.Int64
	started sync.Map // what was started, by the key of its request
	noting  sync.Mutex
}

// streamsMost is how many streams and terminals there may be: each looks at files again and again. A browser opens six.
const streamsMost = 256

// bounded lets a stream begin if there are not too many.
func bounded(do func(*Desk, http.ResponseWriter, *http.Request)) func(*Desk, http.ResponseWriter,
	*http.Request) {
	return func(d *Desk, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // it would never end, and its connection brings the next request
			reply(w, http.StatusMethodNotAllowed, Failure{Error: "a stream is read with GET"})
			return
		}
		defer d.streams.Add(-1)
		if d.streams.Add(1) > streamsMost {
			reply(w, http.StatusTooManyRequests, Failure{Error: "too many streams are open"})
			return
		}
		do(d, w, r)
	}
}

// Prefix is before every path.
const Prefix = "/api/v1"

// Route is one thing that can be asked for.
type Route struct {
	Method string
	Path   string // behind Prefix
	Says   string
	Query  []Param
	In     any     // the body of an action, nil for a question
	Out    any     // the answer
	Events []Event // of a stream, which has no other answer
	Text   bool    // a text, which has no other answer
	Socket bool    // a WebSocket: In and Out are the text messages of both sides
	do     func(*Desk, http.ResponseWriter, *http.Request)
}

// Event is a kind of event that a stream can send, and what each of them has.
type Event struct {
	Name string
	Has  any
}

// pattern is how the route is known to a mux.
func (r Route) pattern() string { return r.Method + " " + Prefix + r.Path }

// Param is a part of an address.
type Param struct{ Name, Says string }

// Handler answers all routes.
func (d *Desk) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range Routes() {
		if len(r.Events) > 0 || r.Socket {
			r.do = bounded(r.do)
		}
		mux.HandleFunc(r.pattern(), func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			// A deadline outlives its answer, and the connection has more of them to bring.
			defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }()
			r.do(d, w, req)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusNotFound, Failure{Error: "there is nothing here"})
	})
	return mux
}

// ask is the route of a question.
func ask[T any](path, says string, answer func(*Desk, context.Context, *http.Request) (T, error), q ...Param) Route {
	return Route{Method: "GET", Path: path, Says: says, Out: *new(T), Query: q,
		do: func(d *Desk, w http.ResponseWriter, r *http.Request) {
			v, err := answer(d, r.Context(), r)
			if err != nil {
				d.fail(w, err)
				return
			}
			reply(w, http.StatusOK, v)
		}}
}

// maxBody bounds what an action may say.
const maxBody = 1 << 20

// job is an action under way: an app that speaks into says, in the directory of what it is about.
type job struct {
	*phases.Phases
	*Desk
	id       string // what it is done to: a session, a phase or a box
	ofPhase  bool
	sessions *session.Service
	says     []string
}

// act is the route of an action, which the log knows by a word or two. All actions go this way: what they are told is
// read strictly and written down, what was looked at is still the same, and a browser that goes away leaves nothing
// half undone.
func act[T any](path, what, says string, do func(context.Context, *job, T) error) Route {
	return Route{Method: "POST", Path: path, Says: says, In: *new(T), Out: Done{},
		do: func(d *Desk, w http.ResponseWriter, r *http.Request) {
			var in T
			dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
			dec.DisallowUnknownFields()
			err := dec.Decode(&in)
			whole := err == nil && errors.Is(dec.Decode(new(any)), io.EOF)
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // an action takes its time
			if !whole {
				reply(w, http.StatusBadRequest, Failure{Error: "the body is not what " + Prefix + "/openapi.json says: " +
					fmt.Sprint(err)})
				return
			}
			ctx, v := context.WithoutCancel(r.Context()), entry.From(r.Context())
			j := d.job(ctx, r)
			d.Note(v, what, j.id, in, "asked")
			if b, ok := any(in).(bound); ok {
				err = j.same(ctx, b.looked())
			}
			if err == nil {
				err = do(ctx, j, in)
			}
			if err != nil {
				d.Note(v, what, j.id, in, err.Error())
				d.fail(w, err)
				return
			}
			d.Note(v, what, j.id, in, strings.Join(append([]string{"done"}, j.says...), ": "))
			reply(w, http.StatusOK, Done{Says: j.words()})
		}}
}

// job gives an action its own streams, and the settings of the repository that a session is of.
func (d *Desk) job(ctx context.Context, r *http.Request) *job {
	own, id := *d.App.App, r.PathValue("id")+r.PathValue("name")
	out := &lines{}
	own.IO = &term.Streams{In: strings.NewReader(""), Out: out, Err: out}
	if rec, err := d.Sessions.Store.Session(ctx, id); err == nil {
		own.Dir = rec.Repo
	} else if p, err := d.Sessions.Store.Phase(ctx, id); err == nil {
		own.Dir = p.Repo
	}
	s := *d.Sessions
	s.Report, s.Warn = own.IO.Progress, own.IO.Warn
	return &job{Phases: &phases.Phases{App: &own, Quiet: d.App.Quiet}, Desk: d, sessions: &s, id: id,
		ofPhase: strings.HasPrefix(r.URL.Path, Prefix+"/phases/")}
}

func (j *job) words() []string {
	said := j.IO.Out.(*lines).list()
	return append(append([]string{}, j.says...), said...)
}

func (j *job) say(format string, args ...any) { j.says = append(j.says, fmt.Sprintf(format, args...)) }

// mostNoted is how much of what is said with an action is written down.
const mostNoted = 4000

// Note writes down what is decided, on what and by whom: before it is done, and what came of it.
func (d *Desk) Note(v entry.Visitor, what, on string, in any, result string) {
	who := "a program of this user"
	if v.Browser != "" {
		who = "browser " + v.Browser
	}
	log := &audit.Log{File: d.LogFile, Now: d.Now}
	e := audit.Entry{Kind: "page", Rule: what, Session: on, Reason: result,
		Who: who + " (" + safetext.Fit(safetext.Line(v.Agent), 200) + ")"}
	if in != nil {
		e.Input, _ = json.Marshal(in) // it was JSON
		if len(e.Input) > mostNoted {
			e.Input, _ = json.Marshal(safetext.Cut(string(e.Input), mostNoted/2))
		}
	}
	if err := log.Add(e); err != nil {
		d.App.IO.Warn("what is done on the page can't be written down: %v", err)
	}
}

// fail answers with an error and its class.
func (d *Desk) fail(w http.ResponseWriter, err error) {
	status, known := map[int]int{2: http.StatusBadRequest, 3: http.StatusNotFound, 4: http.StatusConflict,
		5: http.StatusGatewayTimeout, 6: http.StatusConflict}[d.Class(err)]
	if !known {
		status = http.StatusInternalServerError
	}
	f := Failure{Error: err.Error()}
	if _, ok := errors.AsType[*app.KeyError](err); ok {
		f.Error += ". `cco view` has the environment that it was started in: end it, and start it where the key is set"
	}
	if held, ok := errors.AsType[*gate.HeldError](err); ok {
		for _, k := range append(append([]gate.Kind{}, held.Refused...), held.Asked...) {
			f.Held = append(f.Held, string(k))
		}
	}
	reply(w, status, f)
}

func reply(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(clean(v))
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer can't be written"}`)
	}
	data = append(data, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	ctl := http.NewResponseController(w)
	_ = ctl.SetWriteDeadline(time.Now().Add(slowest))
	w.WriteHeader(status)
	_, _ = w.Write(data)
	_ = ctl.Flush()
}

// number reads a number that a request brings.
func number(name, text string, fallback int64) (int64, error) {
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, app.Usagef("%s: %q is no number", name, text)
	}
	return n, nil
}
