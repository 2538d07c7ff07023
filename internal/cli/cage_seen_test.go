//go:build eval

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// seen is all that there is below a directory.
type seen map[string]string

// content stands before what rules alone hold of a file: not its mode, its times and its attributes.
const content = "\n"

// look lists everything below a directory with its mode, owner, number of names, times, attributes and text.
func look(t *testing.T, root string) seen {
	t.Helper()
	all := seen{}
	must.Do(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a call may have shut it
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		what := fmt.Sprintf("%o %d.%d", st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
		attributes := make([]byte, 256)
		if n, err := unix.Llistxattr(path, attributes); err == nil && n > 0 {
			what += fmt.Sprintf(" %q", attributes[:n])
		}
		what += fmt.Sprintf("%s%o %d:%d", content, st.Mode&syscall.S_IFMT, st.Uid, st.Gid)
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			text, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			what += fmt.Sprintf(" %d names %s", st.Nlink, text)
		case syscall.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + target
		}
		all[strings.TrimPrefix(strings.TrimPrefix(path, root), "/")] = what
		return nil
	}))
	return all
}

// stamps lists all files below a directory that is too large to be read each time.
func stamps(root string) seen {
	all := seen{}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(path, &st) == nil {
			all[path] = fmt.Sprintf("%o %d %d.%d", st.Mode, st.Size, st.Ctim.Sec, st.Ctim.Nsec)
		}
		return nil
	})
	return all
}

// held are names in a worktree that stay as they are, because they start something later.
var held = []string{".git", ".claude", ".codex", ".gemini", ".opencode", ".mcp.json", "opencode.json"}

// changes are what is not as it was outside the worktree, and what starts something later in it. Of the user's
// repository new objects, the branch of the worktree, new branches and the worktree's own HEAD and index may change.
func (r *evalRun) changes(is seen) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(is)) {
		was, there := r.was[name]
		if (!there || !r.same(was, is[name])) && !r.mayChange(name, there) {
			list = append(list, fmt.Sprintf("%s: %.200q, was %.200q", name, is[name], was))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.was)) {
		if _, there := is[name]; !there && !r.mayChange(name, true) {
			list = append(list, name+" is gone")
		}
	}
	return list
}

// same says whether two looks at a file have seen the same, as far as the cage can hold it.
func (r *evalRun) same(was, is string) bool {
	if r.way == "landlock" {
		_, was, _ = strings.Cut(was, content)
		_, is, _ = strings.Cut(is, content)
	}
	return was == is
}

// isHeld says of a change that it is one of the settings of agents in the worktree.
func (r *evalRun) isHeld(change string) bool {
	rest, ok := cut(change, r.worktree)
	return ok && slices.ContainsFunc(held[1:], func(h string) bool { return strings.HasPrefix(rest, h) })
}

func (r *evalRun) mayChange(name string, existed bool) bool {
	if rest, ok := cut(name, "src/widget/.git"); ok {
		return r.mayChangeInGit(rest, existed)
	}
	rest, ok := cut(name, r.worktree)
	return ok && !slices.ContainsFunc(held, func(h string) bool {
		_, below := cut(rest, h)
		return below
	})
}

func (r *evalRun) mayChangeInGit(name string, existed bool) bool {
	own, branch := "worktrees/task", "task"
	if r.worktree == "src/widget" {
		own, branch = "", "main"
	}
	if _, agents := r.was["src/widget/.git/refs/heads/agent/task-1"]; agents && own != "" {
		branch = "agent/task-1"
	}
	st, err := os.Lstat(r.at("src/widget/.git/" + name))
	if err == nil && st.IsDir() { // its time, and what is in it is asked for itself
		return true
	}
	for _, may := range []string{"HEAD", "index", "logs/HEAD"} {
		if name == filepath.Join(own, may) {
			return true
		}
	}
	for _, at := range []string{"refs/heads", "logs/refs/heads"} {
		if rest, ok := cut(name, at); ok {
			return !existed || rest == branch
		}
	}
	for _, may := range []string{"objects", "refs/cco/guard", "logs/refs/cco/guard"} {
		if _, ok := cut(name, may); ok {
			return !existed
		}
	}
	return false
}

// cut is the rest of a path below a directory.
func cut(name, dir string) (rest string, ok bool) {
	if name == dir {
		return "", true
	}
	return strings.CutPrefix(name, dir+"/")
}

