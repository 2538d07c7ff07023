package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func task(plan string) Task {
	return Task{Plan: plan, Session: "3f9c01aa", Workspace: "/workspace/3f9c01aa", Exchange: "/exchange/3f9c01aa",
		Home: "/home/agent", Tool: "/run/cco/cco-box"}
}

func find(t *testing.T, name string) Adapter {
	t.Helper()
	a, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheDefaultStandsFirst(t *testing.T) {
	if All()[0].Name() != Default {
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
		if got := find(t, a.Name()); got != a {
			t.Errorf("Find(%q) = %v", a.Name(), got)
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
	if want := `no agent "claud"; there are claude, script`; err.Error() != want {
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
		{"model and rules", "claude", func(t *Task) { t.Interactive, t.Model, t.Rules = true, "opus", "SANDBOX RULES\n- stay" },
			[]string{"claude", "--dangerously-skip-permissions", "--model", "opus",
				"--append-system-prompt", "SANDBOX RULES\n- stay", prompt}},
		{"script", "script", func(t *Task) { t.Model, t.Rules = "opus", "rules" },
			[]string{"/run/cco/cco-box", "script", "docs/plan.md"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := task("docs/plan.md")
			tt.edit(&task)
			if got := find(t, tt.agent).Command(task).Argv; !slices.Equal(got, tt.want) {
				t.Errorf("argv = %q\nwant   %q", got, tt.want)
			}
		})
	}
}

func TestAnyPlanStaysOneArgumentAndNoOption(t *testing.T) {
	plans := []string{"-p", "--model=x.md", "- plan.md", "a b.md", "a\nb.md", `it's "so".md`, "$(touch x).md", "größe/плaн.md", "/abs/plan.md"}
	for _, a := range All() {
		usual := len(a.Command(task("plan.md")).Argv)
		for _, plan := range plans {
			argv := a.Command(task(plan)).Argv
			last := argv[len(argv)-1]
			if len(argv) != usual || strings.HasPrefix(last, "-") || !strings.HasSuffix(last, plan) {
				t.Errorf("%s with plan %q: argv = %q", a.Name(), plan, argv)
			}
		}
	}
}

func TestEnvironmentSaysWhereTheAgentIs(t *testing.T) {
	for _, a := range All() {
		env := a.Command(task("plan.md")).Env
		for _, want := range []string{"CCO_SESSION=3f9c01aa", "CCO_WORKSPACE=/workspace/3f9c01aa", "CCO_EXCHANGE=/exchange/3f9c01aa"} {
			if !slices.Contains(env, want) {
				t.Errorf("%s: env %q lacks %s", a.Name(), env, want)
			}
		}
	}
	if env := find(t, "claude").Command(task("plan.md")).Env; !slices.Contains(env, "IS_SANDBOX=1") {
		t.Errorf("claude refuses to run as root without IS_SANDBOX=1: %q", env)
	}
}
