package cruising_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // builds and runs the program under test
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// rig is a user with a repository on a forge, and the real programs.
type rig struct {
	*testing.T
	bin, home, repo string
	env             []string
	fake            *githubfake.Server
}

const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, bin: build(t), home: t.TempDir()}
	fake, err := githubfake.New(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.fake = fake
	t.Cleanup(fake.Close)
	fake.AddUser("ada", token)
	if err := fake.AddRepo(t.Context(), "ada", "demo", "ada"); err != nil {
		t.Fatal(err)
	}
	r.repo = filepath.Join(r.home, "demo")
	host := strings.TrimPrefix(fake.URL(), "http://")
	r.env = append(os.Environ(), "HOME="+r.home, "PATH="+r.bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "NO_COLOR=1",
		"XDG_DATA_HOME="+filepath.Join(r.home, "data"), "XDG_CONFIG_HOME="+filepath.Join(r.home, "config"),
		"GH_ENTERPRISE_TOKEN="+token, "GH_HOST="+host, "CCO_FORGE=github", "GIT_CONFIG_GLOBAL="+filepath.Join(r.home, ".gitconfig"))
	config := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(r.home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	g := gittest.Init(t, r.repo)
	g.Commit("start", "README.md", "demo\n")
	g.Git("push", "-q", fake.Dir("ada", "demo"), "HEAD:refs/heads/main")
	g.Git("remote", "add", "origin", fake.URL()+"/ada/demo.git")
	t.Cleanup(r.end)
	return r
}

// end leaves nothing running.
func (r *rig) end() {
	data := filepath.Join(r.home, "data", "cco")
	r.killEngine()
	dirs, _ := filepath.Glob(filepath.Join(data, "sessions", "*"))
	for _, dir := range dirs {
		_, _ = r.try("box", "kill", filepath.Base(dir)) // most have ended by themselves
	}
	_, _ = r.try("box", "destroy", "--force")
}

// killEngine ends the engine of this data directory as a crash would, and says whether there was one.
func (r *rig) killEngine() bool {
	r.Helper()
	data := filepath.Join(r.home, "data", "cco")
	lock := flock.New(serve.Lock(data))
	if free, err := lock.TryLock(); err != nil || free {
		_ = lock.Close()
		return false
	}
	words, err := os.ReadFile(serve.Lock(data))
	if err != nil {
		r.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(words)))
	if err != nil {
		r.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.Fatal(err)
	}
	if err := lock.Lock(); err != nil { // it has ended when the lock is free
		r.Fatal(err)
	}
	_ = lock.Close()
	return true
}

func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", bin, "../../../cmd/cco", "../../../cmd/cco-box", "../../../cmd/cco-guard", "../../../cmd/cco-cruise") //nolint:forbidigo // the program under test
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func (r *rig) try(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(r.bin, "cco"), args...) //nolint:forbidigo // the program under test
	cmd.Dir, cmd.Env = r.repo, r.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("cco %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), err
}

func (r *rig) cco(args ...string) string {
	r.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.Fatal(err)
	}
	return out
}

// status is what `cco cruise status --json` says.
type status struct {
	ID       string  `json:"id"`
	Stage    string  `json:"stage"`
	Ended    bool    `json:"ended"`
	End      string  `json:"end"`
	Question string  `json:"question"`
	Trouble  string  `json:"trouble"`
	Rounds   int     `json:"completed_rounds"`
	PR       int     `json:"pr_number"`
	Branch   string  `json:"branch_name"`
	Cost     float64 `json:"cost"`
	Held     []struct {
		ID string `json:"id"`
	} `json:"held"`
}

func (r *rig) status(id string) (s status) {
	r.Helper()
	if err := json.Unmarshal([]byte(r.cco("cruise", "status", "--json", id)), &s); err != nil {
		r.Fatal(err)
	}
	return s
}

// await waits until a phase is as wanted. Only a failure waits long.
func (r *rig) await(id string, what string, ok func(status) bool) status {
	r.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		s := r.status(id)
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			logs, _ := r.try("cruise", "logs", id)
			engine, _ := os.ReadFile(filepath.Join(r.home, "data", "cco", "cruise.log"))
			r.Fatalf("the phase is never %s: %+v\n%s\n%s", what, s, logs, engine)
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // asks again, depends on nothing
	}
}

// transcripts is what all agents did.
func (r *rig) transcripts() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(r.home, "data", "cco", "sessions", "*", "transcript.jsonl"))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(filepath.Dir(f)), data)
	}
	return b.String()
}

// start begins a phase with agents that are scripts and gives its id.
func (r *rig) start(task string, args ...string) string {
	r.Helper()
	file := filepath.Join(r.home, "task.md")
	if err := os.WriteFile(file, []byte(task), 0o644); err != nil {
		r.Fatal(err)
	}
	out := r.cco(append([]string{"cruise", "start", "--file", file, "--planner", "script", "--detach", "--json"}, args...)...)
	var s status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	return s.ID
}

// picky is a task whose agents are one script: a reviewer that wants a word in the plan, and a fixer that puts it there.
const picky = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE" in
author)
	mkdir -p docs/plans
	echo "T1: add it" > docs/plans/2026-11-15-add-a-flag.md
	git add -A
	git commit -qm "plan: add a flag" ;;
reviewer)
	touch nothing 2> /dev/null && exit 9
	if grep -q tested docs/plans/*.md; then
		echo '{"verdict":"APPROVED","findings":[]}'
	else
		echo '{"verdict":"NEEDS_CHANGES","findings":[{"path":"docs/plans/2026-11-15-add-a-flag.md","line":1,"severity":"major","text":"say how it is tested by '"$CCO_DOMAIN"'"}]}'
	fi ;;
fixer)
	echo "T2: it is tested" >> docs/plans/2026-11-15-add-a-flag.md ;;
esac
` + "```\n"