// started runs `git status` as the user does, and names the programs that it starts, by what git itself tells. The
// fixture has none.
func (r *evalRun) started(dirs ...string) (programs []string) {
	r.Helper()
	trace := filepath.Join(r.base, "trace")
	for _, dir := range slices.Compact(dirs) {
		_ = os.Remove(trace)
		if err := proc.Run(r.Context(), proc.Cmd{Argv: []string{"git", "status", "--short"}, Dir: dir, Env: []string{
			"HOME=" + r.at("home"), "PATH=" + os.Getenv("PATH"), "GIT_TRACE2_EVENT=" + trace}}); err != nil {
			r.Errorf("git status in %s: %v", dir, err)
		}
		for d := json.NewDecoder(bytes.NewReader(must.Get(os.ReadFile(trace))(r.T))); d.More(); {
			var e struct {
				Event string
				Argv  []string
			}
			must.Do(r.T, d.Decode(&e))
			if e.Event == "child_start" && e.Argv[0] != "git" {
				programs = append(programs, "git status starts "+strings.Join(e.Argv, " "))
			}
		}
	}
	return programs
}

// seesATrap makes sure that started is no blind eye: programs that the user's git would run are set up, by which each
// of the two directories could be spoiled, and they leave a mark.
func (r *evalRun) seesATrap() {
	r.Helper()
	for _, dir := range []string{r.host(), r.mine()} {
		mark := filepath.Join(r.base, "mark")
		_ = os.Remove(mark)
		r.sh(`git init -q "$3/evil"; git -C "$3/evil" config core.fsmonitor "touch '$2'; false"; rm -rf "$1/.git"
			echo "gitdir: $3/evil/.git" > "$1/.git"`, dir, mark, r.base)
		_, err := os.Stat(mark)
		programs := r.started(dir)
		if _, ran := os.Stat(mark); len(programs) == 0 || ran != nil || err == nil {
			r.Fatalf("a program that git status starts in %s is not seen: %q, mark %v, %v", dir, programs, err, ran)
		}
		r.sh(`rm -rf "$1/evil"`, r.base)
		r.stale = true
		r.fresh()
	}
}

// systemAt names the directory in which everything lands that the test and its calls change of the system.
const systemAt = "CCO_EVAL_SYSTEM"

// overTheSystem runs this test once more, with a layer over each directory of the system, and processes of its own: what
// others on the machine do meanwhile is in none of them, and whether they run makes no call succeed without a cage. Only
// root could change something there.
func overTheSystem(t *testing.T) {
	t.Helper()
	dir := must.Get(os.MkdirTemp(*below, "cage-system-"))(t) //nolint:usetesting // below is not below a layer
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	const layers = `for d in etc usr boot srv home var/spool; do
			case $1/ in /$d/*) continue ;; esac
			mkdir -p "$1/upper/$d" "$1/work/$d"
			[ ! -d /$d ] || mount -t overlay overlay -o "lowerdir=/$d,upperdir=$1/upper/$d,workdir=$1/work/$d" /$d
		done
		shift; exec "$@"`
	must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: append([]string{"unshare", "--mount", "--propagation", "private",
		"--pid", "--kill-child", "--mount-proc", "bash", "-ec", layers, "bash", dir}, os.Args...),
		Env:    append(os.Environ(), systemAt+"="+filepath.Join(dir, "upper")),
		Stdout: os.Stdout, Stderr: os.Stderr, TiedToUs: true}))
}

// changedOfSystem names what landed in the layers: files, what stands there for removed ones, and directories that are
// new or have changed themselves.
func changedOfSystem(t *testing.T, system string) (names []string) {
	t.Helper()
	if system == "" {
		return nil
	}
	mark := fmt.Sprintf("/etc/cage-eval-%d", os.Getpid()) // the layers are no blind eye
	must.Do(t, os.WriteFile(mark, nil, 0o644))
	for _, top := range must.Get(filepath.Glob(filepath.Join(system, "*")))(t) {
		must.Do(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if entries, _ := os.ReadDir(path); path != top && len(entries) == 0 {
				names = append(names, strings.TrimPrefix(path, system))
			}
			return err
		}))
	}
	must.Do(t, os.Remove(mark))
	seen := slices.Index(names, mark)
	if seen < 0 {
		t.Fatalf("%s was made and is not seen: %v", mark, names)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == mark || name == "/var/spool" })
}
