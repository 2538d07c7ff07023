package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is a user that has nothing.
const nobody = 65534

// otherUser asks as another user of the machine, with and without the token. Only root can be another.
func (a *attacker) otherUser() Result {
	r := Result{Attack: "other-user", What: "another user of this machine asks"}
	for _, token := range []string{"", "Authorization: Bearer " + a.token + "\r\n"} {
		c, err := dialAs(a.ctx, nobody, a.base.Host)
		if err != nil {
			r.Untried = err.Error()
			return r
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n%s\r\n", a.base.Host, token)
		got, _ := io.ReadAll(io.LimitReader(c, 200)) // it may be reset
		_ = c.Close()
		if len(got) > 0 {
			r.Detail = fmt.Sprintf("it is answered with %.40q", got)
			return r
		}
	}
	r.Held = true
	return r
}

// dialAs connects as a user. It changes who this thread is, and no other.
func dialAs(ctx context.Context, uid int, address string) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := unix.SetfsuidRetUid(uid)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer func() {
		_, _ = unix.SetfsuidRetUid(own)
		if is, err := unix.SetfsuidRetUid(-1); err == nil && is == own {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
	}()
	if is, err := unix.SetfsuidRetUid(-1); err != nil || is != uid {
		return nil, errors.New("only root can be another user")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
