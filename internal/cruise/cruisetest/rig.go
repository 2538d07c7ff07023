// Package cruisetest is a user with a repository on a forge, and the real programs of cco, for tests of whole phases.
package cruisetest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/forge/giteatest"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// Rig is the user. Each has a home, a data directory, a forge and a box of its own.
type Rig struct {
	testing.TB
	Bin, Home, Data, Repo string
	Env                   []string
	Within                []string            // what workers are started with, if they are in another network
	User                  *syscall.Credential // as whom programs run, nil for ourselves
	Fake                  *githubfake.Server
	// Down makes the forge answer every request with an error, and Refused counts those.
	Down    atomic.Bool
	Refused atomic.Int64

	front    *httptest.Server
	machines []*Rig // that share the phases of this user
	// Gitea is the forge instead of the fake, where there is one.
	Gitea *giteatest.Server
}

// ForgeDir is the repository on the forge.
func (r *Rig) ForgeDir() string {
	if r.Gitea != nil {
		return filepath.Join(r.Gitea.Dir, "repos", "ada", "demo.git")
	}
	return r.Fake.Dir("ada", "demo")
}

// The accounts of the forge: ada owns the repository, eve is a stranger.
const (
	Token    = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	Stranger = "ghp_zyxwvutsrqponmlkjihgfedcba9876543210"
)

// Build builds the programs into a directory of their own, with an engine that can kill itself.
func Build(t testing.TB) string {
	t.Helper()
	bin := t.TempDir()
	must.Do(t, BuildInto(t.Context(), bin))
	return bin
}

// BuildInto builds the programs into a directory that exists.
func BuildInto(ctx context.Context, bin string) error {
	if err := os.Chmod(bin, 0o755); err != nil { // boxes run programs from there
		return err
	}
	return programs.Build(ctx, bin, "cco", "cco-box", "cco-guard", "../internal/cruise/crash/cco-cruise")
}

// NewOnGitea makes a user whose repository is on a real Gitea.
func NewOnGitea(t testing.TB, bin string) *Rig {
	t.Helper()
	g := giteatest.Start(t, "ada", "eve")
	g.NewRepo(t, "ada", "demo")
	r := New(t, bin)
	r.Gitea = g
	for i, v := range r.Env {
		if v == "CCO_FORGE=github" {
			r.Env[i] = "CCO_FORGE=gitea"
		}
	}
	r.Env = append(r.Env, "GITEA_SERVER_URL="+g.URL, "GITEA_TOKEN="+g.Tokens["ada"])
	repo := gittest.At(t, r.Repo)
	repo.Git("remote", "set-url", "origin", g.URL+"/ada/demo.git")
	repo.Git("push", "-q", strings.Replace(g.URL, "http://", "http://ada:"+g.Tokens["ada"]+"@", 1)+"/ada/demo.git",
		"+HEAD:refs/heads/main")
	return r
}

// New makes a user with the programs in bin.
func New(t testing.TB, bin string) *Rig {
	t.Helper()
	home := t.TempDir()
	r := &Rig{TB: t, Bin: bin, Home: home, Data: filepath.Join(home, "data", "cco"), Repo: filepath.Join(home, "demo")}
	fake := must.Get(githubfake.New(t.Context(), t.TempDir(), nil))(t)
	r.Fake = fake
	t.Cleanup(fake.Close)
	r.front = httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(r.front.Close)
	fake.AddUser("ada", Token)
	fake.AddUser("eve", Stranger)
	must.Do(t, fake.AddRepo(t.Context(), "ada", "demo", "ada"))
	config := filepath.Join(home, ".gitconfig")
	r.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "NO_COLOR=1",
		"XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "CCO_FORGE=github",
		"GH_ENTERPRISE_TOKEN="+Token, "GH_HOST="+strings.TrimPrefix(r.front.URL, "http://"), "GIT_CONFIG_GLOBAL="+config)
	identity := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	must.Do(t, os.WriteFile(config, []byte(identity), 0o600))
	r.repository()
	t.Cleanup(r.end)
	return r
}

func (r *Rig) answer(w http.ResponseWriter, q *http.Request) {
	if r.Down.Load() {
		r.Refused.Add(1)
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	r.Fake.ServeHTTP(w, q)
}

func (r *Rig) repository() {
	r.Helper()
	g := gittest.Init(r.TB, r.Repo, "-b", "main")
	g.Git("config", "user.name", "Ada")
	g.Git("config", "user.email", "ada@example.org")
	g.Commit("start", "README.md", "demo\n")
	g.Git("push", "-q", r.Fake.Dir("ada", "demo"), "HEAD:refs/heads/main")
	g.Git("remote", "add", "origin", r.front.URL+"/ada/demo.git")
	// Uncommitted files of the user must still be there at the end.
	g.Write("README.md", "demo, half rewritten\n")
	g.Write("staged.txt", "staged\n")
	g.Git("add", "staged.txt")
	g.Write("loose.txt", "loose\n")
}

// end leaves nothing running.
func (r *Rig) end() {
	r.KillEngine()
	dirs, _ := filepath.Glob(filepath.Join(r.Data, "sessions", "*"))
	for _, dir := range dirs {
		_, _, _ = r.Run("box", "kill", filepath.Base(dir)) // most have already ended
	}
	_, _, _ = r.Run("box", "destroy", "--force")
}

// EnginePid is the process of the engine, 0 where none runs. Its lock is only tried where the process that it names is
// there: an engine that starts at that moment would find it taken, and end.
func (r *Rig) EnginePid() int {
	words, err := os.ReadFile(serve.Lock(r.Data))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(words)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return 0
	}
	lock := flock.New(serve.Lock(r.Data), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryLock()
	_ = lock.Close()
	if err != nil || free {
		return 0
	}
	return pid
}

// KillEngine ends the engine as a crash would, and says whether there was one.
func (r *Rig) KillEngine() bool {
	pid := r.EnginePid()
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	for syscall.Kill(pid, 0) == nil && r.EnginePid() == pid {
		time.Sleep(time.Millisecond) // until the kernel has done it
	}
	return true
}

// Run runs a command and returns its standard output, its standard error, and how it ended.
func (r *Rig) Run(args ...string) (out, words string, err error) {
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	err = proc.Run(ctx, proc.Cmd{Argv: append([]string{filepath.Join(r.Bin, "cco")}, args...), Dir: r.Repo, Env: r.Env,
		Stdout: &stdout, Stderr: &stderr, Attr: r.as})
	return stdout.String(), stderr.String(), err
}

// CCO runs a command that has to succeed.
func (r *Rig) CCO(args ...string) string {
	r.Helper()
	out, words, err := r.Run(args...)
	if err != nil {
		r.Fatalf("cco %s: %v\n%s", strings.Join(args, " "), err, words)
	}
	return out
}

// Fails runs a command that has to fail with that code, and returns its output.
func (r *Rig) Fails(code int, args ...string) string {
	r.Helper()
	out, words, err := r.Run(args...)
	if got := proc.Code(err); got != code {
		r.Fatalf("cco %s: ends with %d, not %d\n%s%s", strings.Join(args, " "), got, code, out, words)
	}
	return words
}

// Start begins a phase with agents that are scripts and gives its id.
func (r *Rig) Start(task string, args ...string) string {
	r.Helper()
	file := filepath.Join(r.Home, "task.md")
	must.Do(r, os.WriteFile(file, []byte(task), 0o600))
	out := r.CCO(append([]string{"cruise", "start", "--file", file, "--planner", "script", "--detach", "--json"},
		args...)...)
	var s Status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	return s.ID
}
