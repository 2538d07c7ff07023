// Package rooms keeps a box's files on the host's disk: the provisioned home, and for each session a home and a
// workspace of its own. All of them belong to the user that the box's programs run as.
package rooms

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Layout says where things are below a box's directory.
type Layout struct{ Dir string }

func (l Layout) Home() string                 { return filepath.Join(l.Dir, "home") }
func (l Layout) Sessions() string             { return filepath.Join(l.Dir, "sessions") }
func (l Layout) Session(id string) string     { return filepath.Join(l.Dir, "sessions", id) }
func (l Layout) SessionHome(id string) string { return filepath.Join(l.Session(id), "home") }
func (l Layout) Workspace(id string) string   { return filepath.Join(l.Session(id), "workspace") }
func (l Layout) Shells() string               { return filepath.Join(l.Dir, "shells") }
func (l Layout) Caches() string               { return filepath.Join(l.Dir, "cache") }
func (l Layout) Repos() string                { return filepath.Join(l.Dir, "repos") }
func (l Layout) Repo(key string) string       { return filepath.Join(l.Dir, "repos", key+".git") }
func (l Layout) Run() string                  { return filepath.Join(l.Dir, "run") }
func (l Layout) ToolDir() string              { return filepath.Join(l.Dir, "tool") }
func (l Layout) Tool(name string) string      { return filepath.Join(l.ToolDir(), name) }

// Bulky exists when the home is too large to copy to memory.
func (l Layout) Bulky() string { return filepath.Join(l.Dir, "bulky") }
func (l Layout) Owner() string { return filepath.Join(l.Dir, "owner") }
func (l Layout) UIDs() string  { return filepath.Join(l.Dir, "uids") }

// ErrNotCreated says that a box has no rooms yet.
var ErrNotCreated = errors.New("it has not been created")

// Identity is the user that a box's programs run as on the host.
type Identity struct{ cage.User }

// Claim decides which user a new box's programs run as, and saves it. An ordinary user's programs run as that user.
// Root's run as the user who called sudo, or else as a user id that nobody has.
func Claim(b *box.Box) (Identity, error) {
	if id, err := Owner(b); err == nil || !errors.Is(err, ErrNotCreated) {
		return id, err
	}
	id := Choose()
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return Identity{}, err
	}
	text := fmt.Sprintf("%d %d\n", id.UID, id.GID)
	if err := whole.Write(Layout{b.Dir}.Owner(), []byte(text), 0o600); err != nil {
		return Identity{}, fmt.Errorf("keep the box's user: %w", err)
	}
	return id, nil
}

// Choose says which user a new box's programs will run as: our own or, if we are root, an unprivileged one.
func Choose() Identity {
	id := Identity{cage.Me()}
	if id.UID == 0 {
		id = unprivileged(os.Getenv("SUDO_UID"), os.Getenv("SUDO_GID"))
	}
	return id
}

func unprivileged(sudoUID, sudoGID string) Identity {
	uid, err := strconv.Atoi(sudoUID)
	gid, gerr := strconv.Atoi(sudoGID)
	if err == nil && gerr == nil && uid > 0 && gid > 0 {
		return Identity{cage.User{UID: uid, GID: gid}}
	}
	return Identity{cage.Nobody()}
}

// Owner reads which user a box's programs run as.
func Owner(b *box.Box) (Identity, error) {
	if b.Spec.NoKernel() {
		return Identity{cage.Me()}, nil // its programs run as the user
	}
	text, err := os.ReadFile(Layout{b.Dir}.Owner())
	if errors.Is(err, fs.ErrNotExist) {
		return Identity{}, fmt.Errorf("box %s: %w", b.Name, ErrNotCreated)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read the box's user: %w", err)
	}
	var id Identity
	if _, err := fmt.Sscanf(string(text), "%d %d", &id.UID, &id.GID); err != nil || id.UID <= 0 || id.GID < 0 {
		return Identity{}, fmt.Errorf("read the box's user from %s: not two ids", Layout{b.Dir}.Owner())
	}
	if me := os.Getuid(); me != 0 && me != id.UID {
		return Identity{}, fmt.Errorf("box %s belongs to the user with id %d", b.Name, id.UID)
	}
	return id, nil
}

// Prepare makes a session's directories, all of them or none.
func (id Identity) Prepare(l Layout, session string) error {
	if _, err := os.Lstat(l.Session(session)); err == nil {
		return nil
	}
	if err := os.MkdirAll(l.Sessions(), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(l.Sessions(), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = tree.Remove(tmp) }()
	for _, name := range []string{"home", "workspace"} {
		if err := id.mkdir(filepath.Join(tmp, name)); err != nil {
			return err
		}
	}
	if err := id.CopyTree(l.Home(), filepath.Join(tmp, "home")); err != nil {
		return fmt.Errorf("copy home: %w", err)
	}
	err = os.Rename(tmp, l.Session(session))
	if _, exists := os.Lstat(l.Session(session)); err != nil && exists == nil {
		return nil // another Prepare of the same session was first
	}
	return err
}
