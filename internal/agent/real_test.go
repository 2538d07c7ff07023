//go:build heavy

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/provision"
)

// With -record the streams of the real CLIs are written to event/testdata, where the decoders are tested on them.
var record = flag.Bool("record", false, "write the streams to event/testdata")

// With -oldest the oldest versions that adapters claim to work with are run instead of the pinned ones.
var oldest = flag.Bool("oldest", false, "run the oldest versions that should work")

func cli(t *testing.T, a agent.Adapter) string {
	t.Helper()
	if !*oldest {
		return agenttest.Program(t, a.Name())
	}
	cache := must.Get(filepath.Abs(filepath.Join("..", "..", ".cache", "oldest")))(t)
	p := must.Get(install.Install(t.Context(), cache, a, a.Package().Oldest, install.Host(), nil))(t)
	return p.Path
}

// stage is a repository, a worktree of it with the guard around it, and all that an adapter wants to be told.
type stage struct {
	a     agent.Adapter
	model *agenttest.Server
	root  string
	host  string
	task  agent.Task
	etc   string
	env   []string
}

func newStage(t *testing.T, name string, steps ...agenttest.Step) *stage {
	t.Helper()
	a := must.Get(agent.Find(name))(t)
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	s := &stage{a: a, root: root, host: filepath.Join(root, "host"), model: agenttest.Serve(t, steps...)}
	wt, home := filepath.Join(root, "work"), filepath.Join(root, "home")
	s.run(t, "git", "init", "-q", s.host)
	s.run(t, "git", "-C", s.host, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty",
		"-m", "start")
	s.run(t, "git", "-C", s.host, "worktree", "add", "-q", wt, "-b", "feature")
	for _, f := range provision.Files() {
		s.put(t, filepath.Join(home, f.Path), string(f.Data))
	}
	s.put(t, filepath.Join(root, "exchange", ".keep"), "")
	s.task = agent.Task{
		Plan: "plan.md", Session: "3f9c01aa", Workspace: wt, Exchange: filepath.Join(root, "exchange"), Home: home,
		State:   home,
		Program: cli(t, a), Door: strings.TrimPrefix(s.model.URL, "http://"), Token: "worthless-token",
		Model: map[string]string{"codex": "gpt-5", "gemini": "gemini-2.5-pro"}[name],
	}
	s.put(t, filepath.Join(wt, "plan.md"), "Do it.\n")
	s.guard(t, home)
	return s
}

