package provision

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/skill"
)

const skillPath = ".claude/skills/executing-plans-in-sandbox/SKILL.md"

func file(t *testing.T, path string) string {
	t.Helper()
	for _, f := range Files() {
		if f.Path == path {
			return string(f.Data)
		}
	}
	t.Fatalf("%s is not provisioned", path)
	return ""
}

func TestFilesAreWhereTheCLIFindsThem(t *testing.T) {
	var paths []string
	for _, f := range Files() {
		paths = append(paths, f.Path)
		if f.Mode != 0o644 || len(f.Data) == 0 || !fs.ValidPath(f.Path) {
			t.Errorf("%s: mode %o, %d bytes", f.Path, f.Mode, len(f.Data))
		}
	}
	// A flat skills/<name>.md is not found by the CLI, and an unknown skill still reports success.
	want := []string{".claude/CLAUDE.md", ".claude/settings.json", ".claude.json", skillPath,
		".codex/AGENTS.md", ".codex/skills/executing-plans-in-sandbox/SKILL.md",
		".gemini/GEMINI.md", ".gemini/settings.json", ".gemini/skills/executing-plans-in-sandbox/SKILL.md",
		".config/opencode/AGENTS.md", ".config/opencode/package-lock.json", ".config/opencode/node_modules/.keep",
		".copilot/copilot-instructions.md", ".qwen/QWEN.md", ".pi/agent/AGENTS.md"}
	if !slices.Equal(paths, want) {
		t.Errorf("files %q, want %q", paths, want)
	}
}

func TestSettingsAreForAnUnattendedSandbox(t *testing.T) {
	var s struct {
		Permissions struct {
			DefaultMode string `json:"defaultMode"`
		} `json:"permissions"`
		SkipPrompt bool              `json:"skipDangerousModePermissionPrompt"`
		SpinTips   *bool             `json:"spinnerTipsEnabled"`
		Env        map[string]string `json:"env"`
	}
	dec := json.NewDecoder(strings.NewReader(file(t, ".claude/settings.json")))
	// No hooks, and nothing that could switch off those of the managed settings.
	dec.DisallowUnknownFields()
	must.Do(t, dec.Decode(&s))
	if s.Permissions.DefaultMode != "bypassPermissions" || !s.SkipPrompt {
		t.Errorf("it would stop to ask: %+v", s)
	}
	for _, name := range []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER",
		"DISABLE_ERROR_REPORTING", "DISABLE_TELEMETRY"} {
		if s.Env[name] != "1" {
			t.Errorf("%s = %q", name, s.Env[name])
		}
	}
}

// frontmatter reads the flat `key: value` lines that a skill begins with, and refuses what YAML would read otherwise.
func frontmatter(t *testing.T, text string) (map[string]string, string) {
	t.Helper()
	rest, ok := strings.CutPrefix(text, "---\n")
	head, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		t.Fatal("no frontmatter")
	}
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.Contains(value, ": ") || strings.Contains(value, " #") ||
			strings.ContainsAny(value[:1], "\"'[]{}&*!|>%@`#-?:,") {
			t.Errorf("not a plain YAML line: %q", line)
		}
		fields[key] = value
	}
	return fields, body
}

func TestSkillFrontmatter(t *testing.T) {
	fields, body := frontmatter(t, file(t, skillPath))
	name := fields["name"]
	if !strings.Contains(skillPath, "/skills/"+name+"/") || !regexp.MustCompile(`^[a-z0-9-]{1,64}$`).MatchString(name) {
		t.Errorf("name = %q", name)
	}
	if d := fields["description"]; len(d) < 50 || len(d) > 1024 || strings.ContainsAny(d, "<>") ||
		!strings.Contains(d, "Use it when") {
		t.Errorf("description = %q", d)
	}
	if !strings.Contains(body, "$ARGUMENTS") {
		t.Error("the plan's name doesn't reach the text")
	}
	// The CLI would run these before the text is read.
	if strings.Contains(body, "!`") || regexp.MustCompile(`\$[0-9]`).MatchString(body) {
		t.Error("the text holds something that the CLI replaces")
	}
}

// Each phrase stands for a sentence of what the skill has to do.
func TestSkillSaysAllThatItMust(t *testing.T) {
	_, body := frontmatter(t, file(t, skillPath))
	body = strings.Join(strings.Fields(body), " ")
	for what, phrases := range map[string][]string{
		"announces itself":        {"Begin by saying", "I'm executing this plan autonomously in the sandbox."},
		"never asks":              {"**Never ask.**", "AskUserQuestion", "nobody is there to answer"},
		"decides and writes down": {"**Decide.**", "into the body of the commit"},
		"tracked triplets": {"**a triplet**", "`Task N: Implement [Component Name]`", "`Task N: Spec review`",
			"`Task N: Code review`",
			"TaskCreate", "TodoWrite"},
		"blocking":    {"blocked by", "nothing starts before what blocks it is done"},
		"implement":   {"**Test first.**", "fresh subagent", "**Commit**", "**Report**", "**the commit's hash**"},
		"spec review": {"### b. Spec review", "- `APPROVED` - `ISSUES`, and a numbered list"},
		"code review": {"### c. Code review", "- `APPROVED` - `APPROVED_WITH_MINOR`",
			"- `ISSUES`, and a numbered list, each"},
		"fix and review again": {"**review again**", "**until it approves**"},
		"started again":        {"**Continue from the first incomplete triplet**", "progress.md"},
		"stubborn tests":       {"**A stubborn test gets two tries.**", "skip it", "**say so in the commit**"},
		"full suite":           {"**Run the full test suite**"},
		"no complete-work":     {"Never run `/complete-work`"},
		"blocker":              {"**fundamental blocker**", "write `/exchange/<id>/error.txt`"},
		"bundle": {"The last step", "git bundle create /exchange/<id>/output.bundle HEAD",
			"cco checks this bundle and replaces it by one of its own"},
		"id": {"The session's id is the name of the workspace directory", "`<id>` is the workspace's name"},
	} {
		for _, phrase := range phrases {
			if !strings.Contains(body, phrase) {
				t.Errorf("%s: the skill doesn't say %q", what, phrase)
			}
		}
	}
	if rest := body[strings.LastIndex(body, "git bundle create"):]; strings.Contains(rest, "## ") {
		t.Error("something comes after the last step")
	}
}

func TestEveryAgentReadsTheSameWords(t *testing.T) {
	for _, path := range []string{".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md"} {
		if file(t, path) != file(t, ".claude/CLAUDE.md") {
			t.Errorf("%s says something else than CLAUDE.md", path)
		}
	}
}

func TestClaudeMDIsShortAndNamesTheSkill(t *testing.T) {
	text := file(t, ".claude/CLAUDE.md")
	for _, part := range []string{"/workspace/<id>", "/exchange/<id>", "$CCO_EXCHANGE", "executing-plans-in-sandbox",
		"how long it lasts", "Do not push", "question.txt"} {
		if !strings.Contains(text, part) {
			t.Errorf("CLAUDE.md lacks %q", part)
		}
	}
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("CLAUDE.md has %d lines, and every session pays for them", n)
	}
}

// Guards against an agent that is told one thing by its prompt and another by its instructions or its skill.
func TestTheyAllSayWhereCommitsGo(t *testing.T) {
	texts := map[string]string{"prompt": guard.Prompt(guard.Policy{Workspace: "/w", Branch: "task"}),
		"instructions": string(instructions), "skill": skill.For("plan.md")}
	for name, text := range texts {
		if !strings.Contains(text, guard.CommitRule) {
			t.Errorf("the %s does not say %q", name, guard.CommitRule)
		}
	}
}
