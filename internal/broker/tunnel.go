package broker

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// tunnel is a CONNECT that was let through.
type tunnel struct {
	door   *Door
	target target
	in     net.Conn // the box
	read   *bufio.Reader
	out    net.Conn
	sent   atomic.Int64 // bytes from the box
	got    atomic.Int64 // bytes to the box
	last   atomic.Int64 // when something moved
	spare  atomic.Bool  // the connection outside is not needed, so its end does not end the tunnel
}

func (d *Door) connectTo(w http.ResponseWriter, r *http.Request, t target, e *Entry) {
	out, rule, err := d.reach(r.Context(), t)
	e.Rule = rule
	if err != nil {
		d.failed(w, e, err)
		return
	}
	if !d.hold(out) {
		e.Decision, e.Error = Failed, "the door was closed"
		return
	}
	defer d.release(out)
	in, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		d.failed(w, e, err)
		return
	}
	if !d.hold(in) {
		e.Decision, e.Error = Failed, "the door was closed"
		return
	}
	defer d.release(in)
	_ = in.SetDeadline(time.Now().Add(d.cfg.Timeouts.Hello))
	e.Status, e.Decision = http.StatusOK, Allowed
	_, err = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	_ = in.SetDeadline(time.Time{})
	tu := &tunnel{door: d, target: t, in: in, read: buf.Reader, out: out}
	if err == nil {
		err = tu.run()
	}
	e.In, e.Out = tu.sent.Load(), tu.got.Load()
	var no *refusal
	switch {
	case errors.As(err, &no):
		e.Decision, e.Reason, e.Allow = Refused, no.why, no.allow
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		e.Error = printable(err.Error(), 200)
	}
}

// On these ports the protocol is known, and anything else is refused. On other ports either side may speak first, in
// any protocol; TLS and HTTP are inspected on every port.
const (
	portTLS  = 443
	portHTTP = 80
)

func (t *tunnel) run() error {
	t.moved()
	stop := t.guardIdle()
	defer stop()
	back := make(chan struct{})
	early := t.target.port != portTLS && t.target.port != portHTTP
	if early {
		go t.back(back)
	} else {
		_ = t.in.SetReadDeadline(time.Now().Add(t.door.cfg.Timeouts.Hello))
	}
	kind, err := t.sniff()
	if err == nil && kind == speaksHTTP {
		return t.serveHTTP(early, back)
	}
	if err == nil && kind == speaksTLS {
		err = t.greet()
	}
	if err == nil && !early {
		_ = t.in.SetReadDeadline(time.Time{})
		go t.back(back)
		early = true
	}
	if err == nil {
		err = t.forth(kind)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		_ = t.out.Close() // nothing more, in either direction
		_ = t.in.Close()
	} else {
		_ = closeWrite(t.out)
	}
	if early {
		<-back
	}
	return err
}

type speech int

const (
	speaksOther speech = iota
	speaksTLS
	speaksHTTP
)

// sniff tells what the client speaks by its first bytes.
func (t *tunnel) sniff() (speech, error) {
	first, err := t.read.Peek(1)
	if err != nil {
		return speaksOther, tooLate(err)
	}
	if first[0] == recordShake {
		return speaksTLS, nil
	}
	switch t.target.port {
	case portTLS:
		return speaksOther, refuse("what goes to port 443 is TLS or nothing")
	case portHTTP:
		return speaksHTTP, nil
	}
	for n := 1; ; n++ {
		b, err := t.read.Peek(n)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return speaksHTTP, nil // whose server refuses such a line
		case errors.Is(err, io.EOF) && n > 1:
			return speaksOther, nil // half a line asks for nothing
		case err != nil:
			return speaksOther, tooLate(err)
		}
		if n == 1 && (b[0] == '\r' || b[0] == '\n') { // before a request, empty lines mean nothing
			if err := t.sendOne(); err != nil {
				return speaksOther, err
			}
			n = 0
			continue
		}
		switch is, more := request(b); {
		case is:
			return speaksHTTP, nil
		case !more:
			return speaksOther, nil
		}
	}
}

// sendOne sends one byte on: in some protocols an empty line alone asks for something.
func (t *tunnel) sendOne() error {
	b, err := t.read.ReadByte()
	if err == nil {
		_, err = t.out.Write([]byte{b})
	}
	t.sent.Add(1)
	return err
}

