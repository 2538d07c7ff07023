package guardtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// packages are the agents as they were tried. Newer ones may behave differently: that is what the tests are for.
func packages() map[string]string {
	return map[string]string{
		"claude": "@anthropic-ai/claude-code@2.1.325",
		"codex":  "@openai/codex@0.166.0",
		"gemini": "@google/gemini-cli@0.61.0",
	}
}

// Program installs an agent from npm into the module's cache folder, once, and gives its program. A test that can't
// have it fails.
func Program(t testing.TB, agent string) string {
	t.Helper()
	pkg := packages()[agent]
	dir := filepath.Join(moduleRoot(t), ".cache", "npm", strings.NewReplacer("/", "-", "@", "-").Replace(pkg))
	bin := filepath.Join(dir, "node_modules", ".bin", agent)
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Claude's own install script puts its program in place; npm may have been told to run none.
	err := proc.Run(t.Context(), proc.Cmd{Dir: dir, Argv: []string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, pkg}})
	if err != nil {
		t.Fatalf("install %s: %v (it needs npm and a registry)", pkg, err)
	}
	return bin
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("not in a module")
		}
		dir = filepath.Dir(dir)
	}
}

// Run is one run of an agent, headless and with all permissions.
type Run struct {
	Agent string
	Model *Model
	Dir   string // where it starts
	Home  string
	Args  []string // before the prompt
	// Etc, if set, is what the agent sees as /etc, in a mount namespace of its own.
	Etc string
}

// runTime is how long a run may take; a turn takes seconds.
const runTime = 3 * time.Minute

// Do runs the agent to its end and gives what it printed, if only to show it when a test fails.
func (r Run) Do(t testing.TB) string {
	t.Helper()
	argv, env := r.command(t)
	if r.Etc != "" {
		argv = append([]string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount --bind "$0" /etc && exec "$@"`, r.Etc}, argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	var words strings.Builder
	out, err := proc.Output(ctx, proc.Cmd{Argv: argv, Dir: r.Dir, Env: env, Stderr: &words})
	text := string(out) + words.String()
	if err != nil {
		t.Fatalf("%s: %v\n%s", r.Agent, err, text)
	}
	return text
}

// command is how each agent is started without a person; none of them asks for anything on its standard input.
func (r Run) command(t testing.TB) (argv, env []string) {
	t.Helper()
	program := Program(t, r.Agent)
	env = []string{"HOME=" + r.Home, "PATH=" + os.Getenv("PATH"), "KEY=none", "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" + r.Home}
	const prompt = "Do what the script says."
	switch r.Agent {
	case "codex":
		argv = []string{program, "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"}
		for _, f := range []string{"plugins", "remote_plugin", "apps", "plugin_discovery_prefetch"} {
			argv = append(argv, "--disable", f)
		}
		for _, c := range []string{`model_provider="x"`, `model="gpt-5"`, `model_providers.x.name="x"`, `model_providers.x.env_key="KEY"`,
			`model_providers.x.wire_api="responses"`, fmt.Sprintf("model_providers.x.base_url=%q", r.Model.URL+"/v1")} {
			argv = append(argv, "-c", c)
		}
	case "gemini":
		env = append(env, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+r.Model.URL, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_DEFAULT_AUTH_TYPE=gemini-api-key")
		argv = []string{program, "-m", "gemini-2.5-pro", "--yolo", "--output-format", "stream-json"}
		return append(append(argv, r.Args...), "-p", prompt), env
	default:
		env = append(env, "ANTHROPIC_BASE_URL="+r.Model.URL, "ANTHROPIC_API_KEY=none", "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
		argv = []string{program, "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}
	}
	return append(append(argv, r.Args...), prompt), env
}

// Etc makes a copy of /etc that can be changed.
func Etc(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	// Some files can't be read by everybody; agents don't need them.
	_ = proc.Run(t.Context(), proc.Cmd{Argv: []string{"cp", "-R", "-P", "/etc/.", dir}})
	return dir
}
