//go:build linux

package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
)

// layout says where things are below a box's directory.
type layout struct{ dir string }

func (l layout) home() string                 { return filepath.Join(l.dir, "home") }
func (l layout) sessions() string             { return filepath.Join(l.dir, "sessions") }
func (l layout) session(id string) string     { return filepath.Join(l.dir, "sessions", id) }
func (l layout) sessionHome(id string) string { return filepath.Join(l.session(id), "home") }
func (l layout) workspace(id string) string   { return filepath.Join(l.session(id), "workspace") }
func (l layout) shells() string               { return filepath.Join(l.dir, "shells") }
func (l layout) caches() string               { return filepath.Join(l.dir, "cache") }
func (l layout) repos() string                { return filepath.Join(l.dir, "repos") }
func (l layout) repo(key string) string       { return filepath.Join(l.dir, "repos", key+".git") }
func (l layout) run() string                  { return filepath.Join(l.dir, "run") }
func (l layout) toolDir() string              { return filepath.Join(l.dir, "tool") }
func (l layout) tool(name string) string      { return filepath.Join(l.toolDir(), name) }
func (l layout) bulky() string                { return filepath.Join(l.dir, "bulky") } // is there when home is too large to copy to memory
func (l layout) owner() string                { return filepath.Join(l.dir, "owner") }

// identity is the user that a box's programs are on the host.
type identity struct{ cage.User }

// claim decides who a new box's programs are, and keeps it. As an ordinary user it is that user. Root becomes the
// user who called sudo, or else a user that nobody else is.
func claim(b *box.Box) (identity, error) {
	if id, err := owner(b); err == nil || !errors.Is(err, errNotCreated) {
		return id, err
	}
	id := choose()
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return identity{}, err
	}
	text := fmt.Sprintf("%d %d\n", id.UID, id.GID)
	if err := os.WriteFile(layout{b.Dir}.owner(), []byte(text), 0o600); err != nil {
		return identity{}, fmt.Errorf("keep the box's user: %w", err)
	}
	return id, nil
}

// choose says who a new box's programs will be on the host: we ourselves, or somebody without rights if we are root.
func choose() identity {
	id := identity{cage.Me()}
	if id.UID == 0 {
		id = unprivileged(os.Getenv("SUDO_UID"), os.Getenv("SUDO_GID"))
	}
	return id
}

func unprivileged(sudoUID, sudoGID string) identity {
	uid, err := strconv.Atoi(sudoUID)
	gid, gerr := strconv.Atoi(sudoGID)
	if err == nil && gerr == nil && uid > 0 && gid > 0 {
		return identity{cage.User{UID: uid, GID: gid}}
	}
	return identity{cage.Nobody()}
}

// owner reads who a box's programs are.
func owner(b *box.Box) (identity, error) {
	text, err := os.ReadFile(layout{b.Dir}.owner())
	if errors.Is(err, fs.ErrNotExist) {
		return identity{}, fmt.Errorf("box %s: %w", b.Name, errNotCreated)
	}
	if err != nil {
		return identity{}, fmt.Errorf("read the box's user: %w", err)
	}
	var id identity
	if _, err := fmt.Sscanf(string(text), "%d %d", &id.UID, &id.GID); err != nil || id.UID <= 0 || id.GID < 0 {
		return identity{}, fmt.Errorf("read the box's user from %s: not two ids", layout{b.Dir}.owner())
	}
	if me := os.Getuid(); me != 0 && me != id.UID {
		return identity{}, fmt.Errorf("box %s belongs to the user with id %d", b.Name, id.UID)
	}
	return id, nil
}

// prepare makes a session's directories, all of them or none.
func (id identity) prepare(l layout, session string) error {
	if _, err := os.Lstat(l.session(session)); err == nil {
		return nil
	}
	if err := os.MkdirAll(l.sessions(), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(l.sessions(), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = cage.RemoveAll(tmp) }()
	for _, name := range []string{"home", "workspace"} {
		dir := filepath.Join(tmp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := id.Own(dir); err != nil {
			return err
		}
	}
	if err := id.CopyTree(l.home(), filepath.Join(tmp, "home")); err != nil {
		return fmt.Errorf("copy home: %w", err)
	}
	err = os.Rename(tmp, l.session(session))
	if _, exists := os.Lstat(l.session(session)); err != nil && exists == nil {
		return nil // another Prepare of the same session was first
	}
	return err
}
