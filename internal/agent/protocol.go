package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/roster"
)

// Spec is an agent that speaks the Agent Client Protocol, as it is said in a row of ours or in the user's settings. In
// values of Env and Files {token} and {model} stand for what opens the door to its model, and for the model's name. In
// those of Env {door} is the door's address, which is known when the program starts: its files are there before.
type Spec struct {
	Name     string
	NPM      []string // packages with their exact versions, its own first
	ACP      []string // what to start
	Provider string   // whose model it asks, by the broker's name
	Env      map[string]string
	Files    map[string]string // settings of its own, below its home
	Mode     string            // by the protocol's id, "" for the agent's own choice
	Model    string            // if the user names none
}

// presets are the agents that work without settings of the user's. What else is known of them is in the roster.
var presets = [...]Spec{
	{
		Name: "copilot", ACP: []string{"copilot", "--acp", "--allow-all-tools"}, Model: "gpt-5",
		Env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "{door}/v1", "COPILOT_PROVIDER_API_KEY": "{token}",
			"COPILOT_MODEL": "{model}", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"},
	},
	{
		Name: "qwen", ACP: []string{"qwen", "--acp"}, Mode: "yolo", Model: "gpt-5",
		Env: map[string]string{"OPENAI_BASE_URL": "{door}/v1", "OPENAI_API_KEY": "{token}", "OPENAI_MODEL": "{model}"},
		// It would add a trailer of its own to the last paragraph of commits, so that cco's would be none.
		Files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},` +
			`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true,` +
			`"gitCoAuthor":{"commit":false,"pr":false}}}`},
	},
	{
		Name: "pi", ACP: []string{"pi-acp"}, Model: "gpt-5",
		Env: map[string]string{"CCO_DOOR": "{door}/v1", "CCO_DOOR_TOKEN": "{token}", "PI_OFFLINE": "1",
			"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
		Files: map[string]string{
			".pi/agent/extensions/cco.js": `export default (pi) => pi.registerProvider("cco", {api: "openai-completions", ` +
				`baseUrl: process.env.CCO_DOOR, apiKey: "$CCO_DOOR_TOKEN", models: [{id: "{model}", name: "{model}", ` +
				`input: ["text"], reasoning: false, contextWindow: 128000, maxTokens: 16384, ` +
				`cost: {input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}]})`,
			".pi/agent/settings.json": `{"defaultProvider":"cco","defaultModel":"{model}","quietStartup":true}`,
		},
	},
}

var (
	agentName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })
	npmPackage = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((?:@[a-z0-9-][a-z0-9._-]*/)?[a-z0-9-][a-z0-9._-]*)@` +
			`([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?)$`)
	})
)

// Adapter makes an agent of what is said of it. What a preset says holds where this says nothing.
func (s Spec) Adapter() (Adapter, error) {
	own, known := roster.Find(s.Name)
	i := slices.IndexFunc(presets[:], func(p Spec) bool { return p.Name == s.Name })
	switch {
	case !agentName().MatchString(s.Name):
		return Adapter{}, errors.New("a name has small letters, digits and dashes")
	case i >= 0:
		s = s.over(presets[i])
	case known:
		return Adapter{}, errors.New("cco drives this agent itself")
	}
	r := own
	s.Provider = cmp.Or(s.Provider, own.Provider)
	r.Name, r.Provider = s.Name, s.Provider
	switch {
	case len(s.ACP) == 0 || filepath.Base(s.ACP[0]) != s.ACP[0]:
		return Adapter{}, errors.New(`acp says what is started, such as acp = ["copilot", "--acp"]`)
	case r.Provider == "":
		return Adapter{}, errors.New("provider says whose model it asks: anthropic, openai or gemini")
	case len(s.NPM) == 0 && r.Package.Name == "":
		return Adapter{}, errors.New(`npm says what is installed, such as npm = ["@github/copilot@1.0.102"]`)
	}
	if !known {
		r.Programs = []string{s.ACP[0]}
	}
	if len(s.NPM) > 0 {
		// Most packages are written for this Node.
		r.Package = roster.Package{Node: 22, Programs: []string{roster.Linked + s.ACP[0]}}
	}
	for i, pkg := range s.NPM {
		m := npmPackage().FindStringSubmatch(pkg)
		if m == nil {
			return Adapter{}, fmt.Errorf("%q is no package with an exact version, such as "+
				"@github/copilot@1.0.102", pkg)
		}
		if i == 0 {
			r.Package.Name, r.Package.Version, r.Package.Oldest = m[1], m[2], m[2]
		} else {
			r.Package.With = append(r.Package.With, roster.Pin{Name: m[1], Version: m[2]})
		}
	}
	for name, text := range s.Files {
		if !filepath.IsLocal(name) || strings.Contains(text, "{door}") {
			return Adapter{}, errors.New(name + " is no path below a home, or has {door}, which env can have")
		}
	}
	return Adapter{Row: r, Command: s.command, Events: event.NewACP, Protocol: true}, nil
}

// over fills in what a row does not say.
func (s Spec) over(p Spec) Spec {
	if len(s.ACP) == 0 {
		s.ACP = p.ACP
	}
	s.Mode, s.Model = cmp.Or(s.Mode, p.Mode), cmp.Or(s.Model, p.Model)
	s.Env, s.Files = merged(p.Env, s.Env), merged(p.Files, s.Files)
	return s
}

func merged(all ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, one := range all {
		maps.Copy(m, one)
	}
	return m
}

// command starts the agent, with which the keeper speaks the protocol.
func (s Spec) command(t Task) Command {
	door := ""
	if t.Door != "" {
		door = "http://" + t.Door + "/" + s.Provider
	}
	fill := strings.NewReplacer("{door}", door, "{token}", t.Token, "{model}", cmp.Or(t.Model, s.Model)).Replace
	argv := append([]string{cmp.Or(t.Program, s.ACP[0])}, s.ACP[1:]...)
	var home []File
	for name, text := range s.Files {
		home = append(home, File{Path: name, Data: []byte(fill(text)), Mode: 0o600})
	}
	env := place(t)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+fill(s.Env[name]))
	}
	return Command{Argv: argv, Env: env, Home: home, Turn: &event.Turn{Dir: t.Workspace, Prompt: prompt(t),
		Resume: t.Resume, Mode: s.Mode, Model: t.Model, Servers: t.Servers}}
}
