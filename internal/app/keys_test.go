package app

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/config"
)

// Guards against a key in the files of an agent because the user's settings say that it is
// elsewhere.
func TestKeysThatSettingsNameAreKeptFromAgents(t *testing.T) {
	cfg := config.Config{Keys: map[string]config.Key{"anthropic": {Env: "WORK_KEY"}, "openai": {File: "/home/u/key"}}}
	cfg.Engine.APIKey.File = "/home/u/password"
	if files := keyFiles(cfg); !slices.Equal(files, []string{"/home/u/key", "/home/u/password"}) {
		t.Errorf("files %q", files)
	}
}
