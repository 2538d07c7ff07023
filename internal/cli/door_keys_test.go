package cli

import (
	"slices"
	"testing"
)

// Guards against a forge's token in the environment of an agent, which would let it push and speak as the user.
func TestTokensOfForgesAreKeptFromAgents(t *testing.T) {
	for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITEA_TOKEN", "CCO_REVIEWER_TOKEN", "ANTHROPIC_API_KEY"} {
		if !slices.Contains(keyVariables(), name) {
			t.Errorf("agents would see %s", name)
		}
	}
}
