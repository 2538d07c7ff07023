package caged

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/inside/gitwrap"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// ownCaches are variables that lead tools to caches of the cage's own, where no layer can be over the user's. A name
// after a sign of equality is where the directory is put.
func ownCaches() []string {
	return []string{"XDG_CACHE_HOME=/cache", "GOPATH=/go", "GOMODCACHE=/go/pkg/mod", "GOCACHE=/cache/go-build",
		"npm_config_cache=/npm", "CARGO_HOME=/cargo", "GRADLE_USER_HOME=/gradle", "MAVEN_ARGS=-Dmaven.repo.local=/m2"}
}

// bareHome gives the program what it may write beside the worktree, a home in the place of the user's, of which it can
// read little, and the variables that lead there.
func (c *Cage) bareHome(start string, show func(...Mount)) (env []string, err error) {
	scratch, caches, bin := filepath.Join(c.Dir, "scratch"), filepath.Join(c.Dir, "plain"), filepath.Join(c.Dir, "bin")
	err = tree.Remove(scratch)
	for _, dir := range []string{scratch, caches, bin} {
		err = errors.Join(err, os.MkdirAll(dir, 0o700))
		show(Mount{Source: dir, Target: dir, Write: dir != bin})
	}
	if err != nil {
		return nil, err
	}
	config, shown, err := c.gitConfig()
	for _, name := range shown {
		show(Mount{Source: name, Target: name, File: true})
	}
	no, global, path := filepath.Join(bin, "no-login"), filepath.Join(bin, ".gitconfig"), c.User.Path
	err = errors.Join(err, whole.Write(no, []byte(noLogin), 0o755), whole.Write(global, config, 0o600))
	if err != nil {
		return nil, err
	}
	env = append(c.withoutLogin(no), "HOME="+bin, "GIT_CONFIG_GLOBAL="+global)
	tools := c.toolchains()
	env = append(env, tools.Env...)
	for _, f := range tools.Files {
		at := filepath.Join(bin, f.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), whole.Write(at, f.Data, 0o600)); err != nil {
			return nil, err
		}
	}
	if c.GitDir != "" {
		env = append(env, gitwrap.Bind(c.GitDir, c.Worktree)...)
	}
	if c.GitDir != "" && c.Wrap {
		link := filepath.Join(bin, gitwrap.Name)
		if err := errors.Join(ignoreMissing(os.Remove(link)), os.Symlink(c.Tool, link)); err != nil {
			return nil, err
		}
		path = bin + ":" + path
		env = append(env, gitwrap.Wrap(c.GitDir, c.Worktree, "", []string{scratch, caches})...)
	}
	agent, err := c.agentHome(start, show)
	if err != nil {
		return nil, err
	}
	// Login shells have had PATH set anew by the system when they read this.
	again := "PATH='" + strings.ReplaceAll(path, "'", `'\''`) + "'; export PATH\n"
	for _, name := range []string{".profile", ".zprofile"} {
		if err := whole.Write(filepath.Join(bin, name), []byte(again), 0o600); err != nil {
			return nil, err
		}
	}
	env = append(env, "PATH="+path, "TMPDIR="+scratch)
	for _, kv := range ownCaches() {
		if name, value, _ := strings.Cut(kv, "="); !hasVariable(agent, name) {
			before, dir, _ := strings.Cut(value, "/")
			env = append(env, name+"="+before+filepath.Join(caches, dir))
		}
	}
	return append(env, agent...), nil
}

func hasVariable(env []string, name string) bool {
	_, ok := lookup(env, name)
	return ok
}