func (s *stage) run(t *testing.T, argv ...string) {
	t.Helper()
	env := append(os.Environ(), "CGO_ENABLED=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: argv, Env: env}))
}

func (s *stage) put(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
}

// guard puts the managed settings and the adapter's own files where boxes have them.
func (s *stage) guard(t *testing.T, home string) {
	t.Helper()
	binary := filepath.Join(s.root, "bin", "cco-guard")
	must.Do(t, programs.Build(t.Context(), filepath.Dir(binary), "cco-guard"))
	policy := must.Get(discover.Policy(s.task.Workspace, s.host, home))(t)
	file := must.Get(settings.PolicyFile(policy))(t)
	s.etc = agenttest.Etc(t)
	hook := settings.Hook{Guard: binary, Policy: file.Path, Name: "cco-guard-nonce"}
	for _, f := range append(settings.Managed(agent.Hooks(), hook), file) {
		s.put(t, filepath.Join(s.etc, strings.TrimPrefix(f.Path, "/etc/")), string(f.Data))
	}
	s.task.Rules = "## RULES\n\n- The rules are here."
}

// play runs the agent once and decodes what it says. Its /etc is the stage's, and belongs to nobody that it knows as
// root.
func (s *stage) play(t *testing.T, name string) []event.Event {
	t.Helper()
	return s.playFor(t.Context(), t, name, event.Usage{})
}

// playFor is play until ctx ends, which kills the agent.
func (s *stage) playFor(ctx context.Context, t *testing.T, name string, before event.Usage) (events []event.Event) {
	t.Helper()
	cmd := s.a.Command(s.task)
	for _, f := range cmd.Etc {
		s.put(t, filepath.Join(s.etc, f.Path), string(f.Data))
	}
	argv := append([]string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount --bind "$0" /etc && exec unshare --user --map-user=1000 --map-group=1000 "$@"`, s.etc}, cmd.Argv...)
	env := slices.Concat([]string{"HOME=" + s.task.Home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8",
		"TZ=UTC", "TMPDIR=" + s.root,
		"GIT_CONFIG_NOSYSTEM=1"}, cmd.Env, s.env)
	var out, words bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{Argv: argv, Dir: s.task.Workspace, Env: env, Stdout: &out, Stderr: &words,
		Grace: time.Minute})
	exit := proc.Code(err)
	if ctx.Err() != nil {
		exit = 143
	}
	if *record {
		s.record(t, name, out.Bytes(), words.Bytes(), exit)
	}
	d := s.a.Events(event.Start{Before: before, Now: time.Now})
	for line := range strings.Lines(out.String()) {
		events = append(events, d.Line([]byte(strings.TrimSuffix(line, "\n")))...)
	}
	for line := range strings.Lines(words.String()) {
		events = append(events, d.ErrLine([]byte(strings.TrimSuffix(line, "\n")))...)
	}
	events = append(events, d.End(exit))
	if t.Failed() || testing.Verbose() {
		t.Logf("%s\n%s\n%s\nexit %d", s.model.Summary(), out.String(), words.String(), exit)
	}
	return events
}

// recording is a stream as it was, with the machine's own paths taken out.
type recording struct {
	Exit   int      `json:"exit"`
	Stdout []string `json:"stdout"`
	Stderr []string `json:"stderr"`
}

func (s *stage) record(t *testing.T, name string, out, words []byte, exit int) {
	t.Helper()
	scrub := func(b []byte) []string {
		text := strings.NewReplacer(s.task.Workspace, "/workspace/3f9c01aa", s.task.Home, "/home/agent", s.root, "/scratch",
			filepath.Dir(filepath.Dir(filepath.Dir(s.task.Program))), "/opt/agent").Replace(string(b))
		text = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(text, "127.0.0.1:1")
		text = regexp.MustCompile(`file:///[^ "]*/node_modules`).ReplaceAllString(text, "file:///opt/agent/node_modules")
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	data := must.Get(json.MarshalIndent(recording{exit, scrub(out), scrub(words)}, "", " "))(t)
	s.put(t, filepath.Join("event", "testdata", s.a.Name(), name+".json"), string(data)+"\n")
}

func last(events []event.Event) event.Finished { return *events[len(events)-1].Finished }

func kinds(events []event.Event, k event.Kind) (list []event.Event) {
	for _, e := range events {
		if e.Kind == k {
			list = append(list, e)
		}
	}
	return list
}

func show(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, _ := json.Marshal(e)
		_, _ = fmt.Fprintf(&b, "%.600s\n", data)
	}
	return b.String()
}

func clis() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// The whole way: instructions arrive, tools run, and a second run goes on where the first ended and counts only itself.
func TestRealRunAndResume(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			think := agenttest.Shell("echo hello")
			think.Thinking = "Let me think."
			s := newStage(t, name, think, agenttest.Shell("exit 3"), agenttest.Say("All is done."))
			s.task.NewSession = "11111111-2222-4333-8444-555555555555"
			events := s.play(t, "work")
			end := last(events)
			if end.Outcome != event.OK || end.Text != "All is done." || end.Session == "" || end.Usage.Input != 30 ||
				end.Usage.Output != 15 {
				t.Errorf("end %+v\n%s", end, show(events))
			}
			if len(kinds(events, event.KindStarted)) != 1 || len(kinds(events, event.KindToolCall)) != 2 ||
				len(kinds(events, event.KindToolResult)) != 2 {
				t.Errorf("events\n%s", show(events))
			}
			for _, text := range []string{"The rules are here.", "Executing a plan in a sandbox", "plan.md", "question.txt",
				"You are in a cco box"} {
				if !s.model.Saw(text) {
					t.Errorf("the model was not told %q", text)
				}
			}
			s.resumed(t, end)
		})
	}
}

func (s *stage) resumed(t *testing.T, first event.Finished) {
	t.Helper()
	s.task.NewSession, s.task.Resume, s.task.Prompt = "", first.Session, "- use tabs"
	events := s.playFor(t.Context(), t, "resume", first.Total)
	end := last(events)
	if end.Outcome != event.OK || end.Session != first.Session || end.Usage.Input != 10 || end.Usage.Output != 5 {
		t.Errorf("end %+v\n%s", end, show(events))
	}
	if !s.model.Saw("use tabs") {
		t.Error("the answer didn't arrive")
	}
	for _, r := range s.model.Requests() {
		if r.Turn && r.Key() != "worthless-token" {
			t.Errorf("%s %s with the key %q", r.Method, r.Path, r.Key())
		}
	}
}

