package agenttest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// Run is one run of an agent by itself, without cco: headless and with all permissions.
type Run struct {
	Agent string
	Model *Server
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
	argv, env := r.Command(Program(t, r.Agent))
	if r.Etc != "" {
		argv = append([]string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
			`mount --bind "$0" /etc && exec "$@"`, r.Etc}, argv...)
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

// Command is how each agent is started without a person; none of them asks for anything on its standard input.
func (r Run) Command(program string) (argv, env []string) {
	env = []string{"HOME=" + r.Home, "PATH=" + os.Getenv("PATH"), "KEY=none", "TERM=dumb", "LANG=C.UTF-8",
		"TMPDIR=" + r.Home}
	const prompt = "Do what the script says."
	switch r.Agent {
	case "codex":
		argv = []string{program, "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"}
		for _, f := range []string{"plugins", "remote_plugin", "apps", "plugin_discovery_prefetch"} {
			argv = append(argv, "--disable", f)
		}
		for _, c := range []string{`model_provider="x"`, `model="gpt-5"`, `model_providers.x.name="x"`,
			`model_providers.x.env_key="KEY"`,
			`model_providers.x.wire_api="responses"`, fmt.Sprintf("model_providers.x.base_url=%q", r.Model.URL+"/v1")} {
			argv = append(argv, "-c", c)
		}
	case "gemini":
		env = append(env, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+r.Model.URL, "GEMINI_CLI_TRUST_WORKSPACE=true",
			"GEMINI_DEFAULT_AUTH_TYPE=gemini-api-key")
		argv = []string{program, "-m", "gemini-2.5-pro", "--yolo", "--output-format", "stream-json"}
		return append(append(argv, r.Args...), "-p", prompt), env
	case "opencode":
		config := object{"model": "x/scripted", "permission": "allow", "provider": object{"x": object{
			"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": r.Model.URL + "/v1", "apiKey": "none"},
			"models": object{"scripted": object{"name": "scripted"}}}}}
		env = append(env, "OPENCODE_CONFIG_CONTENT="+encode(config), "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_AUTOUPDATE=1", "npm_config_offline=true")
		argv = []string{program, "run", "--format", "json"}
	case "claude":
		env = append(env, "ANTHROPIC_BASE_URL="+r.Model.URL, "ANTHROPIC_API_KEY=none", "IS_SANDBOX=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
		argv = []string{program, "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}
	default:
		panic("nobody has said how " + r.Agent + " is started")
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
