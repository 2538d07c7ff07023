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
	"os"
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

// relaunch is when another server is started for one that does not come: one before it may have been ending, which
// answers no more and is still the only one that may run.
const relaunch = 5 * time.Second

// Start begins a phase.
func (c *Client) Start(ctx context.Context, id string, st cruise.State) error {
	return c.post(ctx, "start", startRequest{ID: id, State: st})
}

// Send gives a phase an event.
func (c *Client) Send(ctx context.Context, id string, ev cruise.Event) error {
	return c.post(ctx, "send", sendRequest{ID: id, Event: ev})
}

// Renew tells a server that runs what to use from now on. A server that is started later finds the same by itself.
func (c *Client) Renew(ctx context.Context, r Renewal) error {
	if c.ping(ctx) != nil {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.try(ctx, "renew", data)
}

// RefusedError says, in the server's words, that a phase's state does not allow what was asked.
type RefusedError struct{ Words string }

func (e *RefusedError) Error() string { return e.Words }

// WrongState marks an error about a state.
func (e *RefusedError) WrongState() {}

// SilentError says that a server is there and does not answer.
type SilentError struct{ Pid string }

func (e *SilentError) Error() string {
	return fmt.Sprintf("the engine (process %s) does not answer: it may be stopped; `kill -CONT %[1]s` lets it go on, "+
		"and after `kill -9 %[1]s` the next command starts another", e.Pid)
}

// WrongState marks an error about a state.
func (e *SilentError) WrongState() {}

// Alive says whether a server runs; a *SilentError says that it does not answer.
func (c *Client) Alive(ctx context.Context) (bool, error) {
	err := c.ping(ctx)
	if _, silent := errors.AsType[*SilentError](err); silent || ctx.Err() != nil {
		return false, err
	}
	return err == nil, nil
}

// Ensure makes sure that a server runs.
func (c *Client) Ensure(ctx context.Context) error {
	if alive, err := c.Alive(ctx); alive || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for said, launched := false, (time.Time{}); ; said = true {
		if time.Since(launched) > relaunch {
			launched = time.Now()
			if err := c.Launch(); err != nil {
				return fmt.Errorf("start the engine: %w", err)
			}
		}
		err := c.ping(ctx)
		if err == nil {
			return nil
		}
		if _, silent := errors.AsType[*SilentError](err); silent {
			return err
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

// silence is how long a server may take for an answer that costs nothing. One that was stopped gives none, although
// the kernel accepts connections for it.
const silence = 10 * time.Second

func (c *Client) ping(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	req, err := http.NewRequestWithContext(brief, http.MethodGet, "http://cco/ping", nil)
	if err != nil {
		return err
	}
	resp, err := c.http().Do(req)
	if err != nil && brief.Err() != nil && ctx.Err() == nil {
		pid, _ := os.ReadFile(Lock(c.Data)) // only words
		return &SilentError{Pid: strings.TrimSpace(string(pid))}
	}
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
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(brief, http.MethodPost, "http://cco/"+op, bytes.NewReader(data))
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
