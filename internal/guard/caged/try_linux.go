package caged

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/proc"
)

// Probes are the ways out that a cage holds against, of those that boxes are tried with. The network is the user's own,
// and so is the machine as far as it is read. Without namespaces a program sees other processes and makes no terminals,
// and which process is its init it can't be told.
func (c *Cage) Probes() []string {
	all := []string{
		"host-repository-write", "logins", "tool", "system", "outside-pids", "outside-kill", "outside-ptrace", "init-ptrace",
		"init-root", probe.OutsideIPC, "path-socket", "abstract-socket", probe.Capabilities, "setuid", probe.UserNamespace,
		"mount", "remount", "chroot", "file-handle", "proc-sys", "host-settings", "cgroup", "devices", "terminal", "keyring",
		"kernel-surface", "foreign-calls",
	}
	return slices.DeleteFunc(all, func(name string) bool {
		// An ordinary user can't drop what an exec could give, and then gives nothing.
		return c.bare() && (slices.Contains([]string{"outside-pids", "terminal", "init-ptrace", "init-root", "tool"}, name) ||
			name == probe.Capabilities && os.Getuid() != 0)
	})
}

// Try tries the ways out of this cage, one after the other, from inside, with bait in a directory of the caller's that
// is outside the worktree.
func (c *Cage) Try(ctx context.Context, outside string) ([]probe.Finding, error) {
	bait, done, err := c.bait(ctx, outside)
	defer done()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(bait)
	if err != nil {
		return nil, err
	}
	var out, words bytes.Buffer
	err = c.Run(ctx, box.Exec{Argv: append([]string{c.Tool, "probe"}, c.Probes()...), Dir: c.Worktree,
		Stdin: bytes.NewReader(data), Stdout: &out, Stderr: &words})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, words.String())
	}
	var found []probe.Finding
	for line := range strings.Lines(out.String()) {
		var f probe.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("read what the probes say: %w", err)
		}
		found = append(found, f)
	}
	return found, nil
}

// bait lays out what the probes look for, until done is called.
func (c *Cage) bait(ctx context.Context, outside string) (b probe.Bait, done func(), err error) {
	var undo []func() error
	done = func() {
		for _, f := range undo {
			_ = f()
		}
	}
	b = probe.Bait{Repo: filepath.Join(outside, "repository"), Tool: c.Tool, Mine: c.Worktree, Init: 1,
		Marker: "cco-cage-outside", Socket: filepath.Join(outside, "socket"),
		Abstract: fmt.Sprintf("@cco-cage-%d", os.Getpid())}
	b.Logins, _ = filepath.Glob(filepath.Join(c.User.Home, ".ssh", "*"))
	if c.bare() {
		b.Init = 0
	}
	err = errors.Join(os.MkdirAll(b.Repo, 0o700), os.WriteFile(filepath.Join(b.Repo, "tracked"), []byte("yours\n"), 0o600))
	for _, at := range []string{b.Socket, b.Abstract} {
		l, failed := new(net.ListenConfig).Listen(ctx, "unix", at)
		if failed == nil {
			undo = append(undo, l.Close)
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return b, done, err
	}
	in, hold, err := os.Pipe()
	if err != nil {
		return b, done, err
	}
	undo = append(undo, hold.Close)
	other, err := proc.Start(ctx, proc.Cmd{Argv: []string{c.Tool, "probe", "wait", b.Marker}, Stdin: in, TiedToUs: true})
	_ = in.Close()
	if err == nil {
		b.Pid, undo = other.Pid(), append(undo, other.Wait)
	}
	return b, done, err
}
