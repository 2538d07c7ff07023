// Package door opens the way out of a box for a program that runs in it: a broker behind a unix socket, the record of
// what leaves, and the variables by which the program finds it.
package door

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/inside/relay"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/tree"
)

// Socket is the name of a door in its directory.
const Socket = "door.sock"

// Config says what may leave a box, and where its door is.
type Config struct {
	broker.Config // if it has no token, one is made

	// Dir is where the socket is made: in a new directory there that the program is shown or, with Inside, in Dir itself.
	Dir    string
	Inside string // Dir as the program already sees it
	Log    string // the file of the record, beside Record
	Bodies string // the file for requests and answers of models; "" keeps none
}

// Server answers behind a door. The broker is one.
type Server interface {
	Serve(net.Listener) error
	Close() error
}

// Door is a program's way out. A nil Door is no way out.
type Door struct {
	broker *broker.Door
	limits broker.Limits
	token  string
	way    box.Way
	close  func()
}

// Open gets the keys and opens a door. It returns nil if nothing could leave by it.
func Open(ctx context.Context, c Config) (*Door, error) {
	if len(c.Models) == 0 && c.Mode == broker.ModeNone {
		return nil, nil
	}
	if err := c.fetchKeys(ctx); err != nil {
		return nil, err
	}
	if c.Token == "" {
		c.Token = newToken()
	}
	flush := func() {}
	if c.Log != "" {
		r := newRecord(c.Log, MaxLog)
		c.Record, flush = both(r.add, c.Record), r.flush
	}
	if c.Bodies != "" {
		c.RecordBodies = &logFile{path: c.Bodies}
	}
	b, err := broker.Open(c.Config)
	if err != nil {
		return nil, err
	}
	d, err := Serve(b, c)
	if err != nil {
		return nil, err
	}
	d.broker, d.limits = b, c.Limits
	shut := d.close
	d.close = func() { shut(); flush() }
	return d, nil
}

// both tells two of each entry; the second may be nil.
func both(first, second func(broker.Entry)) func(broker.Entry) {
	if second == nil {
		return first
	}
	return func(e broker.Entry) { first(e); second(e) }
}

// newToken makes the token that a program shows at its door.
func newToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // crypto/rand never fails; it ends the program instead
	return hex.EncodeToString(b)
}

// fetchKeys gets the key of each model, once for this door.
func (c *Config) fetchKeys(ctx context.Context) (err error) {
	for i := range c.Models {
		if c.Models[i], err = c.Models[i].WithKey(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Serve opens a door with a server other than the broker behind it, which is closed with the door.
func Serve(s Server, c Config) (*Door, error) {
	d, l, err := c.listen()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the way out: %w", err), s.Close())
	}
	remove := d.close
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	d.close = sync.OnceFunc(func() {
		_ = s.Close()
		_ = l.Close()
		<-served
		remove()
	})
	return d, nil
}

// listen makes the socket. The box's user may be another user: the directories above keep others out.
func (c *Config) listen() (*Door, net.Listener, error) {
	d := &Door{token: c.Token, way: box.Way{Env: relay.Proxies(c.Token)}}
	if c.Inside != "" {
		d.way.Socket, d.way.Inside = filepath.Join(c.Dir, Socket), path.Join(c.Inside, Socket)
		d.close = func() { _ = os.Remove(d.way.Socket) }
		l, err := socket.ListenAll(d.way.Socket)
		return d, l, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(c.Dir, "")
	if err != nil {
		return nil, nil, err
	}
	d.way.Socket, d.close = filepath.Join(dir, Socket), func() { _ = tree.Remove(dir) }
	l, err := socket.ListenAll(d.way.Socket)
	if err == nil {
		err = os.Chmod(dir, 0o755) // the directories above are closed
	}
	if err != nil {
		d.close()
	}
	return d, l, err
}

// Close closes the door at once, with all its connections. After it, Spent is final.
func (d *Door) Close() {
	if d != nil {
		d.close()
	}
}

// Way is how a program in a box reaches the door.
func (d *Door) Way() *box.Way {
	if d == nil {
		return nil
	}
	way := d.way
	return &way
}

// Address is the door's address for a program, before the relay has found a port.
func (d *Door) Address() string {
	if d == nil {
		return ""
	}
	return relay.Mark
}

// Token is what a program shows at the door. It is worth nothing anywhere else.
func (d *Door) Token() string {
	if d == nil {
		return ""
	}
	return d.token
}

// Spent returns what has passed; it is nil if nothing counts that.
func (d *Door) Spent() func() broker.Spend {
	if d == nil || d.broker == nil {
		return nil
	}
	return d.broker.Spent
}

// Busy says that a request to a model is under way, or that the program in the box has started others which run still.
// Where nobody can tell, it is busy.
func (d *Door) Busy() bool {
	if d == nil || d.broker == nil || d.broker.Busy() {
		return true
	}
	_, err := os.Lstat(filepath.Join(filepath.Dir(d.way.Socket), relay.AloneFile))
	return err != nil
}

// Settled says that every request to a model has ended and is on record.
func (d *Door) Settled() bool { return d == nil || d.broker == nil || d.broker.Settled() }

// Models returns what has passed to each model.
func (d *Door) Models() map[string]broker.Spend {
	if d == nil || d.broker == nil {
		return nil
	}
	return d.broker.SpentByModel()
}

// Full says that the door refuses further requests, because its own count has reached a limit.
func (d *Door) Full() bool {
	if d == nil || d.broker == nil {
		return false
	}
	s := d.broker.Spent()
	return d.limits.Tokens > 0 && s.Tokens() >= d.limits.Tokens || d.limits.Cost > 0 && s.Cost >= d.limits.Cost
}
