// Package gitwrap is the git that agents find first on PATH in a box without the kernel's isolation. There GIT_DIR and
// GIT_WORK_TREE bind every git to the session's repository, wherever it is called. This one takes them away for calls
// that they would break and that can't reach a repository of the user's: git init and git clone, and git in
// repositories that the agent made itself.
package gitwrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/paths"
)

// Name is the wrapper's name.
const Name = "git"

// These variables tell the wrapper what git is bound to: prefix and a name of git's, where the agent's own repositories
// are, and which repository is the user's.
const (
	prefix  = "CCO_"
	roots   = "CCO_GIT_FREE"
	theirs  = "CCO_GIT_HOST"
	from    = "CCO_GIT_FROM" // which program a wrapper became, and in which process
	ceiling = "GIT_CEILING_DIRECTORIES"
)

func bound() []string { return []string{"GIT_DIR", "GIT_WORK_TREE", ceiling} }

// Bind is the environment that binds every git to a workspace's repository. A clone of its own, with no git directory
// to name, needs only the ceiling above which git does not look for one.
func Bind(gitDir, workspace string) []string {
	above := ceiling + "=" + filepath.Dir(workspace)
	if gitDir == "" {
		return []string{above}
	}
	return []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + workspace, above}
}

// Wrap is the environment that lets this wrapper free calls from Bind, in the workspace and below free, unless they
// would reach the user's repository at host.
func Wrap(gitDir, workspace, host string, free []string) []string {
	env := []string{theirs + "=" + host, roots + "=" + strings.Join(free, ":")}
	for _, kv := range Bind(gitDir, workspace) {
		env = append(env, prefix+kv)
	}
	return env
}

// Main becomes the real git. It returns only if there is none.
func Main(argv []string) int {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // it may be gone; git's message about that is better than ours
	}
	env := Environ(argv[1:], cwd, os.Environ())
	git, err := find(os.Getenv("PATH"), os.Getenv(from))
	if err == nil {
		env = append(without(env, from), from+"="+strconv.Itoa(os.Getpid())+":"+git)
		err = syscall.Exec(git, argv, env)
	}
	fmt.Fprintf(os.Stderr, "git: %v\n", err)
	return 127
}

// Environ is the environment for one call: bound, unless the call is free.
func Environ(args []string, cwd string, env []string) []string {
	bind := map[string]string{}
	for _, name := range bound() {
		bind[name] = lookup(env, prefix+name)
	}
	if bind["GIT_DIR"] == "" || bind["GIT_WORK_TREE"] == "" {
		return env
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE"} {
		if v := lookup(env, name); v != "" && v != bind[name] {
			return env // the agent's own choice, which the hook judges
		}
	}
	for _, name := range bound() {
		env = without(env, name)
	}
	c := parse(args)
	if c.aimed || c.command == "init" || c.command == "clone" {
		return env
	}
	w := world{real(bind["GIT_WORK_TREE"]), real(bind["GIT_DIR"]), lookup(env, theirs), nil}
	for _, dir := range append(filepath.SplitList(lookup(env, roots)), w.workspace) {
		w.free = append(w.free, real(dir))
	}
	if !w.isFree(real(c.dir(cwd))) {
		for _, name := range bound() {
			env = append(env, name+"="+bind[name])
		}
	}
	return env
}

// world is what a wrapper knows, with links resolved.
type world struct {
	workspace, gitDir, host string
	free                    []string
}

// isFree says whether git, left to itself in dir, would find a repository of the agent's own.
func (w world) isFree(dir string) bool {
	for at := dir; filepath.IsAbs(at); at = filepath.Dir(at) {
		repo, there := repository(at)
		if !there && bare(at) {
			repo, there = at, true
		}
		if there {
			return repo != "" && w.belongs(repo)
		}
		if at == w.workspace || at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// belongs says whether a repository is the agent's: that of a submodule, or one in the workspace or another place of
// the agent's. A .git there may lead elsewhere, so it is the repository itself that counts.
func (w world) belongs(repo string) bool {
	if paths.Within(repo, filepath.Join(w.gitDir, "modules")) {
		return true
	}
	inside := func(dir string) bool { return dir != "" && paths.Within(repo, dir) }
	if inside(w.gitDir) {
		return false
	}
	if inside(real(w.host)) && !paths.Within(repo, w.workspace) {
		return false
	}
	return slices.ContainsFunc(w.free, inside)
}

// real resolves links as far as it can.
func real(name string) string {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to
	}
	return name
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
