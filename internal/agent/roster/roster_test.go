package roster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Guards against a row that says less than what the agents in it are trusted to have said.
func TestRowsAreWhole(t *testing.T) {
	var names, programs []string
	for _, r := range All() {
		if r.Name == "" || slices.Contains(names, r.Name) {
			t.Errorf("a row is called %q, after %v", r.Name, names)
		}
		names = append(names, r.Name)
		for _, p := range r.Programs {
			if slices.Contains(programs, p) {
				t.Errorf("%s: another agent is started by %s too", r.Name, p)
			}
			programs = append(programs, p)
		}
		if r.Package.Name != "" && !slices.Contains(r.Programs, filepath.Base(r.Package.Name)) {
			t.Errorf("%s: %s is no name of its program", r.Name, r.Package.Name)
		}
		if len(r.Programs) > 0 && (len(r.Logins) == 0 || len(r.Settings) == 0) {
			t.Errorf("%s: its logins or its settings are not said", r.Name)
		}
		if (r.Event == "") != (r.Managed == "") {
			t.Errorf("%s: its hook is half known", r.Name)
		}
		if r.Event != "" && KindOf(strings.Fields(r.Tools.Shell + " -")[0]) != ShellTool {
			t.Errorf("%s: no tool to try its hook with", r.Name)
		}
		for _, file := range slices.Concat(r.Logins, r.Caches, r.Settings, r.HomeSettings) {
			if !filepath.IsLocal(file) || filepath.Clean(file) != file {
				t.Errorf("%s: %s is no path below a home", r.Name, file)
			}
		}
	}
	if r, ok := Find(Default); !ok || r.Event == "" {
		t.Error("the default has no row")
	}
}

// Guards against one name for two kinds of tools: the first that is found would decide.
func TestToolsHaveOneKind(t *testing.T) {
	for _, r := range append(All(), Row{Name: "others", Tools: others}) {
		tools := r.Tools
		for i, list := range []string{tools.Shell, tools.Write, tools.Patch, tools.Read, tools.Free, tools.Agent,
			tools.Message, tools.Input, tools.Denied} {
			for _, name := range strings.Fields(list) {
				if k := KindOf(name); k != ToolKind(i+1) {
					t.Errorf("%s: %s is of kind %d, and elsewhere of kind %d", r.Name, name, i+1, k)
				}
			}
			if strings.Join(strings.Fields(list), " ") != list {
				t.Errorf("%s: one blank between names: %q", r.Name, list)
			}
		}
	}
	for _, name := range []string{"", " ", "Bash Write", "bas", "Bash ", "clock", "clockbash", "clock clock sleep"} {
		if k := KindOf(name); k != UnknownTool {
			t.Errorf("%q is of kind %d", name, k)
		}
	}
}

func TestNobodyKnowsAnUnknownAgent(t *testing.T) {
	for _, name := range []string{"", "Claude", "claude ", "parrot", "claude-code"} {
		if r, ok := Find(name); ok || r.Name != "" {
			t.Errorf("%q is %s", name, r.Name)
		}
	}
}

// Guards against logins that boxes show.
func TestPrivateHoldsEveryLogin(t *testing.T) {
	private := Private()
	for _, r := range All() {
		for _, login := range r.Logins {
			if !slices.ContainsFunc(private, func(p string) bool { return p == login || strings.HasPrefix(login, p+"/") }) {
				t.Errorf("%s: %s is not hidden", r.Name, login)
			}
		}
	}
	for _, want := range []string{".claude", ".claude.json", ".codex", ".gemini", ".config/opencode",
		".local/share/opencode", ".qwen"} {
		if !slices.Contains(private, want) {
			t.Errorf("%s is not hidden", want)
		}
	}
	for _, p := range private {
		if p == ".config" || p == ".local" || p == ".cache" || p == "." {
			t.Errorf("%s holds more than agents' files", p)
		}
	}
}

func TestHomesMoveByTheirVariables(t *testing.T) {
	env := map[string]string{"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "relative", "GEMINI_CLI_HOME": "/g",
		"XDG_DATA_HOME": "/d"}
	for _, tt := range [][3]string{
		{"claude", ".claude/.credentials.json", "/c/.credentials.json"}, {"claude", ".claude", "/c"},
		{"claude", ".claude.json", "/home/me/.claude.json"}, {"codex", ".codex/auth.json", "/home/me/.codex/auth.json"},
		{"gemini", ".gemini/settings.json", "/g/.gemini/settings.json"},
		{"opencode", ".local/share/opencode/auth.json", "/d/opencode/auth.json"},
		{"opencode", ".config/opencode/AGENTS.md", "/home/me/.config/opencode/AGENTS.md"},
	} {
		r, _ := Find(tt[0])
		if got := r.At(tt[1], func(name string) string { return env[name] }, "/home/me"); got != tt[2] {
			t.Errorf("%s: %s is at %s", tt[0], tt[1], got)
		}
	}
	r, _ := Find("gemini")
	if got := r.Env("/state"); !slices.Equal(got, []string{"GEMINI_CLI_HOME=/state"}) {
		t.Errorf("env %v", got)
	}
}
