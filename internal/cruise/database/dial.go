package database

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUp has a connection end when the other side has acknowledged nothing for so long: the kernel would try for a
// quarter of an hour. Sockets that are not of TCP have no such setting.
func giveUp(after time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		var err error
		if network == "unix" {
			return nil
		}
		bad := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unacknowledged, int(after/unacknowledgedUnit))
		})
		return errors.Join(bad, err)
	}
}
