package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/skill"
)

func task(plan string) Task {
	return Task{Plan: plan, Session: "3f9c01aa", Workspace: "/workspace/3f9c01aa", Exchange: "/exchange/3f9c01aa",
		Home: "/home/agent", Tool: "/run/cco/cco-box"}
}

func find(t *testing.T, name string) Adapter {
	t.Helper()
	a := must.Get(Find(name))(t)
	return a
}

func TestTheDefaultStandsFirst(t *testing.T) {
	if All()[0].Name() != roster.Default {
		t.Errorf("All begins with %s", All()[0].Name())
	}
}

func TestEveryAgentIsFoundByItsOwnName(t *testing.T) {
	var seen []string
	for _, a := range All() {
		if slices.Contains(seen, a.Name()) {
			t.Errorf("two agents called %s", a.Name())
		}
		seen = append(seen, a.Name())
		if got := find(t, a.Name()); got.Name() != a.Name() {
			t.Errorf("Find(%q) = %s", a.Name(), got.Name())
		}
		if (a.Binary() == "") != (a.Package().Name == "") || (a.Binary() == "") != (a.Provider() == "") {
			t.Errorf("%s: a program comes from somewhere and asks somebody, and nothing else does", a.Name())
		}
	}
}

func TestFindNamesTheAgentsThatExist(t *testing.T) {
	_, err := Find("claud")
	if nf, ok := errors.AsType[*NotFoundError](err); !ok || nf.Name != "claud" {
		t.Fatalf("err = %v", err)
	}
	want := `no agent "claud"; there are claude, codex, gemini, opencode, copilot, qwen, pi, script`
	if err.Error() != want {
		t.Errorf("err = %q, want %q", err, want)
	}
}

func TestMissingSaysHowToMend(t *testing.T) {
	err := Missing(find(t, "claude"), "cco-sandbox")
	for _, part := range []string{`"claude"`, "cco-sandbox", "cco agent install claude"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %s", err, part)
		}
	}
}

