package cruising_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// without gives the rig's environment without a variable.
func without(r *cruisetest.Rig, name string) []string {
	return slices.DeleteFunc(slices.Clone(r.Env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// Guards against phases that nobody watches, and nobody says so.
func TestCommandsThatShowSayWhenNobodyWatches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	r.Await(id, "watching", watching)
	r.KillEngine()
	env := r.Env
	r.Env = without(r, "GH_ENTERPRISE_TOKEN")
	for _, args := range [][]string{{"cruise", "status", id}, {"cruise", "list"}, {"cruise", "logs", id}, {"attention"}} {
		if _, words, err := r.Run(args...); err != nil || !strings.Contains(words, "nobody watches") {
			t.Errorf("cco %v says %q, %v", args, words, err)
		}
		if args[0] == "cruise" && r.EnginePid() != 0 {
			t.Fatal("it started an engine without a token")
		}
	}
	r.Env = env
	if _, words, err := r.Run("cruise", "status", id); err != nil || !strings.Contains(words, "one is started") {
		t.Errorf("%q, %v", words, err)
	}
	if !r.Until(func() bool { return r.EnginePid() != 0 }) {
		t.Error("no engine was started")
	}
}

// Guards against commands that follow a dead engine for ever, and against those that wait for a stopped one.
func TestFollowersEndWithTheEngineAndNothingWaitsForAStoppedOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	r.Await(id, "watching", watching)
	type end struct {
		words string
		code  int
	}
	ends := make(chan end, 2)
	for _, args := range [][]string{{"logs", "-f", id}, {"status", "--watch", id}} {
		out := must.Get(os.Create(filepath.Join(t.TempDir(), "out")))(t)
		defer func() { _ = out.Close() }()
		go func() {
			var words bytes.Buffer
			err := proc.Run(t.Context(), proc.Cmd{Argv: append([]string{filepath.Join(r.Bin, "cco"), "cruise"}, args...),
				Dir: r.Repo, Env: r.Env, Stdout: out, Stderr: &words})
			ends <- end{words.String(), proc.Code(err)}
		}()
		if !r.Until(func() bool { info, err := out.Stat(); return err == nil && info.Size() > 0 }) {
			t.Fatal("it shows nothing")
		}
	}
	r.KillEngine()
	for range 2 {
		if e := <-ends; e.code != 4 || !strings.Contains(e.words, "nobody watches any more") {
			t.Errorf("a follower ended with %d: %s", e.code, e.words)
		}
	}
	r.CCO("cruise", "resume", "--all")
	pid := r.EnginePid()
	if pid == 0 {
		t.Fatal("no engine")
	}
	must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
	begun := time.Now()
	words := r.Fails(4, "cruise", "fix", id)
	if !strings.Contains(words, "does not answer") || time.Since(begun) > 10*time.Minute {
		t.Errorf("after %v: %s", time.Since(begun), words)
	}
	must.Do(t, syscall.Kill(pid, syscall.SIGCONT))
	r.CCO("cruise", "fix", id)
}

// The service managers are stand-ins on PATH, which record what they were told: no test machine has a user's systemd.
func TestTheEngineBecomesAService(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Fatal("this test knows systemd")
	}
	r := newRig(t)
	bin := t.TempDir()
	for name, body := range map[string]string{
		"systemctl": `[ "$2" = show-environment ] && { echo GITEA_SERVER_URL=https://git.example.org; exit 0; }
echo "$@" >> ` + bin + `/told`,
		"loginctl": `echo Linger=no`,
	} {
		must.Program(t, filepath.Join(bin, name), "#!/bin/sh\n"+body+"\n")
	}
	for i, v := range r.Env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			r.Env[i] = "PATH=" + bin + ":" + rest
		}
	}
	r.Env = append(r.Env, "GITEA_SERVER_URL=https://git.example.org", "ANTHROPIC_API_KEY=sk-ant-x")
	words := r.Fails(4, "cruise", "service", "install")
	for _, want := range []string{"GH_ENTERPRISE_TOKEN", "GH_HOST", "CCO_FORGE", "ANTHROPIC_API_KEY"} {
		if !strings.Contains(words, want) {
			t.Errorf("it does not name %s: %s", want, words)
		}
	}
	if strings.Contains(words, "GITEA_SERVER_URL") || strings.Contains(words, cruisetest.Token) {
		t.Errorf("it said %s", words)
	}
	file := filepath.Join(r.Home, ".config/systemd/user/cco-cruise.service")
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was made")
	}
	for _, name := range []string{"GH_ENTERPRISE_TOKEN", "GH_HOST", "CCO_FORGE", "ANTHROPIC_API_KEY"} {
		r.Env = without(r, name)
	}
	_, words, err := r.Run("cruise", "service", "install")
	if err != nil || !strings.Contains(words, "lingering is off") {
		t.Errorf("%v: %s", err, words)
	}
	unit := string(must.Get(os.ReadFile(file))(t))
	told := string(must.Get(os.ReadFile(filepath.Join(bin, "told")))(t))
	if !strings.Contains(unit, "cruise serve\n") ||
		!strings.Contains(unit, "XDG_DATA_HOME="+filepath.Join(r.Home, "data")) ||
		!strings.Contains(told, "--user enable --now cco-cruise.service") {
		t.Errorf("%s\n%s", unit, told)
	}
	r.CCO("cruise", "service", "remove")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	r.Fails(4, "cruise", "service", "remove")
}
