package agent

import (
	"strconv"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/guard/settings"
)

// codex is OpenAI's Codex CLI.
func codex() Adapter {
	return Adapter{Row: row("codex"), Command: codexCommand, Events: event.NewCodex, Hook: settings.Codex(),
		Record: recorded(".codex/sessions/*/*/*/*.jsonl", event.RecordCodex)}
}

func codexCommand(t Task) Command {
	argv := []string{program(t, "codex")}
	switch {
	case t.Interactive && t.Resume != "":
		argv = append(argv, "resume")
	case !t.Interactive && t.Resume != "":
		argv = append(argv, "exec", "resume", "--json", "--skip-git-repo-check")
	case !t.Interactive:
		argv = append(argv, "exec", "--json", "--skip-git-repo-check")
	}
	// The box is the sandbox. Codex's own makes .git read-only, so that nothing could be committed.
	argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	// These features need a network that isn't there, and cost seconds at every start. They are settings, because codex
	// ignores unknown ones; --disable with another version's name ends it.
	for _, f := range []string{"plugins", "remote_plugin", "apps", "plugin_discovery_prefetch"} {
		argv = append(argv, "-c", "features."+f+"=false")
	}
	// A repository's own settings could say otherwise.
	argv = append(argv, "-c", "features.hooks=true", "-c", "check_for_update_on_startup=false")
	if t.Interactive {
		// On a terminal it asks whether the directory is trusted, and waits. The box contains what a repository's settings
		// can start; they can't switch off the guard's hook.
		argv = append(argv, "-c", "projects={"+strconv.Quote(t.Workspace)+"={trust_level=\"trusted\"}}",
			"-c", "developer_instructions="+string(encode(instructions(t)))) // JSON's texts are TOML's, too
	}
	if t.Model != "" {
		argv = append(argv, "-m", t.Model)
	}
	env := placed(place(t), t, "codex")
	if t.Door != "" {
		for _, c := range []string{`model_provider="cco"`, `model_providers.cco.name="cco"`, `model_providers.cco.env_key="` +
			codexToken + `"`,
			`model_providers.cco.wire_api="responses"`, "model_providers.cco.base_url=" +
				strconv.Quote("http://"+t.Door+"/openai/v1")} {
			argv = append(argv, "-c", c)
		}
		env = append(env, codexToken+"="+t.Token)
	}
	for name, m := range t.Servers { // texts and lists of them are in TOML what they are in JSON
		at := "mcp_servers." + name + "."
		argv = append(argv, "-c", at+"command="+string(encode(m.Command)), "-c", at+"args="+string(encode(m.Args)))
		for k, v := range m.Env {
			argv = append(argv, "-c", at+"env."+k+"="+string(encode(v)))
		}
	}
	if t.Resume != "" {
		argv = append(argv, t.Resume)
	}
	return Command{Argv: append(argv, prompt(t)), Env: env}
}

// codexToken is the variable in which codex looks for the door's token.
const codexToken = "CCO_DOOR_TOKEN"
