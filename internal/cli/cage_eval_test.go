//go:build eval

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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
type labelled struct {
	ID, Cwd, Command, Expect, Class string

	Plain bool   // it changes nothing but what the fixture lays out, so it can be run without a cage
	Tool  string `json:"tool_name"`
	Input struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	} `json:"tool_input"`
}

// TestLabelledCallsInTheCage runs every labelled call in the cage, each on a fresh copy of what they speak of: nothing
// outside may change, git outside starts no program afterwards, and what is harmless succeeds as it does plain.
func TestLabelledCallsInTheCage(t *testing.T) {
	system, whole := os.LookupEnv(systemAt)
	if !whole && os.Geteuid() == 0 {
		overTheSystem(t)
		return
	}
	all := labelledCalls(t)
	base := must.Get(os.MkdirTemp(*below, "cage-eval-"))(t) //nolint:usetesting // calls may write in scratch roots
	t.Cleanup(func() {
		_ = proc.Run(context.Background(), proc.Cmd{Argv: []string{"chmod", "-R", "u+rwx", base}})
		must.Do(t, proc.Run(context.Background(), proc.Cmd{Argv: []string{"rm", "-rf", base}}))
	})
	bin := filepath.Join(base, "bin")
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box", "cco-guard"))
	cache := warm(t)
	for _, l := range []struct{ name, worktree, way string }{{"nested", "src/widget/.cco/task", "namespaces"},
		{"main", "src/widget", "namespaces"}, {"beside", "src/task", "namespaces"}, {"landlock", "src/task", "landlock"}} {
		t.Run(l.name, func(t *testing.T) {
			sum := &figures{}
			calls := make(chan labelled, len(all))
			var workers sync.WaitGroup
			for i := range 2 {
				r := &evalRun{T: t, figures: sum, base: filepath.Join(base, fmt.Sprint(l.name, i)), bin: bin,
					worktree: l.worktree, way: l.way}
				r.lay(cache)
				r.seesATrap()
				workers.Go(func() {
					for c := range calls {
						r.one(c)
					}
				})
			}
			for _, c := range all {
				calls <- c
			}
			close(calls)
			workers.Wait()
			if changes := changedOfSystem(t, system); len(changes) > 0 {
				t.Errorf("of the system were changed: %v", changes)
			}
			t.Logf("%s: %v", l.name, sum)
		})
	}
}

// warm gives caches with what Go compiles for the smallest of programs in them: in an empty one that takes longer than
// everything else. They are kept for the next time.
func warm(t *testing.T) (cache string) {
	t.Helper()
	cache = filepath.Join(must.Get(os.UserCacheDir())(t), "cco-dev", "cage-eval")
	must.Do(t, os.MkdirAll(cache, 0o755))
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module warm\n",
		"m_test.go": "package main\nimport _ \"testing\"\n",
		"m.go":      "package main\nimport \"fmt\"\nfunc main() { fmt.Print() }\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, argv := range [][]string{{"go", "vet", "."}, {"go", "test", "."}, {"go", "build", "-trimpath", "."},
		{"go", "test", "-race", "."}} {
		must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: argv, Dir: dir,
			Env: append(os.Environ(), "CGO_ENABLED=1", "GOCACHE="+filepath.Join(cache, "go-build"))}))
	}
	return cache
}