func TestCommands(t *testing.T) {
	const prompt = "/executing-plans-in-sandbox docs/plan.md"
	codex := []string{"--dangerously-bypass-approvals-and-sandbox", "-c", "features.plugins=false", "-c",
		"features.remote_plugin=false", "-c", "features.apps=false",
		"-c", "features.plugin_discovery_prefetch=false", "-c", "features.hooks=true", "-c",
		"check_for_update_on_startup=false"}
	trusted := []string{"-c", `projects={"/workspace/3f9c01aa"={trust_level="trusted"}}`}
	ruled := []string{"-c", "developer_instructions=" + string(must.Get(json.Marshal(skill.For("docs/plan.md")))(t))}
	said := func(t *Task) { t.Prompt = "go on" }
	tests := []struct {
		name  string
		agent string
		edit  func(*Task)
		want  []string
	}{
		{"interactive", "claude", func(t *Task) { t.Interactive = true },
			[]string{"claude", "--dangerously-skip-permissions", prompt}},
		{"headless", "claude", func(*Task) {},
			[]string{"claude", "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", prompt}},
		{"model and rules", "claude", func(t *Task) {
			t.Interactive, t.Model, t.Rules = true, "opus",
				"SANDBOX RULES\n- stay"
		},
			[]string{"claude", "--dangerously-skip-permissions", "--model", "opus",
				"--append-system-prompt", "SANDBOX RULES\n- stay", prompt}},
		{"new", "claude", func(t *Task) { t.Interactive, t.NewSession, t.Program = true, "uuid", "/opt/claude" },
			[]string{"/opt/claude", "--dangerously-skip-permissions", "--session-id", "uuid", prompt}},
		{"resumed", "claude", func(t *Task) { t.Interactive, t.NewSession, t.Resume, t.Prompt = true, "uuid", "old", "-1" },
			[]string{"claude", "--dangerously-skip-permissions", "--resume", "old", " -1"}},

		{"headless", "codex", said, slices.Concat([]string{"codex", "exec", "--json", "--skip-git-repo-check"}, codex,
			[]string{"go on"})},
		{"resumed", "codex", func(t *Task) { t.Prompt, t.Resume, t.Model = "go on", "old", "gpt" },
			slices.Concat([]string{"codex", "exec", "resume", "--json", "--skip-git-repo-check"}, codex,
				[]string{"-m", "gpt", "old", "go on"})},
		{"interactive", "codex", func(t *Task) { t.Prompt, t.Interactive = "go on", true },
			slices.Concat([]string{"codex"}, codex, trusted, ruled, []string{"go on"})},
		{"interactive, resumed", "codex", func(t *Task) { t.Prompt, t.Interactive, t.Resume = "go on", true, "old" },
			slices.Concat([]string{"codex", "resume"}, codex, trusted, ruled, []string{"old", "go on"})},

		{"headless", "gemini", said, []string{"gemini", "--yolo", "--output-format", "stream-json", "--prompt=go on"}},
		{"new", "gemini", func(t *Task) { t.Prompt, t.NewSession, t.Model, t.Interactive = "go on", "uuid", "pro", true },
			[]string{"gemini", "--yolo", "-m", "pro", "--session-id", "uuid", "--prompt-interactive=go on"}},
		{"resumed", "gemini", func(t *Task) { t.Prompt, t.Resume = "go on", "old" },
			[]string{"gemini", "--yolo", "--resume", "old", "--output-format", "stream-json", "--prompt=go on"}},

		{"headless", "opencode", said, []string{"opencode", "run", "--format", "json", "--thinking", "--", "go on"}},
		{"resumed", "opencode", func(t *Task) { t.Prompt, t.Resume, t.Model = "go on", "old", "x/y" },
			[]string{"opencode", "run", "--format", "json", "--thinking", "--session", "old", "--model", "x/y", "--", "go on"}},
		{"interactive", "opencode", func(t *Task) { t.Prompt, t.Interactive = "go on", true },
			[]string{"opencode", "--prompt=go on"}},

		{"script", "script", func(t *Task) { t.Model, t.Rules = "opus", "rules" },
			[]string{"/run/cco/cco-box", "script", "docs/plan.md"}},
	}
	for _, tt := range tests {
		t.Run(tt.agent+" "+tt.name, func(t *testing.T) {
			task := task("docs/plan.md")
			tt.edit(&task)
			if got := find(t, tt.agent).Command(task).Argv; !slices.Equal(got, tt.want) {
				t.Errorf("argv = %q\nwant   %q", got, tt.want)
			}
		})
	}
}

// Guards against an agent that goes its own way to a model: with the user's key, past the limits.
func TestTheDoorIsTheWayToTheModel(t *testing.T) {
	wants := map[string][]string{
		"claude": {"ANTHROPIC_BASE_URL=http://door:1/anthropic", "ANTHROPIC_API_KEY=w0rthless"},
		"codex": {`model_providers.cco.base_url="http://door:1/openai/v1"`, `model_provider="cco"`,
			`model_providers.cco.env_key="CCO_DOOR_TOKEN"`, "CCO_DOOR_TOKEN=w0rthless"},
		"gemini":   {"GOOGLE_GEMINI_BASE_URL=http://door:1/gemini", "GEMINI_API_KEY=w0rthless"},
		"opencode": {`"baseURL":"http://door:1/openai/v1"`, `"apiKey":"w0rthless"`, "cco/gpt-5"},
		"copilot":  {"COPILOT_PROVIDER_BASE_URL=http://door:1/openai/v1", "COPILOT_PROVIDER_API_KEY=w0rthless"},
		"qwen":     {"OPENAI_BASE_URL=http://door:1/openai/v1", "OPENAI_API_KEY=w0rthless"},
		"pi":       {"CCO_DOOR=http://door:1/openai/v1", "CCO_DOOR_TOKEN=w0rthless"},
	}
	for _, a := range All() {
		task := task("plan.md")
		without := a.Command(task)
		task.Door, task.Token = "door:1", "w0rthless"
		with := a.Command(task)
		all := strings.Join(slices.Concat(with.Argv, with.Env), "\n")
		for _, want := range wants[a.Name()] {
			if !strings.Contains(all, want) {
				t.Errorf("%s lacks %s", a.Name(), want)
			}
		}
		if strings.Contains(strings.Join(slices.Concat(without.Argv, without.Env), "\n"), "http://") {
			t.Errorf("%s: an address without a door", a.Name())
		}
		if strings.Contains(strings.Join(with.Argv, "\n"), "w0rthless") {
			t.Errorf("%s: the token is an argument, which everybody can read", a.Name())
		}
	}
}

