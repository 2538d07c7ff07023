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

// Take records something of a phase, and has the server look what it is. If the server dies meanwhile, the next one
// finds it.
func (c *Client) Take(ctx context.Context, phase string, record func() error) error {
	if err := c.Ensure(ctx); err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := c.ask(ctx, patience, Request{Phase: phase})
		if _, dead := errors.AsType[*url.Error](err); !dead || n == retries || ctx.Err() != nil {
			return err
		}
		if err := c.Ensure(ctx); err != nil {
			return err
		}
	}
}

// retries is how many servers may die before one answers.
const retries = 10

// Renew tells a server that runs what to use from now on. A server that is started later finds the same by itself.
func (c *Client) Renew(ctx context.Context, r Renewal) error {
	if c.ping(ctx) != nil {
		return nil
	}
	return c.ask(ctx, patience, Request{Renew: &r})
}

// NoWorkerError says that no worker runs on this machine.
type NoWorkerError struct{}

func (e *NoWorkerError) Error() string { return "no worker runs here" }

// WrongState marks an error about a state.
func (e *NoWorkerError) WrongState() {}

// Drain has the worker that runs take nothing new, and waits until it has ended.
func (c *Client) Drain(ctx context.Context) error {
	if c.ask(ctx, patience, Request{Drain: true}) != nil {
		return &NoWorkerError{}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if alive, err := c.Alive(ctx); !alive {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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

// silence is how long a server may take for an answer that costs nothing. One that was stopped gives none, although
// the kernel accepts connections for it.
const silence = 10 * time.Second

func (c *Client) ping(ctx context.Context) error {
	gone, ok := errors.AsType[*url.Error](c.ask(ctx, silence, Request{}))
	switch {
	case !ok: // one of another version answers too
		return nil
	case gone.Timeout() && ctx.Err() == nil:
		pid, _ := os.ReadFile(Lock(c.Data)) // only words
		return &SilentError{Pid: strings.TrimSpace(string(pid))}
	}
	return gone
}

// ask says something to the server. A *url.Error says that it died before it answered.
func (c *Client) ask(ctx context.Context, limit time.Duration, r Request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cco/", bytes.NewReader(data))
	if err != nil {
		return err
	}
	server := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return socket.Dial(ctx, Socket(c.Data)) }}}
	resp, err := server.Do(req)
	if err != nil {
		return fmt.Errorf("talk to the engine: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	words, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return errors.Join(errors.New(strings.TrimSpace(string(words))), err)
}
