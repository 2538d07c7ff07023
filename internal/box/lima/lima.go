// Package lima keeps boxes in virtual machines that Lima runs, one machine per box. In the machine, cco's guest keeps a
// native box in which each session is a user of its own.
package lima

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/remote"
	"github.com/cco-dev/cco/internal/socket"
)

// guestSocket is where cco's guest listens in the machine.
const guestSocket = "/run/cco-guest/cco.sock"

// Options tell the driver about the host.
type Options struct {
	Limactl string // the program; "" looks on PATH
	Home    string // the user's
	Root    bool   // root runs cco, which limactl refuses
	Getenv  func(string) string
	// Parts returns the directory with cco's programs for a machine's architecture, in Go's terms.
	Parts func(arch string) (string, error)
	// Version is a checksum of those programs.
	Version func(dir string) (string, error)
	Names   []string // their names
}

// Driver makes and enters boxes in virtual machines.
type Driver struct {
	opts   Options
	inside *remote.Client
}

var _ box.Driver = (*Driver)(nil)

// New makes a driver. It looks at nothing until it is used.
func New(o Options) *Driver {
	if o.Limactl == "" {
		o.Limactl = "limactl"
	}
	d := &Driver{opts: o}
	d.inside = &remote.Client{Dial: d.dial}
	return d
}

// Inside is the driver of the box in the machine, which has to run.
func (d *Driver) Inside() *remote.Client { return d.inside }

// Check says whether limactl can be used.
func (d *Driver) Check(ctx context.Context) error { return d.checkLimactl(ctx) }

// ours marks a machine as made by us, so that no other is ever removed.
func ours(b *box.Box) string { return filepath.Join(b.Dir, "lima.yaml") }

func isOurs(b *box.Box) bool {
	_, err := os.Lstat(ours(b))
	return err == nil
}

// Create makes the machine, starts it, puts cco's guest into it and makes the box there. It continues what an earlier
// attempt has left.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if report == nil {
		report = func(string, ...any) {}
	}
	if err := d.checkLimactl(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(b.Exchange, 0o700); err != nil { // before any machine needs it
		return err
	}
	text, err := Template(b)
	if err != nil {
		return err
	}
	i, err := d.find(ctx, b.Name)
	if err != nil {
		return err
	}
	switch {
	case i == nil:
		if err := d.make(ctx, b, text, report); err != nil {
			return err
		}
	case !isOurs(b):
		return &box.StaleError{Name: b.Name, Why: "Lima has a machine of that name that this cco did not make",
			Mend: "choose another name, or `limactl delete " + b.Name + "` first"}
	case i.Status == uninitialized, i.Status == installing, !madeFrom(b, text):
		report("removing the leftovers of an earlier attempt")
		if err := d.remove(ctx, b); err != nil {
			return err
		}
		if err := d.make(ctx, b, text, report); err != nil {
			return err
		}
	}
	if err := d.up(ctx, b, report); err != nil {
		return err
	}
	if err := d.install(ctx, b, report); err != nil {
		return err
	}
	return d.inside.Create(ctx, inner(b), report)
}

// inner is the box as the machine knows it. Settings of the machine itself are left out.
func inner(b *box.Box) *box.Box {
	in := *b
	in.Spec.VM, in.Spec.Container = box.VM{Containers: b.Spec.VM.Containers}, box.Container{}
	return &in
}

// madeFrom says whether the machine has the wanted settings: an earlier attempt may have had others.
func madeFrom(b *box.Box, text string) bool {
	was, err := os.ReadFile(ours(b))
	return err == nil && string(was) == text
}

func (d *Driver) make(ctx context.Context, b *box.Box, text string, report box.Report) error {
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(ours(b), []byte(text), 0o600); err != nil {
		return err
	}
	report("making the machine %s", b.Name)
	_, err := d.limactl(ctx, report, nil, "create", "--name", b.Name, ours(b))
	return err
}

// startTime limits the first boot, which installs packages.
const startTime = "30m"