// told is what an agent is told: the last arguments, or the prompt of those that speak a protocol.
func told(c Command) string {
	if c.Turn != nil {
		return c.Turn.Prompt
	}
	return strings.Join(c.Argv, "\n")
}

// Guards against three screens of cco's rules that are shown as what the user said.
func TestRulesAreNobodysWords(t *testing.T) {
	for said, want := range map[string]string{"": "Carry out the plan plan.md as these instructions say.",
		"Use tabs.\n\nAnd no more.": "Use tabs.\n\nAnd no more."} {
		task := task("plan.md")
		task.Prompt, task.Rules = said, "THE RULES"
		text := must.Get(json.Marshal(prompt(task)))(t)
		for name, read := range map[string]struct {
			record event.Recorder
			line   string
		}{
			"codex": {event.RecordCodex(), `{"type":"event_msg","payload":{"type":"item_completed","item":` +
				`{"type":"UserMessage","content":[{"type":"text","text":%s}]}}}`},
			"gemini":   {event.RecordGemini(), `{"id":"u1","type":"user","content":[{"text":%s}]}`},
			"opencode": {event.RecordOpencode(), `{"id":"p1","type":"text","text":%s,"role":"user"}`},
		} {
			got := read.record(fmt.Appendf(nil, read.line, text))
			if len(got) != 1 || got[0].Kind != event.KindPrompt || got[0].Text != want {
				t.Errorf("%s shows %+v, want %q", name, got, want)
			}
		}
	}
}

// Guards against screens of agents that begin with pages of cco's rules, and against agents that never read them.
func TestOnATerminalThePromptIsWhatAPersonSays(t *testing.T) {
	for _, a := range All() {
		if a.Provider() == "" || a.Protocol {
			continue
		}
		for _, said := range []string{"", "an answer"} {
			task := task("plan.md")
			task.Rules, task.Prompt, task.Interactive, task.State = "THE\nRULES", said, true, task.Home
			c := a.Command(task)
			last := c.Argv[len(c.Argv)-1]
			if strings.Contains(last, "RULES") || len(last) > 60 || !strings.Contains(last, cmp.Or(said, "plan.md")) {
				t.Errorf("%s shows %q", a.Name(), last)
			}
			beside := strings.ReplaceAll(strings.Join(c.Argv[:len(c.Argv)-1], "\n"), `\n`, "\n")
			for _, f := range c.Home {
				beside += string(f.Data)
			}
			if !strings.Contains(beside, "THE\nRULES") {
				t.Errorf("%s, told %q: no rules", a.Name(), said)
			}
			if a.Name() != roster.Default && !strings.Contains(beside, "The plan to carry out is: plan.md\n") {
				t.Errorf("%s, told %q: no skill", a.Name(), said)
			}
		}
	}
}

