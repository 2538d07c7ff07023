package rooms

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/whole"
)

// owner is the user who owns a box's directories. If each session is a user of its own, the owner is none of them: each
// session is given its parts through mapped mounts, and everything is below a directory that only root can enter.
func (d *Driver) owner(b *box.Box) (Identity, error) {
	id, err := Owner(b)
	if err == nil && d.Apart {
		id = Identity{User: cage.User{UID: jail.UID, GID: jail.GID}}
	}
	return id, err
}

// User is the user that a session's programs run as on the host.
func (d *Driver) User(b *box.Box, session string) (cage.User, error) {
	id, err := Owner(b)
	if err != nil || !d.Apart || session == "" {
		return id.User, err
	}
	uids := claims{Layout{b.Dir}.UIDs()}
	uid, err := uids.idFor(session, id.UID+1)
	if err != nil {
		return id.User, fmt.Errorf("find the user of session %s: %w", session, err)
	}
	return cage.User{UID: uid, GID: uid}, nil
}

// claims is a directory with a file for each user id in use: the name is the id, the content is the session.
type claims struct{ dir string }

// idFor returns a session's user id. If it has none, it gets the first free one from base on.
func (c claims) idFor(session string, base int) (int, error) {
	unlock, err := c.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	taken, err := c.all()
	if err != nil {
		return 0, err
	}
	for uid, who := range taken {
		if who == session {
			return uid, nil
		}
	}
	uid := base
	for taken[uid] != "" {
		uid++
	}
	return uid, whole.Write(filepath.Join(c.dir, strconv.Itoa(uid)), []byte(session), 0o600)
}

// release frees a session's user id.
func (c claims) release(session string) error {
	if _, err := os.Stat(c.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	taken, err := c.all()
	for uid, who := range taken {
		if who == session {
			err = errors.Join(err, os.Remove(filepath.Join(c.dir, strconv.Itoa(uid))))
		}
	}
	return err
}

func (c claims) lock() (unlock func(), err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func (c claims) all() (map[int]string, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	taken := map[int]string{}
	for _, e := range entries {
		uid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		taken[uid] = strings.TrimSpace(string(text))
	}
	return taken, nil
}
