package remote

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// A terminal that is opened so never becomes ours, and a read of it can be ended.
const (
	oNoCTTY   = unix.O_NOCTTY
	oNonblock = unix.O_NONBLOCK
)

func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix socket"), c.Close())
	}
	return u, nil
}
