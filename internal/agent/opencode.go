package agent

import (
	"cmp"
	"path"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/guard/settings"
)

// opencode is the agent of that name, which asks any model that speaks OpenAI's chat protocol. Its settings say that
// what plugins may import is installed: ours imports nothing, and opencode would ask npm for it at every first start,
// which takes 15 seconds of a core, or a minute where npm can't be reached.
func opencode() Adapter {
	return Adapter{Row: row("opencode"), Command: opencodeCommand, Events: event.NewOpencode, Hook: settings.Opencode(),
		Record: recorded(".local/share/opencode/cco-record.jsonl", event.RecordOpencode),
		Settings: []File{
			{Path: ".config/opencode/package-lock.json",
				Data: []byte(`{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}` + "\n")},
			{Path: ".config/opencode/node_modules/.keep", Data: []byte("Nothing is imported.\n")},
		}}
}

// opencodeModel is used if the user names none: opencode has no default for a provider of ours.
const opencodeModel = "gpt-5"

func opencodeCommand(t Task) Command {
	argv := []string{program(t, "opencode")}
	if !t.Interactive {
		argv = append(argv, "run", "--format", "json", "--thinking")
	}
	if t.Resume != "" {
		argv = append(argv, "--session", t.Resume)
	}
	model := t.Model
	if t.Door != "" {
		if model == "" {
			model = opencodeModel
		}
		argv = append(argv, "--model", "cco/"+model)
	} else if model != "" {
		argv = append(argv, "--model", model)
	}
	if t.Interactive {
		argv = append(argv, "--prompt="+prompt(t))
	} else {
		argv = append(argv, "--", prompt(t))
	}
	env := append(place(t), "OPENCODE_CONFIG_CONTENT="+opencodeConfig(t, model), "OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		// A repository's settings and plugins are code that would run in opencode itself, beside the guard's.
		"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
	if t.State != t.Home {
		env = placed(env, t, "opencode")
	}
	cmd := Command{Argv: argv, Env: env}
	if t.Interactive {
		cmd.Home = []File{{Path: opencodeRules, Data: []byte(instructions(t)), Mode: 0o644}}
	}
	return cmd
}

// opencodeRules is what its screen should not show. A headless run that goes on with a conversation of a terminal reads
// it, too.
const opencodeRules = ".config/opencode/cco.md"

// opencodeConfig are settings that override the user's.
func opencodeConfig(t Task, model string) string {
	type object = map[string]any
	config := object{"permission": "allow", "share": "disabled", "autoupdate": false, "snapshot": false,
		"instructions": []string{path.Join(cmp.Or(t.State, t.Home), opencodeRules)}}
	if t.Door != "" {
		config["small_model"] = "cco/" + model
		config["provider"] = object{"cco": object{
			"npm": "@ai-sdk/openai-compatible", "name": "cco",
			"options": object{"baseURL": "http://" + t.Door + "/openai/v1", "apiKey": t.Token},
			"models":  object{model: object{"name": model}},
		}}
	}
	tools := object{}
	for name, m := range t.Servers {
		tools[name] = object{"type": "local", "command": append([]string{m.Command}, m.Args...), "environment": m.Env}
	}
	config["mcp"] = tools
	return string(encode(config))
}
