//go:build lima

package lima_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/lima"
	"github.com/cco-dev/cco/internal/box/remote"
	"github.com/cco-dev/cco/internal/guest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// These tests need a machine that boots: see scripts/test-lima, which sets the variables.
const (
	binVariable      = "CCO_TEST_BIN"      // the directory of the programs under test
	templateVariable = "CCO_TEST_TEMPLATE" // a base for the machine's template
	machine          = "cco-test"
)

func TestMain(m *testing.M) {
	os.Exit(boxtest.Main(m, func() box.Driver { return inside() }))
}

func driver() *lima.Driver {
	return lima.New(lima.Options{
		Home: os.Getenv("HOME"), Getenv: os.Getenv, Names: guest.Parts(), Version: guest.Version,
		Parts: func(string) (string, error) { return os.Getenv(binVariable), nil },
	})
}

// inside is the driver of all boxes that the suite makes in the one machine.
func inside() *remote.Client {
	to := driver().Inside().Dial
	return &remote.Client{Dial: func(ctx context.Context, _ *box.Box) (net.Conn,
		error) {
		return to(ctx, &box.Box{Name: machine})
	}}
}

// world is one data directory with one machine, used by everything below in turn.
type world struct {
	*testing.T
	repo, data string
}

// cco runs the program as a user does and returns all its output.
func (w *world) cco(args ...string) (string, error) {
	var out bytes.Buffer
	began := time.Now()
	err := proc.Run(w.Context(), proc.Cmd{
		Argv: append([]string{filepath.Join(os.Getenv(binVariable), "cco")}, args...), Dir: w.repo, Stdout: &out,
		Stderr: &out,
		Env: append(os.Environ(), "XDG_DATA_HOME="+w.data, "XDG_CONFIG_HOME="+w.data+"/config", "GIT_CONFIG_GLOBAL="+
			w.data+"/gitconfig"),
	})
	w.Logf("cco %s: %v after %v\n%s", strings.Join(args, " "), err, time.Since(began).Round(100*time.Millisecond),
		out.String())
	return out.String(), err
}

