package rooms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/tree"
)

// Driver manages boxes whose files are on this machine's disk. Backends differ in how they start a program.
type Driver struct {
	Starter
	Options
}

var _ box.Driver = (*Driver)(nil)

// Options tell a driver about the host and about its starter.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
	// Apart makes each session a user of its own on the host. Only root can do that.
	Apart bool
	// Foreign says that the exchange directory is on another machine, which may not let us change the owner of files.
	Foreign bool
	// Memory says that the starter can copy a small home to memory.
	Memory bool
	// Home is the user's, from which Spec.Seeds are copied without its Logins.
	Home   string
	Logins func(home string, mounts []box.Mount, more ...string) []string
	// Places says where programs see a session, or a shell if it is "". If it is nil, they see the same in every box.
	Places func(b *box.Box, session string) box.Place
	// Keeps names the entries that the starter keeps in a box's directory.
	Keeps []string
}

// Starter starts programs in boxes that a Driver keeps.
type Starter interface {
	// Check says whether the backend works on this machine.
	Check(ctx context.Context) error
	// Make checks and finds what a new box needs, and saves in the box's directory what it must know later.
	Make(ctx context.Context, b *box.Box, report box.Report) error
	// Ready makes sure before a start that all of this is still there.
	Ready(ctx context.Context, b *box.Box) error
	// Try runs a program in a box that was just opened, if Ready can't tell whether that works.
	Try(ctx context.Context, b *box.Box, enter func(box.Exec) error) error
	// Enter runs a program and returns when it and all its descendants are gone.
	Enter(ctx context.Context, b *box.Box, r Room, e box.Exec) error
	// Stopped removes what programs have left when none of them runs any more.
	Stopped(ctx context.Context, b *box.Box) error

	Layers(ctx context.Context, b *box.Box) ([]box.Layer, error)
	Promises(b *box.Box) []string
}

// Runs is the registry of what runs in a box.
func Runs(b *box.Box) cage.Registry { return cage.Registry{Dir: Layout{b.Dir}.Run()} }

// Create makes the box's directories and leaves it running.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if report == nil {
		report = func(string, ...any) {}
	}
	if !filepath.IsAbs(b.Dir) || !filepath.IsAbs(b.Exchange) {
		return fmt.Errorf("make box %s: its directories must be absolute paths", b.Name)
	}
	if err := d.Make(ctx, b, report); err != nil {
		return err
	}
	if _, err := Claim(b); err != nil {
		return err
	}
	l := Layout{b.Dir}
	for _, dir := range []string{l.Home(), l.Sessions(), l.Shells(), l.Caches(), l.Repos(), l.Run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make box %s: %w", b.Name, err)
		}
	}
	id, err := d.owner(b)
	if err == nil {
		err = id.Own(l.Home())
	}
	if err == nil {
		err = id.seed(b, d.Options, report)
	}
	if err != nil {
		return fmt.Errorf("make box %s: %w", b.Name, err)
	}
	return d.open(ctx, b)
}

// Start makes sure that the box has what it needs, and lets programs run. The box has no process of its own.
func (d *Driver) Start(ctx context.Context, b *box.Box, _ box.Report) error {
	if err := d.Ready(ctx, b); err != nil {
		return err
	}
	up, err := d.Running(ctx, b)
	if err != nil {
		return err
	}
	if up {
		return Runs(b).Sweep(ctx)
	}
	return d.open(ctx, b)
}

// open lets programs run, and marks the box as started since this boot.
func (d *Driver) open(ctx context.Context, b *box.Box) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	if err := errors.Join(Runs(b).Open(), Runs(b).Sweep(ctx)); err != nil {
		return fmt.Errorf("start box %s: %w", b.Name, err)
	}
	err = d.Try(ctx, b, func(e box.Exec) error {
		return d.enter(ctx, b, jail.Mount{Source: Layout{b.Dir}.Home(), Target: d.place(b, "").Home}, e)
	})
	if err != nil {
		return errors.Join(err, Runs(b).Close(context.WithoutCancel(ctx)))
	}
	b.Boot = boot
	return nil
}

