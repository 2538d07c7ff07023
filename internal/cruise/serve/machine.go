package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"
)

// Machine is the process of a machine that runs phases which a service gives to it. Commands of this machine reach it.
type Machine struct {
	Server
	// Drain has it take nothing new, and end when no turn is under way.
	Drain func()
}

// Run does something as the only process of the data directory that runs phases, and answers commands meanwhile.
func (m *Machine) Run(ctx context.Context, do func(ctx context.Context) error) error {
	return m.locked(func() error {
		l, err := m.listen()
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(Socket(m.Data)) }()
		mux := http.NewServeMux()
		m.plain(mux)
		mux.HandleFunc("POST /drain", handle(func(context.Context, struct{}) error { m.Drain(); return nil }))
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		go func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				stop(err)
			}
		}()
		err = do(ctx)
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(err, srv.Shutdown(down))
	})
}

// Drain has the machine that runs take nothing new, and waits until it has ended.
func (c *Client) Drain(ctx context.Context) error {
	if alive, err := c.Alive(ctx); !alive {
		return errors.Join(err, &RefusedError{Words: "no worker runs here"})
	}
	if err := c.try(ctx, "drain", []byte("{}")); err != nil {
		return err
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
