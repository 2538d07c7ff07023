package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/git/quarantine"
)

// runCaged runs a program with the kernel's isolation.
func (d *Driver) runCaged(ctx context.Context, b *box.Box, e box.Exec, at site) error {
	if err := at.suits(); err != nil {
		return err
	}
	release, err := at.hold(e.Session)
	if err != nil {
		return err
	}
	defer release()
	at.disarm(e.Session)
	defer at.disarm(e.Session)
	if at.admin != "" && !e.ReadOnly {
		if err := quarantine.PackLoose(ctx, at.repo); err != nil {
			return fmt.Errorf("keep the repository's objects safe: %w", err)
		}
	}
	c, err := d.cage(b, e, at)
	if err != nil {
		return err
	}
	return c.Run(ctx, e)
}

// rehearse builds the cage of a shell without a program in it.
func (d *Driver) rehearse(ctx context.Context, b *box.Box) (jail.Result, error) {
	mine, done, err := ownDirs(layout{b.Dir}, "")
	if err != nil {
		return jail.Result{}, err
	}
	defer done()
	at, err := d.locate(ctx, b, box.Exec{}, mine)
	if err != nil {
		return jail.Result{}, err
	}
	if err := at.suits(); err != nil {
		return jail.Result{}, err
	}
	c, err := d.cage(b, box.Exec{}, at)
	if err != nil {
		return jail.Result{}, err
	}
	return c.Rehearse(ctx)
}

// suits refuses repositories that can't be opened in part.
func (at site) suits() error {
	if _, err := os.Lstat(filepath.Join(at.repo.CommonDir, "reftable")); err == nil {
		return &box.Unavailable{
			What: "the kernel's isolation", Why: "the repository keeps its refs in a reftable, where no branch is apart from " +
				"the others",
			Mend: "git refs migrate --ref-format=files, or accept the weaker mode " + AcceptNoKernel,
		}
	}
	st, err := os.Stat(at.repo.CommonDir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return &box.Unavailable{
			What: "the kernel's isolation", Why: fmt.Sprintf(
				"the repository belongs to the user with id %d, and your agents run as another user", sys.Uid),
			Mend: "run cco as that user, or accept the weaker mode " + AcceptNoKernel,
		}
	}
	return nil
}

// cage decides what a program sees and what it can write.
//
// Root's program is root only to itself. On the host it has a user id that nobody has: as root, even without any
// capability, it could write what the kernel lets its owner write, such as core_pattern, and daemons that ask for the
// caller's user would obey it. Its files are still root's, because root hands them over in mounts that map the ids.
func (d *Driver) cage(b *box.Box, e box.Exec, at site) (*cage.Cage, error) {
	limits := cage.LimitsFor(b, e)
	me := cage.Me()
	v := &view{data: dataDir(b), home: at.home, foreign: me.UID == 0}
	p := &jail.Plan{
		Shared: true, UID: me.UID, GID: me.GID, Become: v.foreign, Tmp: limits.Memory / 2, Landlock: jail.IfPossible,
		Seccomp: cage.Demand(b, cage.AcceptNoSeccomp), Reach: []string{"/"},
		Argv: e.Argv, Dir: at.dir, TTY: e.TTY != nil,
		Env: d.environment(b, e, at, func(name string) bool { return leadsOut(name) || d.isKey(name) }, gitSettings()...),
	}
	if err := v.system(p, e.Etc); err != nil {
		return nil, err
	}
	d.furnish(v, b, e, at)
	if at.admin != "" {
		if err := v.git(at, e.Session, !e.ReadOnly); err != nil {
			return nil, fmt.Errorf("open the repository: %w", err)
		}
	}
	if v.foreign {
		v.openParents()
		me = cage.Nobody()
	}
	p.Mounts = append(p.Mounts, v.sorted()...)
	for _, m := range p.Mounts {
		if m.Write && !m.Device {
			p.Write = append(p.Write, m.Target)
		}
	}
	return &cage.Cage{
		Tool: d.opts.Tool, Name: b.Name, User: me, Plan: p, Limits: limits, Registry: runs(b), Scratch: []string{"/dev/shm"},
	}, nil
}

// leadsOut says whether a variable points to sockets of the user's session, which are not visible here.
func leadsOut(name string) bool {
	switch name {
	case "TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "TMUX",
		"TMUX_PANE", "STY",
		"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "CONTAINER_HOST":
		return true
	}
	return strings.HasPrefix(name, "DBUS_") || strings.HasPrefix(name, "VSCODE_IPC_") ||
		strings.HasPrefix(name, "VSCODE_GIT_")
}

// gitSettings switch off what git can't do here and what would only confuse: packing refs and objects in read-only
// directories, and signing with keys that are not visible.
func gitSettings() []string {
	settings := [][2]string{
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"fetch.unpackLimit", "10000000"}, {"core.bigFileThreshold", "100g"},
	}
	env := []string{"TMPDIR=/tmp", "IS_SANDBOX=1", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, kv := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}

// caged are the layers around a worktree box.
func caged(b *box.Box, res jail.Result) []box.Layer {
	user := "your own uid"
	if os.Getuid() == 0 {
		user = "a uid that nobody has, to which root's files are mapped"
	}
	return append([]box.Layer{
		{Name: "namespaces", Active: true, Detail: "user, mount, pid, net, ipc; the host name is yours"},
		{Name: "root", Active: true, Detail: "the whole machine read-only but the session's own, scratch and caches; cco's " +
			"data, /run and secret stores hidden"},
		{Name: "repository", Active: true, Detail: "read-only but objects, stash, the session's worktree and branches in " +
			"cco/"},
		{Name: "user", Active: true, Detail: user + "; no capabilities, no new privileges"},
		{Name: "network", Active: true, Detail: "none but its own loopback, and a door of the session's: " + b.Spec.Mode()},
	}, cage.Layers(b, res)...)
}
