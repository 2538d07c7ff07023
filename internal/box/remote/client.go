package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/socket"
)

// maxReplies limits how much of a call's replies is read. An agent may control the other machine.
const maxReplies = 8 << 20

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
	mux     *mux
	control *stream
	in      *json.Decoder
	words   sync.Mutex
}

func (c *Client) begin(ctx context.Context, b *box.Box, r request) (*call, error) {
	conn, err := c.Dial(ctx, b)
	if err != nil {
		return nil, err
	}
	k := &call{mux: newMux(conn, true)}
	if k.control, err = k.mux.open("control"); err == nil {
		err = k.send(r)
	}
	if err != nil {
		_ = k.mux.Close()
		return nil, err
	}
	k.in = json.NewDecoder(io.LimitReader(k.control, maxReplies))
	return k, nil
}

func (k *call) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	k.words.Lock()
	defer k.words.Unlock()
	_, err = k.control.Write(append(data, '\n'))
	return err
}

// end reads replies until the last, and passes on what they report.
func (k *call) end(report box.Report) (reply, error) {
	for {
		var r reply
		if err := decodeLine(k.in, &r); err != nil {
			return r, fmt.Errorf("the machine did not answer: %w", err)
		}
		if r.Done {
			return r, nil
		}
		if report != nil && r.Report != "" {
			report("%s", safetext.Line(r.Report))
		}
	}
}

// ask makes a call and waits for its end. When the context ends, it closes the connection, which ends the call.
func (c *Client) ask(ctx context.Context, b *box.Box, r request, report box.Report) (reply, error) {
	r.Box = b.Name
	k, err := c.begin(ctx, b, r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = k.mux.Close() }()
	defer context.AfterFunc(ctx, func() { _ = k.mux.Close() })()
	if r.Way != nil && b.Way != nil {
		go k.serveWay(ctx, b.Way)
	}
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

// kindWay is the kind of the streams that the other side opens.
const kindWay = "way"

// serveWay connects each stream that the other side opens to a program's way out, and to nothing else.
func (k *call) serveWay(ctx context.Context, way *box.Way) {
	for {
		s, err := k.mux.accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = s.Close() }()
			if s.kind != kindWay || way == nil {
				return
			}
			out, err := socket.Dial(ctx, way.Socket)
			if err != nil {
				return
			}
			defer func() { _ = out.Close() }()
			copyBoth(s, out)
		}()
	}
}

// half is a connection of which the writing half can be closed.
type half interface {
	io.ReadWriter
	CloseWrite() error
}

// copyBoth copies in both directions until both have ended.
func copyBoth(a, b half) {
	var both sync.WaitGroup
	pass := func(to, from half) {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}
