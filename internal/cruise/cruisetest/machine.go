package cruisetest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// ShareBy has the user's settings name a service that gives phases to machines. Machines that are made later are given
// phases by it, and have the same key.
func (r *Rig) ShareBy(address, heartbeat string) {
	r.Helper()
	must.Do(r, os.MkdirAll(r.Data, 0o700))
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // documented never to fail
	must.Do(r, os.WriteFile(r.key(), []byte(hex.EncodeToString(secret)+"\n"), 0o600))
	r.Settings("[engine]\ntemporal = \"" + address + "\"\nheartbeat = \"" + heartbeat + "\"\n")
}

func (r *Rig) key() string { return filepath.Join(r.Data, "forge.key") }

// Settings adds to the user's settings.
func (r *Rig) Settings(text string) {
	r.Helper()
	file := r.settings()
	must.Do(r, os.MkdirAll(filepath.Dir(file), 0o700))
	f := must.Get(os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(r)
	_, err := f.WriteString(text)
	must.Do(r, errors.Join(err, f.Close()))
}

func (r *Rig) settings() string { return filepath.Join(r.Home, "config", "cco", "config.toml") }

// Machine is another machine of the same user: with a home, a data directory and a box of its own, and the same forge.
func (r *Rig) Machine(t testing.TB) *Rig {
	t.Helper()
	home := t.TempDir()
	m := &Rig{TB: t, Bin: r.Bin, Home: home, Data: filepath.Join(home, "data", "cco"),
		Repo: filepath.Join(home, "nothing"), Fake: r.Fake, Gitea: r.Gitea, front: r.front}
	must.Do(t, os.Mkdir(m.Repo, 0o700))
	m.Env = slices.DeleteFunc(slices.Clone(r.Env), func(v string) bool {
		return slices.ContainsFunc([]string{"HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_GLOBAL="},
			func(name string) bool { return strings.HasPrefix(v, name) })
	})
	config := filepath.Join(home, ".gitconfig")
	m.Env = append(m.Env, "HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "GIT_CONFIG_GLOBAL="+config)
	text := must.Get(os.ReadFile(filepath.Join(r.Home, ".gitconfig")))(t)
	must.Do(t, os.WriteFile(config, text, 0o600))
	if settings, err := os.ReadFile(r.settings()); err == nil {
		dir := filepath.Join(home, "config", "cco")
		must.Do(t, os.MkdirAll(dir, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, "config.toml"), settings, 0o600))
	}
	if key, err := os.ReadFile(r.key()); err == nil {
		must.Do(t, os.MkdirAll(m.Data, 0o700))
		must.Do(t, os.WriteFile(m.key(), key, 0o600))
	}
	t.Cleanup(m.end)
	r.machines = append(r.machines, m)
	return m
}

// Give gives a machine to a user of its own, with everything that is there by now. Only root can: for others it stays
// their own.
func (r *Rig) Give(uid int) {
	r.Helper()
	if os.Getuid() != 0 {
		return
	}
	r.User = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	must.Do(r, os.Chmod(filepath.Dir(r.Home), 0o755)) // the way there, which tests share
	must.Do(r, filepath.WalkDir(r.Home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	}))
}

func (r *Rig) as(a *syscall.SysProcAttr) { a.Credential = r.User }

// Worker starts a worker on this machine, and waits until it takes phases.
func (r *Rig) Worker() *proc.Process {
	r.Helper()
	ready := func() int { return strings.Count(r.WorkerLog(), "waits for phases") }
	before := ready() // those that ran here before
	log := must.Get(os.OpenFile(filepath.Join(r.Home, "worker.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(r)
	defer func() { _ = log.Close() }()
	p := must.Get(proc.Start(r.Context(), proc.Cmd{Argv: append(slices.Clone(r.Within),
		filepath.Join(r.Bin, "cco-cruise"), "cruise", "worker"),
		Dir: r.Home, Env: r.Env, Stdout: log, Stderr: log, TiedToUs: true, Attr: r.as}))(r)
	r.Cleanup(func() {
		_ = p.Signal(syscall.SIGCONT)
		_ = p.Signal(syscall.SIGKILL)
		<-p.Done()
	})
	if !r.Until(func() bool { return ready() > before }) {
		r.Fatalf("the worker does not start: %s", r.WorkerLog())
	}
	return p
}

// WorkerLog is what the workers of this machine have said.
func (r *Rig) WorkerLog() string {
	data, _ := os.ReadFile(filepath.Join(r.Home, "worker.log"))
	return string(data)
}
