//go:build lima

package lima_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
)

// A push gives the machine, which has no network, a CLI that neither it nor the host has, and runs it there with a
// scripted model. It runs only by name: without hardware virtualization, copying half a gigabyte takes minutes.
func TestRealAgentInMachine(t *testing.T) {
	w := boot(t)
	codex := must.Get(agent.Find("codex"))(w)
	model := agenttest.Serve(w.T,
		agenttest.Shell("uname -r > codex.txt && git add codex.txt && git commit -qm 'Say where'"),
		agenttest.Say("The lamp is lit."))
	const key = "sk-real-5b1d90c2"
	w.Setenv("OPENAI_BASE_URL", model.URL+"/v1")
	w.Setenv("OPENAI_API_KEY", key)
	out := w.must("box", "push", "-m", "## Task 1: Say where you are", "--box", machine, "--agent", "codex", "--headless")
	for _, want := range []string{"installing codex " + codex.Package().Version + " for linux/" + runtime.GOARCH,
		"The lamp is lit."} {
		if !strings.Contains(out, want) {
			w.Errorf("no %q in\n%s\n%s", want, out, model.Summary())
		}
	}
	w.must("box", "pull", w.id(out))
	host, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if text, rerr := os.ReadFile(filepath.Join(w.repo, "codex.txt")); err != nil || rerr != nil ||
		bytes.Equal(text, host) {
		w.Errorf("codex had the kernel %q: %v, %v", text, err, rerr)
	}
	for _, r := range model.Requests() {
		if r.Turn && r.Key() != key {
			w.Errorf("the model got the key %q", r.Key())
		}
	}
}