func (w *world) must(args ...string) string {
	w.Helper()
	out, err := w.cco(args...)
	if err != nil {
		w.Fatalf("cco %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) run(argv ...string) {
	w.Helper()
	must.Do(w, proc.Run(w.Context(), proc.Cmd{Argv: argv, Dir: w.repo,
		Env: append(os.Environ(), "GIT_CONFIG_GLOBAL="+w.data+"/gitconfig")}))
}

func (w *world) write(name, text string) {
	w.Helper()
	must.Do(w, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(w, os.WriteFile(name, []byte(text), 0o644))
}

// id is the session that cco has named.
func (w *world) id(out string) string {
	w.Helper()
	m := regexp.MustCompile(`[Ss]ession ([0-9a-f]{8})`).FindStringSubmatch(out)
	if m == nil {
		w.Fatalf("no session in %s", out)
	}
	return m[1]
}

func (w *world) box() *box.Box {
	return &box.Box{Name: machine, Backend: "lima", Dir: filepath.Join(w.data, "cco", "boxes", machine),
		Exchange: filepath.Join(w.data, "cco", "exchange")}
}

const greeting = "# Greet\n\n## Task 1: Write a greeting\n\n```sh\necho hello > hello.txt\nuname -r > kernel.txt\n```\n"

// boot makes a repository and a machine, for as long as a test runs.
func boot(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, data: t.TempDir()}
	w.repo = filepath.Join(w.data, "repo")
	w.write(filepath.Join(w.data, "gitconfig"),
		"[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	// The machine has no network: everything that the tests need is in it.
	w.write(filepath.Join(w.data, "config", "cco", "config.toml"), "[box.provision]\npackages = []\n")
	w.write(filepath.Join(w.repo, "plan.md"), greeting)
	for _, argv := range [][]string{{"git", "init", "-q"}, {"git", "add", "."}, {"git", "commit", "-qm", "start"}} {
		w.run(argv...)
	}
	t.Cleanup(func() {
		if err := driver().Destroy(context.WithoutCancel(t.Context()), w.box()); err != nil {
			t.Error(err)
		}
	})
	w.must("box", "create", machine, "--backend", "lima", "--template", os.Getenv(templateVariable), "--cpus", "2",
		"--memory", "2GiB", "--disk", "8GiB", "--containers")
	return w
}

// TestRealMachine boots a machine and does everything in it that a user would. Each part uses what the previous one has
// left.
func TestRealMachine(t *testing.T) {
	w := boot(t)
	for _, step := range []struct {
		name string
		run  func(*world)
	}{
		{"HandOff", handOff}, {"Containers", containers}, {"Verify", verifyBoth}, {"TwoSessions", twoSessions},
		{"Conformance", conformance},
		{"KilledMachine", killedMachine}, {"StopAndDestroy", stopAndDestroy},
	} {
		t.Run(step.name, func(t *testing.T) {
			began := time.Now()
			step.run(&world{t, w.repo, w.data})
			t.Logf("%s took %v", step.name, time.Since(began).Round(time.Second))
		})
	}
}

func handOff(w *world) {
	if out := w.must("box", "status", machine); !strings.Contains(out, "machine          yes") {
		w.Error(out)
	}
	w.must("box", "create", machine, "--backend", "lima") // it exists, and nothing is made
	id := w.id(w.must("box", "push", "plan.md", "--box", machine, "--agent", "script"))
	w.must("box", "pull", id)
	if text, err := os.ReadFile(filepath.Join(w.repo, "hello.txt")); err != nil || string(text) != "hello\n" {
		w.Errorf("%q, %v", text, err)
	}
	host, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if text, rerr := os.ReadFile(filepath.Join(w.repo, "kernel.txt")); err != nil || rerr != nil ||
		bytes.Equal(text, host) {
		w.Errorf("the agent had the kernel %q: %v, %v", text, err, rerr)
	}
	// The second sends only what the box lacks.
	if out := w.must("box", "push", "-m", "## Task 1: Nothing", "--box", machine, "--agent",
		"script"); !strings.Contains(out, "only what the box lacks") {
		w.Error(out)
	}
}

// twoSessions run at once and look for each other: files, processes, and each other's exchange directory.
func twoSessions(w *world) {
	d, b := driver(), w.box()
	ids := []string{"aaaa0001", "aaaa0002"}
	for _, id := range ids {
		must.Get(d.Prepare(w.Context(), b, id))(w)
	}
	script := `me=$1 other=$2
echo secret-of-$me > /exchange/$me/secret; echo secret-of-$me > secret; echo secret-of-$me > ~/secret
sh -c 'while :; do sleep 1; done' marker-of-$me &
: > /exchange/$me/ready
until [ -e /exchange/$me/go ]; do sleep 0.1; done
cat /exchange/$other/secret /workspace/$other/secret 2>/dev/null
ls /exchange /workspace
grep -l marker-of-$other /proc/[0-9]*/cmdline 2>/dev/null
for p in $(seq 2 3000); do [ -e /proc/$p ] || { kill -9 $p 2>/dev/null && echo killed $p; }; done
find / -xdev -name secret 2>/dev/null | xargs cat 2>/dev/null | grep secret-of-$other
cat /proc/self/uid_map; echo done`
	out := make([]bytes.Buffer, len(ids))
	var both sync.WaitGroup
	for i, id := range ids {
		both.Go(func() {
			err := d.Run(w.Context(), b, box.Exec{Session: id, Argv: []string{"sh", "-c", script, "sh", id, ids[1-i]},
				Stdout: &out[i]})
			if err != nil {
				w.Errorf("session %s: %v", id, err)
			}
		})
	}
	for _, id := range ids {
		w.await(filepath.Join(b.Exchange, id, "ready"))
	}
	for _, id := range ids {
		w.write(filepath.Join(b.Exchange, id, "go"), "")
	}
	both.Wait()
	users := map[string]bool{}
	for i, id := range ids {
		text := out[i].String()
		lines := strings.Split(strings.TrimSpace(text), "\n")
		// Its own directories, the map of users, done.
		if want := fmt.Sprintf("/exchange:\n%s\n\n/workspace:\n%s\n", id, id); !strings.HasPrefix(text, want) ||
			len(lines) != 7 {
			w.Fatalf("session %s found\n%s", id, text)
		}
		users[lines[len(lines)-2]] = true
	}
	if len(users) != 2 {
		w.Errorf("both are the same user: %v", users)
	}
	for _, id := range ids {
		if err := d.Discard(w.Context(), b, id); err != nil {
			w.Error(err)
		}
	}
}

func (w *world) await(file string) {
	w.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s never came", file)
		}
	}
}

// conformance runs the whole suite against boxes in the machine. They share one exchange directory, so they run one
// after the other.
func conformance(w *world) {
	n := 0
	boxtest.Run(w.T, boxtest.Setup{Driver: inside(), Deep: 200, New: func(t *testing.T) *box.Box {
		n++
		b := w.box()
		left := must.Get(filepath.Glob(filepath.Join(b.Exchange, "*")))(t)
		for _, dir := range left {
			must.Do(t, os.RemoveAll(dir))
		}
		b.Name = machine + "-" + strconv.Itoa(n)
		b.Dir = filepath.Join(w.data, "cco", "boxes", b.Name)
		return b
	}})
}

// killedMachine kills the machine in the middle of a run. The work done by then is published after the next start.
func killedMachine(w *world) {
	plan := "## Task 1: Commit\n\n```sh\necho saved > saved.txt\n```\n\n## Task 2: Never end\n\n```sh\nsync; : > " +
		"\"$CCO_EXCHANGE/beat\"; sleep 1000\n```"
	id := w.id(w.must("box", "push", "-m", plan, "--box", machine, "--agent", "script", "--detach"))
	w.await(filepath.Join(w.box().Exchange, id, "beat"))
	for _, name := range []string{"qemu.pid", "ha.pid"} {
		text := must.Get(os.ReadFile(filepath.Join(os.Getenv("LIMA_HOME"), machine, name)))(w)
		pid := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(w)
		must.Do(w, syscall.Kill(pid, syscall.SIGKILL))
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		if out := w.must("box", "sessions"); strings.Contains(out, id+"  failed") ||
			regexp.MustCompile(id+` +(failed|interrupted)`).MatchString(out) {
			break
		}
		if time.Now().After(deadline) {
			w.Fatal("the session never ended")
		}
	}
	if out, err := w.cco("box", "push", "plan.md", "--box", machine, "--agent", "script"); proc.Code(err) != 4 ||
		!strings.Contains(out, "sandbox not running") {
		w.Errorf("%v: %s", err, out)
	}
	w.must("box", "start", machine)
	if out := w.must("box", "shell", "--session", id, "--", "cat", "saved.txt"); !strings.Contains(out, "saved") {
		w.Error(out)
	}
	w.must("box", "pull", id, "--partial")
	if text, err := os.ReadFile(filepath.Join(w.repo, "saved.txt")); err != nil || string(text) != "saved\n" {
		w.Errorf("%q, %v", text, err)
	}
}

func stopAndDestroy(w *world) {
	w.must("box", "stop", machine)
	w.must("box", "stop", machine)
	if out := w.must("box", "status", machine); !strings.Contains(out, "stopped") {
		w.Error(out)
	}
	// cco would start it once more to look for unsaved work.
	for range 2 {
		if err := driver().Destroy(w.Context(), w.box()); err != nil {
			w.Error(err)
		}
	}
	if up, err := driver().Running(w.Context(), w.box()); up || err != nil {
		w.Errorf("running %v, %v", up, err)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("LIMA_HOME"), machine)); err == nil {
		w.Error("the machine is still there")
	}
}
