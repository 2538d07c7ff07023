package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/socket"
)

// An agent may control the other machine: these limit how much of a call's replies is read, and how many of its
// programs are out at once.
const (
	maxReplies = 8 << 20
	maxOut     = 1024
)

// Client is a driver whose boxes are in another machine.
type Client struct {
	// Dial connects to the server there. If its error is box.ErrNotRunning, it is returned unchanged.
	Dial func(ctx context.Context, b *box.Box) (net.Conn, error)
	// Shared says that both machines see the same files, so that nothing has to be copied.
	Shared bool
}

var _ box.Driver = (*Client)(nil)

// call is one that is under way.
type call struct {
	*conn
	ctx   context.Context
	close func() // ends the call and its streams
	id    string
	dial  func(ctx context.Context) (net.Conn, error)
	outs  chan struct{}          // a place for each program that is out
	serve map[string]func(*conn) // what is done with the streams that the server asks for, by kind
}

// begin makes a call, which ends with the context at the latest.
func (c *Client) begin(ctx context.Context, b *box.Box, r request, way *box.Way) (*call, error) {
	k := &call{id: rand.Text(), outs: make(chan struct{}, maxOut), serve: map[string]func(*conn){},
		dial: func(ctx context.Context) (net.Conn, error) { return c.Dial(ctx, b) }}
	k.ctx, k.close = context.WithCancel(ctx)
	if way != nil {
		k.serve[kindWay] = func(s *conn) { k.letOut(s, way) }
	}
	r.ID = k.id
	var err error
	if k.conn, err = k.connect(r); err != nil {
		k.close()
	}
	return k, err
}

// connect makes a connection of the call, and sends the first line on it.
func (k *call) connect(r request) (*conn, error) {
	raw, err := k.dial(k.ctx)
	if err != nil {
		return nil, err
	}
	in, err := newConn(raw, maxReplies)
	if err != nil {
		return nil, err
	}
	if err := in.send(r); err != nil {
		_ = in.Close()
		return nil, err
	}
	return in.tie(k.ctx), nil
}

// open opens a stream that the server asks for. All but ways out are asked for once.
func (k *call) open(kind string) error {
	serve, ok := k.serve[kind]
	if !ok {
		return fmt.Errorf("the machine asked for a stream %q", kind)
	}
	if kind != kindWay {
		delete(k.serve, kind)
	}
	s, err := k.connect(request{Call: callStream, ID: k.id, Kind: kind})
	if err == nil {
		serve(s)
	}
	return err
}

// end reads replies until the last, opens streams, and passes on what is reported.
func (k *call) end(report box.Report) (reply, error) {
	for {
		var r reply
		if err := k.receive(&r); err != nil {
			return r, fmt.Errorf("the machine did not answer: %w", err)
		}
		if r.Done {
			return r, nil
		}
		if r.Open != "" {
			if err := k.open(r.Open); err != nil && r.Open != kindWay {
				return r, err
			}
		}
		if report != nil && r.Report != "" {
			report("%s", safetext.Line(r.Report))
		}
	}
}

// ask makes a call and waits for its end. When the context ends, it closes the connection, which ends the call.
func (c *Client) ask(ctx context.Context, b *box.Box, r request, report box.Report) (reply, error) {
	r.Box = b.Name
	k, err := c.begin(ctx, b, r, b.Way)
	if err != nil {
		return reply{}, err
	}
	defer k.close()
	got, err := k.end(report)
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	if err == nil {
		err = got.Fault.err(nil)
	}
	return got, err
}

// Hello asks for the version of the server.
func (c *Client) Hello(ctx context.Context, b *box.Box) (version string, err error) {
	r, err := c.ask(ctx, b, request{Call: callHello}, nil)
	return r.Version, err
}

// Check does nothing: there is nothing to check on this machine.
func (c *Client) Check(context.Context) error { return nil }

// Create makes the box there.
func (c *Client) Create(ctx context.Context, b *box.Box, report box.Report) error {
	_, err := c.ask(ctx, b, request{Call: callCreate, Spec: &b.Spec}, report)
	return err
}

// Start starts the box there.
func (c *Client) Start(ctx context.Context, b *box.Box, report box.Report) error {
	_, err := c.ask(ctx, b, request{Call: callStart}, report)
	return err
}

// Stop ends everything in the box there.
func (c *Client) Stop(ctx context.Context, b *box.Box) error {
	_, err := c.ask(ctx, b, request{Call: callStop}, nil)
	return err
}

// Destroy removes the box there.
func (c *Client) Destroy(ctx context.Context, b *box.Box) error {
	_, err := c.ask(ctx, b, request{Call: callDestroy}, nil)
	return err
}

// Running asks whether the box there is running.
func (c *Client) Running(ctx context.Context, b *box.Box) (bool, error) {
	r, err := c.ask(ctx, b, request{Call: callRunning}, nil)
	return r.Running, err
}

// Provision puts files into the home there and runs the setup commands.
func (c *Client) Provision(ctx context.Context, b *box.Box, files []box.File, report box.Report) error {
	r := request{Call: callProvision, Files: files, Spec: &b.Spec}
	if b.Way != nil {
		r.Way = &way{Env: b.Way.Env}
	}
	_, err := c.ask(ctx, b, r, report)
	return err
}

// Prepare makes a session's directories there.
func (c *Client) Prepare(ctx context.Context, b *box.Box, session string) (box.Place, error) {
	r, err := c.ask(ctx, b, request{Call: callPrepare, Session: session, Spec: &b.Spec}, nil)
	if err == nil && r.Place == nil {
		err = errors.New("the machine did not say where the session is")
	}
	if err != nil {
		return box.Place{}, err
	}
	return *r.Place, nil
}

// Halt ends everything that runs for a session there.
func (c *Client) Halt(ctx context.Context, b *box.Box, session string) error {
	_, err := c.ask(ctx, b, request{Call: callHalt, Session: session}, nil)
	return err
}

// Discard removes a session there.
func (c *Client) Discard(ctx context.Context, b *box.Box, session string) error {
	_, err := c.ask(ctx, b, request{Call: callDiscard, Session: session}, nil)
	return err
}

// Layers asks for the isolation inside the machine.
func (c *Client) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	r, err := c.ask(ctx, b, request{Call: callLayers, Spec: &b.Spec}, nil)
	return r.Layers, err
}

// Promises are those of the native box there.
func (c *Client) Promises(b *box.Box) []string { return probe.Promised(b.Spec.VM.Containers) }

// letOut connects a stream to the program's way out, and to nothing else.
func (k *call) letOut(s *conn, way *box.Way) {
	select {
	case k.outs <- struct{}{}:
	default:
		_ = s.Close()
		return
	}
	go func() {
		defer func() { <-k.outs }()
		defer func() { _ = s.Close() }()
		out, err := socket.Dial(k.ctx, way.Socket)
		if err != nil {
			return
		}
		defer func() { _ = out.Close() }()
		copyBoth(s, out)
	}()
}