func TestEveryPromptHasTheRules(t *testing.T) {
	for _, a := range All() {
		if a.Provider() == "" {
			continue
		}
		for _, said := range []string{"", "an answer"} {
			task := task("plan.md")
			task.Rules, task.Prompt = "THE RULES", said
			argv := told(a.Command(task))
			if !strings.Contains(argv, "THE RULES") {
				t.Errorf("%s, told %q: no rules", a.Name(), said)
			}
			if said != "" && !strings.Contains(argv, said) {
				t.Errorf("%s was not told %q", a.Name(), said)
			}
			if said == "" && a.Name() != "claude" && !strings.Contains(argv, "/exchange/3f9c01aa/question.txt") {
				t.Errorf("%s doesn't know where questions go", a.Name())
			}
		}
	}
}

// Guards against CLIs that write into a home which isn't theirs.
func TestStateIsWhereTheCLIsKeepTheirThings(t *testing.T) {
	wants := map[string]string{
		"claude": "CLAUDE_CONFIG_DIR=/state/.claude", "codex": "CODEX_HOME=/state/.codex", "gemini": "GEMINI_CLI_HOME=/state",
		"opencode": "XDG_DATA_HOME=/state/.local/share",
	}
	for name, want := range wants {
		task := task("plan.md")
		task.State = "/state"
		if env := find(t, name).Command(task).Env; !slices.Contains(env, want) {
			t.Errorf("%s lacks %s: %q", name, want, env)
		}
	}
}

func TestAnyPlanStaysOneArgumentAndNoOption(t *testing.T) {
	plans := []string{"-p", "--model=x.md", "- plan.md", "a b.md", "a\nb.md", `it's "so".md`, "$(touch x).md",
		"größe/плaн.md", "/abs/plan.md"}
	for _, a := range All() {
		if a.Protocol {
			for _, plan := range plans {
				if c := a.Command(task(plan)); !strings.Contains(told(c), plan) {
					t.Errorf("%s with plan %q is told %q", a.Name(), plan, told(c))
				}
			}
			continue
		}
		usual := len(a.Command(task("plan.md")).Argv)
		for _, plan := range plans {
			argv := a.Command(task(plan)).Argv
			last := argv[len(argv)-1]
			option, value, joined := strings.Cut(last, "=")
			if joined && (option == "--prompt" || option == "--prompt-interactive") {
				last = value // it can't be anything else
			}
			if len(argv) != usual || strings.HasPrefix(last, "-") || !strings.Contains(last, plan) {
				t.Errorf("%s with plan %q: argv = %q", a.Name(), plan, argv)
			}
		}
	}
}

func TestEnvironmentSaysWhereTheAgentIs(t *testing.T) {
	for _, a := range All() {
		env := a.Command(task("plan.md")).Env
		for _, want := range []string{"CCO_SESSION=3f9c01aa", "CCO_WORKSPACE=/workspace/3f9c01aa",
			"CCO_EXCHANGE=/exchange/3f9c01aa"} {
			if !slices.Contains(env, want) {
				t.Errorf("%s: env %q lacks %s", a.Name(), env, want)
			}
		}
	}
	if env := find(t, "claude").Command(task("plan.md")).Env; !slices.Contains(env, "IS_SANDBOX=1") {
		t.Errorf("claude refuses to run as root without IS_SANDBOX=1: %q", env)
	}
}

// Guards against an agent on a terminal that waits for a theme to be chosen before it begins.
func TestClaudeOnATerminalHasNothingToAskFirst(t *testing.T) {
	task := task("plan.md")
	task.State, task.Token = "/home/agent", "0123456789abcdef0123456789abcdef"
	if home := find(t, "claude").Command(task).Home; home != nil {
		t.Errorf("headless it asks nothing: %v", home)
	}
	task.Interactive = true
	home := find(t, "claude").Command(task).Home
	if len(home) != 1 || home[0].Path != ".claude/.claude.json" {
		t.Fatalf("%+v", home)
	}
	for _, want := range []string{`"hasCompletedOnboarding":true`, `"cdef0123456789abcdef"`, task.Workspace} {
		if !strings.Contains(string(home[0].Data), want) {
			t.Errorf("%s lacks %s", home[0].Data, want)
		}
	}
}
