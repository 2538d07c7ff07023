// Package gitwrap is the git that agents in a worktree box find first on PATH. If a call is about the workspace, it
// binds git to the workspace's own repository, whatever the .git file there says; it passes every other call, such as
// git init in a test's fixture or git in a submodule, to the real git unchanged.
package gitwrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/paths"
)

// Name is the wrapper's name.
const Name = "git"

// prefix precedes git's own variable names; these variables tell the wrapper what to bind git to.
const prefix = "CCO_"

// from records which program a wrapper became, and in which process.
const from = "CCO_GIT_FROM"

// bound are the variables that bind git to a repository.
func bound() []string { return []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_CEILING_DIRECTORIES"} }

// Main becomes the real git. It returns only if there is none.
func Main(argv []string) int {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // it may be gone; git's message about that is better than ours
	}
	env := Environ(argv[1:], cwd, os.Environ())
	real, err := find(os.Getenv("PATH"), os.Getenv(from))
	if err == nil {
		env = append(without(env, from), from+"="+strconv.Itoa(os.Getpid())+":"+real)
		err = syscall.Exec(real, argv, env)
	}
	fmt.Fprintf(os.Stderr, "git: %v\n", err)
	return 127
}

// Environ is the environment for one call: git is bound to the workspace if the call is about it, otherwise unchanged.
func Environ(args []string, cwd string, env []string) []string {
	bind := map[string]string{}
	for _, name := range bound() {
		if v := lookup(env, prefix+name); v != "" {
			bind[name] = v
		}
	}
	if bind["GIT_DIR"] == "" || bind["GIT_WORK_TREE"] == "" {
		return env
	}
	// Variables that an outer wrapper set are not the agent's choice: tests run below git rebase --exec.
	for name, v := range bind {
		if lookup(env, name) == v {
			env = without(env, name)
		}
	}
	if lookup(env, "GIT_DIR") != "" || lookup(env, "GIT_WORK_TREE") != "" {
		return env
	}
	c := parse(args)
	if c.aimed || c.command == "init" || c.command == "clone" {
		return env
	}
	means, lost := about(c.dir(cwd), bind["GIT_WORK_TREE"], bind["GIT_DIR"])
	if !means {
		return env
	}
	for _, name := range bound() {
		// Git passes GIT_DIR on to the programs that it starts, so it is left out while git finds the repository by itself.
		if v := bind[name]; v != "" && (lost || name == "GIT_CEILING_DIRECTORIES") {
			env = append(without(env, name), name+"="+v)
		}
	}
	return env
}

// about says whether git in dir means the workspace: dir is in it, and not in another repository within it. It is lost
// if git, without help, would find another repository or none.
func about(dir, workspace, gitDir string) (means, lost bool) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, false
	}
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return false, false
	}
	for at := dir; paths.Within(at, workspace); at = filepath.Dir(at) {
		repo, there := repository(at)
		switch {
		case at == workspace:
			return true, lost || !same(repo, gitDir)
		case there && belongs(repo, workspace, gitDir), !there && bare(at):
			return false, false
		case there:
			lost = true
		}
	}
	return false, false
}

// repository finds the repository that the .git in dir refers to.
func repository(dir string) (repo string, there bool) {
	repo = filepath.Join(dir, ".git")
	info, err := os.Lstat(repo)
	if err != nil {
		return "", false
	}
	if info.Mode().IsRegular() {
		text, err := os.ReadFile(repo)
		target, ok := strings.CutPrefix(string(text), "gitdir: ")
		if err != nil || !ok {
			return "", true
		}
		if repo = strings.TrimSpace(target); !filepath.IsAbs(repo) {
			repo = filepath.Join(dir, repo)
		}
	}
	if repo, err = filepath.EvalSymlinks(repo); err != nil {
		return "", true
	}
	return repo, true
}

// belongs says whether a repository within the workspace belongs there: it lies in it, or is that of a submodule. A
// repository anywhere else would be a way out.
func belongs(repo, workspace, gitDir string) bool {
	if repo == "" {
		return false
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(gitDir, "modules"))
	return paths.Within(repo, workspace) || err == nil && paths.Within(repo, modules)
}

func same(repo, gitDir string) bool {
	gitDir, err := filepath.EvalSymlinks(gitDir)
	return err == nil && repo == gitDir
}

// bare says whether dir is itself a git directory.
func bare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// find looks on PATH for the real git, which is not this program under any name. A wrapper of the user's that calls git
// again would find us first: a program that this process or its parent has already been is only the last resort.
func find(path, before string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	us, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	pid, tried, _ := strings.Cut(before, ":")
	again := pid == strconv.Itoa(os.Getpid()) || pid == strconv.Itoa(os.Getppid())
	fallback := ""
	for _, dir := range filepath.SplitList(path) {
		name := filepath.Join(dir, Name)
		info, err := os.Stat(name)
		if err != nil || !filepath.IsAbs(name) || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 ||
			os.SameFile(info, us) {
			continue
		}
		if again && name == tried {
			fallback = name
			continue
		}
		return name, nil
	}
	if fallback != "" {
		return fallback, nil
	}
	return "", errors.New("there is no git on PATH")
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// without drops a variable and does not change the given slice.
func without(env []string, name string) []string {
	kept := make([]string, 0, len(env)+4)
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			kept = append(kept, e)
		}
	}
	return kept
}
