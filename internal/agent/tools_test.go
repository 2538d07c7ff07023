//go:build heavy

package agent_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/must"
)

// offered is a tool as an agent offers it to its model.
type offered struct {
	name       string
	properties map[string]any
}

// nested finds the tools that codex offers to newer models inside of its tool for JavaScript.
var nested = regexp.MustCompile("(?m)^### `([a-z_]+)`$")

// toolsIn finds the tools in a request of any protocol. They are named as hooks are told: codex puts the name of a
// namespace before them, and nothing between.
func toolsIn(v any, space string) (list []offered) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, toolsIn(e, space)...)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		words, described := v["description"].(string)
		switch {
		case name == "" || !described:
		case v["tools"] != nil && name != "functions":
			space = name
		case v["tools"] == nil:
			list = append(list, offered{space + name, propertiesOf(v)})
			for _, m := range nested.FindAllStringSubmatch(words, -1) {
				list = append(list, offered{name: strings.ReplaceAll(m[1], "__", "")})
			}
			return list
		}
		for _, e := range v {
			list = append(list, toolsIn(e, space)...)
		}
	}
	return list
}

func propertiesOf(tool map[string]any) map[string]any {
	for _, key := range []string{"input_schema", "parameters", "parametersJsonSchema"} {
		if schema, ok := tool[key].(map[string]any); ok {
			properties, _ := schema["properties"].(map[string]any)
			return properties
		}
	}
	return nil
}

// acting finds the inputs by which a tool could write or run something, by their names.
var acting = regexp.MustCompile(`(?i)path|file$|dir$|cwd|command|^cmd$|^script|patch|chars|isolation`)

// harmless are those that were judged: they are only read, or only words.
var harmless = []string{
	"Read file_path", "view_image path", "list_directory dir_path", "read_file file_path",
	"grep_search dir_path", "grep_search max_matches_per_file", "glob dir_path", "glob path", "grep path", "read filePath",
	"task command", "collaborationlist_agents path_prefix",
}

// hostile is an input that must be denied if it is read at all.
func hostile(property string) string {
	switch {
	case strings.Contains(strings.ToLower(property), "patch"):
		return "*** Begin Patch\n*** Add File: /outside/x\n+x\n*** End Patch"
	case property == "isolation":
		return "worktree"
	case property == "chars":
		return "touch /outside/x\n"
	case strings.HasPrefix(property, "c") && property != "cwd":
		return "touch /outside/x"
	}
	return "/outside/x"
}

// What the guard doesn't know it denies, so that an agent loses tools with each version that brings new ones; and an
// input that it doesn't look at is a way out.
func TestTheGuardKnowsEveryToolThatAgentsOffer(t *testing.T) {
	for _, tt := range []struct{ agent, model, env string }{
		{"claude", "", ""}, {"claude", "", "ENABLE_TOOL_SEARCH=false"}, // the second shows all at once
		{"codex", "", ""}, {"codex", "gpt-5", ""}, {"codex", "gpt-5.5", ""},
		{"gemini", "", ""}, {"gemini", "gemini-2.5-pro", ""},
		{"opencode", "", ""}, {"opencode", "claude-sonnet-4-5", ""},
	} {
		t.Run(strings.Join([]string{tt.agent, tt.model, tt.env}, " "), func(t *testing.T) {
			t.Parallel() // they mostly wait
			s := newStage(t, tt.agent)
			s.task.Model = tt.model
			s.env = append(s.env, tt.env)
			s.play(t, "tools")
			requests := s.model.Requests()
			first := slices.IndexFunc(requests, func(r agenttest.Request) bool { return r.Turn })
			if first < 0 {
				t.Fatalf("it never asked its model\n%s", s.model.Summary())
			}
			var body any
			must.Do(t, json.Unmarshal(requests[first].Body, &body))
			tools := toolsIn(body, "")
			if len(tools) < 8 {
				t.Errorf("only %d tools were found", len(tools))
			}
			for _, tool := range tools {
				judged(t, tool)
			}
		})
	}
}

// judged sees that the guard knows a tool, and denies what is hostile in any of its inputs.
func judged(t *testing.T, tool offered) {
	t.Helper()
	input := map[string]any{}
	decide := func() guard.Verdict {
		data := must.Get(json.Marshal(input))(t)
		return guard.Decide(guard.Policy{Workspace: "/workspace"}, nil,
			guard.Call{Tool: tool.name, Input: data, Cwd: "/workspace"})
	}
	if v := decide(); strings.Contains(v.Reason, "does not know") {
		t.Errorf("the guard does not know the tool %s", tool.name)
		return
	}
	for name := range tool.properties {
		if !acting.MatchString(name) || slices.Contains(harmless, tool.name+" "+name) {
			continue
		}
		for other := range tool.properties {
			if input[other] = "x"; other == "isolation" {
				delete(input, other)
			}
		}
		input[name] = hostile(name)
		if v := decide(); v.Allow {
			t.Errorf("the guard does not look at %s of %s", name, tool.name)
		}
	}
}