func tooLate(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse("nothing was said inside CONNECT in time")
	}
	return err
}

// request says whether b begins as an HTTP request does, or that more of it must be seen: a known method, or a line
// that begins as a method may and names HTTP, in any case. What no server takes for a request, the one behind this
// refuses.
func request(b []byte) (is, more bool) {
	if whole, part := methodIn(string(b)); whole || part {
		return whole, part
	}
	first, last := b[0], b[len(b)-1]
	switch {
	case len(b) == 1:
		letter := first|0x20 >= 'a' && first|0x20 <= 'z' || first >= '0' && first <= '9'
		return false, letter || strings.IndexByte(" \t\v\f!#$%&'*+-.^_`|~", first) >= 0
	case last == '\n':
		return bytes.Contains(bytes.ToUpper(b), []byte("HTTP/")), false
	}
	return false, last != 0
}

// methodIn says whether b begins with the method of an HTTP request, or may yet.
func methodIn(b string) (whole, part bool) {
	for _, m := range []string{"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT ",
		"PRI * HTTP"} {
		if strings.HasPrefix(b, m) {
			return true, false
		}
		part = part || strings.HasPrefix(m, b)
	}
	return false, part
}

// greet reads the ClientHello, checks it and sends it on.
func (t *tunnel) greet() error {
	_ = t.in.SetReadDeadline(time.Now().Add(t.door.cfg.Timeouts.Hello))
	h, raw, err := readHello(t.read)
	switch {
	case errors.Is(err, errHello):
		return refuse("it begins like TLS but is not")
	case err != nil:
		return tooLate(err)
	}
	if err := t.check(h); err != nil {
		return err
	}
	_ = t.in.SetReadDeadline(time.Time{})
	n, err := t.out.Write(raw)
	t.sent.Add(int64(n))
	return err
}

// check compares the name that TLS asks for with the one that CONNECT asked for.
func (t *tunnel) check(h hello) error {
	if h.hidden && t.door.cfg.Mode != ModeOpen {
		return refuse("the TLS hello may hide another host (encrypted client hello)")
	}
	if h.name == "" {
		if t.target.host.addr.IsValid() {
			return nil
		}
		return refuse("the TLS hello names no host, and CONNECT asked for %s", t.target.host)
	}
	asked, err := parseHost(h.name)
	if err != nil || asked != t.target.host {
		return refuse("the TLS hello asks for %s, and CONNECT asked for %s", printable(h.name, 80), t.target.host)
	}
	return nil
}

// forth copies from the box.
func (t *tunnel) forth(kind speech) error {
	buf := t.door.buffers.Get()
	defer t.door.buffers.Put(buf)
	if kind == speaksTLS {
		n, err := follow(t.out, t.read, buf, t.check, t.moved)
		t.sent.Add(n)
		return err
	}
	return t.copy(t.out, t.read, buf, &t.sent)
}

// back copies to the box.
func (t *tunnel) back(done chan<- struct{}) {
	defer close(done)
	buf := t.door.buffers.Get()
	defer t.door.buffers.Put(buf)
	if err := t.copy(t.in, t.out, buf, &t.got); errors.Is(err, io.EOF) && !t.spare.Load() {
		_ = closeWrite(t.in)
		return
	}
	if !t.spare.Load() {
		_ = t.in.Close()
		_ = t.out.Close()
	}
}

func (t *tunnel) copy(dst io.Writer, src io.Reader, buf []byte, count *atomic.Int64) error {
	for {
		n, err := src.Read(buf)
		t.moved()
		m, werr := dst.Write(buf[:n])
		count.Add(int64(m))
		if werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}

func (t *tunnel) moved() { t.last.Store(time.Now().UnixNano()) }

// guardIdle closes the tunnel when nothing has moved in either direction for too long.
func (t *tunnel) guardIdle() (stop func() bool) {
	idle := t.door.cfg.Timeouts.Idle
	var timer *time.Timer
	timer = time.AfterFunc(idle, func() {
		if rest := idle - time.Duration(time.Now().UnixNano()-t.last.Load()); rest > 0 {
			timer.Reset(rest)
			return
		}
		_ = t.in.Close()
		_ = t.out.Close()
	})
	return timer.Stop
}
