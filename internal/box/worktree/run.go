package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/tree"
)

// Run runs a program as the user in the session's worktree, with the kernel's isolation unless the box has none.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	e = e.Led(d.opts.Tool)
	if running, err := d.Running(ctx, b); err != nil || !running {
		return errors.Join(err, notRunning(running))
	}
	if err := checkAccepted(b); err != nil {
		return err
	}
	if e.View != "" {
		return errors.New("run: a worktree box can't show one session's workspace to another")
	}
	for _, m := range e.Binds {
		if _, err := m.Check(b); err != nil {
			return err
		}
	}
	mine, done, err := ownDirs(layout{b.Dir}, e.Session)
	if err != nil {
		return err
	}
	defer done()
	at, err := d.locate(ctx, b, e, mine)
	if err != nil {
		return err
	}
	if plain(b) {
		return d.runPlain(ctx, b, e, at)
	}
	return d.runCaged(ctx, b, e, at)
}

func notRunning(running bool) error {
	if running {
		return nil
	}
	return box.ErrNotRunning
}

// ownDirs are the session's directories; a shell without a session gets temporary ones.
func ownDirs(l layout, session string) (own, func(), error) {
	if session != "" {
		if err := cage.CheckKey("session", session); err != nil {
			return own{}, nil, err
		}
		mine := own{l.session(session)}
		if _, err := os.Lstat(mine.dir); err != nil {
			return own{}, nil, fmt.Errorf("session %s is not in this box: %w", session, err)
		}
		return mine, func() {}, nil
	}
	if err := os.MkdirAll(l.shells(), 0o700); err != nil {
		return own{}, nil, err
	}
	dir, err := os.MkdirTemp(l.shells(), "")
	if err != nil {
		return own{}, nil, err
	}
	done := func() { _ = tree.Remove(dir) }
	if err := (own{dir}).make(l); err != nil {
		done()
		return own{}, nil, err
	}
	return own{dir}, done, nil
}

// site is where a run takes place. The program sees it at the same paths as the host.
type site struct {
	own
	repo      *git.Repo
	workspace string // "" for a shell, and for a session without a worktree
	admin     string // where git keeps the worktree's own data
	dir       string
	home      string // the user's
}

func (d *Driver) locate(ctx context.Context, b *box.Box, e box.Exec, mine own) (site, error) {
	at := site{own: mine, dir: e.Dir}
	var err error
	if at.home, err = d.home(); err != nil {
		return at, err
	}
	if at.repo, err = git.Open(ctx, b.Spec.Repo); err != nil {
		return at, err
	}
	if e.Session != "" {
		if at.admin, err = adminDir(b, at.repo.CommonDir, e.Session); err != nil {
			return at, err
		}
		if at.admin != "" {
			at.workspace = workspace(b, e.Session)
		}
	}
	switch {
	case at.dir != "":
	case at.workspace != "":
		at.dir = at.workspace
	case e.Session != "":
		return at, fmt.Errorf("session %s has no worktree", e.Session)
	default:
		at.dir = b.Spec.Repo
	}
	return at, nil
}

func (d *Driver) isKey(name string) bool { return slices.Contains(d.opts.Keys, name) }

// environment is the user's own, without variables that would lead git elsewhere. First on PATH is the wrapper that
// binds git to the worktree; separate variables tell it which one.
func (d *Driver) environment(b *box.Box, e box.Exec, at site, leave func(name string) bool, more ...string) []string {
	path := layout{b.Dir}.bin()
	if e.Own {
		return lastOfEach(slices.Concat(e.OwnEnv(path), more, at.bound()))
	}
	var env []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "PATH":
			path += ":" + value
		case !strings.HasPrefix(name, "GIT_") && !leave(name):
			env = append(env, v)
		}
	}
	env = append(append(env, "PATH="+path), more...)
	if e.Session != "" {
		env = append(env, "CCO_SESSION="+e.Session)
	}
	env = append(env, at.bound()...)
	// The skill is in the session's own configuration, which claude reads instead of the user's.
	env = append(env, "CLAUDE_CONFIG_DIR="+filepath.Join(at.own.home(), ".claude"))
	return lastOfEach(slices.Concat(env, b.Spec.Env, e.Env))
}

// bound are the variables that tell the wrapper which worktree to bind git to.
func (at site) bound() (env []string) {
	if at.workspace != "" {
		ceiling := "GIT_CEILING_DIRECTORIES=" + filepath.Dir(at.workspace)
		env = append(env, ceiling, "CCO_"+ceiling, "CCO_GIT_DIR="+at.admin, "CCO_GIT_WORK_TREE="+at.workspace)
	}
	return env
}

// lastOfEach keeps the last value of every variable: programs disagree on which of two values counts.
func lastOfEach(env []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, kv := range slices.Backward(env) {
		name, _, ok := strings.Cut(kv, "=")
		if ok && !seen[name] {
			seen[name] = true
			kept = append(kept, kv)
		}
	}
	slices.Reverse(kept)
	return kept
}
