package app

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/config"
)

// Guards against a forge's token in the environment of an agent, which would let it push and speak as the user.
func TestTokensOfForgesAreKeptFromAgents(t *testing.T) {
	for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
		"GITEA_TOKEN", "CCO_REVIEWER_TOKEN", "ANTHROPIC_API_KEY"} {
		if !slices.Contains(keyVariables(config.Config{}), name) {
			t.Errorf("agents would see %s", name)
		}
	}
}

// Guards against a key in the environment or the files of an agent because the user's settings say that it is
// elsewhere.
func TestKeysThatSettingsNameAreKeptFromAgents(t *testing.T) {
	cfg := config.Config{Keys: map[string]config.Key{"anthropic": {Env: "WORK_KEY"}, "openai": {File: "/home/u/key"}}}
	if names := keyVariables(cfg); !slices.Contains(names, "WORK_KEY") || slices.Contains(names, "") {
		t.Errorf("variables %q", names)
	}
	if files := keyFiles(cfg); !slices.Equal(files, []string{"/home/u/key"}) {
		t.Errorf("files %q", files)
	}
}
