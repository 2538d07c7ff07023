//go:build heavy

package broker

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// realRun runs a real CLI whose model is behind a door.
func realRun(t *testing.T, agent string, s *agenttest.Server, limits Limits) (*trial, string, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: []string{"git", "init", "-q", dir}}))
	settings := filepath.Join(home, ".gemini", "settings.json")
	must.Do(t, os.Mkdir(filepath.Dir(settings), 0o755))
	must.Do(t, os.WriteFile(settings, []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}}}`),
		0o600))
	name := map[string]string{"claude": "anthropic", "codex": "openai", "gemini": "gemini", "opencode": "openai"}[agent]
	p := must.Get(FindProvider(name))(t)
	base := must.Get(url.Parse(s.URL))(t)
	tr := open(t, Config{Token: "none", Models: []Upstream{{Provider: p, Base: base, Key: key(t, theKey)}},
		Limits: limits})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = tr.door.Serve(l) }()
	run := agenttest.Run{Agent: agent, Model: &agenttest.Server{URL: "http://" + l.Addr().String() + "/" + name},
		Dir: dir, Home: home}
	argv, env := run.Command(agenttest.Program(t, agent))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var words strings.Builder
	out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Dir: dir, Env: env, Stderr: &words})
	return tr, string(out) + words.String(), err
}

// The real CLIs work through a door: the key is added on the way, and what the model says it used is counted.
func TestRealCLIsWorkThroughADoor(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			step := agenttest.Step{Text: "I begin.", Calls: []agenttest.Call{agenttest.ShellCall("echo 1 >> one")}}
			s := agenttest.Serve(t, step, agenttest.Say("All is done."))
			tr, out, err := realRun(t, agent, s, Limits{})
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if tr.door.Spent().Requests < 2 || tr.door.Spent().Estimated > 0 {
				t.Errorf("spent %+v", tr.door.Spent())
			}
			if strings.Contains(out, theKey) {
				t.Error("the CLI has seen the key")
			}
			for _, r := range s.Requests() {
				if text := fmt.Sprint(r.Header); !strings.Contains(text, theKey) || strings.Contains(text, "none]") {
					t.Errorf("the model was asked with %s", text)
				}
			}
			for i := range tr.entries {
				if e := tr.entry(i + 1); e.Decision != Allowed {
					t.Logf("not let through: %s %s: %s", e.Method, e.Path, e.Reason)
				}
			}
		})
	}
}

// A limit that is reached ends the real CLIs: they do not go on asking.
func TestRealCLIsTakeALimitAsFinal(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			step := agenttest.Step{Text: "I begin.", Calls: []agenttest.Call{agenttest.ShellCall("echo 1 >> one")}}
			step.Usage.Input, step.Usage.Output = 100, 100
			s := agenttest.Serve(t, step, agenttest.Say("All is done."))
			start := time.Now()
			tr, out, err := realRun(t, agent, s, Limits{Tokens: 150})
			limited := 0
			tr.mu.Lock()
			for _, e := range tr.entries {
				if e.Decision == Limited {
					limited++
				}
			}
			tr.mu.Unlock()
			t.Logf("%s: %d refusals, ended after %s: %v", agent, limited, time.Since(start).Round(100*time.Millisecond), err)
			if limited == 0 || limited > 2 {
				t.Errorf("it asked %d times after the limit\n%s", limited, out)
			}
			if !strings.Contains(out, "limit of this session is reached") {
				t.Errorf("it does not say why it ended:\n%s", out)
			}
		})
	}
}