// Stop ends every program in the box and prevents further starts.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	if err := Runs(b).Close(ctx); err != nil {
		return fmt.Errorf("stop box %s: %w", b.Name, err)
	}
	b.Boot = ""
	return errors.Join(d.Stopped(ctx, b), tree.Remove(Layout{b.Dir}.Shells()))
}

// Destroy removes what the driver keeps for the box.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if err := d.Stop(ctx, b); err != nil {
		return err
	}
	l := Layout{b.Dir}
	kept := []string{l.Sessions(), l.Home(), l.Caches(), l.Repos(), l.Run(), l.ToolDir(), l.Bulky(), l.Owner(), l.UIDs()}
	for _, name := range d.Keeps {
		kept = append(kept, filepath.Join(b.Dir, name))
	}
	for _, dir := range kept {
		if err := tree.Remove(dir); err != nil {
			return fmt.Errorf("destroy box %s: %w", b.Name, err)
		}
	}
	return nil
}

// Running says whether the box was started since this boot and not stopped.
func (d *Driver) Running(_ context.Context, b *box.Box) (bool, error) {
	boot, err := bootID()
	if err != nil || b.Boot != boot {
		return false, err
	}
	return Runs(b).IsOpen()
}

// Provision puts files into the home that sessions get a copy of, then runs the box's setup commands there.
func (d *Driver) Provision(ctx context.Context, b *box.Box, files []box.File, report box.Report) error {
	id, err := d.owner(b)
	if err != nil {
		return err
	}
	l := Layout{b.Dir}
	for _, f := range files {
		if err := id.Put(l.Home(), f); err != nil {
			return fmt.Errorf("provision %s: %w", f.Path, err)
		}
	}
	for _, command := range b.Spec.Setup {
		if report != nil {
			report("setup: %s", command)
		}
		place := d.place(b, "")
		e := box.Exec{Argv: []string{"/bin/sh", "-c", command}, Way: b.Way}.Led(place.Tool)
		if err := d.enter(ctx, b, jail.Mount{Source: l.Home(), Target: place.Home, Write: true}, e); err != nil {
			return fmt.Errorf("setup %q: %w", command, err)
		}
	}
	if !d.Memory {
		return nil
	}
	if err := NoteSize(l); err != nil {
		return fmt.Errorf("measure home: %w", err)
	}
	return nil
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
	who, err := d.User(b, session)
	if err != nil {
		return box.Place{}, err
	}
	exchange := filepath.Join(b.Exchange, session)
	err = id.Prepare(Layout{b.Dir}, session)
	if err == nil {
		err = os.MkdirAll(exchange, 0o700)
	}
	if err == nil {
		if err = who.Own(exchange); d.Foreign {
			err = nil
		}
	}
	if err != nil {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	return d.place(b, session), nil
}

// place is where a session's programs see what is theirs.
func (d *Driver) place(b *box.Box, session string) box.Place {
	if d.Places != nil {
		return d.Places(b, session)
	}
	place := box.Place{
		Workspace: "/workspace/" + session,
		Exchange:  "/exchange/" + session,
		Home:      jail.Home,
		Tool:      jail.Tool,
		Store:     jail.Store,
	}
	if d.Guard != "" {
		place.Guard = jail.Guard
	}
	return place
}

// HostWorkspace is where a person finds a session's workspace.
func (d *Driver) HostWorkspace(b *box.Box, session string) string {
	return Layout{b.Dir}.Workspace(session)
}

// HostSession is where a session's workspace and home are.
func (d *Driver) HostSession(b *box.Box, session string) string {
	return Layout{b.Dir}.Session(session)
}

// HostStore is where the objects are that a box has of a repository.
func (d *Driver) HostStore(b *box.Box, repo string) string { return Layout{b.Dir}.Repo(repo) }

// Halt ends everything that still runs for a session.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	return Runs(b).End(ctx, session)
}

// Discard ends everything that still runs for a session and removes its home and workspace.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	if err := d.Halt(ctx, b, session); err != nil {
		return err
	}
	if err := tree.Remove(Layout{b.Dir}.Session(session)); err != nil {
		return fmt.Errorf("discard session %s: %w", session, err)
	}
	return claims{Layout{b.Dir}.UIDs()}.release(session)
}
