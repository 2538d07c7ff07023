package agent

import (
	"encoding/json"

	"github.com/cco-dev/cco/internal/agent/event"
)

// opencode is the agent of that name, which asks any model that speaks OpenAI's chat protocol.
type opencode struct{}

func (opencode) Name() string     { return "opencode" }
func (opencode) Binary() string   { return "opencode" }
func (opencode) Provider() string { return "openai" }

func (opencode) Package() Package {
	return Package{Name: "opencode-ai", Version: "1.18.33", Oldest: "1.18.3", Models: []string{"gpt-5"},
		// The first needs a processor that not every machine has.
		Programs: []string{"opencode-{machine}/bin/opencode", "opencode-{machine}-baseline/bin/opencode"}}
}

func (opencode) Events(s event.Start) event.Decoder { return event.NewOpencode(s) }

func (opencode) Login() (variable, file string) { return "", ".local/share/opencode/auth.json" }

// opencodeModel is used if the user names none: opencode has no default for a provider of ours.
const opencodeModel = "gpt-5"

func (opencode) Command(t Task) Command {
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
	if t.State != "" && t.State != t.Home {
		env = append(env, "XDG_CONFIG_HOME="+t.State+"/.config", "XDG_DATA_HOME="+t.State+"/.local/share",
			"XDG_STATE_HOME="+t.State+"/.local/state", "XDG_CACHE_HOME="+t.State+"/.cache")
	}
	return Command{Argv: argv, Env: env}
}

// opencodeConfig are settings that override the user's.
func opencodeConfig(t Task, model string) string {
	type object = map[string]any
	config := object{"permission": "allow", "share": "disabled", "autoupdate": false, "snapshot": false}
	if t.Door != "" {
		config["small_model"] = "cco/" + model
		config["provider"] = object{"cco": object{
			"npm": "@ai-sdk/openai-compatible", "name": "cco",
			"options": object{"baseURL": "http://" + t.Door + "/openai/v1", "apiKey": t.Token},
			"models":  object{model: object{"name": model}},
		}}
	}
	data, err := json.Marshal(config)
	if err != nil {
		return "{}" // strings and maps of them can always be written
	}
	return string(data)
}
