package broker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is one request to a model and its answer.
type exchange struct {
	rt    *route
	call  call
	entry Entry
	mu    sync.Mutex // of asked: the transport may still read the request when the answer has begun
	asked *asked
	meter *meter // nil until there is an answer that may cost
	watch *watch
	held  *Spend // the most that it may cost, if there are limits
	share int64  // what it holds of the shared budget
	over  bool   // its hold has ended

	since time.Time    // when it was let through; the model can't have begun before
	sent  atomic.Int64 // bytes of the request
	wrote atomic.Bool  // the model has the whole request
	left  bool         // we or the box gave up, not the model
	came  bool         // the model answers
	ended atomic.Bool  // the answer came to its end
}

func (x *exchange) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, cancel func()) {
	d := x.rt.door
	x.since = d.cfg.Now()
	x.watch = newWatch(w, d.cfg.Timeouts.Idle, cancel)
	x.asked = newAsked(x.rt.up.Provider.wire, x.call, d.cfg.Mode != ModeOpen)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &tapped{ReadCloser: r.Body, watch: x.watch, see: func(p []byte) error { return x.request(ctx, p) },
			log: d.bodies.open(x, "request")}
	}
}

// request sees the request's body on its way.
func (x *exchange) request(ctx context.Context, p []byte) error {
	x.sent.Add(int64(len(p)))
	whole, err := x.read(p)
	if err != nil || !whole {
		return err
	}
	return x.waitForRoom(ctx)
}

func (x *exchange) read(p []byte) (whole bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	err = x.asked.write(p)
	return x.asked.whole(), err
}

// wanted is what the request asked for, as far as it was read.
func (x *exchange) wanted() (model string, most int64, no error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asked.model, cmp.Or(x.asked.most, longestAnswer) * max(1, x.asked.times), x.asked.no
}

// given says that the model has the request. Unless its host broke off, that is so when all of it was read.
func (x *exchange) given() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wrote.Load() || x.left && x.asked.whole()
}

// rewrite makes the request that the model gets.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	pr.Out.URL = x.call.at(x.rt.base, pr.In.URL.Query())
	pr.Out.Host = ""
	for name := range pr.Out.Header {
		if !passesHeader(name) {
			delete(pr.Out.Header, name)
		}
	}
	if pr.Out.Header.Get("User-Agent") == "" {
		pr.Out.Header["User-Agent"] = nil
	}
	pr.Out.Header.Set("Accept-Encoding", "identity") // a packed answer can't be counted
	if pr.Out.Method == http.MethodPost {
		pr.Out.Header.Set("Content-Type", "application/json") // as the door read it
	}
	x.rt.up.Provider.sign(pr.Out.Header, x.rt.up.Key)
}

// RoundTrip sends the request. Redirects go back to the box: the key never follows them. Early hints and trailers,
// which nothing masks, do not go back.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(x.rt.door.ctx)
	stop := context.AfterFunc(r.Context(), cancel)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		x.wrote.Store(i.Err == nil)
	}})
	res, err := x.rt.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	answer := *res
	answer.Trailer = nil
	answer.Body = &bound{ReadCloser: res.Body, done: func() { stop(); cancel() }}
	return &answer, nil
}

// bound ends a request's context with its answer.
type bound struct {
	io.ReadCloser
	done func()
}

func (b *bound) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// answer prepares the model's answer on its way to the box.
func (x *exchange) answer(res *http.Response) error {
	key := x.rt.up.Key.mask()
	x.entry.Status, x.entry.Decision, x.came = res.StatusCode, Allowed, true
	if res.StatusCode == http.StatusSwitchingProtocols {
		return &refusal{why: "the model's host switches to another protocol"}
	}
	if err := plain(res); err != nil {
		return &refusal{why: err.Error()}
	}
	res.Header.Del("Set-Cookie")
	maskHeader(res.Header, key)
	var see func([]byte) error
	if x.call.billed && res.StatusCode < 300 {
		x.meter = newMeter(x.rt.up.Provider.wire, res.Header)
		see = func(p []byte) error {
			// Known costs are charged before the box gets the answer, so its next request finds them counted.
			if x.meter.write(p); x.meter.final {
				x.charge()
			}
			return nil
		}
	}
	res.Body = &tapped{
		ReadCloser: newMasker(res.Body, key), watch: x.watch, see: see, count: &x.entry.Out, end: x.end,
		log: x.rt.door.bodies.open(x, "response"),
	}
	return nil
}

// end is told how reading the answer ended.
func (x *exchange) end(err error) {
	x.ended.Store(errors.Is(err, io.EOF))
	if errors.Is(err, errNoText) {
		x.entry.Error = err.Error()
	}
}

// ClientGone is the error of a request whose sender did not wait for the answer.
const ClientGone = "the client went away"