// up starts the machine if it is not running, and makes sure that it sees the exchange directory.
func (d *Driver) up(ctx context.Context, b *box.Box, report box.Report) error {
	i, err := d.find(ctx, b.Name)
	if err != nil {
		return err
	}
	if i == nil {
		return &box.StaleError{Name: b.Name, Gone: true, Why: "its machine is gone", Mend: "`cco box destroy " + b.Name +
			"`, then create it again"}
	}
	if !i.shows(b.Exchange) {
		return &box.StaleError{
			Name: b.Name, Why: "its machine does not see " + b.Exchange + ": it was made before, or for another data directory",
			Mend: "make it again: `cco box destroy " + b.Name + " && cco box create " + b.Name + " --backend lima`",
		}
	}
	switch i.Status {
	case running:
		return nil
	case broken:
		// Its host agent died or was killed: a forced stop turns it into a stopped machine.
		if _, err := d.limactl(ctx, report, nil, "stop", "--force", b.Name); err != nil {
			return err
		}
	}
	report("starting the machine %s", b.Name)
	_, err = d.limactl(ctx, report, nil, "start", "--timeout", startTime, b.Name)
	return err
}

// Start starts the machine and the box in it.
func (d *Driver) Start(ctx context.Context, b *box.Box, report box.Report) error {
	if report == nil {
		report = func(string, ...any) {}
	}
	if err := d.checkLimactl(ctx); err != nil {
		return err
	}
	if err := d.up(ctx, b, report); err != nil {
		return err
	}
	if _, err := d.hello(ctx, b); err != nil {
		return err
	}
	return d.inside.Start(ctx, inner(b), report)
}

// Stop stops the machine and everything in it. A machine that does not exist counts as stopped.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	i, err := d.find(ctx, b.Name)
	if err != nil || i == nil || !isOurs(b) || i.Status == stopped || i.Status == uninitialized {
		return err
	}
	if i.Status == running {
		soon, cancel := context.WithTimeout(ctx, time.Minute)
		_ = d.inside.Stop(soon, inner(b)) // so that its sessions end properly
		cancel()
		if _, err := d.limactl(ctx, nil, nil, "stop", b.Name); err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	_, err = d.limactl(ctx, nil, nil, "stop", "--force", b.Name)
	return err
}

// Destroy removes the machine, if it is ours, and everything in it.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if !isOurs(b) {
		return nil
	}
	return d.remove(ctx, b)
}

func (d *Driver) remove(ctx context.Context, b *box.Box) error {
	i, err := d.find(ctx, b.Name)
	if err != nil {
		return err
	}
	if i != nil {
		if _, err := d.limactl(ctx, nil, nil, "delete", "--force", b.Name); err != nil {
			return err
		}
	}
	if err := os.Remove(ours(b)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Running asks limactl.
func (d *Driver) Running(ctx context.Context, b *box.Box) (bool, error) {
	if !isOurs(b) {
		return false, nil
	}
	i, err := d.find(ctx, b.Name)
	if err != nil || i == nil {
		return false, err
	}
	return i.Status == running, nil
}

// dial connects to cco's guest in the machine, through the socket that Lima forwards to the host.
func (d *Driver) dial(ctx context.Context, b *box.Box) (net.Conn, error) {
	path := filepath.Join(limaHome(d.opts.Getenv, d.opts.Home), b.Name, "sock", "cco.sock")
	conn, err := socket.Dial(ctx, path)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if up, runErr := d.Running(ctx, b); runErr == nil && !up {
		return nil, box.ErrNotRunning
	}
	return nil, fmt.Errorf("reach the machine %s: %w", b.Name, err)
}

var (
	_ box.Machine = (*Driver)(nil)
	_ box.Disked  = (*Driver)(nil)
)

// Disk is the directory of the machine, which nothing uses any more.
func (d *Driver) Disk(ctx context.Context, b *box.Box) (dir string, err error) {
	i, err := d.find(ctx, b.Name)
	if err != nil || i == nil || !isOurs(b) {
		return "", err
	}
	if i.Status != stopped && i.Status != uninitialized {
		_, err = d.limactl(ctx, nil, nil, "stop", "--force", b.Name)
	}
	return filepath.Join(limaHome(d.opts.Getenv, d.opts.Home), b.Name), err
}

// Platform is that of the machine, which may differ from the host's.
func (d *Driver) Platform(ctx context.Context, b *box.Box) (goos, arch string, err error) {
	i, err := d.find(ctx, b.Name)
	if err != nil {
		return "", "", err
	}
	if i == nil {
		return "", "", box.ErrNotRunning
	}
	arch, err = i.goArch()
	return "linux", arch, err
}