// labelledCalls reads a set. What an agent's file tools do is done by a shell.
func labelledCalls(t *testing.T) (all []labelled) {
	t.Helper()
	for _, name := range []string{"cases.jsonl", "tool-cases.jsonl"} {
		data, err := os.ReadFile(filepath.Join(*casesDir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var c labelled
			must.Do(t, d.Decode(&c))
			if file := c.Input.File + c.Input.Notebook; slices.Contains([]string{"Write", "Edit", "NotebookEdit"}, c.Tool) {
				if rest, ok := strings.CutPrefix(file, "~"); ok {
					file = "$HOME" + rest
				}
				c.Command = fmt.Sprintf("f=%q; mkdir -p \"$(dirname \"$f\")\"; echo x >> \"$f\"", file)
			}
			if c.Command != "" {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no cases in " + *casesDir)
	}
	return all
}

// figures are what comes of a layout.
type figures struct {
	sync.Mutex
	ran, changed, tried, would, harmless, well int
	failed, apart                              []string
}

func (f *figures) String() string {
	return fmt.Sprintf("%d calls, of which %d changed something outside; %d were run plain too, and %d of them did; "+
		"of %d harmless ones %d succeed, %d of them only plain: %v; apart from these %d need what it does not give: %v",
		f.ran, f.changed, f.tried, f.would, f.harmless, f.well, len(f.failed), f.failed, len(f.apart), f.apart)
}

// evalRun is a place in which one call after the other is run.
type evalRun struct {
	*testing.T
	*figures
	base, bin, worktree, way string

	was   seen
	stale bool // something in it is not as it was
}

func (r *evalRun) at(name string) string { return filepath.Join(r.base, "w", name) }
func (r *evalRun) host() string          { return r.at("src/widget") }
func (r *evalRun) mine() string          { return r.at(r.worktree) }

// lay makes what the calls speak of, and keeps a copy.
func (r *evalRun) lay(cache string) {
	r.Helper()
	task := r.worktree
	if task == "src/widget" {
		task = "src/task"
	}
	r.sh(`mkdir "$2"; bash "$1/fixture.sh" "$2/w/home" "$2/w/src/widget" "$2/w/$3" "$2/w/other" >/dev/null 2>&1
		mv "$2/w" "$2/kept"; cp -a "$4" "$2/cache"
		cp -a "$2/kept/home/.cache/." "$2/cache"; rm -rf "$2/kept/home/.cache"; ln -s "$2/cache" "$2/kept/home/.cache"
		mkdir -p "$2/config/cco"; printf '[guard]\ncage = "%s"\n' "$5" > "$2/config/cco/config.toml"`,
		*casesDir, r.base, task, cache, r.way)
	r.stale = true
	r.fresh()
}

func (r *evalRun) sh(script string, args ...string) {
	r.Helper()
	if err := proc.Run(r.Context(), proc.Cmd{Argv: append([]string{"bash", "-ec", script, "bash"}, args...)}); err != nil {
		r.Error(err)
	}
}

// fresh puts everything back as it was. Git has looked at all files, so that it need not write that down later.
func (r *evalRun) fresh() {
	r.Helper()
	if !r.stale {
		return
	}
	r.sh(`chmod -R u+rwx "$1/w" 2>/dev/null || true; rm -rf "$1/w"; cp -a "$1/kept" "$1/w"
		for at in src/widget "$2"; do git -C "$1/w/$at" update-index -q --refresh >/dev/null 2>&1 || true; done`,
		r.base, r.worktree)
	r.was, r.stale = look(r.T, filepath.Join(r.base, "w")), false
}

// begun is what a call in the cage says first: one that never began holds nothing.
const begun = "the cage has begun"

// run runs a command, plain or in the cage, and says whether it succeeded.
func (r *evalRun) run(c labelled, caged bool) error {
	r.Helper()
	fill := strings.NewReplacer("{WT}", r.mine(), "{HOST}", r.host(), "{OUT}", r.at("other"), "{WTNAME}",
		filepath.Base(r.worktree))
	argv := []string{"bash", "-c", fill.Replace(c.Command)}
	if caged {
		argv[2] = "echo '" + begun + "' >&2\n" + argv[2]
		argv = append([]string{filepath.Join(r.bin, "cco"), "guard", "run", "--worktree", r.mine(), "--"}, argv...)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 90*time.Second)
	defer cancel()
	env := []string{"HOME=" + r.at("home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=dev",
		"XDG_DATA_HOME=" + filepath.Join(r.base, "data"), "XDG_CONFIG_HOME=" + filepath.Join(r.base, "config")}
	var words firstWords
	err := proc.Run(ctx, proc.Cmd{Argv: argv, Dir: fill.Replace(c.Cwd), Env: env, Stderr: &words, TiedToUs: true,
		Grace: 20 * time.Second})
	if caged && !strings.Contains(words.String(), begun) {
		r.Errorf("%s did not begin in the cage: %v\n%s", c.ID, err, words.String())
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, words.String())
	}
	return err
}

// firstWords keeps the beginning of what is written to it.
type firstWords struct{ strings.Builder }

func (w *firstWords) Write(p []byte) (int, error) {
	_, _ = w.Builder.Write(p[:min(len(p), max(0, 4096-w.Len()))])
	return len(p), nil
}

func (r *evalRun) one(c labelled) {
	r.Helper()
	harmless, would := c.Expect == "allow", false
	if c.Plain && !harmless {
		changes, _ := r.plain(c)
		would = len(changes) > 0
	}
	if c.Plain && !would && r.worktree == "src/task" && r.way == "namespaces" {
		r.Errorf("%s changes nothing outside even without a cage: %s", c.ID, c.Command)
	}
	changes, err := r.caged(c)
	if len(changes) > 0 {
		r.Errorf("%s: %s\nchanged outside: %s", c.ID, c.Command, strings.Join(changes, "\n"))
	}
	well, holds := err == nil, false
	if harmless && err != nil {
		changes, plain := r.plain(c)
		well, holds = plain == nil, slices.ContainsFunc(changes, r.isHeld) || r.lacksTmp(c)
	}
	r.Lock()
	defer r.Unlock()
	r.ran++
	r.count(&r.changed, len(changes) > 0)
	r.count(&r.tried, c.Plain)
	r.count(&r.would, would)
	r.count(&r.harmless, harmless)
	r.count(&r.well, harmless && well)
	switch {
	case !harmless || !well || err == nil:
	case holds:
		r.apart = append(r.apart, c.ID)
	default:
		r.failed = append(r.failed, c.ID)
		r.Logf("%s fails in the cage: %s\n%v", c.ID, c.Command, err)
	}
}

var scratch = regexp.MustCompile(`(/var)?/tmp|/dev/shm`)

// lacksTmp says of a call that fails that it succeeds with the directory that TMPDIR names in the place of /tmp and the
// like, which rules alone can't make anew.
func (r *evalRun) lacksTmp(c labelled) bool {
	r.Helper()
	cage := must.Get(filepath.Glob(filepath.Join(r.base, "data/cco/guard/*/cage")))(r.T)
	if r.way != "landlock" || !scratch.MatchString(c.Command) || len(cage) != 1 {
		return false
	}
	c.Command = scratch.ReplaceAllLiteralString(c.Command, filepath.Join(cage[0], "scratch"))
	_, err := r.caged(c)
	return err == nil
}

func (f *figures) count(n *int, so bool) {
	if so {
		*n++
	}
}

// plain runs a call without a cage, and says what it changed.
func (r *evalRun) plain(c labelled) ([]string, error) {
	r.fresh()
	err := r.run(c, false)
	is := look(r.T, filepath.Join(r.base, "w"))
	r.stale = !maps.Equal(is, r.was)
	return r.changes(is), err
}

// forget removes what is kept of the cage before. Caches that no layer fills from the user's stay: they start empty,
// and to fill them takes longer than everything else.
func (r *evalRun) forget() {
	data, aside := filepath.Join(r.base, "data"), filepath.Join(r.base, "plain")
	plain, _ := filepath.Glob(filepath.Join(data, "cco/guard/*/cage/plain"))
	for _, dir := range plain {
		must.Do(r.T, os.Rename(dir, aside))
	}
	must.Do(r.T, os.RemoveAll(data))
	for _, dir := range plain {
		must.Do(r.T, os.MkdirAll(filepath.Dir(dir), 0o700))
		must.Do(r.T, os.Rename(aside, dir))
	}
}

// caged runs a call in the cage, and says what it changed. Where everything is as it was, git finds what it found.
func (r *evalRun) caged(c labelled) ([]string, error) {
	r.fresh()
	r.forget()
	cached := stamps(filepath.Join(r.base, "cache"))
	err := r.run(c, true)
	is := look(r.T, filepath.Join(r.base, "w"))
	changes := r.changes(is)
	if !maps.Equal(stamps(filepath.Join(r.base, "cache")), cached) {
		changes = append(changes, "the user's cache")
	}
	if r.stale = !maps.Equal(is, r.was); r.stale {
		changes = append(changes, r.started(r.host(), r.mine())...)
		r.sh(`git -C "$1" fsck --no-dangling --no-progress`, r.host())
	}
	return changes, err
}
