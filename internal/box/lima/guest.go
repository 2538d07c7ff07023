package lima

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/box"
)

// wanted is the version of cco's programs that a machine should have, and where they are.
func (d *Driver) wanted(ctx context.Context, b *box.Box) (i *instance, dir, version string, err error) {
	if i, err = d.find(ctx, b.Name); err != nil {
		return nil, "", "", err
	}
	if i == nil {
		return nil, "", "", box.ErrNotRunning
	}
	arch, err := i.goArch()
	if err != nil {
		return nil, "", "", err
	}
	if dir, err = d.opts.Parts(arch); err != nil {
		return nil, "", "", err
	}
	version, err = d.opts.Version(dir)
	return i, dir, version, err
}

// install puts cco's programs into the machine, unless they are there already.
func (d *Driver) install(ctx context.Context, b *box.Box, report box.Report) error {
	i, dir, version, err := d.wanted(ctx, b)
	if err != nil {
		return err
	}
	if has, err := d.inside.Hello(ctx, b); err == nil && has == version {
		return nil
	}
	report("putting cco's programs into the machine")
	var packed bytes.Buffer
	if err := pack(&packed, dir, d.opts.Names); err != nil {
		return err
	}
	user := i.Config.User.Name
	if user == "" {
		return errors.New("limactl does not say who the machine's user is")
	}
	if _, err := d.limactl(ctx, nil, &packed, "shell", "--workdir", "/", b.Name, "sudo", "sh", "-c", installScript, "sh",
		user); err != nil {
		return fmt.Errorf("put cco's programs into the machine: %w", err)
	}
	has, err := d.hello(ctx, b)
	if err == nil && has != version {
		err = fmt.Errorf("the machine has version %s of cco's programs, not %s", has, version)
	}
	return err
}

func pack(to *bytes.Buffer, dir string, names []string) error {
	w := tar.NewWriter(to)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("find cco's programs for the machine: %w", err)
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)),
			Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}

// helloTime is how long cco's guest may take to answer after its start. Machines without hardware virtualization are
// slow.
const helloTime = 5 * time.Minute

// hello waits for cco's guest and returns its version.
func (d *Driver) hello(ctx context.Context, b *box.Box) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helloTime,
		errors.New("cco's guest in the machine does not answer: try `cco box provision "+b.Name+"`"))
	defer cancel()
	for {
		version, err := d.inside.Hello(ctx, b)
		if err == nil {
			return version, nil
		}
		if errors.Is(err, box.ErrNotRunning) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(context.Cause(ctx), err)
		case <-time.After(time.Second):
		}
	}
}

// Provision updates cco's programs, then the home that sessions get a copy of.
func (d *Driver) Provision(ctx context.Context, b *box.Box, files []box.File, report box.Report) error {
	if report == nil {
		report = func(string, ...any) {}
	}
	if err := d.install(ctx, b, report); err != nil {
		return err
	}
	if err := d.inside.Start(ctx, inner(b), report); err != nil {
		return err
	}
	return d.inside.Provision(ctx, inner(b), files, report)
}

// Prepare makes sure that the machine's cco is this version, then makes the session's directories. It makes the
// exchange directory on this side first, because the machine sees this side's.
func (d *Driver) Prepare(ctx context.Context, b *box.Box, session string) (box.Place, error) {
	_, _, version, err := d.wanted(ctx, b)
	if err != nil {
		return box.Place{}, err
	}
	has, err := d.inside.Hello(ctx, b)
	if err != nil {
		return box.Place{}, err
	}
	if has != version {
		return box.Place{}, &box.StaleError{Name: b.Name, Why: "its machine has another version of cco's programs",
			Mend: "`cco box provision " + b.Name + "`"}
	}
	return d.inside.Prepare(ctx, inner(b), session)
}

// Run runs a program in the machine.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	return d.inside.Run(ctx, inner(b), e)
}

// Halt ends everything that runs for a session. In a stopped machine nothing runs.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	return ended(d.inside.Halt(ctx, inner(b), session))
}

// Discard removes a session.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	return d.inside.Discard(ctx, inner(b), session)
}

func ended(err error) error {
	if errors.Is(err, box.ErrNotRunning) {
		return nil
	}
	return err
}

// Promises are those of the box in the machine.
func (d *Driver) Promises(b *box.Box) []string { return d.inside.Promises(b) }

// Layers reports the machine and the layers inside it.
func (d *Driver) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	list := []box.Layer{{Name: "machine", Active: true, Detail: "a Lima virtual machine, with a kernel of its own"}}
	up, err := d.Running(ctx, b)
	if err != nil {
		return nil, err
	}
	if !up {
		list[0].Active, list[0].Detail, list[0].Mend = false, "it does not run", "cco box start "+b.Name
		return list, nil
	}
	if mountType == "reverse-sshfs" {
		list = append(list, box.Layer{Name: "mount",
			Detail: "over sshfs: a program that becomes root in the machine can ask the host for other files of yours"})
	}
	in, err := d.inside.Layers(ctx, inner(b))
	return append(list, in...), err
}
