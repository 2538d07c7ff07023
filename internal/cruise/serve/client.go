package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/socket"
)

// Client talks to the server of a data directory, and starts it where it doesn't run.
type Client struct {
	Data string
	// Launch starts a server, detached.
	Launch func() error
	Report func(format string, args ...any)
}

// patience is how long a server may take to be ready. On a busy machine an engine needs a few seconds.
const patience = time.Minute

// Start begins a phase.
func (c *Client) Start(ctx context.Context, id string, st cruise.State) error {
	return c.post(ctx, "start", startRequest{ID: id, State: st})
}

// Send gives a phase an event.
func (c *Client) Send(ctx context.Context, id string, ev cruise.Event) error {
	return c.post(ctx, "send", sendRequest{ID: id, Event: ev})
}

// RefusedError says, in the server's words, that a phase's state does not allow what was asked.
type RefusedError struct{ Words string }

func (e *RefusedError) Error() string { return e.Words }

// WrongState marks an error about a state.
func (e *RefusedError) WrongState() {}

// Ensure makes sure that a server runs.
func (c *Client) Ensure(ctx context.Context) error {
	if c.ping(ctx) == nil {
		return nil
	}
	if err := c.Launch(); err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for said := false; ; said = true {
		err := c.ping(ctx)
		if err == nil {
			return nil
		}
		if !said {
			c.Report("starting the engine")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the engine did not start (see cruise.log in %s): %w", c.Data, err)
		case <-tick.C:
		}
	}
}

func (c *Client) http() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return socket.Dial(ctx, Socket(c.Data))
		},
		DisableKeepAlives: true,
	}}
}

func (c *Client) ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cco/ping", nil)
	if err != nil {
		return err
	}
	resp, err := c.http().Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// retries is how often a request is sent to servers that die before they answer. It has an id, so repeating it is
// harmless.
const retries = 10

func (c *Client) post(ctx context.Context, op string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := c.Ensure(ctx); err != nil {
			return err
		}
		err := c.try(ctx, op, data)
		if _, dead := errors.AsType[*url.Error](err); !dead || n == retries || ctx.Err() != nil {
			return err
		}
	}
}

func (c *Client) try(ctx context.Context, op string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cco/"+op, bytes.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := c.http().Do(req)
	if err != nil {
		return fmt.Errorf("talk to the engine: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	words, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode == http.StatusConflict {
		return errors.Join(&RefusedError{Words: strings.TrimSpace(string(words))}, err)
	}
	return errors.Join(errors.New(strings.TrimSpace(string(words))), err)
}