// fail answers the box when the model gave no answer.
func (x *exchange) fail(w http.ResponseWriter, r *http.Request, err error) {
	_, _, refused := x.wanted()
	var no *refusal
	switch {
	case errors.As(refused, &no):
		x.answerError(w, x.rt.up.Provider.final(), cmp.Or(no.as, Refused), no.why)
	case errors.As(err, &no): // of the answer: the model has done the work, and a retry would cost again
		x.left = true
		x.answerError(w, x.rt.up.Provider.final(), Failed, no.why)
	case x.watch.fired.Load():
		x.left = true
		x.answerError(w, http.StatusGatewayTimeout, Failed, "nothing moved for too long")
	case r.Context().Err() != nil:
		x.left = true
		x.entry.Decision, x.entry.Error = Failed, ClientGone
	default:
		status, why := trouble(err)
		x.answerError(w, status, Failed, why)
	}
}

// finish charges and records the exchange.
func (x *exchange) finish() {
	x.watch.stop()
	defer x.giveRoom()
	x.entry.In, x.entry.Calls = x.sent.Load(), x.meter != nil && x.meter.calls
	if x.entry.Decision == Allowed && !x.ended.Load() {
		x.entry.Error = cmp.Or(x.entry.Error, "the answer was cut short")
	}
	if !x.call.billed {
		return
	}
	if x.meter != nil && x.rt.up.Provider.wire == wireGemini && !x.ended.Load() {
		x.meter.final = false
	}
	x.charge()
}

// unseen is how long an answer may be by now, if nothing says so. A model's thinking does not show, and costs too.
func (x *exchange) unseen() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	times := max(1, x.asked.times) // made side by side
	each := int64(x.rt.door.cfg.Now().Sub(x.since).Seconds()*fastestModel) + 1
	return times * min(each, cmp.Or(x.asked.most, longestAnswer))
}

// charge counts what the exchange costs, as far as it is known. It charges nothing twice.
func (x *exchange) charge() {
	model, _, _ := x.wanted()
	var c counts
	estimated := true
	switch {
	case x.meter != nil:
		c, estimated = x.meter.sum(x.sent.Load())
		if !x.meter.final && !x.ended.Load() {
			c.output = max(c.output, x.unseen())
		}
		if x.meter.bytes == 0 {
			c.output = 0
		}
		if x.meter.model != "" {
			model = x.meter.model
		}
	case x.entry.Decision == Failed && x.given():
		// The model has read it. What it had made when somebody gave up is known only of an answer that had begun.
		c.input = x.sent.Load()/bytesPerToken + 1
		if x.came {
			c.output = x.unseen()
		}
	default:
		return
	}
	before := x.entry.Model
	x.entry.Model = printable(model, 100)
	d := x.rt.door
	s := x.spend(model, c, estimated)
	if x.meter != nil {
		for _, other := range x.meter.others { // some don't say which model did which part: charge all at the dearest
			if dear := x.spend(other, c, estimated); dear.Cost > s.Cost {
				s = dear
			}
		}
	}
	if x.entry.Spend == nil {
		x.entry.Spend = &Spend{}
	}
	d.spent.add(x.entry.Model, s, before, *x.entry.Spend)
	*x.entry.Spend, x.entry.Estimate = s, s.Guesses() > 0
}

func (x *exchange) record() {
	d := x.rt.door
	x.entry.Millis = d.cfg.Now().Sub(x.entry.Time).Milliseconds()
	x.entry.Error = maskText(x.entry.Error, x.rt.up.Key.mask())
	d.cfg.Record(x.entry)
}

// tapped is a body that is inspected as it passes.
type tapped struct {
	io.ReadCloser
	watch *watch
	see   func([]byte) error // may refuse it
	count *int64
	end   func(error)
	log   *bodyLog
}

func (t *tapped) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.watch.moved()
	if t.count != nil {
		*t.count += int64(n)
	}
	t.log.write(p[:n])
	if t.see != nil && n > 0 {
		if no := t.see(p[:n]); no != nil {
			return 0, no
		}
	}
	if err != nil && t.end != nil {
		t.end(err)
	}
	return n, err
}

// watch ends an exchange on which nothing has moved for too long.
type watch struct {
	timer *time.Timer
	last  atomic.Int64
	fired atomic.Bool
}

func newWatch(w http.ResponseWriter, idle time.Duration, cancel func()) *watch {
	o := &watch{}
	o.moved()
	rc := http.NewResponseController(w)
	// Otherwise the server closes the request's body with the answer's first byte, and the transport, which may still be
	// reading it, then breaks off the answer.
	_ = rc.EnableFullDuplex()
	o.timer = time.AfterFunc(idle, func() {
		if rest := idle - time.Duration(time.Now().UnixNano()-o.last.Load()); rest > 0 {
			o.timer.Reset(rest)
			return
		}
		o.fired.Store(true)
		_ = rc.SetReadDeadline(time.Now())
		_ = rc.SetWriteDeadline(time.Now().Add(10 * time.Second)) // for the answer that says so
		cancel()
	})
	return o
}

func (o *watch) moved() { o.last.Store(time.Now().UnixNano()) }

func (o *watch) stop() { o.timer.Stop() }
