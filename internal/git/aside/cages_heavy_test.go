//go:build heavy && linux

package aside_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// agent commits again and again, with all that git does now and then, and writes down each commit that git said was
// done. What it puts into its repository would run at the user's next git status, if that were the user's.
const agent = `#!/bin/sh
evil='[core]
	fsmonitor = "touch '"$2"' 2>/dev/null"
'
for dir in "$(git rev-parse --git-dir)" "$(git rev-parse --git-common-dir)"; do
	mkdir -p "$dir/hooks"
	printf '#!/bin/sh\ntouch %s 2>/dev/null\n' "$2" >"$dir/hooks/post-index-change"
	chmod +x "$dir/hooks/post-index-change"
	for name in config config.worktree; do printf '%s' "$evil" >>"$dir/$name"; done 2>/dev/null
done 2>/dev/null
n=0
while [ $n -lt "$1" ]; do
	n=$((n + 1))
	echo "$n $$ $(date +%N)" >"file$((n % 7))"
	git add . && git commit -q -m "commit $n" && git rev-parse HEAD >>done.txt
	case $((n % 10)) in
	2) git switch -q -c "topic-$(date +%s%N)" ;;
	4) git pack-refs --all ;;
	5) echo staged >"staged$n" && git add "staged$n" ;;
	6) echo x >>file1 && git stash -q && git stash pop -q ;;
	8) git switch -q - ;;
	9) git gc -q --prune=now ;;
	esac
done
`

// kill says who dies: cco, the cage's init, the agent, or cco with the whole cage.
var kill = []string{"cco", "init", "agent", "all"}

// Guards against a commit that is lost, and a .git of the user's that is broken, when cco or the cage is killed at a
// random moment. GUARD_KILLS says how often, and GUARD_SEED repeats a run.
func TestKilledCages(t *testing.T) {
	kills := number(t, "GUARD_KILLS", 6)
	seed := number(t, "GUARD_SEED", int(time.Now().UnixNano()%1e9))
	t.Logf("GUARD_SEED=%d", seed)
	bin := t.TempDir()
	must.Do(t, programs.Build(t.Context(), bin, "cco", "cco-box"))
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := newCages(t, kind, bin, rand.New(rand.NewPCG(uint64(seed), uint64(i))))
			for n := 0; n < (kills+1)/2; {
				if c.killOnce(kill[n%len(kill)]) {
					n++
				}
				c.whole()
			}
		})
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	return must.Get(strconv.Atoi(text))(t)
}

// cages are those of one worktree, one after the other.
type cages struct {
	rig
	random *rand.Rand
	cco    string
	env    []string
	ran    string // is there if a program of the agent's ran outside
}

func newCages(t *testing.T, kind, bin string, random *rand.Rand) *cages {
	c := &cages{rig: rig{t: t, main: gittest.New(t)}, random: random, cco: filepath.Join(bin, "cco"),
		ran: filepath.Join(t.TempDir(), "ran")}
	c.main.Commit("start", "file0", "x\n")
	must.Do(t, os.WriteFile(c.main.Path(".git/info/exclude"), []byte("done.txt\nagent.sh\n"), 0o600))
	c.user = c.main
	if kind == "linked" {
		c.user = gittest.At(t, filepath.Join(t.TempDir(), "tree"))
		c.main.Git("worktree", "add", "-q", "-b", "work", c.user.Dir)
	}
	must.Program(t, c.user.Path("agent.sh"), agent)
	c.user.Write("done.txt", "")
	c.env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(t.TempDir(), "data"))
	return c
}

func (c *cages) start(words *strings.Builder, argv ...string) *proc.Process {
	c.t.Helper()
	argv = append([]string{c.cco, "guard", "run", "--"}, argv...)
	return must.Get(proc.Start(context.WithoutCancel(c.t.Context()), proc.Cmd{Argv: argv, Dir: c.user.Dir, Env: c.env,
		Stdout: words, Stderr: words}))(c.t)
}

// killOnce starts a cage, kills at a random moment, and says whether there was something to kill.
func (c *cages) killOnce(whom string) bool {
	c.t.Helper()
	before := len(c.done())
	var words strings.Builder
	p := c.start(&words, c.user.Path("agent.sh"), strconv.Itoa(1+c.random.IntN(40)), c.ran)
	moment := time.Duration(c.random.IntN(3000)) * time.Millisecond
	select {
	case <-time.After(moment): // the moment is what is tried here, not something to wait for
	case <-p.Done():
	}
	victims := below(p.Pid())
	switch whom {
	case "cco":
		victims = []int{p.Pid()}
	case "init":
		victims = victims[:min(1, len(victims))]
	case "agent":
		victims = victims[max(0, len(victims)-1):]
	case "all":
		victims = append(victims, p.Pid())
	}
	hit := 0
	for _, pid := range victims {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			hit++
		}
	}
	err := p.Wait()
	c.t.Logf("%s after %v: %d killed, %d more commits, %v\n%s", whom, moment, hit, len(c.done())-before, err,
		words.String())
	if strings.Contains(words.String(), "can't be brought over") {
		c.t.Error("something was not brought over")
	}
	return hit > 0
}

// below are the programs of the cage that a process runs, parents first: the host's gits are left alone.
func below(pid int) (pids []int) {
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[0]))
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			for word := range strings.FieldsSeq(string(text)) {
				child, _ := strconv.Atoi(word)
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
				if todo[0] == pid && strings.TrimSpace(string(name)) == "git" {
					continue
				}
				todo = append(todo, child)
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// done are the commits that git in the cage said were done.
func (c *cages) done() []string {
	c.t.Helper()
	return strings.Fields(string(must.Get(os.ReadFile(c.user.Path("done.txt")))(c.t)))
}

// whole checks the user's repository as it was left, and once the next start has brought over the rest.
func (c *cages) whole() {
	c.t.Helper()
	for range 2 {
		if out, err := c.user.Try("", "fsck", "--strict", "--no-dangling"); err != nil {
			c.t.Fatalf("fsck: %v: %s", err, out)
		}
		c.rest()
	}
	c.user.Git("status")
	c.main.Git("status")
	if _, err := os.Lstat(c.ran); err == nil {
		c.t.Fatal("a program of the agent's ran outside")
	}
	must.Do(c.t, filepath.WalkDir(c.main.Path(".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			c.t.Errorf("%s is left", path)
		}
		return err
	}))
	has := strings.Fields(c.user.Git("rev-list", "--branches", "--glob=refs/cco/guard/*"))
	for _, oid := range c.done() {
		if !slices.Contains(has, oid) {
			c.t.Errorf("commit %s is lost", oid)
		}
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// rest is a start that finds what was left, and brings it over. A cage that was killed may need a moment to be gone.
func (c *cages) rest() {
	c.t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		var words strings.Builder
		err := c.start(&words, "true").Wait()
		exit, busy := errors.AsType[*proc.ExitError](err)
		if busy && exit.Code == 4 && time.Now().Before(until) {
			continue
		}
		if err != nil || strings.Contains(words.String(), "can't be brought over") {
			c.t.Fatalf("the next start: %v\n%s", err, words.String())
		}
		return
	}
}
