//go:build linux

// Package native keeps boxes by what the Linux kernel has built in: namespaces, a root of read-only system directories,
// no capabilities, Landlock and a seccomp filter. It needs no daemon and no root.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/tree"
)

// Options are what the driver needs to know of the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
	Home  string // where toolchains are looked for; "" looks for none
	Path  string // the host's PATH, of which the box sees the directories that are in it
	// Programs are the names of those that a box sees by themselves wherever they are on Path, as agents' CLIs are.
	Programs []string
	// Apart makes each session a user of its own on the host. Only root can do that.
	Apart bool
	// Foreign says that the exchange directory is another machine's, which may not let us say whose files are.
	Foreign bool
	// Nested allows boxes whose sessions run containers. What is let go for that is the kernel's to hold alone, so this is
	// for machines that have nothing but boxes.
	Nested bool
}

// Driver makes and enters native boxes.
type Driver struct {
	opts  Options
	shown func() *shown
}

var _ box.Driver = (*Driver)(nil)

// New makes a driver. Nothing is looked at before it is used.
func New(o Options) *Driver {
	return &Driver{opts: o, shown: sync.OnceValue(func() *shown {
		if o.Home == "" {
			return &shown{}
		}
		return find(o.Home, filepath.SplitList(o.Path), o.Programs)
	})}
}

// Check builds an empty box in a moment and says what is missing if that doesn't work.
func (d *Driver) Check(ctx context.Context) error {
	_, err := d.rehearse(ctx, &box.Box{Name: "check"})
	return err
}

// Create makes the box's directories and leaves it running.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if _, err := d.rehearse(ctx, b); err != nil {
		return err
	}
	if !filepath.IsAbs(b.Dir) || !filepath.IsAbs(b.Exchange) {
		return fmt.Errorf("make box %s: its directories must be absolute paths", b.Name)
	}
	if err := checkSpec(b); err != nil {
		return err
	}
	if report != nil {
		report("making box %s", b.Name)
	}
	if _, err := rooms.Claim(b); err != nil {
		return err
	}
	l := rooms.Layout{Dir: b.Dir}
	for _, dir := range []string{l.Home(), l.Sessions(), l.Shells(), l.Caches(), l.Repos(), l.Run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make box %s: %w", b.Name, err)
		}
	}
	id, err := d.owner(b)
	if err == nil {
		err = id.Own(l.Home())
	}
	if err != nil {
		return fmt.Errorf("make box %s: %w", b.Name, err)
	}
	return d.open(ctx, b)
}

// Start marks the box as started since this boot. It has no process of its own.
func (d *Driver) Start(ctx context.Context, b *box.Box, _ box.Report) error {
	if _, err := d.rehearse(ctx, b); err != nil {
		return err
	}
	return d.open(ctx, b)
}

func (d *Driver) open(ctx context.Context, b *box.Box) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	if err := errors.Join(runs(b).Open(), runs(b).Sweep(ctx)); err != nil {
		return fmt.Errorf("start box %s: %w", b.Name, err)
	}
	b.Boot = boot
	return nil
}

// Stop ends every process in the box and lets no other start.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	if err := runs(b).Close(ctx); err != nil {
		return fmt.Errorf("stop box %s: %w", b.Name, err)
	}
	b.Boot = ""
	return tree.Remove(rooms.Layout{Dir: b.Dir}.Shells())
}

// Destroy removes what the driver keeps for the box.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if err := d.Stop(ctx, b); err != nil {
		return err
	}
	l := rooms.Layout{Dir: b.Dir}
	for _, dir := range []string{l.Sessions(), l.Shells(), l.Home(), l.Caches(), l.Repos(), l.Run(), l.ToolDir(),
		l.Bulky(), l.Owner(), filepath.Join(b.Dir, "uids")} {
		if err := tree.Remove(dir); err != nil {
			return fmt.Errorf("destroy box %s: %w", b.Name, err)
		}
	}
	return nil
}

// Running says whether the box was started since this boot and not stopped.
func (d *Driver) Running(_ context.Context, b *box.Box) (bool, error) {
	boot, err := bootID()
	if err != nil {
		return false, err
	}
	if b.Boot != boot {
		return false, nil
	}
	return runs(b).IsOpen()
}

// Prepare makes a session's home, a copy of the provisioned one, its workspace and its exchange directory.
func (d *Driver) Prepare(_ context.Context, b *box.Box, session string) (box.Place, error) {
	if err := cage.CheckKey("session", session); err != nil {
		return box.Place{}, err
	}
	id, err := d.owner(b)
	if err != nil {
		return box.Place{}, err
	}
	who, err := d.user(b, session)
	if err != nil {
		return box.Place{}, err
	}
	l := rooms.Layout{Dir: b.Dir}
	if err := id.Prepare(l, session); err != nil {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	exchange := filepath.Join(b.Exchange, session)
	if err := os.MkdirAll(exchange, 0o700); err != nil {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	if err := who.Own(exchange); err != nil && !d.opts.Foreign {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	return box.Place{
		Workspace: "/workspace/" + session,
		Exchange:  "/exchange/" + session,
		Home:      jail.Home,
		State:     jail.Home,
		Tool:      jail.Tool,
		Guard:     d.guardInside(),
		Store:     jail.Store,
	}, nil
}

// Halt ends what still runs for a session.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	if err := cage.CheckKey("session", session); err != nil {
		return err
	}
	if err := runs(b).End(ctx, session); err != nil {
		return fmt.Errorf("end session %s: %w", session, err)
	}
	return nil
}

// Discard ends what still runs for a session and removes its home and workspace.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	if err := d.Halt(ctx, b, session); err != nil {
		return err
	}
	if err := tree.Remove(rooms.Layout{Dir: b.Dir}.Session(session)); err != nil {
		return fmt.Errorf("discard session %s: %w", session, err)
	}
	return claims{filepath.Join(b.Dir, "uids")}.release(session)
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
