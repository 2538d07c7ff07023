// Package app wires cco together: settings, stores, boxes, sessions, the way out of a box with its keys. Commands, the
// engine and tests use it. Its messages go to its streams.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// Companion is the program with the commands that need an engine and forges.
const Companion = "cco-cruise"

// App is what commands are wired to. It makes each part on first use.
type App struct {
	IO   *term.Streams
	Env  func(string) string
	Home string
	Dirs config.Dirs
	Dir  string // of the command
	// Live shows the live list until the user leaves it, or says that there is nothing to list. It is nil in programs that
	// are not linked with it.
	Live func(ctx context.Context) (shown bool, err error)
	// Mirror writes down what has become of phases on other machines, before anybody looks. It is nil in programs that are
	// not linked with what machines share phases by.
	Mirror func(ctx context.Context, st *store.Store) error
	// Waiting gives the phases that no machine takes, and why.
	Waiting func() map[string]string
	// Lent are variables that commands lent to this process, which Env has too: what carries out a session gets them. It
	// is nil where nobody lends any.
	Lent func() []string
}

// New is cco for the user whose process this is.
func New(io *term.Streams) (*App, error) {
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
	return &App{IO: io, Env: os.Getenv, Home: home, Dirs: dirs, Dir: cwd}, nil
}

// Config reads the settings that hold in the current directory.
func (a *App) Config() (config.Config, error) {
	c, warnings, err := config.Load(a.sources(RepoTop(a.Dir)))
	for _, w := range warnings {
		a.IO.Warn("%s", w)
	}
	return c, err
}

// Stricter is a policy as far as the text of a repository's settings makes it stricter.
func (a *App) Stricter(p gate.Policy, file string, text []byte) (gate.Policy, error) {
	return config.Stricter(a.sources(""), p, file, text)
}

// RepoTop finds the worktree that a directory is in, "" if none. It starts no git: every command would pay for that.
func RepoTop(dir string) string {
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

// Tool finds the program of cco that runs inside boxes: cco-box beside cco, or cco itself, which can do the same.
func Tool() (string, error) {
	beside, self, err := Beside("cco-box")
	if err != nil || beside != "" {
		return beside, err
	}
	return self, nil
}

// Beside finds a program of ours in cco's own directory; "" if it isn't there.
func Beside(name string) (path, self string, err error) {
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

// Store opens the records of sessions and phases: most commands that only look need no more.
func (a *App) Store(ctx context.Context) (*store.Store, error) {
	st, err := store.Open(ctx, filepath.Join(a.Dirs.Data, "cco.db"))
	if err != nil || a.Mirror == nil {
		return st, err
	}
	if err := a.Mirror(ctx, st); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// Sessions gives the session service. The store stays open until done is called.
func (a *App) Sessions(ctx context.Context) (s *session.Service, done func(), err error) {
	boxes, err := a.Boxes()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := a.ConfigIn(RepoTop(a.Dir))
	if err != nil {
		return nil, nil, err
	}
	agents, err := a.OwnAgents()
	if err != nil {
		return nil, nil, err
	}
	st, err := a.Store(ctx)
	if err != nil {
		return nil, nil, err
	}
	s = &session.Service{
		Store: st, Boxes: boxes, Data: a.Dirs.Data, Now: time.Now, NewID: session.NewID, Spawn: a.spawn,
		MaxFile: cfg.Pull.MaxBlob, Graves: &session.Graves{Days: cfg.Graveyard.Days, Size: cfg.Graveyard.Size},
		Door: a.door, Program: a.program, Agents: agents, Report: a.IO.Progress, Warn: a.IO.Warn,
	}
	s.Page = func(id string) string { return a.pageURL(cfg, id) }
	s.Waiting = a.Waiting
	keeping.Of(s).Settle(ctx)
	return s, func() { _ = st.Close() }, nil
}

// spawn starts a keeper: this same program, detached from our terminal.
func (a *App) spawn(id string, files ...*os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(a.Dirs.Data, "sessions", id, "keeper.log"),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	var env []string // ours
	if a.Lent != nil {
		env = append(os.Environ(), a.Lent()...)
	}
	_, err = proc.Detach(proc.Cmd{Argv: []string{"cco", "keeper", id}, Path: self, Dir: a.Dirs.Data, Env: env,
		Stdout: logFile, Stderr: logFile, Files: files})
	return err
}
