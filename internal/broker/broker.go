// Package broker is a box's only way out: an HTTP proxy with an allow-list, and routes to models on which the user's
// key is added to what the agent sends. A Door serves one session; nothing behind it trusts what comes from the box.
package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Mode says what the proxy lets out. The zero value lets nothing out.
type Mode int

// The modes of a box's network. Model routes exist in every mode, but only for the Upstreams in Config: a box without a
// model has none.
const (
	ModeNone      Mode = iota // the proxy refuses everything
	ModeAllowlist             // what a Rule allows
	ModeOpen                  // every public address, and what a Rule allows by address
)

func (m Mode) String() string {
	switch m {
	case ModeNone:
		return "none"
	case ModeAllowlist:
		return "allowlist"
	case ModeOpen:
		return "open"
	}
	return fmt.Sprintf("mode %d", int(m))
}

// ParseMode reads a mode as users write it. Unknown words are errors, never a default.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ModeNone, ModeAllowlist, ModeOpen} {
		if s == m.String() {
			return m, nil
		}
	}
	return ModeNone, fmt.Errorf("network %q: it is none, allowlist or open", s)
}

// Config says what one session may do.
type Config struct {
	Session string // its id, for the record
	Token   string // the box's password for the door; worthless anywhere else
	Mode    Mode
	Allowed func() ([]Rule, error) // called for every decision, so a change holds at once; nil allows nothing
	Models  []Upstream
	Limits  Limits
	Budget  Budget // beside the limits; nil is none
	Prices  Prices // nil: the ones that DefaultPrices gives

	Record       func(Entry) // called once for each connection or request, from many goroutines; nil keeps nothing
	RecordBodies io.Writer   // JSON lines with what passed on model routes, keys masked; nil keeps nothing

	Proxy    func(*http.Request) (*url.URL, error) // the host's own proxy on the way to models; nil goes there directly
	Resolver Resolver                              // nil: the system's
	Dialer   Dialer                                // nil: the system's
	// the host's own addresses, which are closed like private ones; nil asks the system
	Own func() []netip.Addr
	// the port of cco's own page on this machine, 0 if there is none; no rule opens it, because it can start agents
	Page     func() int
	Now      func() time.Time // nil: the clock
	Timeouts Timeouts
}

// Resolver finds the addresses of a name. net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to an address. net.Dialer is one; it gets a name to resolve only for the hosts of models.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Timeouts bound every wait. Zero values are the defaults.
type Timeouts struct {
	Header   time.Duration // for a whole request header from the box: 20 s
	Dial     time.Duration // to resolve a name and connect: 20 s
	Hello    time.Duration // for the first bytes inside CONNECT, on ports where the client speaks first: 20 s
	Idle     time.Duration // for a tunnel or a body on which nothing moves: 15 min
	Response time.Duration // for a model's first answer: 15 min
}

// Limits close the model routes when they are reached. Zero is no limit.
type Limits struct {
	Tokens int64   // as Spend.Tokens counts them
	Cost   float64 // US dollars
}

// Budget is what several doors may spend together. Each request takes the most that it may cost out of it first, so
// that it is passed by at most one answer in all.
type Budget interface {
	// Reserve waits until there is room for a request. If nothing is left at all, full says so in words.
	Reserve(ctx context.Context, most Spend) (hold int64, full string, err error)
	// Settle puts what a request has cost in the place of what it held; a hold of 0 is one that held nothing.
	Settle(hold int64, spent Spend)
}

// Upstream is a model that the box may use, and the key for it.
type Upstream struct {
	Provider Provider
	Base     *url.URL // nil: the provider's own. It may be plain http, because the user wrote it.
	Key      Key      // a zero Key adds none: a local model may want none
	// Fetch gets the key when it is needed, and may ask the user; nil if there is only Key.
	Fetch func(context.Context) (Key, error) `json:"-"`
}

// WithKey is the upstream with its key, which it fetches now.
func (u Upstream) WithKey(ctx context.Context) (Upstream, error) {
	if u.Fetch == nil {
		return u, nil
	}
	var err error
	u.Key, err = u.Fetch(ctx)
	return u, err
}

// errClosed is what Serve returns after Close.
var errClosed = errors.New("broker: the door is closed")
