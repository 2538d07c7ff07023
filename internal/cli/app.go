package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/container"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/provision"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// app is what commands are wired to. Everything in it is made when it is first asked for.
type app struct {
	io   *term.Streams
	env  func(string) string
	home string
	dirs config.Dirs
	cwd  string
}

func newApp(io *term.Streams) (*app, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home directory: %w (set HOME)", err)
	}
	dirs, err := config.Paths(os.Getenv, home)
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	return &app{io: io, env: os.Getenv, home: home, dirs: dirs, cwd: cwd}, nil
}

// config reads the settings that hold in the current directory.
func (a *app) config() (config.Config, error) {
	c, warnings, err := config.Load(a.sources(repoTop(a.cwd)))
	for _, w := range warnings {
		a.io.Warn("%s", w)
	}
	return c, err
}

// repoTop finds the worktree that a directory is in, "" if none. It starts no git: every command would pay for that.
func repoTop(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// findTool finds the part of cco that runs inside boxes: cco-box beside cco, or cco itself, which can be it too.
func findTool() (string, error) {
	beside, self, err := beside("cco-box")
	if err != nil || beside != "" {
		return beside, err
	}
	return self, nil
}

// beside finds a program of ours in cco's own directory; "" if it isn't there.
func beside(name string) (path, self string, err error) {
	self, err = os.Executable()
	if err != nil {
		return "", "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path = filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		path = ""
	}
	return path, self, nil
}

// boxes gives all boxes, with the one visible list of drivers.
func (a *app) boxes() (*box.Boxes, error) {
	tool, err := findTool()
	if err != nil {
		return nil, err
	}
	hook, _, err := beside("cco-guard")
	if err != nil {
		return nil, err
	}
	user, err := a.configIn("")
	if err != nil {
		return nil, err
	}
	return &box.Boxes{
		Data:  a.dirs.Data,
		Now:   time.Now,
		Files: provision.Files,
		Way:   func(ctx context.Context, b *box.Box) (*box.Way, func(), error) { return a.way(ctx, b, "setup") },
		Drivers: map[string]box.Driver{
			"native": native.New(native.Options{Tool: tool, Guard: hook, Home: a.home, Path: a.env("PATH"),
				Programs: agent.Programs()}),
			"container": container.New(container.Options{Tool: tool, Guard: hook}),
			"lima":      a.machines(),
			"worktree": worktree.New(worktree.Options{
				Tool: tool, Guard: hook, Home: a.home, Path: a.env("PATH"), Caches: guard.CacheRoots(a.home),
				Keys: keyVariables(user), KeyFiles: keyFiles(user),
			}),
		},
	}, nil
}

// defaultBackend is what suits this machine.
func defaultBackend() string {
	if runtime.GOOS == "linux" {
		return "native"
	}
	return "lima"
}

// sessions gives the hand-off. The store stays open until done is called.
func (a *app) sessions(ctx context.Context) (s *session.Service, done func(), err error) {
	boxes, err := a.boxes()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := a.configIn(repoTop(a.cwd))
	if err != nil {
		return nil, nil, err
	}
	st, err := store.Open(ctx, filepath.Join(a.dirs.Data, "cco.db"))
	if err != nil {
		return nil, nil, err
	}
	s = &session.Service{
		Store: st, Boxes: boxes, Data: a.dirs.Data, Now: time.Now, NewID: session.NewID, Spawn: a.spawn,
		MaxFile: cfg.Pull.MaxBlob,
		Door:    a.door, Program: a.program, Report: a.io.Progress, Warn: a.io.Warn,
	}
	return s, func() { _ = st.Close() }, nil
}

// spawn starts a keeper: this same program, on its own, with nothing of our terminal.
func (a *app) spawn(id string, files ...*os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(a.dirs.Data, "sessions", id, "keeper.log"),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	_, err = proc.Detach(proc.Cmd{Argv: []string{"cco", "keeper", id}, Path: self, Dir: a.dirs.Data, Stdout: logFile,
		Stderr: logFile, Files: files})
	return err
}
