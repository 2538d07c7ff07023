//go:build eval

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

var (
	casesDir = flag.String("cases", "", "a directory with labelled calls, to be run in the cage")
	below    = flag.String("below", "", "where the home and the repositories are laid out")
)

// labelled is a call of the set.
type labelled struct{ ID, Cwd, Command, Expect, Class string }

// TestLabelledCallsInTheCage runs every labelled command in the cage, each on a fresh copy of what they speak of:
// nothing outside may change, and what is harmless succeeds as it does plain.
func TestLabelledCallsInTheCage(t *testing.T) {
	var all []labelled
	data := must.Get(os.ReadFile(filepath.Join(*casesDir, "cases.jsonl")))(t)
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var c labelled
		must.Do(t, d.Decode(&c))
		all = append(all, c)
	}
	base := must.Get(os.MkdirTemp(*below, "cage-eval-"))(t) //nolint:usetesting // calls may write in scratch roots
	t.Cleanup(func() { must.Do(t, proc.Run(context.Background(), proc.Cmd{Argv: []string{"rm", "-rf", base}})) })
	bin := filepath.Join(base, "bin")
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box", "cco-guard"))
	layouts := map[string]string{"beside": "src/task", "nested": "src/widget/.cco/task", "main": "src/widget"}
	for name, worktree := range layouts {
		t.Run(name, func(t *testing.T) {
			r := evalRun{base: filepath.Join(base, "w"), kept: filepath.Join(base, "kept"), bin: bin, worktree: worktree}
			r.lay(t)
			for _, c := range all {
				r.one(t, c)
			}
			t.Logf("%s: %d calls; of %d harmless ones %d succeed plain and fail in the cage: %v; %d changed something outside",
				name, r.ran, r.harmless, len(r.failed), r.failed, r.changed)
		})
	}
}

type evalRun struct {
	base, kept, bin, worktree string

	ran, harmless, changed int
	failed                 []string
}

func (r *evalRun) at(name string) string { return filepath.Join(r.base, name) }

// lay makes what the calls speak of, and keeps a copy.
func (r *evalRun) lay(t *testing.T) {
	t.Helper()
	task := r.worktree
	if task == "src/widget" {
		task = "src/task"
	}
	r.sh(t, `rm -rf "$2" "$3"; mkdir "$2"
		bash "$1/fixture.sh" "$2/home" "$2/src/widget" "$2/$4" "$2/other" >/dev/null 2>&1; cp -a "$2" "$3"`,
		*casesDir, r.base, r.kept, task)
}

func (r *evalRun) sh(t *testing.T, script string, args ...string) {
	t.Helper()
	must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: append([]string{"bash", "-ec", script, "bash"}, args...)}))
}

// fresh puts everything back as it was.
func (r *evalRun) fresh(t *testing.T) {
	t.Helper()
	r.sh(t, `chmod -R u+rwx "$1" 2>/dev/null || true; rm -rf "$1"; cp -a "$2" "$1"
		for at in src/widget "$3"; do git -C "$1/$at" update-index -q --refresh >/dev/null 2>&1 || true; done`,
		r.base, r.kept, r.worktree)
}

// run runs a command, plain or in the cage, and says whether it succeeded.
func (r *evalRun) run(t *testing.T, c labelled, caged bool) bool {
	t.Helper()
	fill := strings.NewReplacer("{WT}", r.at(r.worktree), "{HOST}", r.at("src/widget"), "{OUT}", r.at("other"), "{WTNAME}",
		filepath.Base(r.worktree))
	argv := []string{"bash", "-c", fill.Replace(c.Command)}
	if caged {
		argv = append([]string{filepath.Join(r.bin, "cco"), "guard", "run", "--worktree", r.at(r.worktree), "--"}, argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	env := []string{"HOME=" + r.at("home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=dev",
		"XDG_DATA_HOME=" + r.base + "-data"}
	return proc.Run(ctx, proc.Cmd{Argv: argv, Dir: fill.Replace(c.Cwd), Env: env, TiedToUs: true}) == nil
}

func (r *evalRun) one(t *testing.T, c labelled) {
	t.Helper()
	r.ran++
	well := false
	if c.Expect == "allow" {
		r.fresh(t)
		r.harmless++
		well = r.run(t, c, false)
	}
	r.fresh(t)
	r.sh(t, `rm -rf "$1-data"`, r.base)
	ok := r.run(t, c, true)
	if well && !ok {
		r.failed = append(r.failed, c.ID)
		t.Logf("%s fails in the cage: %s", c.ID, c.Command)
	}
	if diff := r.differences(t); len(diff) > 0 {
		r.changed++
		t.Errorf("%s: %s\nchanged outside: %v", c.ID, c.Command, diff)
	}
	if r.worktree != "src/widget" {
		r.sh(t, `git -C "$1" fsck --no-dangling >/dev/null 2>&1`, r.at("src/widget"))
	}
}

// differences are what is not as it was outside the worktree, but for new objects and the agent's branches.
func (r *evalRun) differences(t *testing.T) (list []string) {
	t.Helper()
	const git = "src/widget/.git/"
	ours := func(name string) bool {
		below := func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
		return below(r.worktree) && !strings.HasPrefix(name, git) ||
			slices.ContainsFunc([]string{"objects", "refs", "logs", "worktrees", "index", "HEAD", "packed-refs", "ORIG_HEAD"},
				func(of string) bool { return below(git + of) })
	}
	is, was := r.list(t, r.base), r.list(t, r.kept)
	for name, what := range is {
		if was[name] != what && !ours(name) {
			list = append(list, name+": "+what+", was "+was[name])
		}
	}
	for name := range was {
		if _, there := is[name]; !there && !ours(name) {
			list = append(list, name+" is gone")
		}
	}
	return list
}

func (r *evalRun) list(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + info.ModTime().UTC().String() + " " + string(text[:min(len(text), 4096)])
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + target
		}
		all[name] = what
		return nil
	}))
	return all
}
