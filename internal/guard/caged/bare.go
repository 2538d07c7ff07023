package caged

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
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
	tools := c.toolchains()
	path := c.User.Path
	env = slices.Concat(c.withoutLogin(filepath.Join(bin, "no-login")), tools.Env,
		[]string{"HOME=" + bin, "GIT_CONFIG_GLOBAL=" + filepath.Join(bin, ".gitconfig")})
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
	// Login shells have had PATH set anew by the system when they read these.
	profile := []byte("export PATH='" + strings.ReplaceAll(path, "'", `'\''`) + "'\n")
	for _, f := range append(tools.Files, box.File{Path: "no-login", Data: []byte(noLogin), Mode: 0o755},
		box.File{Path: ".profile", Data: profile, Mode: 0o600}, box.File{Path: ".zprofile", Data: profile, Mode: 0o600}) {
		at := filepath.Join(bin, f.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), whole.Write(at, f.Data, f.Mode)); err != nil {
			return nil, err
		}
	}
	agent, err := c.agentHome(start, show)
	if err != nil {
		return nil, err
	}
	env = append(env, "PATH="+path, "TMPDIR="+scratch)
	for _, kv := range ownCaches() {
		name, value, _ := strings.Cut(kv, "=")
		if _, set := lookup(agent, name); !set {
			before, dir, _ := strings.Cut(value, "/")
			env = append(env, name+"="+before+filepath.Join(caches, dir))
		}
	}
	return append(env, agent...), nil
}