// Guards against a repository that switches the hook off: with settings, plugins and variables of its own.
func TestRealDenial(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, name)
			escape := agenttest.Shell("cd " + s.host + " && touch ran")
			s.model = agenttest.Serve(t, escape, agenttest.Shell("echo done > worked"), escape, agenttest.Say("over"))
			s.task.Door = strings.TrimPrefix(s.model.URL, "http://")
			for file, text := range map[string]string{
				".claude/settings.json": `{"disableAllHooks": true}`, ".claude/settings.local.json": `{"disableAllHooks": true}`,
				".codex/config.toml":    "[features]\nhooks = false\n",
				".gemini/settings.json": `{"hooksConfig": {"enabled": false}}`, ".env": "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/none\n",
				".gemini/.env":  "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/none\nNODE_OPTIONS=\n",
				"opencode.json": `{"plugin": [], "permission": "deny"}`, ".opencode/opencode.json": `{"plugin": []}`,
			} {
				s.put(t, filepath.Join(s.task.Workspace, file), text)
			}
			events := s.play(t, "denied")
			if end := last(events); end.Outcome != event.OK {
				t.Errorf("end %+v", end)
			}
			denied := kinds(events, event.KindDenied)
			if len(denied) != 2 || !strings.Contains(denied[0].Text, "leaves the workspace") {
				t.Errorf("denied %+v\n%s", denied, show(events))
			}
			if _, err := os.Lstat(filepath.Join(s.host, "ran")); err == nil {
				t.Error("the denied command was run")
			}
			if _, err := os.Lstat(filepath.Join(s.task.Workspace, "worked")); err != nil {
				t.Error("the agent could not work")
			}
		})
	}
}

// Guards against a test that proves nothing: without the preload gemini doesn't believe its system settings here.
func TestRealGeminiNeedsThePreload(t *testing.T) {
	s := newStage(t, "gemini")
	s.model = agenttest.Serve(t, agenttest.Shell("cd "+s.host+" && touch ran"), agenttest.Say("over"))
	s.task.Door = strings.TrimPrefix(s.model.URL, "http://")
	s.env = []string{"NODE_OPTIONS="}
	events := s.play(t, "unguarded")
	if _, err := os.Lstat(filepath.Join(s.host, "ran")); err != nil {
		t.Errorf("the escape failed by itself: %v\n%s", err, show(events))
	}
}

func TestRealFailures(t *testing.T) {
	reset := time.Now().Add(20 * time.Minute)
	tests := []struct {
		name      string
		faults    []agenttest.Fault
		outcome   event.Outcome
		transient bool
		not       string // an agent that goes on trying for longer than a test can wait
	}{
		{"storm", agenttest.Storm(agenttest.Fault{Status: 529}, 2), event.OK, false, ""},
		{"refused", agenttest.Storm(agenttest.Fault{Status: 401}, 100), event.Failed, false, ""},
		{"limited", agenttest.Storm(agenttest.Fault{Status: 429, Reset: reset}, 100), event.Failed, true, "opencode"},
		{"dropped", agenttest.Storm(agenttest.Fault{Drop: agenttest.AtStart}, 100), event.Failed, true, "opencode"},
	}
	for _, name := range clis() {
		for _, tt := range tests {
			if tt.not == name {
				continue
			}
			t.Run(name+" "+tt.name, func(t *testing.T) {
				s := newStage(t, name, agenttest.Shell("echo hello"), agenttest.Say("over"))
				s.env = []string{"CLAUDE_CODE_MAX_RETRIES=3"}
				s.model.Fail(1, tt.faults...)
				events := s.play(t, tt.name)
				end := last(events)
				if end.Outcome != tt.outcome || end.Transient != tt.transient || (end.Error == "") != (tt.outcome == event.OK) {
					t.Errorf("end %+v\n%s", end, show(events))
				}
				if tt.name == "limited" && (end.ResetAt.Before(reset.Add(-2*time.Minute)) ||
					end.ResetAt.After(reset.Add(2*time.Minute))) {
					t.Errorf("it resets at %s, not at %s", reset, end.ResetAt)
				}
			})
		}
	}
}

func TestRealKill(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, name, agenttest.Shell("echo hello"), agenttest.Say("over"))
			s.model.Fail(2, agenttest.Storm(agenttest.Fault{Hang: agenttest.AtStart}, 100)...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for tick := time.Tick(50 * time.Millisecond); s.model.Turns() < 2 && ctx.Err() == nil; <-tick {
				}
				<-time.After(2 * time.Second) // what it did before is to be told first; nothing hangs on it
				cancel()
			}()
			events := s.playFor(ctx, t, "killed", event.Usage{})
			if end := last(events); end.Outcome != event.Killed || end.Session == "" {
				t.Errorf("end %+v\n%s", end, show(events))
			}
		})
	}
}

func TestRealQuestion(t *testing.T) {
	s := newStage(t, "claude", agenttest.Ask("Tabs or spaces?", "tabs", "spaces"), agenttest.Say("over"))
	events := s.play(t, "question")
	asked := kinds(events, event.KindQuestion)
	if len(asked) != 1 || !strings.Contains(asked[0].Text, "Tabs or spaces?\n- tabs") || !last(events).Asked {
		t.Errorf("asked %+v\n%s", asked, show(events))
	}
}
