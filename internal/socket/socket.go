// Package socket makes unix sockets and connects to them, however long their paths are.
package socket

import (
	"context"
	"errors"
	"net"

	"github.com/cco-dev/cco/internal/tree"
)

// longest is the length that fits into a unix address on every system. Paths in data directories can be longer.
const longest = 103

// Listen listens at path, and replaces anything there. The socket outlives the listener: the caller removes it.
func Listen(path string) (*net.UnixListener, error) {
	if err := tree.Remove(path); err != nil {
		return nil, err
	}
	name, done, err := short(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the short name is invalid by then, and a keeper inherits a push's socket
	return l, nil
}

// ListenAll is Listen for the user of a box, who may be another user. The directories above the socket keep others out.
func ListenAll(path string) (*net.UnixListener, error) {
	l, err := Listen(path)
	if err != nil {
		return nil, err
	}
	if err := openToAll(path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	name, done, err := short(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", name)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix socket"), c.Close())
	}
	return u, nil
}
