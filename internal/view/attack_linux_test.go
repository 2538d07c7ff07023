package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
)

// nobody is a user that has nothing.
const nobody = 65534

// Guards against another user of the machine who gets as much as a page, with the token or without. Only root can try.
func TestOtherUsersGetNothing(t *testing.T) {
	p := newApp(t)
	found, _ := start(t, p, "127.0.0.1:0")
	for _, token := range []string{"", "Authorization: Bearer " + tokenOf(t, p.Dirs.Data) + "\r\n"} {
		c, err := dialAs(t.Context(), nobody, found.Address[7:])
		if os.Geteuid() != 0 { // who is nobody else can only see that
			if err == nil {
				t.Error("an ordinary user connected as another one")
			}
			return
		}
		must.Do(t, err)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n%s\r\n", found.Address[7:], token)
		got, _ := io.ReadAll(io.LimitReader(c, 200)) // it may be reset
		_ = c.Close()
		if len(got) > 0 {
			t.Errorf("it is answered with %.40q", got)
		}
	}
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
